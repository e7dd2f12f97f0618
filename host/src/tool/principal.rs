//! Who stands behind a call.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::NamePattern;

/// What kind of caller a principal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A person.
    User,
    /// A model with its loop.
    Agent,
    /// A program that connects, such as an MCP client.
    Client,
}

impl Kind {
    /// The word of the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Client => "client",
        }
    }
}

/// A caller, or a caller narrowed: rules are looked up for `origin`, and each of
/// `within` must cover a tool's name as well.
#[derive(Debug, Clone)]
pub struct Principal {
    id: Arc<str>,
    kind: Kind,
    origin: Arc<str>,
    within: Vec<Arc<[NamePattern]>>,
}

impl Principal {
    /// The principal of this name in the configuration.
    #[must_use]
    pub fn new(id: &str, kind: Kind) -> Self {
        let id: Arc<str> = id.into();
        Self {
            origin: Arc::clone(&id),
            id,
            kind,
            within: Vec::new(),
        }
    }

    /// The same rights under another id, but for these tools only. Never wider: what
    /// narrowed this principal before still binds.
    #[must_use]
    pub fn narrowed(&self, id: &str, kind: Kind, tools: &[NamePattern]) -> Self {
        let mut within = self.within.clone();
        within.push(tools.into());
        Self {
            id: id.into(),
            kind,
            origin: Arc::clone(&self.origin),
            within,
        }
    }

    /// Its own id, as events and audit show it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What kind of caller it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The principal of the configuration that it stands for.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether narrowing leaves this tool. The configuration's rules come on top.
    #[must_use]
    pub fn covers(&self, tool: &str) -> bool {
        self.within
            .iter()
            .all(|globs| globs.iter().any(|glob| glob.matches(tool)))
    }
}

/// What a call hands down to the calls that it makes: `<plugin>/<key>` to text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extra(Arc<BTreeMap<String, String>>);

impl Extra {
    /// All keys and values together, bytes.
    pub const MAX: usize = 16 * 1024;

    /// # Errors
    ///
    /// The reason, if a key is not `<owner>/<key>`, changes a value that is there, or
    /// the whole would be larger than [`Extra::MAX`].
    pub fn with(&self, owner: &str, added: Vec<(String, String)>) -> Result<Self, String> {
        if added.is_empty() {
            return Ok(self.clone());
        }
        let mut map = BTreeMap::clone(&self.0);
        for (key, value) in added {
            let own = key
                .strip_prefix(owner)
                .and_then(|rest| rest.strip_prefix('/'));
            if own.is_none_or(str::is_empty) {
                return Err(format!("extra key {key:?} must be `{owner}/<key>`"));
            }
            map.insert(key, value);
        }
        let size: usize = map.iter().map(|(k, v)| k.len() + v.len()).sum();
        if size > Self::MAX {
            return Err(format!(
                "extra would be {size} bytes; the limit is {}",
                Self::MAX
            ));
        }
        Ok(Self(Arc::new(map)))
    }

    /// All pairs, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(patterns: &[&str]) -> Vec<NamePattern> {
        patterns
            .iter()
            .map(|p| NamePattern::new(p).unwrap())
            .collect()
    }

    #[test]
    fn narrowing_never_widens() {
        let all = Principal::new("assistant", Kind::Agent);
        let files = all.narrowed("session/1/worker/a", Kind::Agent, &globs(&["files_*"]));
        let wider = files.narrowed("x", Kind::Agent, &globs(&["*"]));
        assert!(all.covers("cmd_run"));
        assert!(!files.covers("cmd_run"));
        assert!(!wider.covers("cmd_run"));
        assert!(wider.covers("files_read"));
        assert_eq!(wider.origin(), "assistant");
    }

    #[test]
    fn extra_keys_are_the_owners() {
        let none = Extra::default();
        let one = none
            .with("seq", vec![("seq/stack".into(), "a".into())])
            .unwrap();
        assert_eq!(one.iter().collect::<Vec<_>>(), [("seq/stack", "a")]);
        for foreign in ["cmd/x", "seq", "seq/", "sequel/x", "stack"] {
            assert!(
                one.with("seq", vec![(foreign.into(), "b".into())]).is_err(),
                "{foreign}"
            );
        }
        let huge = "x".repeat(Extra::MAX);
        assert!(one.with("seq", vec![("seq/y".into(), huge)]).is_err());
    }
}
