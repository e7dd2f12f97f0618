//! What a plugin may keep in its private folder, counted where it writes. One count for all
//! calls and all versions of the plugin; what other processes on the same data folder
//! write is met when the folder is counted again.

mod shadow;
mod stream;

use std::{
    collections::HashSet,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

pub(super) use shadow::shadow;

/// Bytes of all files together, by their lengths.
const LIMIT: u64 = 64 << 20;
/// After this much growth the folder is counted again: another process may have written.
const TRUST: u64 = 8 << 20;

/// One plugin's private folder.
#[derive(Debug)]
pub struct Quota {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// None: not counted yet.
    used: Option<u64>,
    /// Growth since the folder was counted.
    since: u64,
}

impl Quota {
    /// Of this folder, which is counted at the first write.
    #[must_use]
    pub fn of(folder: PathBuf) -> Self {
        Self {
            folder,
            state: Mutex::default(),
        }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new version of the plugin does not believe the old one's count.
    pub fn recount(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// Takes room for this many bytes. False: there is none, also by a fresh count.
    pub(super) fn reserve(&self, growth: u64) -> io::Result<bool> {
        if growth == 0 {
            return Ok(true);
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |used: u64| used.checked_add(growth).is_some_and(|sum| sum <= LIMIT);
        let known = state.used.filter(|used| fits(*used) && state.since + growth <= TRUST);
        let used = match known {
            Some(used) => used,
            None => {
                state.since = 0;
                count(&self.folder)?
            }
        };
        if !fits(used) {
            state.used = Some(used);
            return Ok(false);
        }
        state.used = Some(used + growth);
        state.since += growth;
        Ok(true)
    }

    /// Gives room back.
    pub(super) fn release(&self, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.used = state.used.map(|used| used.saturating_sub(bytes));
    }
}

/// All regular files below a folder, each once however often it is linked. No link is
/// followed. In a loop: a plugin may have made folders thousands deep.
fn count(folder: &Path) -> io::Result<u64> {
    let (mut folders, mut seen, mut sum) = (vec![folder.to_owned()], HashSet::new(), 0_u64);
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            // It went while its parent was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                folders.push(entry.path());
            } else if found.is_file() && (found.nlink() == 1 || seen.insert((found.dev(), found.ino()))) {
                sum = sum.saturating_add(found.len());
            }
        }
    }
    Ok(sum)
}

/// Which of a call's open files and folders lie in the private folder. Weak, so that an
/// address is not used again while it is remembered.
#[derive(Debug, Default)]
pub(super) struct Private(Vec<Weak<fs::File>>);

impl Private {
    pub(super) fn add(&mut self, file: &Arc<fs::File>) {
        self.0.retain(|known| known.strong_count() > 0);
        self.0.push(Arc::downgrade(file));
    }

    pub(super) fn holds(&self, file: &Arc<fs::File>) -> bool {
        self.0.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Quota) {
        let folder = tempfile::tempdir().unwrap();
        let quota = Quota::of(folder.path().to_owned());
        (folder, quota)
    }

    #[test]
    fn what_is_there_counts() {
        let (folder, quota) = folder();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::File::create(folder.path().join("a/b/big")).unwrap().set_len(LIMIT - 10).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
        fs::hard_link(folder.path().join("a/b/big"), folder.path().join("same")).unwrap();
        assert!(quota.reserve(10).unwrap());
        assert!(!quota.reserve(1).unwrap() || count(folder.path()).unwrap() == LIMIT - 10);
        assert!(!quota.reserve(11).unwrap());
        assert!(!quota.reserve(u64::MAX).unwrap());
    }

    #[test]
    fn full_is_believed_only_by_a_fresh_count() {
        let (folder, quota) = folder();
        // Reserved and never written, as by a call that was ended.
        for _ in 0..LIMIT / TRUST + 5 {
            assert!(quota.reserve(TRUST).unwrap());
        }
        let file = fs::File::create(folder.path().join("big")).unwrap();
        file.set_len(LIMIT).unwrap();
        assert!(!quota.reserve(TRUST).unwrap(), "another process filled it");
        file.set_len(0).unwrap();
        assert!(quota.reserve(TRUST).unwrap());
        quota.release(u64::MAX);
        assert!(quota.reserve(1).unwrap());
    }
}
