//! The file that takes the new content before it takes the name. Removed again unless
//! it was put in place.

use std::{io, path::Path};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use rustix::{
    fs::{Mode, RenameFlags, fchmod, renameat_with},
    io::Errno,
};

use super::locate::Entry;

/// Before the old file's mode is known to fit: for nobody else's eyes.
const PRIVATE: u32 = 0o600;
/// What any program asks for a new file; the kernel takes the umask off.
const NEW: u32 = 0o666;

pub(super) struct Temporary<'a> {
    dir: &'a Dir,
    name: String,
    file: File,
    placed: bool,
}

impl<'a> Temporary<'a> {
    /// Beside the entry, so that the rename stays on one disk. `mode` is what the file
    /// shall have in the end (permission bits count); without, it gets that of any new file.
    pub(super) fn beside(entry: &'a Entry, mode: Option<u32>) -> io::Result<Self> {
        // 64 random bits: `create_new` makes a clash an error, not an overwrite.
        let name = format!(
            ".toolgate-{:016x}.tmp",
            getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?
        );
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create_new(true)
            .mode(if mode.is_some() { PRIVATE } else { NEW });
        let file = entry.parent.open_with(&name, &options)?;
        let made = Self {
            dir: &entry.parent,
            name,
            file,
            placed: false,
        };
        if let Some(mode) = mode {
            // The umask does not bind `fchmod`, so the bits come out exactly. Setuid,
            // setgid and sticky go: the content is not what somebody gave them to.
            fchmod(&made.file, Mode::from_raw_mode(mode & 0o777))?;
        }
        Ok(made)
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Syncs, takes the name, syncs the folder. With `new`, fails if the name is taken.
    pub(super) fn put(mut self, name: &Path, new: bool) -> io::Result<()> {
        self.file.sync_all()?;
        if new {
            self.claim(name)?;
        } else {
            self.dir.rename(&self.name, self.dir, name)?;
            self.placed = true;
        }
        sync(self.dir)
    }

    fn claim(&mut self, name: &Path) -> io::Result<()> {
        match renameat_with(self.dir, &self.name, self.dir, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.placed = true,
            // Some file systems cannot rename so; a second name fails as well if taken,
            // and dropping `self` takes the first name away.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                self.dir.hard_link(&self.name, self.dir, name)?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // Nothing better can be done with an error: the caller has its own already.
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

/// A folder's handle cannot be synced itself (it is opened by path only), so a second
/// one is opened for reading.
fn sync(dir: &Dir) -> io::Result<()> {
    match dir.open(".").and_then(|dir| dir.sync_all()) {
        // Some file systems have nothing to sync for a folder.
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(()),
        Err(error) => Err(io::Error::other(format!(
            "it is written, but its folder could not be synced to disk: {error}"
        ))),
        Ok(()) => Ok(()),
    }
}
