//! Names that have passed their rule. A name in hand is a valid name.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::Serialize;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no {what} name: it must match {pattern}")]
pub struct NameError {
    given: String,
    what: &'static str,
    pattern: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $pattern:literal, $extra:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $type(Arc<str>);

        impl $type {
            /// The longest name, in bytes.
            pub const MAX: usize = 64;

            /// # Errors
            ///
            /// If the text does not match the pattern above.
            pub fn new(text: &str) -> Result<Self, NameError> {
                let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || $extra(c);
                let good = text.len() <= Self::MAX
                    && text.starts_with(|c: char| c.is_ascii_lowercase())
                    && text.chars().all(legal);
                if good {
                    return Ok(Self(text.into()));
                }
                // Long names come from outside; the message stays short.
                let given = text.chars().take(80).collect();
                Err(NameError { given, what: $what, pattern: $pattern })
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name! {
    /// A tool's name: `[a-z][a-z0-9_]{0,63}`, which every model provider and MCP
    /// client accepts.
    ToolName, "tool", "[a-z][a-z0-9_]{0,63}", |c| c == '_'
}

name! {
    /// A plugin's name: `[a-z][a-z0-9_-]{0,63}`. It is also a file stem and a
    /// configuration key, so it can name no path.
    PluginName, "plugin", "[a-z][a-z0-9_-]{0,63}", |c| c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pattern_is_a_name() {
        for good in ["a", "files_read", "a1_", &"a".repeat(64)] {
            assert!(ToolName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "A",
            "1a",
            "_a",
            "a-b",
            "a.b",
            "a b",
            "é",
            "a/b",
            "a\0",
            &"a".repeat(65),
        ] {
            assert!(ToolName::new(bad).is_err(), "{bad:?}");
        }
        assert!(PluginName::new("my-tool").is_ok());
        assert!(PluginName::new("../x").is_err());
    }

    #[test]
    fn a_huge_name_makes_a_short_message() {
        let error = ToolName::new(&"X".repeat(5_000)).unwrap_err().to_string();
        assert!(error.len() < 200, "{} bytes", error.len());
    }
}
