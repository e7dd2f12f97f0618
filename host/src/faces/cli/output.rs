//! The one door for printing. Data goes to standard output: as it is to a pipe, escaped
//! to a terminal, which must never obey what a tool or a model wrote. Notes and errors
//! go to standard error, always escaped.

use std::{
    borrow::Cow,
    cell::Cell,
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
};

use serde::Serialize;

use super::{log::LogFormat, problem::Problem};
use crate::render::for_terminal;

/// Where there is no terminal to ask. Wide enough for what people compare.
const WIDTH: usize = 160;
/// Narrower terminals get long lines all the same: one column has to be readable.
const NARROWEST: usize = 40;

/// How this program prints.
#[derive(Debug)]
pub(super) struct Output {
    json: bool,
    terminal: bool,
    colour: bool,
    /// Of what goes to standard error.
    format: LogFormat,
    /// The reader has gone, as `head` does. What follows is for nobody.
    closed: Cell<bool>,
}

/// What a word means, for those who see colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Warning,
    Bad,
    Faint,
    Strong,
}

/// One cell of a table.
#[derive(Debug)]
pub(super) struct TableCell {
    text: String,
    tone: Tone,
}

impl Output {
    pub(super) fn new(json: bool, format: LogFormat) -> Self {
        let terminal = io::stdout().is_terminal();
        Self {
            json,
            terminal,
            format,
            colour: terminal && super::environment::wants_colour(),
            closed: Cell::new(false),
        }
    }

    /// Was `--json` said?
    pub(super) fn wants_json(&self) -> bool {
        self.json
    }

    /// Does a person look at standard output?
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// A text of a tool: exactly its bytes to a pipe.
    pub(super) fn raw(&self, text: &str) -> Result<(), Problem> {
        if !self.terminal {
            return self.write(text);
        }
        let mut safe = for_terminal(text);
        if !safe.is_empty() && !safe.ends_with('\n') {
            safe.push('\n');
        }
        self.write(&safe)
    }

    /// One line, or several. Escaped everywhere: it is made for reading.
    pub(super) fn line(&self, text: &str) -> Result<(), Problem> {
        self.toned(Tone::Plain, text)
    }

    /// The same with a tone for all of it.
    pub(super) fn toned(&self, tone: Tone, text: &str) -> Result<(), Problem> {
        self.write(&format!("{}\n", self.paint(tone, &for_terminal(text))))
    }

