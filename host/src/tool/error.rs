//! What can be wrong with a call, in words for the model that made it, and the one
//! error that lets a lookup go on to the next registry.

use std::{borrow::Cow, error::Error, fmt};

use serde::{Deserialize, Serialize};

/// One thing that is wrong with a call: kind, place, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    /// The failing argument, such as `edits[0].old`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Machine-readable snake case. The host's own are in [`Reason`].
    pub reason: Cow<'static, str>,
    /// What happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ToolError {
    /// An error of the host's own closed list of reasons.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            field: None,
            reason: Cow::Borrowed(reason.as_str()),
            detail: Some(detail.into()),
            hint: None,
        }
    }

    /// Names the failing argument.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(self.detail.as_deref().unwrap_or(&self.reason))?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

/// The host's own reasons: a closed list. Plugins use words of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The arguments are no usable JSON object.
    Arguments,
    /// A required property is absent.
    Required,
    /// A value of another JSON type.
    Type,
    /// Not one of the values that the schema lists (`enum`, `const`).
    Enum,
    /// Out of bounds: minimum, maximum, multiple, length, count.
    Range,
    /// Does not match the schema's pattern.
    Pattern,
    /// A property that the schema does not know.
    Additional,
    /// Does not have the schema's format.
    Format,
    /// Anything else a schema can say.
    Schema,
    /// The gate said no.
    Unauthorized,
    /// There is no such tool.
    NotFound,
    /// The time limit.
    Timeout,
    /// Another limit: memory, size, depth.
    Limit,
    /// The guest trapped.
    Trapped,
    /// Too busy, or set aside after traps.
    Unavailable,
    /// The caller gave up.
    Cancelled,
    /// Not started, because an earlier call failed.
    Skipped,
    /// A fault of the host.
    Internal,
}

impl Reason {
    /// The word as the model sees it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Required => "required",
            Self::Type => "type",
            Self::Enum => "enum",
            Self::Range => "range",
            Self::Pattern => "pattern",
            Self::Additional => "additional",
            Self::Format => "format",
            Self::Schema => "schema",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not_found",
            Self::Timeout => "timeout",
            Self::Limit => "limit",
            Self::Trapped => "trapped",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::Internal => "internal",
        }
    }
}

/// The registry has no such tool. The only error on which an overlay's lookup goes on
/// to its parent; recognised by its type through any wrapping, never by its text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool {name:?}")]
pub struct ErrToolNotFound {
    /// The name as asked for.
    pub name: String,
}

/// Whether `error`, or anything that it wraps, is [`ErrToolNotFound`].
#[must_use]
pub fn is_tool_not_found(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<ErrToolNotFound>() {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("there is no tool \"x\"")]
    struct Outer(#[source] Box<dyn Error + Send + Sync>);

    #[test]
    fn not_found_is_a_type_through_any_wrapping() {
        let inner = ErrToolNotFound { name: "x".into() };
        let twice = Outer(Box::new(Outer(Box::new(inner))));
        assert!(is_tool_not_found(&twice));
    }

    #[test]
    fn the_same_text_is_another_error() {
        let file = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no tool \"x\"");
        assert!(!is_tool_not_found(&Outer(Box::new(file))));
    }
}
