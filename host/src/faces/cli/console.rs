//! Output channels of kind `stdout`: standard output, unless that is for JSON; then
//! standard error. The text comes escaped.

use std::io::{self, Write as _};

use crate::ports::Console;

/// The console of this program.
#[derive(Debug)]
pub(super) struct StandardConsole {
    json: bool,
}

impl StandardConsole {
    /// `json`: standard output is for JSON alone.
    pub(super) fn new(json: bool) -> Self {
        Self { json }
    }
}

impl Console for StandardConsole {
    fn write(&self, _channel: &str, text: &str) -> io::Result<()> {
        // One write under the lock: whole, never mixed with another.
        let line = format!("{text}\n");
        if self.json {
            return io::stderr().lock().write_all(line.as_bytes());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(line.as_bytes())?;
        stdout.flush()
    }
}
