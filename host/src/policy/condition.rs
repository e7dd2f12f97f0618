//! One condition of a rule: a place in the arguments and what must stand there.
//!
//! A place that is absent does not match, in a deny rule neither: what a call does not
//! say, it does not do. (A default that a tool fills in by itself is out of reach here;
//! deny the tool without a condition, or grant less.)
//!
//! A condition that *permits* (allow, parallel-safe) takes a value by its exact spelling.
//! One that *restrains* (deny, ask) takes everything that could mean the same: other
//! case, and each item if the value is a list. Both read paths normalised, so `./a`,
//! `b/../a` and `a//` are `a`.

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::{
    FsGrant, RuleError,
    path::{self, Reach},
};

/// Which way a rule leans, and with it how its conditions read a doubtful value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// Allow and parallel-safe rules: in doubt no match.
    Permits,
    /// Deny and ask rules: in doubt a match.
    Restrains,
}

/// What must stand at the place.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// This value. Numbers compare by value, texts exactly.
    Equals(Value),
    /// One of these values.
    OneOf(Vec<Value>),
    /// A text that this pattern matches: `*` and `?` stop at `/`, `**` does not, braces
    /// list alternatives. The text is read as a path: normalised, absolute and relative
    /// to the first granted folder. A pattern with `://` sees the text as it is. In a
    /// deny or ask rule a pattern without `/` also matches a path's last part.
    Glob(String),
    /// A path in this folder, or the folder itself; both joined to the first grant.
    Under(String),
}

/// A place and a test, compiled.
#[derive(Debug, Clone)]
pub struct Condition {
    at: String,
    test: Test,
    stance: Stance,
    glob: Option<GlobMatcher>,
}

impl PartialEq for Condition {
    /// The compiled pattern follows from the rest.
    fn eq(&self, other: &Self) -> bool {
        (&self.at, &self.test, self.stance) == (&other.at, &other.test, other.stance)
    }
}

impl Condition {
    /// # Errors
    ///
    /// If `at` is no JSON pointer, or the pattern could never match.
    pub fn new(at: &str, test: Test, stance: Stance) -> Result<Self, RuleError> {
        if !at.starts_with('/') {
            return Err(RuleError::new(
                format!("`at = {at:?}` is no JSON pointer"),
                format!("write it with a slash in front: \"/{at}\""),
            ));
        }
        // Such a pointer matches nothing, and a rule that denies would be silent.
        if at
            .split('~')
            .skip(1)
            .any(|rest| !rest.starts_with(['0', '1']))
        {
            return Err(RuleError::new(
                format!("`at = {at:?}` is no JSON pointer"),
                "write `~0` for a tilde in a name, and `~1` for a slash",
            ));
        }
        let glob = match &test {
            Test::Glob(pattern) => Some(compile(pattern, stance)?),
            Test::OneOf(values) if values.is_empty() => {
                return Err(RuleError::new(
                    "`one_of` lists nothing, so it never matches",
                    "list the values",
                ));
            }
            _ => None,
        };
        Ok(Self {
            at: at.to_owned(),
            test,
            stance,
            glob,
        })
    }

    /// The JSON pointer.
    #[must_use]
    pub fn at(&self) -> &str {
        &self.at
    }

