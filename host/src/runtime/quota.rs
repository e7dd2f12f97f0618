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
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
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
    /// Reserved for writes that have not ended: no count of the folder can be sure of them.
    pending: u64,
}

/// Room for one write, which may be under way as long as this is held.
#[derive(Debug)]
pub(super) struct Reserved {
    quota: Arc<Quota>,
    bytes: u64,
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
        self.state().used = None;
    }

    /// Takes room for this many bytes. None: there is none, also by a fresh count.
    pub(super) fn reserve(self: &Arc<Self>, growth: u64) -> io::Result<Option<Reserved>> {
        let reserved = || Reserved {
            quota: Arc::clone(self),
            bytes: growth,
        };
        if growth == 0 {
            return Ok(Some(reserved()));
        }
        let mut state = self.state();
        let fits = |used: u64| used.checked_add(growth).is_some_and(|sum| sum <= LIMIT);
        let known = state
            .used
            .filter(|used| fits(*used) && state.since + growth <= TRUST);
        let used = match known {
            Some(used) => used,
            None => {
                state.since = 0;
                count(&self.folder)?.saturating_add(state.pending)
            }
        };
        if !fits(used) {
            state.used = Some(used);
            return Ok(None);
        }
        state.used = Some(used + growth);
        state.since += growth;
        state.pending += growth;
        Ok(Some(reserved()))
    }

    /// Gives room back.
    pub(super) fn release(&self, bytes: u64) {
        let mut state = self.state();
        state.used = state.used.map(|used| used.saturating_sub(bytes));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut state = self.quota.state();
        state.pending = state.pending.saturating_sub(self.bytes);
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
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if found.is_dir() {
                folders.push(entry.path());
            } else if found.is_file()
                && (found.nlink() == 1 || seen.insert((found.dev(), found.ino())))
            {
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
        self.0
            .iter()
            .any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Arc<Quota>) {
        let folder = tempfile::tempdir().unwrap();
        let quota = Arc::new(Quota::of(folder.path().to_owned()));
        (folder, quota)
    }

    fn fits(quota: &Arc<Quota>, growth: u64) -> bool {
        quota.reserve(growth).unwrap().is_some()
    }

    #[test]
    fn what_is_there_counts() {
        let (folder, quota) = folder();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        let big = folder.path().join("a/b/big");
        fs::File::create(&big).unwrap().set_len(LIMIT - 10).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
        fs::hard_link(&big, folder.path().join("same")).unwrap();
        for (growth, fit) in [(0, true), (11, false), (u64::MAX, false), (10, true)] {
            assert_eq!(fits(&quota, growth), fit, "{growth}");
        }
    }

    #[test]
    fn full_is_believed_only_by_a_fresh_count() {
        let (folder, quota) = folder();
        // Reserved and never written, as by a call that was ended.
        for _ in 0..LIMIT / TRUST + 5 {
            assert!(fits(&quota, TRUST));
        }
        let file = fs::File::create(folder.path().join("big")).unwrap();
        file.set_len(LIMIT).unwrap();
        assert!(!fits(&quota, TRUST), "another process filled it");
        file.set_len(0).unwrap();
        assert!(fits(&quota, TRUST));
        quota.release(u64::MAX);
        assert!(fits(&quota, 1));
    }

    #[test]
    fn a_write_that_is_under_way_is_in_every_count() {
        let (_folder, quota) = folder();
        let held: Vec<_> = (0..LIMIT / TRUST)
            .map(|_| quota.reserve(TRUST).unwrap().unwrap())
            .collect();
        assert!(!fits(&quota, 1));
        drop(held);
        assert!(fits(&quota, LIMIT));
    }
}
