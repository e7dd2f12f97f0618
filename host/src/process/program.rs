//! Which file a name means, and whether the grant names that file.
//!
//! A grant is a name in the search path or an absolute path, never the beginning of a
//! command line. Two things are compared: the file, with links resolved, and its name. The
//! name counts because one file can be many programs (`busybox`, `coreutils`): a grant of
//! `ls` is none of `sh`, though both may be links to the same file. What runs is the path
//! that the *grant* led to, so no link that is changed meanwhile can lead elsewhere.

use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::admit::not_executable;
use crate::{
    policy::ProcessGrant,
    tool::{Reason, ToolError},
};

/// Where names are looked up when the host's `PATH` is not granted.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// So that an error stays short whatever the operator grants.
const LISTED: usize = 20;

/// Never the request's own `PATH`: it would choose the program.
pub(super) fn search_path<'a>(grant: &ProcessGrant, host_env: &'a [(String, String)]) -> &'a str {
    let granted = grant.env.iter().any(|name| name == "PATH");
    let path = host_env
        .iter()
        .rev()
        .find(|(name, _)| granted && name == "PATH");
    path.map_or(DEFAULT_PATH, |(_, value)| value)
}

/// The absolute path to execute for `argv[0]`.
///
/// # Errors
///
/// `unauthorized`, without a word about what exists; for what is granted by this very
/// text, `not_found` and `not_executable`.
pub(super) fn resolve(
    name: &str,
    granted: &[String],
    search: &str,
    cwd: &Path,
) -> Result<PathBuf, ToolError> {
    let wanted = if name.contains('/') {
        File::at(&cwd.join(name))
    } else {
        lookup(name, search).and_then(|path| File::at(&path))
    };
    let found = wanted.and_then(|wanted| {
        let mut files = granted.iter().filter_map(|entry| locate(entry, search));
        files.find_map(|path| (File::at(&path)? == wanted).then_some(path))
    });
    match found {
        Some(path) if is_executable(&path) => Ok(path),
        Some(_) => Err(not_executable(name, "the file is not marked as executable")),
        None if granted.iter().any(|entry| entry == name) => Err(missing(name, search)),
        None => Err(unauthorized(name, granted)),
    }
}

/// The names in a grant, for an error.
pub(super) fn listed(granted: &[String]) -> String {
    if granted.is_empty() {
        return "no program".into();
    }
    let first: Vec<&str> = granted.iter().take(LISTED).map(String::as_str).collect();
    let more = granted.len() - first.len();
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    first.join(", ") + &more
}

/// A file by what it is and by the name that it goes by.
#[derive(PartialEq)]
struct File {
    resolved: PathBuf,
    name: std::ffi::OsString,
}

impl File {
    fn at(path: &Path) -> Option<Self> {
        let resolved = path.canonicalize().ok()?;
        let name = path.file_name()?.to_owned();
        resolved.is_file().then_some(Self { resolved, name })
    }
}

fn locate(entry: &str, search: &str) -> Option<PathBuf> {
    if Path::new(entry).is_absolute() {
        return Some(entry.into());
    }
    // A relative path with a slash would mean another file in every folder.
    if entry.contains('/') {
        None
    } else {
        lookup(entry, search)
    }
}

/// The first executable file, as a shell would find it; else the first file at all.
/// Relative folders of the search path are passed over: they would mean the workspace.
fn lookup(name: &str, search: &str) -> Option<PathBuf> {
    let folders = search
        .split(':')
        .map(Path::new)
        .filter(|folder| folder.is_absolute());
    let files: Vec<_> = folders
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file())
        .collect();
    let executable = files.iter().find(|path| is_executable(path));
    executable.or(files.first()).cloned()
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

fn missing(name: &str, search: &str) -> ToolError {
    let place = if name.contains('/') {
        String::new()
    } else {
        format!(" in {search}")
    };
    ToolError::new(
        Reason::NotFound,
        format!("there is no program `{name}`{place}"),
    )
    .field("argv[0]")
    .hint("it is granted but not installed here: use another program")
}

fn unauthorized(name: &str, granted: &[String]) -> ToolError {
    let name: String = name.chars().take(200).collect();
    ToolError::new(Reason::Unauthorized, format!("`{name}` is not a granted program"))
        .field("argv[0]")
        .hint(format!(
            "granted: {}; argv[0] is the program alone, without arguments; only the operator can add one to \
             `programs` under grants.process",
            listed(granted)
        ))
}

#[cfg(test)]
mod tests;
