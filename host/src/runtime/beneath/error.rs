//! Why an operation beneath a granted folder failed, in the words of the interface.

use std::io;

use rustix::io::Errno;

/// Mirrors the interface's `error-code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Outside every granted folder, or through a link that leaves it.
    Escapes,
    /// The folder is granted, or its disk mounted, for reading only.
    ReadOnly,
    NotFound,
    /// Something is there already.
    Exists,
    IsDirectory,
    /// A FIFO, a device or a socket.
    Unsupported,
    TooLarge,
    /// The disk is full, or a quota is used up.
    NoSpace,
    Other,
}

/// A code for the guest and a sentence for its reader. Names guest paths only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub(crate) struct FileError {
    pub(crate) code: Code,
    pub(crate) detail: String,
}

impl FileError {
    pub(super) fn new(code: Code, path: &str, what: &str) -> Self {
        Self {
            code,
            detail: format!("`{path}` {what}"),
        }
    }

    pub(super) fn io(path: &str, error: &io::Error) -> Self {
        let (code, what) = match error.raw_os_error().map(Errno::from_raw_os_error) {
            // cap-std's own refusal carries no number of the operating system's.
            None if error.kind() == io::ErrorKind::PermissionDenied => {
                (Code::Escapes, "leads out of the granted folder")
            }
            Some(Errno::NOENT) => (Code::NotFound, "does not exist"),
            Some(Errno::EXIST) => (Code::Exists, "exists already"),
            Some(Errno::ISDIR) => (Code::IsDirectory, "is a folder"),
            Some(Errno::NOTDIR) => (Code::Other, "has a file where a folder is needed"),
            Some(Errno::ROFS) => (Code::ReadOnly, "lies on a read-only disk"),
            Some(Errno::NOSPC) => (Code::NoSpace, "does not fit: the disk is full"),
            Some(Errno::DQUOT) => (Code::NoSpace, "does not fit: the quota is used up"),
            Some(Errno::FBIG) => (Code::TooLarge, "would be larger than the disk allows"),
            // A socket, or a FIFO or device that nobody serves.
            Some(Errno::NXIO | Errno::NODEV) => (Code::Unsupported, "is no regular file"),
            Some(Errno::LOOP) => (Code::Other, "is a circle of symbolic links"),
            Some(Errno::NAMETOOLONG) => (Code::Other, "has a name that is too long"),
            _ => {
                let what = format!("failed: {error}");
                return Self::new(Code::Other, path, &what);
            }
        };
        Self::new(code, path, what)
    }
}
