//! What the steps from shape to meaning share: where they are, and the list of what was
//! found wrong. A step never stops at the first problem; the caller sees all of them and
//! uses the result only if there are none.

use std::path::{Path, PathBuf};

use super::{
    Dirs,
    document::{Document, KeyPath},
    environment::Environment,
    error::{Place, Problem, shown},
    folders::Protected,
};

#[derive(Debug)]
pub(super) struct Check<'a> {
    pub(super) document: Option<&'a Document>,
    pub(super) environment: &'a Environment,
    /// Relative paths of the file start here.
    pub(super) base: &'a Path,
    /// Relative paths of the environment start here.
    pub(super) start: &'a Path,
    pub(super) dirs: &'a Dirs,
    pub(super) protected: Vec<Protected>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<String>,
}

impl<'a> Check<'a> {
    pub(super) fn new(
        document: Option<&'a Document>,
        environment: &'a Environment,
        base: &'a Path,
        start: &'a Path,
        dirs: &'a Dirs,
    ) -> Self {
        Self {
            document,
            environment,
            base,
            start,
            dirs,
            protected: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Something is wrong with the value of this key.
    pub(super) fn problem(
        &mut self,
        key: &KeyPath,
        what: impl std::fmt::Display,
        hint: impl Into<String>,
    ) {
        self.problems.push(Problem {
            what: format!("{key}: {what}"),
            place: self.place(key),
            hint: Some(hint.into()),
        });
    }

    /// Something is doubtful, and used all the same.
    pub(super) fn warn(&mut self, key: &KeyPath, what: impl std::fmt::Display) {
        let place = self
            .place(key)
            .map_or_else(String::new, |place| format!("{place}: "));
        self.warnings.push(shown(&format!("{place}{key}: {what}")));
    }

    /// A path as the file, or the environment, means it.
    pub(super) fn path(&self, key: &KeyPath, text: &str) -> PathBuf {
        match self.place(key) {
            Some(Place::Environment(_)) => self.start.join(text),
            _ => self.base.join(text),
        }
    }

    fn place(&self, key: &KeyPath) -> Option<Place> {
        let from = |one: &&super::environment::Override| KeyPath::of(&one.path) == *key;
        if let Some(one) = self.environment.overrides.iter().find(from) {
            return Some(Place::Environment(one.variable.clone()));
        }
        let document = self.document?;
        let at = document
            .locate(key)
            .map(|span| document.line_column(span.start));
        Some(Place::File {
            path: document.path().to_owned(),
            at,
        })
    }
}
