//! `files_read`: a page of a text file, by lines or by bytes; pictures as media.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read as _, Seek, SeekFrom},
};

use serde::Serialize;
use toolgate_sdk::{Output, ToolError, arguments, tool};

use crate::{
    content::{self, BOM},
    fault,
    kind::{Kind, SNIFF},
    place::{Folders, Place},
    text::{self, RESULT},
};

/// Lines of a page unless asked otherwise.
const LINES: u64 = 2_000;
/// Bytes of a page; with `raw` unless asked otherwise.
const PAGE: usize = 256 << 10;
/// Bytes of one line before it is cut: one minified file must not fill the page.
const LINE: usize = 2_000;

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    /// The file. Relative paths start at the first granted folder.
    path: String,
    /// The first line, counted from 1; -20 means the last 20 lines. With `raw`: the first byte, counted from 0; -20 means the last 20 bytes.
    offset: Option<i64>,
    /// How many lines at most (default 2000). With `raw`: how many bytes (default 262144).
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Give the exact text, lines never cut; `offset` and `limit` count bytes.
    #[serde(default)]
    raw: bool,
}

/// Reads a text file, or shows a picture (PNG, JPEG, GIF, WebP up to 8 MiB).
///
/// Gives `content` (the text itself, without line numbers), `lines` (how many lines it holds), `size` of the whole file in bytes, `digest` (SHA-256 of files up to 8 MiB, for `if_digest` of files_write), `truncated`, and `next_offset` where more follows: call again with `offset` set to it. A page has at most 2000 lines and 256 KiB; lines over 2000 bytes are cut with a note. With `raw: true` nothing is cut and a page ends on a character boundary. A byte order mark is not shown (`bom: true`) unless `raw`. Other binary files are refused with their kind.
#[tool(parallel_safe, read_only)]
pub(crate) fn files_read(arguments: Read) -> Result<Output, ToolError> {
    run(&Folders::granted(), arguments)
}

#[derive(Serialize, Debug, Default)]
struct Page {
    content: String,
    lines: u64,
    /// Of the first line of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    size: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    cut_lines: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bom: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    invalid_utf8: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

trait Source: BufRead + Seek {}
impl<T: BufRead + Seek> Source for T {}

pub(crate) fn run(folders: &Folders<'_>, arguments: Read) -> Result<Output, ToolError> {
    let Read {
        path,
        offset,
        limit,
        raw,
    } = arguments;
    let place = folders.place("path", &path)?;
    let (path, metadata) = folders.file(&place)?;
    let failed = |error: io::Error| fault::io("path", &place.path, &error);
    let whole = content::whole(&path).map_err(failed)?;
    let digest = whole.as_deref().map(content::digest);
    let size = whole
        .as_ref()
        .map_or(metadata.len(), |bytes| bytes.len() as u64);
    let mut source: Box<dyn Source> = match &whole {
        Some(bytes) => Box::new(Cursor::new(bytes.as_slice())),
        None => Box::new(BufReader::with_capacity(
            64 << 10,
            File::open(&path).map_err(failed)?,
        )),
    };
    let mut page = if raw {
        if whole
            .as_ref()
            .is_some_and(|bytes| std::str::from_utf8(bytes).is_err())
        {
            return Err(not_utf8(&place));
        }
        bytes(source.as_mut(), &place, size, offset, limit)?
    } else {
        let mut start = Vec::new();
        source
            .as_mut()
            .take(SNIFF as u64)
            .read_to_end(&mut start)
            .map_err(failed)?;
        match Kind::of(&start) {
            Kind::Text => {}
            Kind::Image(mime) => {
                drop(source);
                return image(&place, mime, whole, size, digest.as_deref());
            }
            Kind::Binary(what) => {
                let what = format!("`{}` is {what} ({size} bytes), not text", place.path);
                return Err(ToolError::new("binary", what)
                    .field("path")
                    .hint("use a program that knows the format"));
            }
        }
        source.rewind().map_err(failed)?;
        lines(source.as_mut(), &place, offset, limit)?
    };
    page.size = size;
    page.digest = digest;
    Ok(Output::new(&page))
}

fn image(
    place: &Place,
    mime: &str,
    whole: Option<Vec<u8>>,
    size: u64,
    digest: Option<&str>,
) -> Result<Output, ToolError> {
    let bytes = whole.ok_or_else(|| fault::too_large("path", &place.path, size, content::CAP))?;
    let name = place.path.rsplit('/').next().map(str::to_owned);
    let value = serde_json::json!({ "content": "", "type": mime, "size": size, "digest": digest });
    Ok(Output::new(&value).with_block(mime, name, bytes))
}

/// One page of exact text.
fn bytes(
    source: &mut dyn Source,
    place: &Place,
    size: u64,
    offset: Option<i64>,
    limit: Option<u64>,
) -> Result<Page, ToolError> {
    let failed = |error: io::Error| fault::io("path", &place.path, &error);
    let start = match offset.unwrap_or(0) {
        back @ ..0 => size.saturating_sub(back.unsigned_abs()),
        offset => offset.unsigned_abs(),
    };
    if start > size {
        let what = format!("`{}` has {size} bytes; nothing is at {start}", place.path);
        return Err(ToolError::new("range", what).field("offset"));
    }
    let limit = limit.map_or(PAGE, |limit| {
        usize::try_from(limit).unwrap_or(RESULT).clamp(1, RESULT)
    });
    source.seek(SeekFrom::Start(start)).map_err(failed)?;
    let mut bytes = Vec::new();
    // Three bytes more finish the last character, where it is the first as well; one
    // more tells whether anything follows.
    source
        .take(limit as u64 + 4)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if start > 0 && bytes.first().is_some_and(|byte| byte & 0xc0 == 0x80) {
        let what = format!("byte {start} of `{}` is inside a character", place.path);
        return Err(ToolError::new("range", what)
            .field("offset")
            .hint("take `next_offset` of an earlier page, or one to three bytes less"));
    }
    let valid = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // Cut inside a character by our own limit.
        Err(error) if error.error_len().is_none() && bytes.len() as u64 == limit as u64 + 4 => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err(not_utf8(place)),
    };
    let mut end = valid.floor_char_boundary(limit);
    if end == 0 {
        end = valid.chars().next().map_or(0, char::len_utf8);
    }
    let mut weight = 0;
    let content: String = valid[..end]
        .chars()
        .take_while(|c| {
            weight += text::weight_of(*c);
            weight <= RESULT
        })
        .collect();
    let next = start + content.len() as u64;
    let more = content.len() < bytes.len();
    Ok(Page {
        lines: count(content.as_bytes()),
        truncated: more,
        next_offset: more.then_some(next),
        content,
        ..Page::default()
    })
}

