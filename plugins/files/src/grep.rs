//! `files_grep`: lines by a regular expression.

mod search;

use serde::Serialize;
use toolgate_sdk::{Context, ToolError, arguments, schemars::JsonSchema, tool};

use self::search::{Line, Search};
use crate::{
    fault,
    glob::Pattern,
    place::Folders,
    walk::{self, Kind, Paths, Patience, Tally},
};

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Grep {
    /// A regular expression (Rust syntax: no look-around, no back-references), matched line by line.
    #[schemars(length(min = 1, max = 4096))]
    pattern: String,
    /// The file or folder to search; default: the first granted folder.
    path: Option<String>,
    /// Only files that this glob fits, as in files_find: `*.rs`, `src/**/*.ts`.
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    /// Lines shown before and after each match.
    #[serde(default)]
    #[schemars(range(max = 20))]
    context: usize,
    /// Also files that .gitignore excludes, and those in .git folders.
    #[serde(default)]
    all: bool,
    /// How many matching lines at most.
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = 2000))]
    limit: usize,
}

fn limit() -> usize {
    200
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Hits {
    /// By path and line.
    matches: Vec<Line>,
    /// How many more lines match.
    truncated: u64,
    /// What was searched.
    searched: String,
    /// Entries and files that could not be read or searched.
    skipped: u64,
    /// Binary files, not searched.
    binary: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Searches file contents with a regular expression, line by line.
///
/// Gives `matches` (`path`, `line` counted from 1, `text`; lines of `context` are marked), `truncated` (how many more lines match) and `searched`. Long lines are cut to 400 bytes around the match. Dot files are searched; what .gitignore or .ignore exclude and .git folders are not, unless `all: true`. Binary files are skipped and counted; symbolic links are not followed.
#[tool(parallel_safe, read_only, output)]
pub(crate) fn files_grep(context: &Context, arguments: Grep) -> Result<Hits, ToolError> {
    run(&Folders::granted(), Patience::of(context), arguments)
}

pub(crate) fn run(
    folders: &Folders<'_>,
    patience: Patience,
    arguments: Grep,
) -> Result<Hits, ToolError> {
    let Grep {
        pattern,
        path,
        glob,
        ignore_case,
        context,
        all,
        limit,
    } = arguments;
    let place = folders.place("path", path.as_deref().unwrap_or("."))?;
    let (start, metadata) = folders.existing(&place)?;
    let glob = glob
        .map(|glob| Pattern::new("glob", &glob, &place))
        .transpose()?;
    let mut search = Search::new(&pattern, ignore_case, context, limit)?;
    let mut paths = Paths::default();
    let mut tally = Tally::default();
    if metadata.is_file() {
        if glob.is_some() {
            let error = ToolError::new(
                "arguments",
                format!(
                    "`{}` is a file; `glob` chooses among files of a folder",
                    place.path
                ),
            );
            return Err(error.field("glob"));
        }
        paths.add("", Kind::File);
    } else if metadata.is_dir() {
        std::fs::read_dir(&start).map_err(|error| fault::io("path", &place.path, &error))?;
        tally = walk::walk(
            folders.root(&place),
            &start,
            all,
            patience,
            &mut |path, kind| {
                if kind == Kind::File && glob.as_ref().is_none_or(|glob| glob.fits(path, kind)) {
                    paths.add(path, kind);
                }
            },
        );
    } else {
        return Err(fault::special("path", &place.path));
    }
    let unseen = paths.more;
    let paths = paths.sorted();
    let mut files = 0_u64;
    for (path, _) in &paths {
        if patience.ended() {
            tally.incomplete = true;
            break;
        }
        let file = if path.is_empty() {
            start.clone()
        } else {
            start.join(path)
        };
        search.file(&file, &place.join(path));
        files += 1;
    }
    let note = if tally.incomplete || unseen > 0 {
        Some(format!(
            "not all was searched ({unseen} files too many, or time ran out): narrow `path` or `glob`"
        ))
    } else if files == 0 {
        Some(
            "no file was searched: see what there is with files_find, perhaps with `all: true`"
                .into(),
        )
    } else {
        None
    };
    let excluding = if all {
        "nothing excluded"
    } else {
        "without what .gitignore excludes and .git folders"
    };
    Ok(Hits {
        matches: search.lines,
        truncated: search.more,
        searched: format!("{files} files at `{}`, {excluding}", place.path),
        skipped: tally.skipped + search.failed,
        binary: search.binary,
        note,
    })
}

#[cfg(test)]
mod tests;
