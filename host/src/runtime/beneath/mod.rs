//! What a guest cannot do alone beneath its granted folders: replace or copy a file
//! atomically with its mode bits kept. Every step goes through the folder's own
//! handle, so no name can lead out of it, and nothing here follows an ambient path.
//!
//! The functions block (they sync to disk): call them where blocking is allowed.
//!
//! Kept: the nine permission bits, and a symbolic link inside the folder (its target
//! is replaced). Not kept: owner, ACL, extended attributes, setuid, setgid and sticky
//! bits. Another hard link of a replaced file keeps the old content. Absolute symbolic
//! links are refused, also where they point inside.

mod copy;
mod error;
mod locate;
mod replace;
mod temporary;
#[cfg(test)]
mod tests;

use std::{io, path::PathBuf, sync::atomic::AtomicBool};

use cap_std::{ambient_authority, fs::Dir};

use crate::policy::FsGrant;

pub(crate) use error::{Code, FileError};

/// The granted folders of one plugin, opened once per plugin generation.
#[derive(Debug)]
pub(crate) struct Roots {
    roots: Vec<Root>,
}

#[derive(Debug)]
struct Root {
    /// Names of the guest path, from the top.
    guest: Vec<String>,
    writable: bool,
    dir: Dir,
}

impl Roots {
    /// Opens each granted folder, in order.
    ///
    /// # Errors
    ///
    /// The host path that could not be opened as a folder, and why.
    pub(crate) fn open(grants: &[FsGrant]) -> Result<Self, (PathBuf, io::Error)> {
        let mut roots = Vec::with_capacity(grants.len());
        for grant in grants {
            let dir = Dir::open_ambient_dir(&grant.host, ambient_authority())
                .map_err(|error| (grant.host.clone(), error))?;
            roots.push(Root {
                guest: locate::names(&grant.guest).map(str::to_owned).collect(),
                writable: grant.writable,
                dir,
            });
        }
        Ok(Self { roots })
    }

    /// Gives the file at `guest_path` the content `data`, atomically: a reader sees the
    /// old bytes or the new ones. With `create_new`, fails with [`Code::Exists`] if
    /// anything has that name, a dangling link included. With `parents`, missing
    /// folders above the file are created.
    ///
    /// # Errors
    ///
    /// Nothing was changed, except that created parent folders stay, and that a failure
    /// to sync the folder (said so) comes after the file has been replaced.
    pub(crate) fn replace(
        &self,
        guest_path: &str,
        data: &[u8],
        create_new: bool,
        parents: bool,
    ) -> Result<(), FileError> {
        replace::run(&self.target(guest_path)?, data, create_new, parents)
    }

    /// Copies one regular file with its permission bits and gives the bytes copied.
    /// Replaces atomically like [`Roots::replace`]; without `overwrite` fails with
    /// [`Code::Exists`] if anything has the target's name. `stop` is looked at between
    /// pieces of 256 KiB: once it is true the copy ends with [`Code::Other`].
    ///
    /// # Errors
    ///
    /// As for [`Roots::replace`]; an unfinished copy leaves nothing behind.
    pub(crate) fn copy(
        &self,
        source: &str,
        target: &str,
        overwrite: bool,
        parents: bool,
        stop: &AtomicBool,
    ) -> Result<u64, FileError> {
        copy::run(
            &self.place(source)?,
            &self.target(target)?,
            overwrite,
            parents,
            stop,
        )
    }

    fn target<'a>(&'a self, path: &'a str) -> Result<locate::Place<'a>, FileError> {
        let place = self.place(path)?;
        if place.root.writable {
            Ok(place)
        } else {
            Err(place.read_only())
        }
    }

    fn place<'a>(&'a self, path: &'a str) -> Result<locate::Place<'a>, FileError> {
        locate::place(&self.roots, path)
    }
}
