//! From the text that a model gave to a place inside a granted folder. Refuses what
//! lies outside, and spellings that mean something else than a model thinks.
//!
//! `..` is taken by the words of the path, before anything is looked up. Symbolic links
//! are followed here, name by name, so that a path that leaves is refused with its
//! name; the sandbox would refuse it anyway.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs::{self, Metadata},
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use toolgate_sdk::{ToolError, files::Root};

use crate::{
    fault,
    host::{Host, Sandbox},
    protected,
};

/// What Linux takes, and no other system takes more.
const MAX_PATH: usize = 4_096;
const MAX_NAME: usize = 255;
const MAX_LINKS: usize = 40;

/// The granted folders during one call.
pub(crate) struct Folders<'h> {
    pub(crate) host: &'h dyn Host,
    roots: Vec<Root>,
}

/// A path inside a granted folder, by its words alone.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The argument that named it.
    pub(crate) field: &'static str,
    /// Absolute, no `.` or `..`.
    pub(crate) path: String,
    /// As other tools take it and models read it: relative in the first folder if it
    /// was given so, else absolute. Empty for the first folder itself.
    pub(crate) shown: String,
    root: usize,
}

/// Where a place is once symbolic links are followed.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// Absent where nothing is there.
    pub(crate) metadata: Option<Metadata>,
}

impl Folders<'static> {
    /// Those of the sandbox.
    pub(crate) fn granted() -> Self {
        Folders::of(&Sandbox)
    }
}

impl<'h> Folders<'h> {
    pub(crate) fn of(host: &'h dyn Host) -> Self {
        let mut roots = host.roots();
        for root in &mut roots {
            root.path = format!("/{}", normal(&root.path).join("/"));
        }
        Self { host, roots }
    }

    /// # Errors
    ///
    /// `unauthorized` for what lies outside, `path` for what is no usable path.
    pub(crate) fn place(&self, field: &'static str, said: &str) -> Result<Place, ToolError> {
        check(said).map_err(|error| error.field(field))?;
        let Some(first) = self.roots.first() else {
            return Err(ToolError::new("unauthorized", format!("`{said}` cannot be reached: no folder is granted"))
                .field(field)
                .hint("the operator grants one: `[plugins.files.grants]` `fs = [{ host = \"…\", mode = \"rw\" }]`"));
        };
        let relative = !said.starts_with('/');
        let whole = if relative {
            format!("{}/{said}", first.path)
        } else {
            said.to_owned()
        };
        let path = format!("/{}", normal(&whole).join("/"));
        let (root, granted) = self
            .roots
            .iter()
            .enumerate()
            .filter(|(_, root)| beneath(&path, &root.path).is_some())
            .max_by_key(|(_, root)| root.path.len())
            .ok_or_else(|| self.outside(field, said))?;
        let shown = match beneath(&path, &granted.path) {
            Some(rest) if relative && root == 0 => rest.to_owned(),
            _ => path.clone(),
        };
        Ok(Place {
            field,
            path,
            shown,
            root,
        })
    }

