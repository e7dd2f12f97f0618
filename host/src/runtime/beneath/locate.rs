//! From a guest path to a handle and a name: which granted folder it lies in, and
//! which entry it means once symbolic links inside that folder are followed.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use cap_std::fs::{Dir, FileType, MetadataExt};

use super::{Code, FileError, Root};

/// Linux gives up after as many.
const MAX_LINKS: usize = 40;

/// A path beneath a granted folder. `..` and links are not resolved yet: only the
/// folder's handle may do that.
pub(super) struct Place<'a> {
    roots: &'a [Root],
    pub(super) root: &'a Root,
    /// As the guest said it, for errors.
    pub(super) said: &'a str,
    pub(super) beneath: PathBuf,
}

/// An entry, by the handle of its folder.
pub(super) struct Entry {
    pub(super) parent: Dir,
    pub(super) name: PathBuf,
    /// Mode of the regular file that has the name now.
    pub(super) mode: Option<u32>,
}

/// The names of a guest path; `.` and doubled slashes mean nothing.
pub(super) fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !matches!(*name, "" | "."))
}

/// The innermost granted folder that `path` begins with.
pub(super) fn place<'a>(roots: &'a [Root], path: &'a str) -> Result<Place<'a>, FileError> {
    let outside = || FileError::new(Code::Escapes, path, "lies outside every granted folder");
    if !path.starts_with('/') {
        return Err(outside());
    }
    let said: Vec<&str> = names(path).collect();
    let root = innermost(roots, &said).ok_or_else(outside)?;
    // `..` could step from this folder's names into those of a folder granted inside
    // it, with other rights. Nobody needs it: guests resolve it before they ask.
    if said.contains(&"..") {
        return Err(FileError::new(Code::Escapes, path, "must not contain `..`"));
    }
    Ok(Place {
        roots,
        root,
        said: path,
        beneath: said.iter().skip(root.guest.len()).collect(),
    })
}

fn innermost<'a>(roots: &'a [Root], names: &[&str]) -> Option<&'a Root> {
    roots
        .iter()
        .filter(|root| {
            names.len() >= root.guest.len() && names.iter().zip(&root.guest).all(|(a, b)| a == b)
        })
        .max_by_key(|root| root.guest.len())
}

impl Place<'_> {
    pub(super) fn failed(&self, error: &io::Error) -> FileError {
        FileError::io(self.said, error)
    }

    /// The entry to write. With `follow`, symbolic links are followed, the last one
    /// also where its target does not exist yet; without, whatever has the name is
    /// refused with [`Code::Exists`].
    pub(super) fn entry(&self, follow: bool, parents: bool) -> Result<Entry, FileError> {
        let mut path = self.beneath.clone();
        for _ in 0..=MAX_LINKS {
            // A path that ends in `..` or is empty names a folder.
            let Some(Component::Normal(name)) = path.components().next_back() else {
                return Err(self.refused(Code::IsDirectory));
            };
            let name = PathBuf::from(name);
            let above = path.parent().unwrap_or(Path::new("")).to_owned();
            self.no_inner_reading(&above)?;
            let parent = self.parent(&above, parents)?;
            let found = match parent.symlink_metadata(&name) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Entry {
                        parent,
                        name,
                        mode: None,
                    });
                }
                Err(error) => return Err(self.failed(&error)),
            };
            if !follow {
                return Err(self.refused(Code::Exists));
            }
            let kind = found.file_type();
            if kind.is_file() {
                let mode = Some(found.mode());
                return Ok(Entry { parent, name, mode });
            }
            if !kind.is_symlink() {
                return Err(self.refused(refusal(kind)));
            }
            let target = parent
                .read_link_contents(&name)
                .map_err(|e| self.failed(&e))?;
            if target.is_absolute() {
                let what = "goes through an absolute symbolic link, which is never followed";
                return Err(FileError::new(Code::Escapes, self.said, what));
            }
            path = above.join(target);
        }
        Err(FileError::new(
            Code::Other,
            self.said,
            "is a circle of symbolic links",
        ))
    }

    pub(super) fn refused(&self, code: Code) -> FileError {
        let what = match code {
            Code::IsDirectory => "is a folder",
            Code::Exists => "exists already",
            _ => "is no regular file (a FIFO, a device or a socket)",
        };
        FileError::new(code, self.said, what)
    }

    /// A symbolic link of this folder may lead into one granted inside it, for reading
    /// only. What does not exist yet cannot be that folder.
    fn no_inner_reading(&self, above: &Path) -> Result<(), FileError> {
        if self.roots.iter().all(|root| root.writable) {
            return Ok(());
        }
        for there in above
            .ancestors()
            .filter(|path| !path.as_os_str().is_empty())
        {
            let real = match self.root.dir.canonicalize(there) {
                Ok(real) => real,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(self.failed(&error)),
            };
            let real = real.to_string_lossy();
            let outer = self.root.guest.iter().map(String::as_str);
            let names: Vec<&str> = outer.chain(names(&real)).collect();
            return match innermost(self.roots, &names) {
                Some(root) if !root.writable => Err(self.read_only()),
                _ => Ok(()),
            };
        }
        Ok(())
    }

    pub(super) fn read_only(&self) -> FileError {
        let what = "lies in a folder that is granted for reading only";
        FileError::new(Code::ReadOnly, self.said, what)
    }

    fn parent(&self, above: &Path, create: bool) -> Result<Dir, FileError> {
        let dir = &self.root.dir;
        if above.as_os_str().is_empty() {
            return dir.try_clone().map_err(|error| self.failed(&error));
        }
        match dir.open_dir(above) {
            Err(error) if create && error.kind() == io::ErrorKind::NotFound => dir
                .create_dir_all(above)
                .and_then(|()| dir.open_dir(above))
                .map_err(|error| self.failed(&error)),
            opened => opened.map_err(|error| self.failed(&error)),
        }
    }
}

/// For what is no regular file.
pub(super) fn refusal(kind: FileType) -> Code {
    if kind.is_dir() {
        Code::IsDirectory
    } else {
        Code::Unsupported
    }
}
