//! Errors in words that a model can act on. Every one names the path.

use std::io::{self, ErrorKind};

use toolgate_sdk::{
    ToolError,
    files::{ErrorCode, FileError},
};

/// What the operating system, or the sandbox in its place, said about `path`.
pub(crate) fn io(field: &str, path: &str, error: &io::Error) -> ToolError {
    let fault =
        |reason: &str, what: &str| ToolError::new(reason, format!("`{path}` {what}")).field(field);
    match error.kind() {
        ErrorKind::NotFound => not_found(field, path),
        // The sandbox's word for every way out of a granted folder.
        ErrorKind::PermissionDenied => fault(
            "unauthorized",
            "leads out of the granted folders, or may not be touched by this host",
        )
        .hint("absolute symbolic links are never followed, not even inside a granted folder"),
        ErrorKind::AlreadyExists => fault("exists", "exists already"),
        ErrorKind::IsADirectory => is_directory(field, path),
        ErrorKind::NotADirectory => fault("not_a_directory", "has a file where a folder is needed"),
        ErrorKind::DirectoryNotEmpty => fault("not_empty", "is a folder that is not empty"),
        ErrorKind::Unsupported => special(field, path),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => fault(
            "no_space",
            "does not fit: the disk is full or a quota is used up",
        ),
        ErrorKind::ReadOnlyFilesystem => fault("read_only", "lies on a read-only disk"),
        ErrorKind::OutOfMemory => fault("too_large", "does not fit into the memory of one call"),
        ErrorKind::CrossesDevices => fault("unsupported", "would move to another disk")
            .hint("copy the files, then delete the old ones"),
        _ => fault("io", &format!("failed: {error}")),
    }
}

/// What the host said. Its detail names the path.
pub(crate) fn host(field: &str, error: FileError) -> ToolError {
    let reason = match error.code {
        ErrorCode::Escapes => "unauthorized",
        ErrorCode::ReadOnly => "read_only",
        ErrorCode::NotFound => "not_found",
        ErrorCode::Exists => "exists",
        ErrorCode::IsDirectory => "is_directory",
        ErrorCode::Unsupported => "unsupported",
        ErrorCode::TooLarge => "too_large",
        ErrorCode::NoSpace => "no_space",
        ErrorCode::Other => "io",
    };
    ToolError::new(reason, error.detail).field(field)
}

pub(crate) fn not_found(field: &str, path: &str) -> ToolError {
    ToolError::new("not_found", format!("`{path}` does not exist"))
        .field(field)
        .hint("see what is there with files_list, or search by name with files_find")
}

pub(crate) fn is_directory(field: &str, path: &str) -> ToolError {
    ToolError::new("is_directory", format!("`{path}` is a folder, not a file"))
        .field(field)
        .hint("files_list shows what is in it")
}

/// FIFOs, devices, sockets: opening one may never end.
pub(crate) fn special(field: &str, path: &str) -> ToolError {
    let what = format!("`{path}` is neither a file nor a folder (a FIFO, a device or a socket)");
    ToolError::new("unsupported", what).field(field)
}

pub(crate) fn too_large(field: &str, path: &str, size: u64, cap: usize) -> ToolError {
    let what = format!("`{path}` has {size} bytes; this tool takes files up to {cap} bytes");
    ToolError::new("too_large", what)
        .field(field)
        .hint("files_read and files_grep work on files of any size")
}