    /// Follows the links of a place. With `last` false a link that is the place itself
    /// is what is found.
    pub(crate) fn find(&self, place: &Place, last: bool) -> Result<Found, ToolError> {
        let leaves = |what: &str| {
            let what = format!("`{}` goes through a symbolic link that {what}", place.path);
            self.refused(place.field, what)
        };
        let failed = |error: &std::io::Error| fault::io(place.field, &place.path, error);
        let mut at = PathBuf::from(&self.roots[place.root].path);
        let mut todo: VecDeque<OsString> = self.names(place).map(OsString::from).collect();
        let (mut depth, mut links, mut missing) = (0_usize, 0, false);
        while let Some(name) = todo.pop_front() {
            if name == ".." {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| leaves("leaves the granted folder"))?;
                at.pop();
                continue;
            }
            at.push(name);
            depth += 1;
            if missing {
                continue;
            }
            match fs::symlink_metadata(&at) {
                Ok(found) if found.is_symlink() && (last || !todo.is_empty()) => {
                    links += 1;
                    if links > MAX_LINKS {
                        let what = format!("`{}` is a circle of symbolic links", place.path);
                        return Err(ToolError::new("path", what).field(place.field));
                    }
                    let target = match fs::read_link(&at) {
                        Ok(target) if !target.is_absolute() => target,
                        // The sandbox does not even tell an absolute target.
                        Err(error) if error.kind() != ErrorKind::PermissionDenied => {
                            return Err(failed(&error));
                        }
                        _ => return Err(leaves("is absolute (never followed, not even inside)")),
                    };
                    at.pop();
                    depth -= 1;
                    for part in target.components().rev() {
                        match part {
                            Component::Normal(name) => todo.push_front(name.to_owned()),
                            Component::ParentDir => todo.push_front("..".into()),
                            _ => {}
                        }
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => missing = true,
                Err(error) => return Err(failed(&error)),
            }
        }
        // Looked up again, since the walk may have ended on a `..`.
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&error)),
        };
        Ok(Found { path: at, metadata })
    }

    /// Like [`Folders::find`] with links followed, for what has to be there.
    pub(crate) fn existing(&self, place: &Place) -> Result<(PathBuf, Metadata), ToolError> {
        let found = self.find(place, true)?;
        match found.metadata {
            Some(metadata) => Ok((found.path, metadata)),
            None => Err(fault::not_found(place.field, &place.path)),
        }
    }

    /// Like [`Folders::existing`], for a regular file.
    pub(crate) fn file(&self, place: &Place) -> Result<(PathBuf, Metadata), ToolError> {
        let (path, metadata) = self.existing(place)?;
        if metadata.is_dir() {
            Err(fault::is_directory(place.field, &place.path))
        } else if metadata.is_file() {
            Ok((path, metadata))
        } else {
            Err(fault::special(place.field, &place.path))
        }
    }

    /// May the place be changed? With `last` false the place itself is changed (moved,
    /// deleted) even if it is a link. Gives what is there.
    pub(crate) fn writable(&self, place: &Place, last: bool) -> Result<Found, ToolError> {
        let root = &self.roots[place.root];
        if !root.writable {
            return Err(self.read_only(place, &root.path));
        }
        let found = self.find(place, last)?;
        // A link may lead into a folder that is granted inside this one.
        let inner = self
            .roots
            .iter()
            .filter(|root| found.path.starts_with(&root.path))
            .max_by_key(|root| Path::new(&root.path).components().count());
        if let Some(inner) = inner.filter(|root| !root.writable) {
            return Err(self.read_only(place, &inner.path));
        }
        let real = found.path.strip_prefix(&root.path).unwrap_or(Path::new(""));
        let named = self.names(place).any(protected::is_git);
        // A link may have another name and still lead into git's folder.
        if named
            || real
                .iter()
                .any(|name| protected::is_git(&name.to_string_lossy()))
        {
            return Err(protected::refusal(place.field, &place.path));
        }
        Ok(found)
    }

    fn read_only(&self, place: &Place, root: &str) -> ToolError {
        let what = format!(
            "`{}` lies in `{root}`, which is granted for reading only",
            place.path
        );
        ToolError::new("read_only", what)
            .field(place.field)
            .hint(self.granted_text())
    }

    /// Refuses a granted folder, and a folder that holds one.
    pub(crate) fn no_root(&self, place: &Place, found: &Found) -> Result<(), ToolError> {
        match self
            .roots
            .iter()
            .find(|root| Path::new(&root.path).starts_with(&found.path))
        {
            Some(root) => {
                let what = format!(
                    "`{}` is or holds the granted folder `{}`",
                    place.path, root.path
                );
                Err(ToolError::new("unauthorized", what)
                    .field(place.field)
                    .hint("a granted folder itself is never deleted or moved, only what is in it"))
            }
            None => Ok(()),
        }
    }

    /// The granted folder that the place lies in.
    pub(crate) fn root(&self, place: &Place) -> &Path {
        Path::new(&self.roots[place.root].path)
    }

    fn names<'p>(&self, place: &'p Place) -> impl Iterator<Item = &'p str> + use<'p> {
        let rest = beneath(&place.path, &self.roots[place.root].path).unwrap_or_default();
        rest.split('/').filter(|name| !name.is_empty())
    }

    fn outside(&self, field: &str, said: &str) -> ToolError {
        self.refused(field, format!("`{said}` lies outside the granted folders"))
    }

    fn refused(&self, field: &str, what: String) -> ToolError {
        ToolError::new("unauthorized", what)
            .field(field)
            .hint(self.granted_text())
    }

    fn granted_text(&self) -> String {
        let mut text = String::from("granted:");
        for root in &self.roots {
            let mode = if root.writable {
                "read and write"
            } else {
                "read only"
            };
            text.push_str(&format!(" `{}` ({mode})", root.path));
        }
        text.push_str("; relative paths resolve in the first");
        text
    }
}

impl Place {
    /// How an entry `rest` names beneath this place is shown.
    pub(crate) fn join(&self, rest: &str) -> String {
        match (self.shown.as_str(), rest) {
            (shown, "") => shown.to_owned(),
            ("", rest) => rest.to_owned(),
            ("/", rest) => format!("/{rest}"),
            (shown, rest) => format!("{shown}/{rest}"),
        }
    }
}

/// The names of an absolute path, with `.` and `..` taken away.
fn normal(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            // Above the top there is the top, as everywhere.
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names
}

/// What follows `root` in `path`, if it lies in it: whole names count, not letters.
fn beneath<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('/')
    }
}

/// Refuses what no file is called by, with the reason that fits.
fn check(said: &str) -> Result<(), ToolError> {
    let scheme = said
        .split_once("://")
        .filter(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphabetic()));
    let drive =
        matches!(said.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let show = || said.escape_debug().to_string();
    let refuse =
        |reason: &str, what: String, hint: &str| Err(ToolError::new(reason, what).hint(hint));
    if said.is_empty() {
        refuse(
            "path",
            "the path is empty".into(),
            "`.` is the first granted folder",
        )
    } else if said.len() > MAX_PATH {
        let what = format!(
            "the path has {} bytes; at most {MAX_PATH} are possible",
            said.len()
        );
        refuse("path", what, "give a shorter path")
    } else if said.contains('\0') {
        refuse(
            "unauthorized",
            format!("`{}` contains a NUL character", show()),
            "no file name contains it",
        )
    } else if said == "~" || said.starts_with("~/") {
        let hint = "`~` is not expanded; use a path relative to the first granted folder";
        refuse(
            "unauthorized",
            format!("`{said}` is no path in the granted folders"),
            hint,
        )
    } else if scheme.is_some() {
        let hint = "give a plain path, without `scheme://`";
        refuse(
            "unauthorized",
            format!("`{said}` is a URL, not a path"),
            hint,
        )
    } else if drive || said.contains('\\') {
        let hint = "separate names with `/`, without a drive letter";
        refuse(
            "path",
            format!("`{said}` contains a backslash or a drive letter"),
            hint,
        )
    } else if let Some(name) = said.split('/').find(|name| name.len() > MAX_NAME) {
        let what = format!(
            "a name in the path has {} bytes; at most {MAX_NAME} are possible",
            name.len()
        );
        refuse("path", what, "give a shorter name")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