    /// One JSON text: one line to a pipe, indented for a person.
    pub(super) fn json(&self, value: &(impl Serialize + ?Sized)) -> Result<(), Problem> {
        let text = if self.terminal {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        let text =
            text.map_err(|error| Problem::failed(format!("no JSON can be made of it: {error}")))?;
        let text = if self.terminal {
            json_for_terminal(&text)
        } else {
            Cow::Borrowed(&*text)
        };
        self.write(&format!("{text}\n"))
    }

    /// Aligned, with its heads, for a person; to a pipe one row a line, cells by tab.
    pub(super) fn table(&self, heads: &[&str], rows: &[Vec<TableCell>]) -> Result<(), Problem> {
        let mut text = String::new();
        if self.terminal {
            let widths: Vec<usize> = (0..heads.len())
                .map(|column| {
                    let cells = rows
                        .iter()
                        .filter_map(|row| row.get(column))
                        .map(|cell| cell.text.chars().count());
                    cells.chain([heads[column].len()]).max().unwrap_or(0)
                })
                .collect();
            let heads = heads
                .iter()
                .map(|head| cell(head).tone(Tone::Strong))
                .collect();
            for row in [&heads].into_iter().chain(rows) {
                self.aligned(&mut text, &widths, row);
            }
        } else {
            for row in rows {
                let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
                let _ = writeln!(text, "{}", cells.join("\t"));
            }
        }
        self.write(&text)
    }

    fn aligned(&self, text: &mut String, widths: &[usize], row: &[TableCell]) {
        let room = self.width();
        let mut used = 0;
        for (column, cell) in row.iter().enumerate() {
            let last = column + 1 == row.len();
            let shown = if last {
                cut(&cell.text, room.saturating_sub(used).max(NARROWEST))
            } else {
                Cow::Borrowed(&*cell.text)
            };
            text.push_str(&self.paint(cell.tone, &shown));
            if !last {
                let width = widths.get(column).copied().unwrap_or(0) + 2;
                let padding = width.saturating_sub(shown.chars().count());
                text.extend(std::iter::repeat_n(' ', padding));
                used += width;
            }
        }
        text.push('\n');
    }

    /// Columns of the terminal.
    pub(super) fn width(&self) -> usize {
        let asked = || {
            rustix::termios::tcgetwinsize(io::stdout())
                .ok()
                .filter(|size| size.ws_col > 0)
        };
        match self.terminal.then(asked).flatten() {
            Some(size) => usize::from(size.ws_col),
            None => WIDTH,
        }
    }

    /// Something beside the data.
    pub(super) fn note(&self, text: &str) {
        self.aside("INFO", text);
    }

    /// Something doubtful beside the data.
    pub(super) fn warning(&self, text: &str) {
        match self.format {
            LogFormat::Text => self.note(&format!("warning: {text}")),
            LogFormat::Json => self.aside("WARN", text),
        }
    }

    /// Why the command stopped.
    pub(super) fn problem(&self, problem: &Problem) {
        // It has escaped itself.
        match self.format {
            LogFormat::Text => to_stderr(&format!("{problem}\n")),
            LogFormat::Json => self.aside("ERROR", &problem.to_string()),
        }
    }

    /// A line on standard error, in the form of the log's own lines.
    fn aside(&self, level: &str, text: &str) {
        match self.format {
            LogFormat::Text => to_stderr(&format!("{}\n", for_terminal(text))),
            LogFormat::Json => {
                let line = serde_json::json!({
                    "timestamp": format!("{:.6}", jiff::Timestamp::now()),
                    "level": level,
                    "fields": { "message": text },
                });
                to_stderr(&format!("{line}\n"));
            }
        }
    }

    fn paint<'t>(&self, tone: Tone, text: &'t str) -> Cow<'t, str> {
        let code = match tone {
            _ if !self.colour => return Cow::Borrowed(text),
            Tone::Plain => return Cow::Borrowed(text),
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
            Tone::Faint => "2",
            Tone::Strong => "1",
        };
        Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
    }

    fn write(&self, text: &str) -> Result<(), Problem> {
        if self.closed.get() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
        {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.set(true);
                Ok(())
            }
            Err(error) => Err(Problem::failed(format!(
                "standard output cannot be written: {error}"
            ))),
        }
    }
}

/// A cell: one line, whatever its text holds.
pub(super) fn cell(text: &str) -> TableCell {
    let text = for_terminal(text).replace('\n', "\\n").replace('\t', "\\t");
    TableCell {
        text,
        tone: Tone::Plain,
    }
}

impl TableCell {
    pub(super) fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// At most so many characters.
pub(super) fn cut(text: &str, room: usize) -> Cow<'_, str> {
    match text.char_indices().nth(room) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(
            text.chars()
                .take(room.saturating_sub(1))
                .chain(['…'])
                .collect(),
        ),
    }
}

/// Nobody to tell if standard error is closed.
fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// JSON that stays JSON: what a terminal would obey can only stand in a JSON text, where
/// it may be written as `\u`.
fn json_for_terminal(text: &str) -> Cow<'_, str> {
    let mut buffer = [0; 4];
    let obeyed = |c: char, buffer: &mut [u8; 4]| {
        c != '\n' && for_terminal(c.encode_utf8(buffer)) != *c.encode_utf8(&mut [0; 4])
    };
    if !text.chars().any(|c| obeyed(c, &mut buffer)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if obeyed(c, &mut buffer) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cell_is_one_line() {
        assert_eq!(cell("a\tb\nc\u{1b}[2J").text, "a\\tb\\nc\\x1b[2J");
    }

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(cut("éé", 2), "éé");
        assert_eq!(cut("ééé", 2), "é…");
        assert_eq!(cut("", 0), "");
    }

    proptest! {
        #[test]
        fn json_on_a_terminal_is_the_same_json(text in any::<String>()) {
            let json = serde_json::to_string_pretty(&serde_json::json!({ "a": text })).unwrap();
            let safe = json_for_terminal(&json);
            prop_assert_eq!(&for_terminal(&safe), &*safe);
            let read: serde_json::Value = serde_json::from_str(&safe).unwrap();
            prop_assert_eq!(read["a"].as_str(), Some(&*text));
        }
    }
}
