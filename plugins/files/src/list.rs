//! `files_list`: what is in a folder.

use std::{fs, path::Path};

use serde::Serialize;
use toolgate_sdk::{Context, ToolError, arguments, schemars::JsonSchema, tool};

use crate::{
    fault,
    place::Folders,
    text::{self, RESULT, weight},
    walk::{self, Kind, Paths, Patience, Tally},
};

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// The folder; default: the first granted folder.
    path: Option<String>,
    /// Also what is in its subfolders.
    #[serde(default)]
    recursive: bool,
    /// How many entries at most.
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = 5000))]
    limit: usize,
}

fn limit() -> usize {
    1_000
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Listing {
    /// The folder.
    path: String,
    /// Sorted by name.
    entries: Vec<Entry>,
    /// How many more there are.
    truncated: u64,
    /// Entries that could not be read.
    skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
struct Entry {
    /// Beneath `path`; folders end in `/`.
    name: String,
    /// `file`, `folder`, `link` or `special` (FIFO, device, socket).
    #[serde(rename = "type")]
    kind: &'static str,
    /// Bytes, of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Last change, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
}

/// Lists a folder: names, types, sizes in bytes, times of last change (UTC).
///
/// Names are relative to the folder, sorted; folders end in `/`. Without `recursive` everything in the folder is listed, dot files and ignored files too. With `recursive` what .gitignore or .ignore exclude and .git folders are left out, and symbolic links are not followed. `truncated` says how many more entries there are, `skipped` how many could not be read.
#[tool(parallel_safe, read_only, output)]
pub(crate) fn files_list(context: &Context, arguments: List) -> Result<Listing, ToolError> {
    run(&Folders::granted(), Patience::of(context), arguments)
}

pub(crate) fn run(
    folders: &Folders<'_>,
    patience: Patience,
    arguments: List,
) -> Result<Listing, ToolError> {
    let List {
        path,
        recursive,
        limit,
    } = arguments;
    let place = folders.place("path", path.as_deref().unwrap_or("."))?;
    let (start, metadata) = folders.existing(&place)?;
    if !metadata.is_dir() {
        let what = format!("`{}` is not a folder", place.path);
        return Err(ToolError::new("not_a_directory", what)
            .field("path")
            .hint("files_stat tells about a file, files_read shows it"));
    }
    // Both, since a walk of an unreadable folder is only an empty walk.
    let entries = fs::read_dir(&start).map_err(|error| fault::io("path", &place.path, &error))?;
    let mut paths = Paths::default();
    let tally = if recursive {
        walk::walk(
            folders.root(&place),
            &start,
            false,
            patience,
            &mut |path, kind| paths.add(path, kind),
        )
    } else {
        flat(entries, patience, &mut paths)
    };
    let note = if tally.incomplete {
        Some("time ran out before all was listed: list a smaller folder")
    } else if recursive {
        Some(
            "without what .gitignore excludes and without .git folders; list such a folder itself to see into it",
        )
    } else {
        None
    };
    let mut truncated = paths.more;
    let mut skipped = tally.skipped;
    let mut room = RESULT;
    let mut shown = Vec::new();
    for (path, kind) in paths.sorted() {
        if shown.len() == limit || room == 0 {
            truncated += 1;
            continue;
        }
        let Some(entry) = entry(&start, path, kind) else {
            skipped += 1;
            continue;
        };
        // Keys, type, size and time take less than 120 bytes.
        let size = weight(&entry.name) + 120;
        if size > room {
            room = 0;
            truncated += 1;
        } else {
            room -= size;
            shown.push(entry);
        }
    }
    Ok(Listing {
        path: if place.shown.is_empty() {
            place.path
        } else {
            place.shown
        },
        entries: shown,
        truncated,
        skipped,
        note: note.map(str::to_owned),
    })
}

fn flat(entries: fs::ReadDir, patience: Patience, paths: &mut Paths) -> Tally {
    let mut tally = Tally::default();
    for (number, entry) in entries.enumerate() {
        if number % 64 == 0 && patience.ended() {
            tally.incomplete = true;
            break;
        }
        let seen = entry.ok().and_then(|entry| {
            let kind = Kind::of(entry.file_type().ok()?);
            Some((entry.file_name().into_string().ok()?, kind))
        });
        match seen {
            Some((name, kind)) => {
                tally.entries += 1;
                paths.add(&name, kind);
            }
            None => tally.skipped += 1,
        }
    }
    tally
}

/// Nothing if it has gone meanwhile.
fn entry(start: &Path, path: String, kind: Kind) -> Option<Entry> {
    let metadata = fs::symlink_metadata(start.join(&path)).ok()?;
    Some(Entry {
        name: if kind == Kind::Folder {
            path + "/"
        } else {
            path
        },
        kind: kind.name(),
        size: (kind == Kind::File).then_some(metadata.len()),
        modified: metadata.modified().ok().and_then(text::date),
    })
}

#[cfg(test)]
mod tests;
