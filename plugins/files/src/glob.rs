//! Glob patterns over paths beneath a folder.

use globset::{GlobBuilder, GlobMatcher};
use toolgate_sdk::ToolError;

use crate::{place::Place, walk::Kind};

/// Longer ones are not written by hand, and each costs memory.
const MAX_PATTERN: usize = 4_096;

/// `*` and `?` stay in one name, `**` crosses folders, `{a,b}` and `[a-z]` as usual.
#[derive(Debug)]
pub(crate) struct Pattern {
    glob: GlobMatcher,
    /// Without a `/` it is about the last name, at any depth.
    name_only: bool,
    /// It ended in `/`.
    folders_only: bool,
}

impl Pattern {
    /// # Errors
    ///
    /// `pattern`, in words, for what is no glob; `unauthorized` for one that leaves `base`.
    pub(crate) fn new(field: &str, said: &str, base: &Place) -> Result<Self, ToolError> {
        let bad = |what: String| ToolError::new("pattern", what).field(field);
        let mut pattern = said;
        if let Some(rest) = pattern
            .strip_prefix(base.path.trim_end_matches('/'))
            .filter(|_| said.starts_with('/'))
        {
            pattern = rest.strip_prefix('/').unwrap_or(rest);
        }
        while let Some(rest) = pattern.strip_prefix("./") {
            pattern = rest;
        }
        if pattern.starts_with('/') || pattern.split('/').any(|name| name == "..") {
            let what = format!("`{said}` leaves `{}`, which is searched", base.path);
            return Err(ToolError::new("unauthorized", what)
                .field(field)
                .hint("name the folder in `path`, and let the pattern begin beneath it"));
        }
        let folders_only = pattern.ends_with('/');
        let pattern = pattern.trim_end_matches('/');
        if pattern.is_empty() {
            return Err(bad("the pattern is empty".into())
                .hint("`**` matches everything, `*.rs` names by their end"));
        }
        if pattern.len() > MAX_PATTERN {
            return Err(bad(format!(
                "the pattern has {} bytes; at most {MAX_PATTERN} are possible",
                pattern.len()
            )));
        }
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| {
                bad(format!("`{said}` is no glob pattern: {}", error.kind()))
                    .hint("`*` `?` `**` `{a,b}` `[a-z]` are special; `[[]` is a plain `[`")
            })?;
        Ok(Self {
            glob: glob.compile_matcher(),
            name_only: !pattern.contains('/'),
            folders_only,
        })
    }

    pub(crate) fn fits(&self, path: &str, kind: Kind) -> bool {
        let subject = if self.name_only {
            path.rsplit('/').next().unwrap_or(path)
        } else {
            path
        };
        (!self.folders_only || kind == Kind::Folder) && self.glob.is_match(subject)
    }
}
