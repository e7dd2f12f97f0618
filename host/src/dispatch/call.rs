//! A call on its way: each stage wraps what the stage before made.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::settle::DecisionRecord;
use crate::{
    registry::Target,
    tool::{Failure, RawArguments},
};

/// A call with an id of its own. Still untrusted.
#[derive(Debug, Clone)]
pub(super) struct Numbered {
    pub(super) id: Arc<str>,
    pub(super) original_id: Option<String>,
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) arguments: Arc<RawArguments>,
    /// The reply was cut here, so this call is not what the model meant.
    pub(super) cut: bool,
}

/// A call that ends without running.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) call: Numbered,
    pub(super) failure: Failure,
    /// Known, and may be known to the caller.
    pub(super) target: Option<Target>,
    /// The coerced arguments, where it came so far.
    pub(super) arguments: Option<Arc<Value>>,
    pub(super) decision: DecisionRecord,
}

/// How a call ended, with what only the runner knows.
#[derive(Debug)]
pub(super) struct Timing {
    pub(super) queue: Duration,
    pub(super) elapsed: Duration,
}