    /// The place as errors write it: `edits[0].old`.
    #[must_use]
    pub fn field(&self) -> String {
        let mut field = String::new();
        for token in self.at.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            if !field.is_empty() && !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit()) {
                field = format!("{field}[{token}]");
            } else if field.is_empty() {
                field = token;
            } else {
                field = format!("{field}.{token}");
            }
        }
        field
    }

    /// Whether it reads a text by a pattern, which over a shell line is no rule.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        matches!(self.test, Test::Glob(_) | Test::Under(_))
    }

    /// Whether it holds. `roots`: the folders of the tool's plugin, the first one first.
    #[must_use]
    pub fn matches(&self, arguments: &Value, roots: &[FsGrant]) -> bool {
        let Some(value) = arguments.pointer(&self.at) else {
            return false;
        };
        match &self.test {
            Test::Equals(want) => same(want, value),
            Test::OneOf(wanted) => wanted.iter().any(|want| same(want, value)),
            Test::Glob(_) | Test::Under(_) => match (value, self.stance) {
                (Value::String(text), _) => self.reads(text, roots),
                (Value::Array(items), Stance::Restrains) => items
                    .iter()
                    .filter_map(Value::as_str)
                    .any(|text| self.reads(text, roots)),
                _ => false,
            },
        }
    }

    fn reads(&self, text: &str, roots: &[FsGrant]) -> bool {
        match (&self.test, &self.glob) {
            (Test::Under(folder), _) => self.is_under(text, folder, roots),
            (Test::Glob(pattern), Some(glob)) => self.fits(text, pattern, glob, roots),
            _ => false,
        }
    }

    fn is_under(&self, text: &str, folder: &str, roots: &[FsGrant]) -> bool {
        let folder = path::absolute(folder, roots);
        match self.stance {
            Stance::Permits => {
                let names = path::names(text, roots, Reach::Exact);
                names
                    .absolute
                    .iter()
                    .any(|name| path::below(name, &folder).is_some())
            }
            Stance::Restrains => {
                let names = path::names(text, roots, Reach::Every);
                let folder = folder.to_lowercase();
                names
                    .absolute
                    .iter()
                    .any(|name| path::below(&name.to_lowercase(), &folder).is_some())
            }
        }
    }

    fn fits(&self, text: &str, pattern: &str, glob: &GlobMatcher, roots: &[FsGrant]) -> bool {
        if self.stance == Stance::Permits {
            if pattern.contains("://") {
                return glob.is_match(text);
            }
            let names = path::names(text, roots, Reach::Exact);
            return names
                .absolute
                .iter()
                .chain(&names.relative)
                .any(|name| glob.is_match(name));
        }
        let names = path::names(text, roots, Reach::Every);
        let last = |name: &str| {
            let part = name.rsplit('/').next().unwrap_or(name);
            !pattern.contains('/') && glob.is_match(part)
        };
        glob.is_match(text)
            || names
                .absolute
                .iter()
                .chain(&names.relative)
                .any(|name| glob.is_match(name) || last(name))
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = &self.at;
        match &self.test {
            Test::Equals(value) => write!(f, "{at} is {value}"),
            Test::OneOf(values) => {
                write!(f, "{at} is one of ")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Test::Glob(pattern) => write!(f, "{at} matches {pattern:?}"),
            Test::Under(folder) => write!(f, "{at} is under {folder:?}"),
        }
    }
}

fn compile(pattern: &str, stance: Stance) -> Result<GlobMatcher, RuleError> {
    if !pattern.contains("://") {
        let inner = pattern.strip_prefix('/').unwrap_or(pattern);
        let odd = |part: &str| matches!(part, "" | "." | "..");
        if !inner.is_empty() && inner.split('/').any(odd) {
            return Err(RuleError::new(
                format!("the pattern {pattern:?} can never match"),
                "paths are compared without `.`, `..` and doubled or trailing slashes; for a whole folder use `under`",
            ));
        }
    }
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .case_insensitive(stance == Stance::Restrains)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|e| {
            RuleError::new(
                format!("{pattern:?} is no pattern: {}", e.kind()),
                "see the rules of `glob`",
            )
        })
}

