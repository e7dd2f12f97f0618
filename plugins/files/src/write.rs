//! `files_write`: whole content, or content added at the end or before a line.

use std::{fs::File, io::Read as _};

use serde::Serialize;
use toolgate_sdk::{ToolError, arguments, schemars::JsonSchema, tool};

use crate::{
    content::{self, BOM, CAP},
    fault,
    line_ends::LineEnd,
    place::{Folders, Place},
};

// No doc comments on the variants: with them the schema is a `oneOf`, whose errors say less
// than those of an `enum`.
#[arguments]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    #[default]
    Overwrite,
    Append,
    Insert,
    Create,
}

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Write {
    /// The file. Missing folders above it are created.
    path: String,
    /// The text, at most 8 MiB. May be empty.
    content: String,
    /// `overwrite` replaces the whole file or creates it; `append` adds at its end or creates it; `insert` adds before line `line` of an existing file; `create` fails if it exists.
    #[serde(default)]
    mode: Mode,
    /// For `insert` only: the line, counted from 1, before which the text goes. One more than the file has lines means the end.
    #[schemars(range(min = 1))]
    line: Option<u64>,
    /// Write only if the file still has this SHA-256 (`digest` of files_read or files_stat); else nothing is changed and the reason is `conflict`.
    #[schemars(regex(pattern = "^[0-9a-fA-F]{64}$"))]
    if_digest: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Written {
    path: String,
    created: bool,
    /// Bytes.
    size: usize,
    /// SHA-256.
    digest: String,
}

/// Writes a text file atomically: readers see the old content or the new, never a part.
///
/// `overwrite` (default) replaces the whole file, `append` adds at the end exactly as given (no line end is put before it), `insert` adds whole lines before `line`, `create` fails if the file exists. Permission bits, a symbolic link (its target is written) and a byte order mark are kept; appended and inserted text takes the line ends of the file. Without `if_digest` the last writer wins: give it when you write what you read before. Files up to 8 MiB. To change parts of a file use files_edit. Nothing in a `.git` folder is written.
#[tool(output)]
pub(crate) fn files_write(arguments: Write) -> Result<Written, ToolError> {
    run(&Folders::granted(), arguments)
}

pub(crate) fn run(folders: &Folders<'_>, arguments: Write) -> Result<Written, ToolError> {
    let Write {
        path,
        content,
        mode,
        line,
        if_digest,
    } = arguments;
    if (mode == Mode::Insert) != line.is_some() {
        let (reason, what) = match line {
            None => ("required", "mode `insert` needs `line`"),
            Some(_) => ("additional", "`line` goes with mode `insert` only"),
        };
        return Err(ToolError::new(reason, what).field("line"));
    }
    let place = folders.place("path", &path)?;
    let found = folders.writable(&place, mode != Mode::Create)?.metadata;
    match &found {
        Some(_) if mode == Mode::Create => {
            return Err(
                ToolError::new("exists", format!("`{}` exists already", place.path))
                    .field("path")
                    .hint("read it first; then use mode `overwrite` or files_edit"),
            );
        }
        Some(metadata) if metadata.is_dir() => {
            return Err(fault::is_directory("path", &place.path));
        }
        Some(metadata) if !metadata.is_file() => return Err(fault::special("path", &place.path)),
        _ => {}
    }
    let old = match (&found, mode, &if_digest) {
        (None, Mode::Insert, _) => return Err(fault::not_found("path", &place.path)),
        (None, ..) => None,
        // Only its first bytes matter, so it may be of any size.
        (Some(_), Mode::Overwrite, None) => Some(first_bytes(folders, &place)?),
        (Some(_), ..) => Some(content::load(folders, &place)?),
    };
    if let Some(expected) = if_digest {
        unchanged(&place, old.as_deref(), &expected)?;
    }
    let old = old.unwrap_or_default();
    if matches!(mode, Mode::Append | Mode::Insert) {
        content::takes_utf8(&place, &old)?;
    }
    let ends = LineEnd::of(&old);
    let (before, added, after): (&[u8], Vec<u8>, &[u8]) = match mode {
        Mode::Overwrite | Mode::Create => {
            let kept = old.starts_with(BOM) && !content.as_bytes().starts_with(BOM);
            (if kept { BOM } else { b"" }, content.into_bytes(), b"")
        }
        Mode::Append => (&old, ends.follow(content.as_bytes()).into_owned(), b""),
        Mode::Insert => {
            let at = line_start(&place, &old, line.unwrap_or(1))?;
            let added = inserted(ends.follow(content.as_bytes()).into_owned(), &old, at, ends);
            (&old[..at], added, &old[at..])
        }
    };
    let size = before.len() + added.len() + after.len();
    let bytes = if size == added.len() && size <= CAP {
        added
    } else {
        let mut bytes = content::room(&place, size).map_err(|error| error.field("content"))?;
        [before, &added, after]
            .into_iter()
            .for_each(|part| bytes.extend_from_slice(part));
        bytes
    };
    folders
        .host
        .replace(&place.path, &bytes, mode == Mode::Create)
        .map_err(|error| fault::host("path", error))?;
    Ok(Written {
        path: place.shown.clone(),
        created: found.is_none(),
        size: bytes.len(),
        digest: content::digest(&bytes),
    })
}

/// Enough to see a byte order mark.
fn first_bytes(folders: &Folders<'_>, place: &Place) -> Result<Vec<u8>, ToolError> {
    let (path, _) = folders.file(place)?;
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BOM.len() as u64).read_to_end(&mut bytes))
        .map_err(|error| fault::io("path", &place.path, &error))?;
    Ok(bytes)
}

fn unchanged(place: &Place, old: Option<&[u8]>, expected: &str) -> Result<(), ToolError> {
    let what = match old.map(content::digest) {
        Some(digest) if digest.eq_ignore_ascii_case(expected) => return Ok(()),
        Some(digest) => format!("`{}` has changed: its digest is now {digest}", place.path),
        None => format!("`{}` does not exist any more", place.path),
    };
    Err(ToolError::new("conflict", what)
        .field("if_digest")
        .hint("read the file again and make the change on what it holds now"))
}

/// Where line `line` (from 1) begins; one more than there are lines is the end.
fn line_start(place: &Place, old: &[u8], line: u64) -> Result<usize, ToolError> {
    let first = if old.starts_with(BOM) { BOM.len() } else { 0 };
    let mut starts =
        std::iter::once(first).chain(memchr::memchr_iter(b'\n', old).map(|end| end + 1));
    let mut lines = 0;
    // The start after the last line end is a line only if something follows it.
    while let Some(start) = starts.next().filter(|start| *start < old.len()) {
        lines += 1;
        if lines == line {
            return Ok(start);
        }
    }
    if line == lines + 1 {
        return Ok(old.len());
    }
    let what = format!(
        "`{}` has {lines} lines; text goes before line 1 to {}",
        place.path,
        lines + 1
    );
    Err(ToolError::new("range", what).field("line"))
}

/// `text` as whole lines at `at`: it grows together with no neighbour, and whether the
/// file ends with a line end stays as it was.
fn inserted(mut text: Vec<u8>, old: &[u8], at: usize, ends: LineEnd) -> Vec<u8> {
    let end = ends.bytes();
    if text.is_empty() {
        return text;
    }
    let open_end = !old.is_empty() && old != BOM && !old.ends_with(end);
    if at == old.len() && open_end {
        return [end, &text].concat();
    }
    let between = at < old.len() || old.ends_with(end);
    if between && !text.ends_with(end) {
        text.extend_from_slice(end);
    }
    text
}

#[cfg(test)]
mod tests;