fn count(text: &[u8]) -> u64 {
    let open = text.last().is_some_and(|byte| *byte != b'\n');
    memchr::memchr_iter(b'\n', text).count() as u64 + u64::from(open)
}

fn not_utf8(place: &Place) -> ToolError {
    ToolError::new(
        "binary",
        format!("`{}` is not UTF-8 text, which `raw` needs", place.path),
    )
    .field("path")
    .hint("without `raw` the readable parts are shown")
}

/// One page of lines.
fn lines(
    source: &mut dyn Source,
    place: &Place,
    offset: Option<i64>,
    limit: Option<u64>,
) -> Result<Page, ToolError> {
    let failed = |error: io::Error| fault::io("path", &place.path, &error);
    let first = match offset.unwrap_or(1) {
        back @ ..0 => {
            let total = skip(source, u64::MAX).map_err(failed)?.0;
            source.rewind().map_err(failed)?;
            total.saturating_sub(back.unsigned_abs()) + 1
        }
        offset => offset.unsigned_abs().max(1),
    };
    let (skipped, mut at) = skip(source, first - 1).map_err(failed)?;
    let limit = limit.unwrap_or(LINES).min(LINES);
    let mut page = Page {
        first_line: Some(first),
        ..Page::default()
    };
    let mut weight = 0;
    let mut more = !source.fill_buf().map_err(failed)?.is_empty();
    if first > 1 && skipped < first - 1 {
        let what = format!(
            "`{}` has {skipped} lines; there is no line {first}",
            place.path
        );
        return Err(ToolError::new("range", what).field("offset"));
    }
    while more && page.lines < limit {
        let line = line(source).map_err(failed)?;
        let mut kept = line.kept.as_slice();
        if at == 0 && kept.starts_with(BOM) {
            page.bom = true;
            kept = &kept[BOM.len()..];
        }
        let whole = String::from_utf8_lossy(kept);
        let invalid = matches!(whole, std::borrow::Cow::Owned(_));
        let shown = if line.size > LINE as u64 {
            cut(kept, at, line.size)
        } else {
            whole.into_owned()
        };
        weight += text::weight(&shown) + 2;
        if page.content.len() + shown.len() > PAGE || weight > RESULT {
            break;
        }
        page.cut_lines += u64::from(line.size > LINE as u64);
        page.invalid_utf8 |= invalid;
        page.content.push_str(&shown);
        page.content.push_str(if line.ended { "\n" } else { "" });
        page.lines += 1;
        at += line.size + u64::from(line.ended);
        more = !source.fill_buf().map_err(failed)?.is_empty();
    }
    page.truncated = more || page.cut_lines > 0;
    page.next_offset = more.then_some(first + page.lines);
    page.total_lines = (!more).then_some(first + page.lines - 1);
    Ok(page)
}

fn cut(kept: &[u8], at: u64, size: u64) -> String {
    // The character that the cut went through is left out, not shown as broken.
    let end = match std::str::from_utf8(kept) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => kept.len(),
    };
    format!(
        "{}… [cut: this line has {size} bytes; `raw: true` with `offset: {at}` gives all of it]",
        String::from_utf8_lossy(&kept[..end]),
    )
}

struct Line {
    /// The start of the line, at most [`LINE`] bytes, without its end.
    kept: Vec<u8>,
    size: u64,
    ended: bool,
}

/// The next line, whatever its length, in bounded memory.
fn line(source: &mut dyn Source) -> io::Result<Line> {
    let mut line = Line {
        kept: Vec::new(),
        size: 0,
        ended: false,
    };
    loop {
        let buffer = source.fill_buf()?;
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        line.kept
            .extend_from_slice(&part[..part.len().min(LINE - line.kept.len())]);
        line.size += part.len() as u64;
        let used = part.len() + usize::from(end.is_some());
        let done = end.is_some() || buffer.is_empty();
        source.consume(used);
        if done {
            line.ended = end.is_some();
            return Ok(line);
        }
    }
}

/// Skips up to `lines` lines; gives how many there were and their bytes.
fn skip(source: &mut dyn Source, lines: u64) -> io::Result<(u64, u64)> {
    let (mut skipped, mut size, mut open) = (0, 0, false);
    while skipped < lines {
        let buffer = source.fill_buf()?;
        if buffer.is_empty() {
            return Ok((skipped + u64::from(open), size));
        }
        let mut used = buffer.len();
        for end in memchr::memchr_iter(b'\n', buffer) {
            skipped += 1;
            if skipped == lines {
                used = end + 1;
                break;
            }
        }
        open = buffer[used - 1] != b'\n';
        size += used as u64;
        source.consume(used);
    }
    Ok((skipped, size))
}

#[cfg(test)]
mod tests;
