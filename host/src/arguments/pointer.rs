//! Places in a schema: JSON pointers, kept as a chain of borrowed segments and written
//! out only where an error or a lookup needs them.

use std::fmt;

use serde_json::Value;

/// A place in a schema.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    /// The schema itself.
    Root,
    /// What a `$ref` points to: its pointer, without the `#`.
    Target(&'a str),
    /// A key of the place before.
    Key(&'a At<'a>, &'a str),
    /// An item of the place before.
    Index(&'a At<'a>, usize),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Target(pointer) => f.write_str(pointer),
            Self::Key(at, key) => {
                write!(f, "{at}/")?;
                key.chars().try_for_each(|c| match c {
                    '~' => f.write_str("~0"),
                    '/' => f.write_str("~1"),
                    other => fmt::Write::write_char(f, other),
                })
            }
            Self::Index(at, index) => write!(f, "{at}/{index}"),
        }
    }
}

impl At<'_> {
    /// The pointer as a URI's fragment, `#` included.
    pub(super) fn fragment(&self) -> String {
        use fmt::Write as _;
        let mut fragment = String::from("#");
        for byte in self.to_string().bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
                fragment.push(char::from(byte));
            } else {
                let _ = write!(fragment, "%{byte:02X}");
            }
        }
        fragment
    }
}

/// The pointer of a local `$ref`, which is `#` or starts with `#/`. Percent-encoded ones
/// are none, so that there is one way to write and to read each.
pub(super) fn local(reference: &str) -> Option<&str> {
    reference
        .strip_prefix('#')
        .filter(|pointer| pointer.is_empty() || pointer.starts_with('/'))
        .filter(|pointer| !pointer.contains('%'))
}

/// What the schema's `$ref` points to, with its place; loading has checked that it exists.
pub(super) fn target<'s>(
    root: &'s Value,
    schema: &'s serde_json::Map<String, Value>,
) -> Option<(At<'s>, &'s Value)> {
    let pointer = local(schema.get("$ref")?.as_str()?)?;
    Some((At::Target(pointer), root.pointer(pointer)?))
}
