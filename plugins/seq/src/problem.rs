//! What is wrong with a document, in words that are enough to write it right: where, what,
//! and what to write instead.

use serde::Serialize;
use serde_json::{Value, json};
use toolgate_sdk::{Failure, ToolError};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// Such as `groups[1].tools[0].args.host`.
    pub(crate) path: String,
    /// Machine-readable.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// Inside a text that has a grammar of its own.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Place>,
}

/// A place in a text: line and column count characters from 1, the offset counts bytes
/// from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) offset: usize,
}

impl Place {
    /// Of the byte at `offset`, or of the end.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = text.get(..offset).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.get(start..).unwrap_or_default().chars().count() + 1,
            offset,
        }
    }
}

impl Problem {
    pub(crate) fn new(
        path: impl Into<String>,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            reason,
            message: message.into(),
            hint: None,
            at: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn at(mut self, text: &str, offset: usize) -> Self {
        self.at = Some(Place::of(text, offset));
        self
    }

    /// As the tool's error: the place is part of the words.
    pub(crate) fn to_error(&self) -> ToolError {
        let at = self.at.map_or_else(String::new, |at| {
            format!(
                " (line {}, column {}, byte {})",
                at.line, at.column, at.offset
            )
        });
        let mut error = ToolError::new(self.reason, format!("{}{at}", self.message));
        if !self.path.is_empty() {
            error = error.field(&self.path);
        }
        match &self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// All of them as one failure: the first leads, the value has each. Nothing was saved.
pub(crate) fn failure(problems: &[Problem]) -> Failure {
    let mut error = problems.first().map_or_else(
        || ToolError::new("internal", "refused without a reason"),
        Problem::to_error,
    );
    if problems.len() > 1 {
        let detail = error.detail.unwrap_or_default();
        error.detail = Some(format!(
            "{detail} (the first of {} errors; all are in `value.errors`)",
            problems.len()
        ));
    }
    let value: Value = json!({ "saved": false, "errors": problems });
    Failure::from(error).with_value(&value)
}

/// `known` that is nearest to `word`, if one is near. Case does not count.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|known| {
            (
                strsim::damerau_levenshtein(&word, &known.to_lowercase()),
                known,
            )
        })
        .filter(|(distance, known)| *distance <= 1 + known.chars().count() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Such as `a`, `b`; or `none`.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    if words.is_empty() {
        "none".into()
    } else {
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_and_bytes() {
        let text = "ab\néß!";
        let at = |offset| {
            let place = Place::of(text, offset);
            (place.line, place.column, place.offset)
        };
        assert_eq!(at(0), (1, 1, 0));
        assert_eq!(at(3), (2, 1, 3));
        assert_eq!(at(7), (2, 3, 7));
        assert_eq!(at(4), (2, 1, 3), "inside a character");
        assert_eq!(at(99), (2, 4, 8));
        assert_eq!((Place::of("", 0).line, Place::of("", 0).column), (1, 1));
    }

    #[test]
    fn near_words_are_found_in_any_case() {
        assert_eq!(nearest("paralell", ["parallel", "name"]), Some("parallel"));
        assert_eq!(nearest("Parallel", ["parallel"]), Some("parallel"));
        assert_eq!(nearest("xyz", ["parallel", "name"]), None);
    }
}
