//! Where a text occurs in a file, whatever the file's line ends.

use memchr::memmem;

use crate::line_ends::LineEnd;

/// Occurrences counted for an error; finding more would cost time and tell nothing.
const COUNTED: usize = 100;

/// How far a line end is looked for: one very long line must not be read for each place.
const NEAR: usize = 4 << 10;

/// Bytes of the file, from and up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A file, and a view of it in which every line ends with a single `\n`.
pub(super) struct Text<'f> {
    file: &'f [u8],
    /// Of most lines.
    ends: LineEnd,
    mixed: bool,
    view: Option<View>,
}

struct View {
    bytes: Vec<u8>,
    /// Offsets in `bytes` of the line feeds that had a `\r` before them.
    shortened: Vec<usize>,
}

impl<'f> Text<'f> {
    pub(super) fn of(file: &'f [u8]) -> Self {
        let ends = LineEnd::of(file);
        let feeds = memchr::memchr_iter(b'\n', file).count();
        let pairs = memmem::find_iter(file, b"\r\n").count();
        let view = (pairs > 0 || ends == LineEnd::Cr).then(|| View::of(file, ends));
        Self {
            file,
            ends,
            mixed: pairs > 0 && pairs < feeds,
            view,
        }
    }

    /// Every place, leftmost first, none overlapping, the first `most` of them.
    pub(super) fn disjoint(&self, old: &str, most: usize) -> Vec<Span> {
        let (text, view) = self.view_for(old);
        let places = memmem::find_iter(text, old).take(most);
        places.map(|at| span(view, at, old.len())).collect()
    }

    /// The line end that new text takes in place of `span`: in a file that mixes them
    /// that of the replaced text, else of its line, else of the line before.
    pub(super) fn ends_near(&self, span: Span) -> LineEnd {
        if !self.mixed {
            return self.ends;
        }
        let after = &self.file[span.start..self.file.len().min(span.end + NEAR)];
        let before = &self.file[span.start.saturating_sub(NEAR)..span.start];
        let feed = memchr::memchr(b'\n', after)
            .map(|at| span.start + at)
            .or_else(|| memchr::memrchr(b'\n', before).map(|at| span.start - before.len() + at));
        match feed {
            Some(at) if at > 0 && self.file[at - 1] == b'\r' => LineEnd::CrLf,
            Some(_) => LineEnd::Lf,
            None => self.ends,
        }
    }

    /// Every place, also where they overlap; false where there may be more.
    pub(super) fn overlapping(&self, old: &str) -> (Vec<Span>, bool) {
        let (text, view) = self.view_for(old);
        let finder = memmem::Finder::new(old);
        let (mut spans, mut from) = (Vec::new(), 0);
        while let Some(at) = finder.find(&text[from..]) {
            if spans.len() == COUNTED {
                return (spans, false);
            }
            spans.push(span(view, from + at, old.len()));
            from += at + 1;
        }
        (spans, true)
    }

    /// The line (from 1) that holds byte `at`.
    pub(super) fn line(&self, at: usize) -> usize {
        let end = if self.ends == LineEnd::Cr {
            b'\r'
        } else {
            b'\n'
        };
        memchr::memchr_iter(end, &self.file[..at]).count() + 1
    }

    pub(super) fn is_binary(&self) -> bool {
        memchr::memchr(0, self.file).is_some()
    }

    /// The line where `old` would begin if runs of white space were all the same.
    pub(super) fn but_for_white_space(&self, old: &str) -> Option<usize> {
        let wanted: Vec<Vec<&[u8]>> = words(old.as_bytes()).collect();
        let skipped = wanted.iter().take_while(|words| words.is_empty()).count();
        let wanted = wanted.get(skipped..).filter(|wanted| !wanted.is_empty())?;
        let (text, _) = self.view_for("");
        // Two lists of lines side by side; `lines` is a cheap copy to look ahead with.
        let mut lines = text.split(|byte| *byte == b'\n');
        let mut number = 0;
        loop {
            number += 1;
            let ahead = lines.clone();
            lines.next()?;
            if wanted.len() <= 200
                && ahead
                    .map(|line| line_words(line))
                    .take(wanted.len())
                    .eq(wanted.iter().cloned())
            {
                return Some(number);
            }
        }
    }

    fn view_for(&self, old: &str) -> (&[u8], Option<&View>) {
        match &self.view {
            // Text that says CR itself is meant byte by byte.
            Some(view) if !old.contains('\r') => (&view.bytes, Some(view)),
            _ => (self.file, None),
        }
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    text.split(|byte| *byte == b'\n').map(line_words)
}

fn line_words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .collect()
}

impl View {
    fn of(file: &[u8], ends: LineEnd) -> Self {
        let mut view = Self {
            bytes: Vec::with_capacity(file.len()),
            shortened: Vec::new(),
        };
        let mut bytes = file.iter().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\r' if ends == LineEnd::Cr => view.bytes.push(b'\n'),
                b'\r' if bytes.peek() == Some(&&b'\n') => view.shortened.push(view.bytes.len()),
                byte => view.bytes.push(*byte),
            }
        }
        view
    }

    /// The offset in the file of an offset in the view.
    fn back(&self, at: usize) -> usize {
        at + self.shortened.partition_point(|feed| *feed < at)
    }
}

fn span(view: Option<&View>, at: usize, length: usize) -> Span {
    let back = |at| view.map_or(at, |view| view.back(at));
    Span {
        start: back(at),
        end: back(at + length),
    }
}
