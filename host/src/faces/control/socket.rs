//! Where the sockets lie: `<data folder>/run/<process id>.sock`, folder and sockets of the
//! owner alone.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd as _,
        unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

/// A socket's address holds no longer path (`unix(7)`: 108 bytes with the last zero).
const LONGEST: usize = 107;

pub(super) fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("run")
}

/// Makes the folder, or makes sure that it is the owner's alone.
pub(super) fn make_folder(data_dir: &Path) -> io::Result<PathBuf> {
    let folder = folder(data_dir);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
    Ok(folder)
}

/// An address for this path; what makes a long one short lives as long as the second part.
pub(super) fn address(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    if path.as_os_str().len() <= LONGEST {
        return Ok((path.to_owned(), None));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("no path of a socket"));
    };
    let folder = File::open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((short, Some(folder)))
}
