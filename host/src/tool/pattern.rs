//! A pattern over names of tools or channels, such as `files_*`.

use std::fmt;

use globset::{Glob, GlobMatcher};

/// A compiled pattern. Two are equal if they are written alike.
#[derive(Clone)]
pub struct NamePattern(GlobMatcher);

impl NamePattern {
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn new(pattern: &str) -> Result<Self, String> {
        Glob::new(pattern)
            .map(|glob| Self(glob.compile_matcher()))
            .map_err(|error| error.kind().to_string())
    }

    /// Whether it covers this name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// Whether it surely covers every name that `other` covers. Only patterns of a plain
    /// beginning with one `*` after it are compared; of others it is not known.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        const SIGNS: &str = "*?[]{},!\\";
        let (own, other) = (self.as_str(), other.as_str());
        if own == other {
            return true;
        }
        let beginning = own.strip_suffix('*').unwrap_or(own);
        if beginning.contains(|c| SIGNS.contains(c)) {
            return false;
        }
        if own.ends_with('*') {
            let plain = other.split(|c| SIGNS.contains(c)).next().unwrap_or("");
            // Alternatives at the top level could begin anew.
            plain.starts_with(beginning) && !other.contains([',', '{'])
        } else {
            false
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.glob().glob()
    }
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for NamePattern {}

impl fmt::Debug for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
