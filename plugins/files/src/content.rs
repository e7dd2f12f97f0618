//! Whole files in memory, up to 8 MiB, and their digest.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use sha2::{Digest, Sha256};
use toolgate_sdk::ToolError;

use crate::{
    fault,
    kind::Kind,
    place::{Folders, Place},
};

/// What is written or edited is held several times (arguments, old bytes, new bytes,
/// the host's copy), and a call has 64 MiB.
pub(crate) const CAP: usize = 8 << 20;

pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// All bytes of a file, or nothing if it has more than [`CAP`]. The file's own word on
/// its size is not asked: it may grow, and some files say 0.
pub(crate) fn whole(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // Grows by `try_reserve`: no memory is an error, not a trap.
    File::open(path)?
        .take(CAP as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() <= CAP).then_some(bytes))
}

/// # Errors
///
/// `too_large` above [`CAP`], and all that a path may be refused for.
pub(crate) fn load(folders: &Folders<'_>, place: &Place) -> Result<Vec<u8>, ToolError> {
    let (path, metadata) = folders.file(place)?;
    whole(&path)
        .map_err(|error| fault::io(place.field, &place.path, &error))?
        .ok_or_else(|| fault::too_large(place.field, &place.path, metadata.len(), CAP))
}

/// # Errors
///
/// `binary` for UTF-16: UTF-8 text put into it would garble all that follows.
pub(crate) fn takes_utf8(place: &Place, bytes: &[u8]) -> Result<(), ToolError> {
    if !Kind::is_utf16(bytes) {
        return Ok(());
    }
    let what = format!("`{}` is UTF-16 text, not UTF-8", place.path);
    Err(ToolError::new("binary", what)
        .field(place.field)
        .hint("convert it to UTF-8 first, or replace the whole file"))
}

/// SHA-256, 64 lower-case hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Room for `size` bytes.
///
/// # Errors
///
/// `too_large` where there is none.
pub(crate) fn room(place: &Place, size: usize) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    if size > CAP || bytes.try_reserve_exact(size).is_err() {
        let what = format!(
            "`{}` would have more than {CAP} bytes, the most that this tool writes",
            place.path
        );
        return Err(ToolError::new("too_large", what).hint("split the content into several files"));
    }
    Ok(bytes)
}
