//! Folders that are granted, and Toolgate's own, which never are.
//!
//! Compared after symbolic links are resolved; of what does not exist yet, the part that
//! does is resolved.

use std::{
    fs,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use super::{check::Check, document::KeyPath};

/// A folder or file of Toolgate's own.
#[derive(Debug, Clone)]
pub(super) struct Protected {
    what: &'static str,
    path: PathBuf,
    /// Reading it is harmless.
    only_from_writing: bool,
}

impl Protected {
    /// No grant may include it, or lie within.
    pub(super) fn new(what: &'static str, path: &Path) -> Self {
        Self {
            what,
            path: resolve(path),
            only_from_writing: false,
        }
    }

    /// No writable grant may include it, or lie within.
    pub(super) fn from_writing(what: &'static str, path: &Path) -> Self {
        Self {
            only_from_writing: true,
            ..Self::new(what, path)
        }
    }

    fn meets(&self, folder: &Path, writable: bool) -> bool {
        (writable || !self.only_from_writing)
            && (folder.starts_with(&self.path) || self.path.starts_with(folder))
    }
}

/// A folder on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folder {
    /// As it is after all links.
    pub(super) real: PathBuf,
    /// As it was written, made absolute.
    pub(super) named: PathBuf,
}

impl Check<'_> {
    /// The existing folder that `text` means, if it may be granted.
    pub(super) fn folder(&mut self, key: &KeyPath, text: &str, writable: bool) -> Option<Folder> {
        let named = self.path(key, text);
        let shown = named.display();
        if text.is_empty() {
            self.problem(
                key,
                "an empty path names no folder",
                "use `.` for this file's own folder",
            );
            return None;
        }
        let real = match fs::canonicalize(&named) {
            Ok(real) if real.is_dir() => real,
            Ok(_) => {
                self.problem(
                    key,
                    format!("{shown} is not a folder"),
                    "grant the folder that holds it",
                );
                return None;
            }
            Err(error) => {
                let (what, hint) = match error.kind() {
                    _ if text.starts_with('~') => (
                        format!("there is no folder {shown}"),
                        "`~` is not expanded: write the whole path".to_owned(),
                    ),
                    ErrorKind::NotFound => (
                        format!("there is no folder {shown}"),
                        format!("create it: mkdir -p '{shown}'"),
                    ),
                    _ => (
                        format!("the folder {shown} cannot be looked at: {error}"),
                        "check its permissions".to_owned(),
                    ),
                };
                self.problem(key, what, hint);
                return None;
            }
        };
        if real.to_str().is_none() {
            self.problem(
                key,
                format!("{shown} is no UTF-8 path"),
                "rename the folder",
            );
            return None;
        }
        if let Some(own) = self.conflict(&real, writable) {
            let relation = if real.starts_with(&own.path) {
                "lies within"
            } else {
                "includes"
            };
            self.problem(
                key,
                format!(
                    "{} {relation} Toolgate's own {} {}",
                    real.display(),
                    own.what,
                    own.path.display()
                ),
                format!(
                    "grant a smaller folder, or move Toolgate's {} elsewhere",
                    own.what
                ),
            );
            return None;
        }
        Some(Folder {
            real,
            named: fold(&named),
        })
    }

    /// What of Toolgate's own a grant of this folder would lay open.
    pub(super) fn conflict(&self, folder: &Path, writable: bool) -> Option<Protected> {
        self.protected
            .iter()
            .find(|own| own.meets(folder, writable))
            .cloned()
    }
}

/// The path after all links, as far as it exists; the rest by its text.
pub(super) fn resolve(path: &Path) -> PathBuf {
    let path = fold(path);
    for ancestor in path.ancestors() {
        if let Ok(real) = fs::canonicalize(ancestor) {
            return match path.strip_prefix(ancestor) {
                Ok(rest) if rest.as_os_str().is_empty() => real,
                Ok(rest) => real.join(rest),
                Err(_) => real,
            };
        }
    }
    path
}

/// Without `.`, `..` and trailing slashes, by text alone.
fn fold(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop();
            }
            part => folded.push(part),
        }
    }
    folded
}
