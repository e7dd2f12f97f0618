//! Which found configurations an operator has looked at.
//!
//! A repository that one clones may hold a configuration, and an agent may write one into
//! its workspace. Such a file is used only while its text, its place and the folders to
//! which its grants lead are the ones that were recorded. The record lies in the data
//! folder of the user, never in one that the file itself names.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Dirs, environment::Environment};
use crate::tool::Digest;

/// A record is a configuration of at most 1 MiB as JSON, where each byte may take six.
const LARGEST: u64 = 8 << 20;

/// The folder of records.
#[derive(Debug, Clone)]
pub struct TrustStore {
    folder: PathBuf,
}

/// What was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// The file, resolved.
    pub path: PathBuf,
    /// Of its bytes.
    pub sha256: String,
    /// Its text, so that a change can be shown.
    pub text: String,
    /// Where its grants led, resolved.
    pub folders: Vec<PathBuf>,
}

/// Where trust is recorded: below the user's data folder, or the one that the
/// environment names.
pub(super) fn folder(environment: &Environment, start: &Path, dirs: &Dirs) -> PathBuf {
    let data = environment
        .get(&["host", "data_dir"])
        .and_then(|one| one.value.as_str())
        .map_or_else(|| dirs.data.clone(), |text| start.join(text));
    data.join("trust")
}

impl TrustStore {
    /// Records in this folder, which is made when it is needed.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// What was trusted at this place, if anything.
    #[must_use]
    pub fn recorded(&self, path: &Path) -> Option<Trusted> {
        let file = self.file(path);
        // A record that cannot be read is none: the operator is asked again.
        let small = fs::metadata(&file).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
        let record: Trusted = small
            .then(|| fs::read(&file).ok())
            .flatten()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())?;
        (record.path == path).then_some(record)
    }

    /// Whether exactly these bytes were trusted at this place.
    #[must_use]
    pub fn is_trusted(&self, path: &Path, bytes: &[u8]) -> bool {
        self.recorded(path)
            .is_some_and(|record| record.sha256 == Digest::of(bytes).hex())
    }

    /// Trusts this text at this place, with grants that lead to these folders. Replaces
    /// what was trusted there before.
    ///
    /// # Errors
    ///
    /// If the record cannot be written.
    pub fn record(&self, path: &Path, text: &str, folders: &[PathBuf]) -> io::Result<()> {
        let record = Trusted {
            path: path.to_owned(),
            sha256: Digest::of(text.as_bytes()).hex(),
            text: text.to_owned(),
            folders: folders.to_vec(),
        };
        // Owner only: settings may hold what others should not read.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let file = self.file(path);
        let fresh = file.with_extension(format!("{}.new", std::process::id()));
        let written = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)
            .and_then(|mut out| {
                out.write_all(&serde_json::to_vec(&record)?)?;
                out.sync_all()
            })
            .and_then(|()| fs::rename(&fresh, &file));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written
    }

    /// By a digest of the path: no file's name can lead out of the folder.
    fn file(&self, path: &Path) -> PathBuf {
        let name = Digest::of(path.as_os_str().as_encoded_bytes()).hex();
        self.folder.join(format!("{name}.json"))
    }
}

/// The lines that were taken out (`- `) and put in (`+ `), in order. A moved line is both:
/// in another section it means something else.
#[must_use]
pub fn difference(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let front = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let back = old[front..]
        .iter()
        .rev()
        .zip(new[front..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[front..old.len() - back], &new[front..new.len() - back]);
    let out = |line: &&str| format!("- {}", super::error::shown(line));
    let into = |line: &&str| format!("+ {}", super::error::shown(line));
    // The table below grows with the product; beyond this, all old and all new lines.
    if old.len().saturating_mul(new.len()) > 4_000_000 {
        return old.iter().map(out).chain(new.iter().map(into)).collect();
    }
    let width = new.len() + 1;
    // Longest common run of lines from each pair of positions on.
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = if old[i] == new[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1])
        {
            lines.push(out(&old[i]));
            i += 1;
        } else {
            lines.push(into(&new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_the_same_bytes_at_the_same_place_are_trusted() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path().join("data/trust"));
        let place = Path::new("/a/toolgate.toml");
        assert!(!store.is_trusted(place, b"x = 1"));
        store.record(place, "x = 1", &[]).unwrap();
        assert!(store.is_trusted(place, b"x = 1"));
        assert!(!store.is_trusted(place, b"x = 1\n"));
        assert!(!store.is_trusted(Path::new("/b/toolgate.toml"), b"x = 1"));
        store.record(place, "x = 2", &[]).unwrap();
        assert!(!store.is_trusted(place, b"x = 1"));
        assert_eq!(store.recorded(place).unwrap().text, "x = 2");
    }

    #[test]
    fn records_are_the_owners_alone_and_a_broken_one_is_none() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path().join("data/trust"));
        let place = Path::new("/a/toolgate.toml");
        store.record(place, "x", &[]).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.folder), 0o700);
        assert_eq!(mode(store.folder.parent().unwrap()), 0o700);
        let files: Vec<_> = fs::read_dir(&store.folder)
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(mode(&files[0]), 0o600);
        fs::write(&files[0], "{").unwrap();
        assert!(!store.is_trusted(place, b"x"));
    }

    #[test]
    fn a_difference_shows_changed_and_moved_lines_only() {
        assert_eq!(
            difference("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n"),
            ["- b", "+ B", "+ e"]
        );
        assert_eq!(difference("[a]\nx\n[b]\n", "[a]\n[b]\nx\n"), ["- x", "+ x"]);
        assert!(difference("a\n", "a\n").is_empty());
        assert_eq!(difference("", "\u{1b}[2J"), ["+ \\u{1b}[2J"]);
    }
}
