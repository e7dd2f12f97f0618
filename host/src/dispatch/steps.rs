//! Spans of a call's steps, for whoever looks for lost time. At debug level; where nobody
//! listens, a span costs one comparison.

use std::fmt;

/// Characters of a name that a model made up.
const LONGEST: usize = 80;

/// A name from outside, fit for a log: cut, and without what a terminal would obey.
pub(super) struct Shown<'a>(pub(super) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for c in self.0.chars().take(LONGEST) {
            if c.is_control() {
                write!(f, "{}", c.escape_default())?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// The span of one step of one call.
macro_rules! step {
    ($name:literal, $branch:expr, $call:expr) => {
        tracing::debug_span!(
            $name,
            tool = %$crate::dispatch::steps::Shown(&$call.name),
            batch = %$branch.batch_id,
            id = %$crate::dispatch::steps::Shown(&$call.id),
            principal = %$branch.scope.principal.id(),
        )
    };
}
pub(super) use step;
