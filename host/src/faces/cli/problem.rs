//! Why a command did not do its work, in `error:` and `hint:` lines for the person who
//! typed it.

use std::fmt;

use super::exit::Exit;
use crate::{config::ConfigError, render::for_terminal};

/// Why a command stopped.
#[derive(Debug)]
pub(super) enum Problem {
    /// The configuration is not used. It has lines of its own.
    Config(ConfigError),
    /// Anything else.
    Said(Said),
}

/// What, where, what to do.
#[derive(Debug)]
pub(super) struct Said {
    exit: Exit,
    what: String,
    place: Option<String>,
    hint: Option<String>,
}

impl Problem {
    /// What was typed, or a file that was named, is unusable: nothing ran.
    pub(super) fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// The work itself failed.
    pub(super) fn failed(what: impl Into<String>) -> Self {
        Self::new(Exit::Failed, what)
    }

    fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self::Said(Said {
            exit,
            what: what.into(),
            place: None,
            hint: None,
        })
    }

    /// Where.
    pub(super) fn at(mut self, place: impl Into<String>) -> Self {
        if let Self::Said(said) = &mut self {
            said.place = Some(place.into());
        }
        self
    }

    /// What to do.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Said(said) = &mut self {
            said.hint = Some(hint.into());
        }
        self
    }

    /// The exit code that goes with it.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Config(_) => Exit::Usage,
            Self::Said(said) => said.exit,
        }
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self {
            // Escaped already.
            Self::Config(error) => return error.fmt(f),
            Self::Said(said) => said,
        };
        write!(f, "error: {}", for_terminal(&said.what))?;
        if let Some(place) = &said.place {
            write!(f, "\n  --> {}", for_terminal(place))?;
        }
        if let Some(hint) = &said.hint {
            write!(f, "\nhint: {}", for_terminal(hint))?;
        }
        Ok(())
    }
}
