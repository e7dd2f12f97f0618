//! What lies beneath a folder, one entry after the other, in bounded memory.
//!
//! One rule for every tool that looks into subfolders: what `.gitignore` and `.ignore`
//! exclude is left out, and so are `.git` folders, unless all is asked for; dot files
//! are shown; symbolic links are shown and never followed. An entry that cannot be
//! read is counted and ends nothing.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use ignore::{DirEntry, WalkBuilder};

/// Beyond this many kept paths a result would be cut anyway, and memory is bounded.
const KEPT: usize = 100_000;
const KEPT_BYTES: usize = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// FIFO, device, socket.
    Special,
}

impl Kind {
    pub(crate) fn of(kind: std::fs::FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }

    /// In results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Special => "special",
        }
    }
}

/// When to stop and give what there is: a call that runs into its limit gives nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience(Option<Instant>);

impl Patience {
    /// Three quarters of what the call has left; the rest is for the result.
    pub(crate) fn of(context: &toolgate_sdk::Context) -> Self {
        let left = Duration::from_millis(context.remaining_ms);
        Self(Instant::now().checked_add(left / 4 * 3))
    }

    pub(crate) fn ended(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }

    #[cfg(test)]
    pub(crate) const ENDLESS: Self = Self(None);
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self(Some(Instant::now()))
    }
}

/// What a walk saw.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) entries: u64,
    /// Entries that could not be read, or whose names are not UTF-8.
    pub(crate) skipped: u64,
    /// Patience ended before the walk did.
    pub(crate) incomplete: bool,
}

/// Calls `visit` with the path beneath `start`, and the kind, of each entry; in no order.
pub(crate) fn walk(
    root: &Path,
    start: &Path,
    all: bool,
    patience: Patience,
    visit: &mut dyn FnMut(&str, Kind),
) -> Tally {
    let mut tally = Tally::default();
    let aim = start.to_owned();
    // From the granted folder on, so that the ignore files above `start` are known
    // without a look above the granted folder.
    let entries = WalkBuilder::new(root)
        .standard_filters(!all)
        .hidden(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .filter_entry(move |entry| {
            let path = entry.path();
            let git = !all && entry.depth() > 0 && entry.file_name() == ".git";
            aim.starts_with(path) || (path.starts_with(&aim) && !git)
        })
        .build();
    for (number, entry) in entries.enumerate() {
        if number % 64 == 0 && patience.ended() {
            tally.incomplete = true;
            break;
        }
        let seen = entry
            .as_ref()
            .ok()
            .map(|entry| (entry, beneath(entry, start)));
        match seen {
            Some((_, Some("") | None))
                if entry.as_ref().is_ok_and(|e| start.starts_with(e.path())) => {}
            Some((entry, Some(path))) => {
                tally.entries += 1;
                visit(path, entry.file_type().map_or(Kind::Special, Kind::of));
            }
            _ => tally.skipped += 1,
        }
    }
    tally
}

fn beneath<'e>(entry: &'e DirEntry, start: &Path) -> Option<&'e str> {
    entry.path().strip_prefix(start).ok()?.to_str()
}

/// Paths, sorted in the end; above the bounds they are only counted.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    kept: Vec<(String, Kind)>,
    bytes: usize,
    /// Not kept.
    pub(crate) more: u64,
}

impl Paths {
    pub(crate) fn add(&mut self, path: &str, kind: Kind) {
        if self.kept.len() < KEPT && self.bytes + path.len() <= KEPT_BYTES {
            self.bytes += path.len();
            self.kept.push((path.to_owned(), kind));
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn sorted(mut self) -> Vec<(String, Kind)> {
        self.kept
            .sort_unstable_by(|(a, _), (b, _)| a.split('/').cmp(b.split('/')));
        self.kept
    }
}
