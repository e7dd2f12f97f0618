//! What is wrong with a configuration, for the operator: what, where, what to do.

use std::{fmt, path::PathBuf};

use super::document::Document;

/// A configuration that is not used, with everything that was found wrong. Its text has
/// `error:` and `hint:` lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) what: String,
    pub(super) place: Option<Place>,
    pub(super) hint: Option<String>,
}

/// Where it was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    File {
        path: PathBuf,
        at: Option<(usize, usize)>,
    },
    Environment(String),
}

impl ConfigError {
    pub(super) fn new(
        what: impl Into<String>,
        place: Option<Place>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            problems: vec![Problem {
                what: what.into(),
                place,
                hint: Some(hint.into()),
            }],
        }
    }

    /// All of these, unless there are none.
    pub(super) fn of(mut problems: Vec<Problem>) -> Option<Self> {
        // In the order of the file.
        problems.sort_by_key(|problem| match problem.place {
            Some(Place::File { at, .. }) => at,
            _ => None,
        });
        (!problems.is_empty()).then_some(Self { problems })
    }

    /// The first problem's way out.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.problems
            .iter()
            .find_map(|problem| problem.hint.as_deref())
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "error: {}", shown(&problem.what))?;
            if let Some(place) = &problem.place {
                write!(f, "\n  --> {}", shown(&place.to_string()))?;
            }
            if let Some(hint) = &problem.hint {
                write!(f, "\nhint: {}", shown(hint))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File {
                path,
                at: Some((line, column)),
            } => write!(f, "{}:{line}:{column}", path.display()),
            Self::File { path, at: None } => write!(f, "{}", path.display()),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
        }
    }
}

/// The error of the TOML reader, with the key's path and the nearest name that it takes.
pub(super) fn from_toml(error: &toml::de::Error, document: &Document) -> ConfigError {
    let span = error.span();
    let place = Place::File {
        path: document.path().to_owned(),
        at: span.as_ref().map(|span| document.line_column(span.start)),
    };
    // Of a text that is no TOML there are no paths, only the piece at fault.
    let path = match &span {
        Some(span) if error.message() == "duplicate key" => {
            document.text()[span.clone()].to_owned()
        }
        Some(span) => document.path_at(span).to_string(),
        None => String::new(),
    };
    let (what, hint) = in_words(error.message(), &path);
    ConfigError {
        problems: vec![Problem {
            what,
            place: Some(place),
            hint,
        }],
    }
}

/// The reader's message in the words of this file, and a hint.
pub(super) fn in_words(message: &str, path: &str) -> (String, Option<String>) {
    // The reader names what it met first and what it takes after that, in backticks.
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (met, known) = names
        .split_first()
        .map_or(("", &[][..]), |(met, known)| (*met, known));
    if message.starts_with("unknown field") {
        return (
            format!("unknown key `{path}`"),
            Some(did_you_mean(met, known)),
        );
    }
    if message.starts_with("unknown variant") {
        return (
            format!("{path}: unknown value `{met}`"),
            Some(did_you_mean(met, known)),
        );
    }
    if message.starts_with("missing field") {
        let inside = if path.is_empty() {
            String::new()
        } else {
            format!("{path}: ")
        };
        return (
            format!("{inside}`{met}` is missing"),
            Some(format!("add `{met} = …`")),
        );
    }
    let inside = if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    };
    // The reader's own texts may have several lines.
    let message = message.lines().collect::<Vec<_>>().join("; ");
    match message.split_once(", expected ") {
        Some((what, expected)) => {
            let expected = match expected {
                "u32" | "u64" => "a whole number, 0 or more",
                "a string" => "a text in quotes",
                "a boolean" => "true or false",
                "a sequence" => "a list",
                other if other.starts_with("struct ") || other == "a map" => "a table",
                other => other,
            };
            (format!("{inside}{what}"), Some(format!("write {expected}")))
        }
        None => (format!("{inside}{message}"), None),
    }
}

/// The nearest of `known`, or all of them.
pub(super) fn did_you_mean(met: &str, known: &[&str]) -> String {
    match nearest(met, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "remove it".to_owned(),
        None => format!(
            "known are {}",
            known
                .iter()
                .map(|k| format!("`{k}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

/// The name that was probably meant. Jaro-Winkler forgives swapped and missing letters
/// in names of any length; below 0.8 suggestions mislead.
pub(super) fn nearest<'a>(met: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(met, name), name))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Text from a file that nobody has trusted yet, safe on a terminal: control and
/// direction characters are escaped.
pub(super) fn shown(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() || c.escape_debug().len() > 6 {
                c.escape_default().to_string()
            } else {
                c.to_string()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_key_cannot_steer_the_terminal() {
        let text = shown("a\u{1b}[2Jb\u{202e}c\nü\"'\\");
        assert_eq!(text, "a\\u{1b}[2Jb\\u{202e}c\\nü\"'\\");
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(
            nearest("grnats", ["source", "grants", "limits"]),
            Some("grants")
        );
        assert_eq!(nearest("xyz", ["source", "grants", "limits"]), None);
    }
}
