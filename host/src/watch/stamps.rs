//! What the file system says about files without reading them.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::Interest;

/// Of all files that matter. A difference may be a change; no difference is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamps(BTreeMap<PathBuf, Stamp>);

#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamps {
    pub(super) fn take(interests: &[Interest]) -> Self {
        let mut stamps = BTreeMap::new();
        let mut add = |path: PathBuf| {
            if let Some(stamp) = Stamp::of(&path) {
                stamps.insert(path, stamp);
            }
        };
        for interest in interests {
            match interest {
                Interest::File(path) => add(path.clone()),
                Interest::Components(folder) => {
                    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                    entries
                        .map(|entry| entry.path())
                        .filter(|path| path.extension() == Some(OsStr::new("wasm")))
                        .for_each(&mut add);
                }
            }
        }
        Self(stamps)
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        Some(Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}
