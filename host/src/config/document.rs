//! The text of a configuration file, and the way between a key's path and its place in
//! the text. Knows nothing of what the keys mean.

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A key's way from the top: `plugins.files.grants.fs[0].host`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Item(usize),
}

impl KeyPath {
    /// The path of plain keys.
    pub(super) fn of(keys: &[&str]) -> Self {
        Self(
            keys.iter()
                .map(|key| Step::Key((*key).to_owned()))
                .collect(),
        )
    }

    /// One key further down.
    pub(super) fn key(&self, key: &str) -> Self {
        self.then(Step::Key(key.to_owned()))
    }

    /// An item of this list.
    pub(super) fn item(&self, index: usize) -> Self {
        self.then(Step::Item(index))
    }

    fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Item(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    let dot = if i == 0 { "" } else { "." };
                    let bare = !key.is_empty()
                        && key
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                    if bare {
                        write!(f, "{dot}{key}")?;
                    } else {
                        write!(f, "{dot}{key:?}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A file's text.
#[derive(Debug, Clone)]
pub(super) struct Document {
    path: PathBuf,
    text: String,
}

/// A value that is no table.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) key: KeyPath,
    pub(super) line: usize,
}

impl Document {
    pub(super) fn new(path: PathBuf, text: String) -> Self {
        Self { path, text }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where the key stands, or the nearest thing above it that is there.
    pub(super) fn locate(&self, path: &KeyPath) -> Option<Range<usize>> {
        let top = DeTable::parse(&self.text).ok()?;
        let mut found = None;
        let mut here: Here<'_, '_> = Here::Table(top.get_ref());
        for step in &path.0 {
            let next = match (&here, step) {
                (Here::Table(table), Step::Key(key)) => table
                    .iter()
                    .find(|(name, _)| name.get_ref() == key.as_str())
                    .map(|(name, value)| (name.span(), value)),
                (Here::Value(DeValue::Array(items)), Step::Item(index)) => {
                    items.get(*index).map(|value| (value.span(), value))
                }
                _ => None,
            };
            let Some((span, value)) = next else { break };
            found = Some(span);
            here = match value.get_ref() {
                DeValue::Table(table) => Here::Table(table),
                other => Here::Value(other),
            };
        }
        found
    }

    /// The innermost key or value that begins and ends there.
    pub(super) fn path_at(&self, span: &Range<usize>) -> KeyPath {
        let Ok(top) = DeTable::parse(&self.text) else {
            return KeyPath::default();
        };
        let mut best = (usize::MAX, KeyPath::default());
        visit(
            top.get_ref(),
            &KeyPath::default(),
            &mut |path, key, value| {
                for own in [key, Some(value.span())].into_iter().flatten() {
                    if own.start <= span.start && span.end <= own.end && own.len() <= best.0 {
                        best = (own.len(), path.clone());
                    }
                }
            },
        );
        best.1
    }

    /// All values that are no tables, in the order of the keys.
    pub(super) fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        let Ok(top) = DeTable::parse(&self.text) else {
            return leaves;
        };
        visit_tables(top.get_ref(), &KeyPath::default(), &mut |key, at| {
            leaves.push(Leaf {
                key: key.clone(),
                line: self.line_column(at).0,
            });
        });
        leaves
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub(super) fn line_column(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (line, before[start..].chars().count() + 1)
    }
}

enum Here<'a, 'i> {
    Table(&'a DeTable<'i>),
    Value(&'a DeValue<'i>),
}

type Seen<'s> = dyn FnMut(&KeyPath, Option<Range<usize>>, &Spanned<DeValue<'_>>) + 's;

fn visit(table: &DeTable<'_>, path: &KeyPath, seen: &mut Seen<'_>) {
    for (key, value) in table {
        visit_value(value, Some(key.span()), &path.key(key.get_ref()), seen);
    }
}

/// The parser bounds the nesting, and with it this recursion.
fn visit_value(
    value: &Spanned<DeValue<'_>>,
    key: Option<Range<usize>>,
    path: &KeyPath,
    seen: &mut Seen<'_>,
) {
    seen(path, key, value);
    match value.get_ref() {
        DeValue::Table(table) => visit(table, path, seen),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit_value(item, None, &path.item(index), seen);
            }
        }
        _ => {}
    }
}

fn visit_tables(table: &DeTable<'_>, path: &KeyPath, leaf: &mut dyn FnMut(&KeyPath, usize)) {
    for (key, value) in table {
        let path = path.key(key.get_ref());
        match value.get_ref() {
            DeValue::Table(table) => visit_tables(table, &path, leaf),
            _ => leaf(&path, key.span().start),
        }
    }
}

/// The value at a path of keys.
pub(super) fn lookup<'a>(table: &'a toml::Table, path: &KeyPath) -> Option<&'a toml::Value> {
    let mut steps = path.0.iter();
    let Some(Step::Key(first)) = steps.next() else {
        return None;
    };
    steps.try_fold(table.get(first)?, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Item(index) => value.get(*index),
    })
}

/// Puts `value` at a path of keys; tables on the way are made. Nothing happens where
/// something else than a table is in the way.
pub(super) fn insert(table: &mut toml::Table, path: &[&str], value: toml::Value) {
    match path {
        [] => {}
        [last] => {
            table.insert((*last).to_owned(), value);
        }
        [first, rest @ ..] => {
            let next = table
                .entry((*first).to_owned())
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            if let Some(next) = next.as_table_mut() {
                insert(next, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[host]\nmax_depth = 3\n\n[plugins.\"a b\".grants]\nfs = [{ host = \"ü\", mode = \"ro\" }]\n";

    #[test]
    fn a_path_leads_to_its_place_and_back() {
        let document = Document::new("x.toml".into(), TEXT.into());
        let mode = KeyPath::of(&["plugins", "a b", "grants", "fs"])
            .item(0)
            .key("mode");
        assert_eq!(mode.to_string(), "plugins.\"a b\".grants.fs[0].mode");
        let span = document.locate(&mode).unwrap();
        assert_eq!(&TEXT[span.clone()], "mode");
        assert_eq!(document.line_column(span.start), (5, 21));
        assert_eq!(document.path_at(&span), mode);
        let absent = KeyPath::of(&["host", "nothing"]);
        assert_eq!(
            document.line_column(document.locate(&absent).unwrap().start),
            (1, 2)
        );
    }

    #[test]
    fn leaves_are_values_with_their_lines() {
        let document = Document::new("x.toml".into(), TEXT.into());
        let leaves = document.leaves();
        let shown: Vec<_> = leaves
            .iter()
            .map(|leaf| (leaf.key.to_string(), leaf.line))
            .collect();
        assert_eq!(
            shown,
            [
                ("host.max_depth".to_owned(), 2),
                ("plugins.\"a b\".grants.fs".to_owned(), 5)
            ]
        );
    }
}
