//! `files_find`: names by a glob.

use serde::Serialize;
use toolgate_sdk::{Context, ToolError, arguments, schemars::JsonSchema, tool};

use crate::{
    fault,
    glob::Pattern,
    place::Folders,
    text::{RESULT, weight},
    walk::{self, Kind, Paths, Patience},
};

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Find {
    /// A glob: `*.rs` (names at any depth), `src/**/*.rs` (beneath `path`), `*.{js,ts}`. A `/` at its end: folders only.
    pattern: String,
    /// The folder to search; default: the first granted folder.
    path: Option<String>,
    /// Also what .gitignore excludes, and what is in .git folders.
    #[serde(default)]
    all: bool,
    /// How many results at most.
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = 5000))]
    limit: usize,
}

fn limit() -> usize {
    500
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Matches {
    /// Sorted; folders end in `/`.
    matches: Vec<String>,
    /// How many more matched.
    truncated: u64,
    /// What was searched.
    searched: String,
    /// Entries that could not be read.
    skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Finds files and folders by name.
///
/// A pattern without `/` is matched against names at any depth, one with `/` against paths beneath `path`. Dot files are included; what .gitignore or .ignore exclude and .git folders are not, unless `all: true`. Symbolic links are listed but not followed. Gives `matches` (sorted; folders end in `/`), `truncated` (how many more there are), and `searched`.
#[tool(parallel_safe, read_only, output)]
pub(crate) fn files_find(context: &Context, arguments: Find) -> Result<Matches, ToolError> {
    run(&Folders::granted(), Patience::of(context), arguments)
}

pub(crate) fn run(
    folders: &Folders<'_>,
    patience: Patience,
    arguments: Find,
) -> Result<Matches, ToolError> {
    let Find {
        pattern: said,
        path,
        all,
        limit,
    } = arguments;
    let place = folders.place("path", path.as_deref().unwrap_or("."))?;
    let (start, metadata) = folders.existing(&place)?;
    if !metadata.is_dir() {
        let what = format!("`{}` is not a folder", place.path);
        return Err(ToolError::new("not_a_directory", what).field("path"));
    }
    let pattern = Pattern::new("pattern", &said, &place)?;
    std::fs::read_dir(&start).map_err(|error| fault::io("path", &place.path, &error))?;
    let root = folders.root(&place);
    let mut paths = Paths::default();
    let tally = walk::walk(root, &start, all, patience, &mut |path, kind| {
        if pattern.fits(path, kind) {
            paths.add(path, kind);
        }
    });
    let mut truncated = paths.more;
    let mut room = RESULT;
    let mut matches = Vec::new();
    for (path, kind) in paths.sorted() {
        let mut shown = place.join(&path);
        shown.push_str(if kind == Kind::Folder { "/" } else { "" });
        let size = weight(&shown) + 1;
        if matches.len() == limit || size > room {
            room = 0;
            truncated += 1;
        } else {
            room -= size;
            matches.push(shown);
        }
    }
    let mut note = tally
        .incomplete
        .then(|| String::from("time ran out before all was searched: search a smaller folder"));
    if matches.is_empty() && !all && note.is_none() {
        let mut hidden = 0_u64;
        walk::walk(root, &start, true, patience, &mut |path, kind| {
            hidden += u64::from(pattern.fits(path, kind));
        });
        note = (hidden > 0)
            .then(|| format!("{hidden} excluded entries match: see them with `all: true`"));
    }
    let excluding = if all {
        "nothing excluded"
    } else {
        "without what .gitignore excludes and .git folders"
    };
    Ok(Matches {
        matches,
        truncated,
        searched: format!(
            "{} entries beneath `{}`, {excluding}",
            tally.entries, place.path
        ),
        skipped: tally.skipped,
        note,
    })
}

#[cfg(test)]
mod tests;
