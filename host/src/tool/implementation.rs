//! Which code answered: the same name may mean other code a second later.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::PluginName;

/// SHA-256 of a component, shown as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// That is known already.
    #[must_use]
    pub const fn known(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }

    /// The 64 hexadecimal digits alone.
    #[must_use]
    pub fn hex(&self) -> String {
        use fmt::Write as _;
        self.0
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One loaded version of one plugin; native tools of the host have `plugin` `host`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Implementation {
    /// Whose tool it is.
    pub plugin: PluginName,
    /// As the plugin says it.
    pub version: Arc<str>,
    /// Of the component's bytes.
    pub digest: Digest,
    /// Counts the plugin's replacements in this host, from 1.
    pub generation: u64,
}
