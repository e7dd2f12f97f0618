//! Where the file system has to be watched so that no change of some files is missed.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::{OsStr, OsString},
    fs,
    path::{Component, Path, PathBuf},
};

/// Links on one way; the system's own limit.
const LINKS: usize = 40;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interest {
    /// This file.
    File(PathBuf),
    /// All `*.wasm` in this folder.
    Components(PathBuf),
}

/// Folders, and what counts in each.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Places(BTreeMap<PathBuf, What>);

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct What {
    names: BTreeSet<OsString>,
    components: bool,
}

impl Places {
    /// As the file system is now.
    pub(super) fn of(interests: &[Interest]) -> Self {
        let mut places = Self::default();
        for interest in interests {
            match interest {
                Interest::File(path) => {
                    places.walk(path);
                }
                Interest::Components(folder) => {
                    let Some(real) = places.walk(folder).filter(|real| real.is_dir()) else {
                        continue;
                    };
                    places.0.entry(real.clone()).or_default().components = true;
                    for link in links_in(&real) {
                        places.walk(&link);
                    }
                }
            }
        }
        places
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    /// Whether a change at this path counts.
    pub(super) fn contain(&self, path: &Path) -> bool {
        // A watched folder that is removed or moved reports itself.
        if self.0.contains_key(path) {
            return true;
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return false;
        };
        self.0.get(folder).is_some_and(|what| {
            what.names.contains(name)
                || (what.components && Path::new(name).extension() == Some(OsStr::new("wasm")))
        })
    }

    /// A folder for whose changes the system does not vouch.
    pub(super) fn on_network(&self) -> Option<&Path> {
        self.folders().find(|folder| is_network(folder))
    }

    /// Goes to a path, and notes the folder and name of every link on the way and of the
    /// end; where something does not exist, that is the end. Returns the real path.
    fn walk(&mut self, path: &Path) -> Option<PathBuf> {
        let mut here = PathBuf::from("/");
        let mut links = 0;
        let mut ahead: VecDeque<OsString> = parts(path);
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&name);
            let meta = fs::symlink_metadata(&next);
            let is_link = meta.as_ref().is_ok_and(fs::Metadata::is_symlink);
            if is_link || meta.is_err() || ahead.is_empty() {
                self.note(&here, &name);
            }
            meta.ok()?;
            if is_link {
                links += 1;
                if links > LINKS {
                    return None;
                }
                let target = fs::read_link(&next).ok()?;
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    ahead.push_front(part);
                }
            } else {
                here = next;
            }
        }
        Some(here)
    }

    fn note(&mut self, folder: &Path, name: &OsStr) {
        let what = self.0.entry(folder.to_owned()).or_default();
        what.names.insert(name.to_owned());
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect()
}

/// Components that lie elsewhere.
fn links_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some(OsStr::new("wasm")))
        .collect()
}

/// The kinds that show changes by other machines, of which this one's kernel hears
/// nothing: NFS, SMB, CIFS, 9P, FUSE, Ceph, AFS (`statfs(2)`).
#[cfg(target_os = "linux")]
fn is_network(folder: &Path) -> bool {
    const NETWORK: [u64; 8] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x0102_1997,
        0x6573_5546,
        0x00c3_6400,
        0x5346_414f,
    ];
    rustix::fs::statfs(folder)
        .ok()
        .and_then(|found| u64::try_from(found.f_type).ok())
        .is_some_and(|kind| NETWORK.contains(&(kind & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn is_network(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(places: &Places, folder: &Path) -> Vec<String> {
        let what = places.0.get(folder);
        what.into_iter()
            .flat_map(|what| &what.names)
            .map(|name| name.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_linked_folder_is_watched_at_the_link_and_at_its_end() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("releases/1")).unwrap();
        symlink("releases/1", root.join("plugins")).unwrap();
        let places = Places::of(&[Interest::Components(root.join("plugins"))]);
        assert_eq!(names(&places, &root), ["plugins"]);
        assert!(places.contain(&root.join("plugins")));
        assert!(places.contain(&root.join("releases/1/a.wasm")));
        assert!(places.contain(&root.join("releases/1")));
        assert!(!places.contain(&root.join("releases/1/a.txt")));
        assert!(!places.contain(&root.join("other")));
    }

    #[test]
    fn what_does_not_exist_is_waited_for_where_something_does() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let places = Places::of(&[
            Interest::Components(root.join("a/b")),
            Interest::File(root.join("c/d.wasm")),
        ]);
        assert_eq!(names(&places, &root), ["a", "c"]);
        assert_eq!(places.folders().count(), 1);
    }

    #[test]
    fn a_linked_file_is_watched_where_it_lies() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("plugins")).unwrap();
        fs::create_dir_all(root.join("build")).unwrap();
        fs::write(root.join("build/x.wasm"), b"").unwrap();
        symlink("../build/x.wasm", root.join("plugins/x.wasm")).unwrap();
        let places = Places::of(&[Interest::Components(root.join("plugins"))]);
        assert!(places.contain(&root.join("build/x.wasm")));
        assert!(!places.contain(&root.join("build/y.wasm")));
    }

    #[test]
    fn a_circle_of_links_ends() {
        let root = tempfile::tempdir().unwrap();
        symlink("b", root.path().join("a")).unwrap();
        symlink("a", root.path().join("b")).unwrap();
        let places = Places::of(&[Interest::File(root.path().join("a"))]);
        assert!(places.folders().count() >= 1);
    }
}
