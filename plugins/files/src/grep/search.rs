//! The search itself: one file after the other, results under their caps.

use std::{fs::File, io, path::Path};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish,
    SinkMatch,
};
use serde::Serialize;
use toolgate_sdk::{ToolError, schemars::JsonSchema};

use crate::text::{RESULT, head, weight};

/// Bytes of a line that are shown, and how many of them before the match.
const LINE: usize = 400;
const BEFORE: usize = 100;
/// One line longer than this cannot be searched (the file is counted as skipped).
const HEAP: usize = 8 << 20;
/// A compiled pattern, and the cache of its lazy automaton.
const REGEX: usize = 4 << 20;

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Line {
    path: String,
    /// From 1.
    line: u64,
    text: String,
    /// A neighbour of a match, not a match.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    context: bool,
    /// `text` is a part of the line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    cut: bool,
}

pub(crate) struct Search {
    matcher: RegexMatcher,
    searcher: Searcher,
    limit: usize,
    room: usize,
    hits: usize,
    pub(crate) lines: Vec<Line>,
    pub(crate) more: u64,
    pub(crate) binary: u64,
    pub(crate) failed: u64,
}

impl Search {
    /// # Errors
    ///
    /// `pattern` with the position of what is wrong.
    pub(crate) fn new(
        pattern: &str,
        ignore_case: bool,
        context: usize,
        limit: usize,
    ) -> Result<Self, ToolError> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(ignore_case)
            .line_terminator(Some(b'\n'))
            .size_limit(REGEX)
            .dfa_size_limit(REGEX)
            .build(pattern)
            .map_err(|error| refusal(pattern, &error))?;
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .memory_map(MmapChoice::never())
            .heap_limit(Some(HEAP))
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .build();
        Ok(Self {
            matcher,
            searcher,
            limit,
            room: RESULT,
            hits: 0,
            lines: Vec::new(),
            more: 0,
            binary: 0,
            failed: 0,
        })
    }

    /// Adds what is found in one regular file.
    pub(crate) fn file(&mut self, file: &Path, shown: &str) {
        let matcher = self.matcher.clone();
        let mut found = Found {
            matcher: &matcher,
            shown,
            left: self.limit - self.hits,
            room: self.room,
            lines: Vec::new(),
            hits: 0,
            more: 0,
            binary: false,
        };
        let result = File::open(file)
            .and_then(|file| self.searcher.search_file(&matcher, &file, &mut found));
        if found.binary {
            self.binary += 1;
            return;
        }
        // What was found before the failure is true all the same.
        self.failed += u64::from(result.is_err());
        self.room = found.room;
        self.hits += found.hits;
        self.more += found.more;
        self.lines.append(&mut found.lines);
    }
}

/// What one file gives. Kept apart until it has turned out not to be binary.
struct Found<'s> {
    matcher: &'s RegexMatcher,
    shown: &'s str,
    left: usize,
    room: usize,
    lines: Vec<Line>,
    hits: usize,
    more: u64,
    binary: bool,
}

impl Found<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], from: usize, context: bool) -> bool {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let (text, cut) = window(bytes, from);
        // The other keys take less than 80 bytes.
        let size = weight(&text) + weight(self.shown) + 80;
        if size > self.room {
            self.room = 0;
            return false;
        }
        self.room -= size;
        self.lines.push(Line {
            path: self.shown.to_owned(),
            line: number.unwrap_or_default(),
            text,
            context,
            cut,
        });
        true
    }
}

/// At most [`LINE`] bytes of a line around byte `from`, with no broken character.
fn window(bytes: &[u8], from: usize) -> (String, bool) {
    if bytes.len() <= LINE {
        return (String::from_utf8_lossy(bytes).into_owned(), false);
    }
    let mut start = from.saturating_sub(BEFORE).min(bytes.len() - LINE);
    // At most three bytes continue a character that began before.
    let inside = bytes[start..]
        .iter()
        .take(3)
        .take_while(|byte| *byte & 0xc0 == 0x80)
        .count();
    start += inside;
    // A little more, so that the last character is whole before it is cut away.
    let part = String::from_utf8_lossy(&bytes[start..bytes.len().min(start + LINE + 4)]);
    (head(&part, LINE).to_owned(), true)
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        if self.hits < self.left && self.room > 0 {
            let from = self
                .matcher
                .find(line.bytes())
                .ok()
                .flatten()
                .map_or(0, |found| found.start());
            if self.push(line.line_number(), line.bytes(), from, false) {
                self.hits += 1;
                return Ok(true);
            }
        }
        self.more += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        // After the last shown match its own context still belongs to it; what belongs
        // to matches that are only counted does not.
        if self.hits < self.left && self.room > 0 || (self.more == 0 && self.hits > 0) {
            self.push(line.line_number(), line.bytes(), 0, true);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn refusal(pattern: &str, error: &grep_regex::Error) -> ToolError {
    let (what, at) = match regex_syntax::Parser::new().parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => {
            (error.kind().to_string(), Some(error.span().start.offset))
        }
        Err(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), Some(error.span().start.offset))
        }
        // It parses, and is too large or matches line ends.
        _ => (error.to_string(), None),
    };
    let at = at.map_or(String::new(), |at| {
        format!(
            " at character {}",
            pattern.get(..at).unwrap_or(pattern).chars().count() + 1
        )
    });
    ToolError::new(
        "pattern",
        format!("the regular expression is wrong{at}: {what}"),
    )
    .field("pattern")
    .hint("escape ( ) [ ] { } . * + ? | ^ $ \\ with a backslash to search for them as they are")
}