/// JSON equality, with numbers by value: `1` is `1.0`.
fn same(want: &Value, have: &Value) -> bool {
    match (want, have) {
        (Value::Number(a), Value::Number(b)) => {
            let whole =
                |n: &serde_json::Number| n.as_i64().map(i128::from).or(n.as_u64().map(i128::from));
            match (whole(a), whole(b)) {
                (Some(a), Some(b)) => a == b,
                _ => a.as_f64() == b.as_f64(),
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => want == have,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(stance: Stance, test: Test, value: &str) -> bool {
        let roots = [FsGrant {
            host: "/real/ws".into(),
            guest: "/ws".into(),
            writable: true,
        }];
        Condition::new("/path", test, stance)
            .unwrap()
            .matches(&json!({ "path": value }), &roots)
    }

    #[test]
    fn a_restraining_pattern_is_not_dodged_by_spelling() {
        let glob =
            |pattern: &str, value| holds(Stance::Restrains, Test::Glob(pattern.into()), value);
        for value in [
            ".env",
            "./.env",
            "a/../.env",
            "a//.env",
            "a/.env/",
            "/ws/a/.env",
            "/ws/../ws/.env",
            ".ENV",
            "/real/ws/.env",
        ] {
            assert!(glob("**/.env", value), "{value}");
            assert!(glob(".env", value), "{value}");
        }
        for value in [".git/config", "sub/.GIT/hooks/x", "./sub/x/../.git/HEAD"] {
            assert!(glob("**/.git/**", value), "{value}");
        }
        assert!(glob("secret/**", "x/../secret/a"));
        assert!(!glob("**/.env", "a/.envx"));
        assert!(!glob("**/.env", ".env/x"));
    }

    #[test]
    fn a_permitting_pattern_is_exact_and_sees_where_a_path_leads() {
        let glob = |pattern: &str, value| holds(Stance::Permits, Test::Glob(pattern.into()), value);
        assert!(
            glob("src/*", "src/a") && glob("src/**", "/ws/src/a/b") && glob("/ws/src/*", "./src/a")
        );
        for value in [
            "src/../etc/x",
            "src/a/b",
            "SRC/a",
            "src",
            "/src/a",
            "../src/a",
        ] {
            assert!(!glob("src/*", value), "{value}");
        }
        assert!(glob("https://a.test/*", "https://a.test/x"));
        assert!(!glob("https://a.test/*", "https://a.test.evil/x"));
    }

    #[test]
    fn under_is_by_component_and_after_dots() {
        let under = |stance, folder: &str, value| holds(stance, Test::Under(folder.into()), value);
        for stance in [Stance::Permits, Stance::Restrains] {
            for value in [
                "src",
                "src/",
                "src/a",
                "./src/a/../b",
                "/ws/src/x",
                "x/../src",
            ] {
                assert!(under(stance, "src", value), "{value}");
                assert!(under(stance, "/ws/src/", value), "{value}");
            }
            for value in ["srcx", "src/../x", "src/../../ws2/src", "/src/a", "", ".."] {
                assert!(!under(stance, "src", value), "{value}");
            }
        }
        assert!(under(Stance::Restrains, "src", "SRC/a"));
        assert!(!under(Stance::Permits, "src", "SRC/a"));
    }

    #[test]
    fn absent_never_matches_and_lists_only_restrain() {
        let any = |stance| Condition::new("/p", Test::Glob("**".into()), stance).unwrap();
        for stance in [Stance::Permits, Stance::Restrains] {
            assert!(!any(stance).matches(&json!({}), &[]));
            assert!(!any(stance).matches(&json!({"p": 1}), &[]));
        }
        assert!(any(Stance::Restrains).matches(&json!({"p": [1, "x"]}), &[]));
        assert!(!any(Stance::Permits).matches(&json!({"p": ["x"]}), &[]));
    }

    #[test]
    fn equality_is_exact_for_text_and_by_value_for_numbers() {
        let is = |want, have| {
            Condition::new("/v", Test::Equals(want), Stance::Permits)
                .unwrap()
                .matches(&json!({ "v": have }), &[])
        };
        assert!(is(json!(1), json!(1.0)) && is(json!({"a": [1]}), json!({"a": [1.0]})));
        for text in ["git ", "Git", "git status", "gi", "./git"] {
            assert!(!is(json!("git"), json!(text)), "{text}");
        }
        assert!(!is(
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992_u64)
        ));
        assert!(!is(json!(true), json!("true")));
    }

    #[test]
    fn what_could_never_match_is_refused() {
        for pattern in ["./a", "a//b", "a/../b", "a/", "[", "{a"] {
            assert!(
                Condition::new("/p", Test::Glob(pattern.into()), Stance::Restrains).is_err(),
                "{pattern}"
            );
        }
        assert!(Condition::new("p", Test::Under("a".into()), Stance::Permits).is_err());
        assert!(Condition::new("/p", Test::OneOf(Vec::new()), Stance::Permits).is_err());
    }

    #[test]
    fn the_field_is_written_as_errors_write_it() {
        let field = |at| {
            Condition::new(at, Test::Under("a".into()), Stance::Permits)
                .unwrap()
                .field()
        };
        assert_eq!(field("/edits/0/old"), "edits[0].old");
        assert_eq!(field("/path"), "path");
    }
}
