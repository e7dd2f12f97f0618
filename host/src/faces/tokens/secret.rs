//! The text of a token, which exists twice at most: when it is made, and when a client
//! sends it.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::tool::Digest;

const PREFIX: &str = "tg_";

/// Bytes of an id: no two of one file are alike, and people can compare it.
const ID: usize = 5;

/// Bytes of a secret.
const SECRET: usize = 32;

/// Longer texts are no tokens, and are not hashed.
const LONGEST: usize = 128;

/// A token with its secret. Shows its id only.
pub(in crate::faces) struct Secret {
    id: String,
    secret: String,
}

impl Secret {
    /// A new one.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; ID + SECRET];
        getrandom::fill(&mut bytes)?;
        let (id, secret) = bytes.split_at(ID);
        let mut hex = String::new();
        for byte in id {
            use fmt::Write as _;
            let _ = write!(hex, "{byte:02x}");
        }
        Ok(Self {
            id: hex,
            secret: BASE64_URL_SAFE_NO_PAD.encode(secret),
        })
    }

    /// The token that a client sent, if the text has a token's form.
    pub(in crate::faces) fn read(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        // An id has no `_`; a secret may.
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        (!id.is_empty() && !secret.is_empty()).then(|| Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
        })
    }

    pub(in crate::faces) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn sha256(&self) -> String {
        Digest::of(self.secret.as_bytes()).hex()
    }

    /// All of it, to be shown once.
    pub(in crate::faces) fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_never_shown() {
        let made = Secret::random().unwrap();
        let text = made.reveal();
        let read = Secret::read(&text).unwrap();
        assert_eq!((read.id(), read.sha256()), (made.id(), made.sha256()));
        assert_eq!(read.secret.len(), 43);
        assert!(!format!("{read:?}").contains(&read.secret));
        assert_ne!(Secret::random().unwrap().secret, read.secret);
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for text in [
            "",
            "tg_",
            "tg__",
            "tg_a_",
            "tg__b",
            "tg_a",
            "xx_a_b",
            "Bearer tg_a_b",
        ] {
            assert!(Secret::read(text).is_none(), "{text}");
        }
        assert!(Secret::read(&format!("tg_a_{}", "b".repeat(200))).is_none());
    }
}
