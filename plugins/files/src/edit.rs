//! `files_edit`: literal replacements in one file, all or none. Works on bytes: what
//! no edit names stays as it was, whatever the encoding.

mod places;

use serde::Serialize;
use toolgate_sdk::{ToolError, arguments, schemars::JsonSchema, tool};

use self::places::{Span, Text};
use crate::{
    content, fault,
    line_ends::LineEnd,
    place::{Folders, Place},
};

/// Lines that an error or a result names; more is counted.
const NAMED: usize = 20;

/// Places that one call changes: each takes memory, and a file may be nothing else.
const PLACES: usize = 100_000;

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// An existing file, at most 8 MiB.
    path: String,
    /// Each is looked for in the file as it is before the call; they must not overlap.
    #[schemars(length(min = 1, max = 1000))]
    edits: Vec<Replacement>,
}

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Replacement {
    /// The text to replace, exactly as in the file, white space included. Must occur exactly once: take in enough lines around it.
    #[schemars(length(min = 1))]
    old: String,
    /// The text that takes its place. May be empty.
    new: String,
    /// Replace every occurrence instead.
    #[serde(default)]
    replace_all: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Edited {
    path: String,
    /// Places that were changed.
    replaced: usize,
    /// Lines of the old file where they began, the first 20.
    lines: Vec<usize>,
    /// Bytes.
    size: usize,
    /// SHA-256.
    digest: String,
}

/// Replaces texts in an existing file: all edits are made, or none.
///
/// Texts are literal, not patterns. Each `old` must occur exactly once in the file (else an error says how often and on which lines), unless `replace_all`. Line ends follow the file: `old` and `new` are given with plain newlines also for CRLF files. Every other byte stays, whatever the encoding; so do permission bits, a symbolic link and a byte order mark. Files up to 8 MiB. To write a whole file use files_write. Nothing in a `.git` folder is changed.
#[tool(output)]
pub(crate) fn files_edit(arguments: Edit) -> Result<Edited, ToolError> {
    run(&Folders::granted(), arguments)
}

pub(crate) fn run(folders: &Folders<'_>, arguments: Edit) -> Result<Edited, ToolError> {
    let Edit { path, edits } = arguments;
    let place = folders.place("path", &path)?;
    folders.writable(&place, true)?;
    let old = content::load(folders, &place)?;
    let text = Text::of(&old);
    let mut changes = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let spans = spans(&text, edit).map_err(|(what, error)| {
            let field = format!("edits[{index}].{what}");
            with_path(error, &place).field(field)
        })?;
        if changes.len() + spans.len() > PLACES {
            let what = format!("more than {PLACES} places of `{}` would change", place.path);
            return Err(ToolError::new("too_large", what).field(format!("edits[{index}].old")));
        }
        for span in spans {
            // Text that says CR itself is literal, and so is what replaces it.
            let literal = edit.old.contains('\r');
            let ends = if literal {
                LineEnd::Lf
            } else {
                text.ends_near(span)
            };
            changes.push((span, index, ends));
        }
    }
    content::takes_utf8(&place, &old)?;
    changes.sort_by_key(|(span, ..)| (span.start, span.end));
    for pair in changes.windows(2) {
        let [(first, a, _), (second, b, _)] = pair else {
            continue;
        };
        if second.start < first.end {
            let what = format!(
                "edits[{}] and edits[{}] of `{}` overlap on line {}",
                a.min(b),
                a.max(b),
                place.path,
                text.line(second.start),
            );
            return Err(ToolError::new("overlap", what)
                .field(format!("edits[{}].old", a.max(b)))
                .hint("make one edit of the two; all are looked for in the file as it was"));
        }
    }
    let bytes = apply(&place, &old, &edits, &changes)?;
    folders
        .host
        .replace(&place.path, &bytes, false)
        .map_err(|error| fault::host("path", error))?;
    Ok(Edited {
        path: place.shown.clone(),
        replaced: changes.len(),
        lines: changes
            .iter()
            .take(NAMED)
            .map(|(span, ..)| text.line(span.start))
            .collect(),
        size: bytes.len(),
        digest: content::digest(&bytes),
    })
}

type Change = (Span, usize, LineEnd);

fn apply(
    place: &Place,
    old: &[u8],
    edits: &[Replacement],
    changes: &[Change],
) -> Result<Vec<u8>, ToolError> {
    // Given up early: what follows can take away at most the old file.
    let size = changes
        .iter()
        .try_fold(old.len(), |size, (span, index, ends)| {
            let new = ends.follow(edits[*index].new.as_bytes()).len();
            Some(size - (span.end - span.start) + new).filter(|size| *size <= 2 * content::CAP)
        });
    let mut bytes =
        content::room(place, size.unwrap_or(usize::MAX)).map_err(|error| error.field("edits"))?;
    let mut at = 0;
    for (span, index, ends) in changes {
        bytes.extend_from_slice(&old[at..span.start]);
        bytes.extend_from_slice(&ends.follow(edits[*index].new.as_bytes()));
        at = span.end;
    }
    bytes.extend_from_slice(&old[at..]);
    Ok(bytes)
}

/// Where one edit applies, or the argument at fault and why.
fn spans(text: &Text<'_>, edit: &Replacement) -> Result<Vec<Span>, (&'static str, ToolError)> {
    if edit.old.is_empty() {
        let error = ToolError::new("range", "`old` is empty, so it says no place")
            .hint("to add text, let `old` be a line beside it and repeat that line in `new`");
        return Err(("old", error));
    }
    if edit.old == edit.new {
        return Err((
            "new",
            ToolError::new("unchanged", "`old` and `new` are the same")
                .hint("leave this edit out, or say in `new` what shall stand there"),
        ));
    }
    if edit.replace_all {
        let spans = text.disjoint(&edit.old, PLACES + 1);
        return if spans.is_empty() {
            Err(("old", absent(text, &edit.old)))
        } else {
            Ok(spans)
        };
    }
    let (spans, all) = text.overlapping(&edit.old);
    match spans.as_slice() {
        [] => Err(("old", absent(text, &edit.old))),
        [_] => Ok(spans),
        many => {
            let lines: Vec<String> = many
                .iter()
                .take(NAMED)
                .map(|span| text.line(span.start).to_string())
                .collect();
            let what = format!(
                "`old` occurs {}{} times in PATH, on lines {}{}",
                if all { "" } else { "at least " },
                many.len(),
                lines.join(", "),
                if many.len() > NAMED { " and more" } else { "" },
            );
            let error = ToolError::new("ambiguous", what)
                .hint("take in more lines around the place, or set `replace_all`");
            Err(("old", error))
        }
    }
}

fn absent(text: &Text<'_>, old: &str) -> ToolError {
    let error = ToolError::new("no_match", "`old` occurs 0 times in PATH");
    if let Some(line) = text.but_for_white_space(old) {
        return error.hint(format!(
            "line {line} differs from it in white space only: copy the text exactly as the file has it"
        ));
    }
    if old.contains('\r') {
        return error.hint(
            "`old` contains a carriage return; give plain newlines, they fit CRLF files too",
        );
    }
    if text.is_binary() {
        return error
            .hint("the file is not plain UTF-8 text (it holds NUL bytes, such as UTF-16 does)");
    }
    error.hint(
        "read the file again: `old` must be in it as it is before this call, letter by letter",
    )
}

/// The messages of [`spans`] do not know the path.
fn with_path(mut error: ToolError, place: &Place) -> ToolError {
    error.detail = error
        .detail
        .map(|detail| detail.replacen("PATH", &format!("`{}`", place.path), 1));
    error
}

#[cfg(test)]
mod tests;
