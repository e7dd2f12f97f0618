//! Bearer tokens: which principal a client is. A token is `tg_<id>_<secret>`; what is
//! kept is the id and the SHA-256 of the secret.
//!
//! A plain hash is enough here: the secret is 256 random bits, so there is no list of
//! likely ones that a slow hash would have to make expensive. Neither the secret nor its
//! hash is ever shown, logged or part of an error.

mod secret;
mod store;

pub(super) use secret::Secret;
pub(super) use store::{Checked, Refusal, TokenError, Tokens};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One token as it is kept.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// Public: it names the token in lists and logs.
    pub(super) id: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Who the bearer is.
    pub(super) principal: String,
    /// Of the secret; hexadecimal.
    sha256: String,
    pub(super) created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<Timestamp>,
}

impl Record {
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record")
            .field("id", &self.id)
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}
