//! One regular file under a second name, in pieces: never whole in memory.

use std::{
    io::{self, Read, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::fs::{File, MetadataExt, OpenOptions};

use super::{
    Code, FileError,
    locate::{Place, refusal},
    temporary::Temporary,
};

/// Large enough that the system calls do not count, small enough for a stack of calls.
const PIECE: usize = 256 << 10;

pub(super) fn run(
    source: &Place<'_>,
    target: &Place<'_>,
    overwrite: bool,
    parents: bool,
    stop: &AtomicBool,
) -> Result<u64, FileError> {
    let (mut from, mode) = open(source)?;
    let entry = target.entry(overwrite, parents)?;
    // The source's mode, so that a copy of a private file is private.
    let failed = |error: io::Error| target.failed(&error);
    let mut new = Temporary::beside(&entry, Some(mode)).map_err(failed)?;
    let mut piece = vec![0; PIECE];
    let mut copied = 0;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(FileError::new(
                Code::Other,
                target.said,
                "was not copied: the call ended first",
            ));
        }
        let read = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(source.failed(&error)),
        };
        new.file().write_all(&piece[..read]).map_err(failed)?;
        copied += read as u64;
    }
    new.put(&entry.name, !overwrite).map_err(failed)?;
    Ok(copied)
}

/// Opens without waiting: opening a FIFO would otherwise never return.
fn open(source: &Place<'_>) -> Result<(File, u32), FileError> {
    if source.beneath.as_os_str().is_empty() {
        return Err(source.refused(Code::IsDirectory));
    }
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    let file = source
        .root
        .dir
        .open_with(&source.beneath, &options)
        .map_err(|error| source.failed(&error))?;
    let found = file.metadata().map_err(|error| source.failed(&error))?;
    if found.is_file() {
        Ok((file, found.mode()))
    } else {
        Err(source.refused(refusal(found.file_type())))
    }
}
