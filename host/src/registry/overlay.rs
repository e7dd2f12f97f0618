//! Lookup through layers. A miss in one layer goes on to the next; any other error is the
//! answer, so that a layer's real failure is never turned into "no such tool".

use std::{collections::BTreeSet, error::Error, sync::Arc};

use super::Target;
use crate::tool::{ErrToolNotFound, ToolName, is_tool_not_found};

/// Something that holds tools.
pub trait Shelf: Send + Sync {
    /// The tool of this name.
    ///
    /// # Errors
    ///
    /// [`ErrToolNotFound`], wrapped or not, where there is none; anything else where the
    /// shelf cannot tell.
    fn lookup(&self, name: &str) -> Result<Target, Box<dyn Error + Send + Sync>>;

    /// All names, for listing and for "did you mean".
    fn names(&self) -> Vec<ToolName>;
}

/// Shelves, first to last.
#[derive(Clone)]
pub struct Overlay(Vec<Arc<dyn Shelf>>);

impl Overlay {
    /// Looks in these, in this order.
    #[must_use]
    pub fn new(shelves: Vec<Arc<dyn Shelf>>) -> Self {
        Self(shelves)
    }

    /// # Errors
    ///
    /// [`ErrToolNotFound`] if no shelf has it, or the first real failure.
    pub fn lookup(&self, name: &str) -> Result<Target, Box<dyn Error + Send + Sync>> {
        for shelf in &self.0 {
            match shelf.lookup(name) {
                Err(error) if is_tool_not_found(&*error) => {}
                found => return found,
            }
        }
        Err(Box::new(ErrToolNotFound {
            name: name.to_owned(),
        }))
    }

    /// All names, each once, sorted.
    #[must_use]
    pub fn names(&self) -> BTreeSet<ToolName> {
        self.0.iter().flat_map(|shelf| shelf.names()).collect()
    }
}

impl std::fmt::Debug for Overlay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Overlay").field(&self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use super::*;

    struct Broken;
    impl Shelf for Broken {
        fn lookup(&self, _: &str) -> Result<Target, Box<dyn Error + Send + Sync>> {
            // The text says "not found"; the type does not.
            Err(Box::new(io::Error::new(
                io::ErrorKind::NotFound,
                "there is no tool \"x\"",
            )))
        }
        fn names(&self) -> Vec<ToolName> {
            Vec::new()
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("in the parent: {0}")]
    struct Wrapped(#[source] ErrToolNotFound);

    struct Empty;
    impl Shelf for Empty {
        fn lookup(&self, name: &str) -> Result<Target, Box<dyn Error + Send + Sync>> {
            Err(Box::new(Wrapped(ErrToolNotFound {
                name: name.to_owned(),
            })))
        }
        fn names(&self) -> Vec<ToolName> {
            Vec::new()
        }
    }

    #[test]
    fn a_miss_falls_through_by_type() {
        let overlay = Overlay::new(vec![Arc::new(Empty), Arc::new(Empty)]);
        assert!(is_tool_not_found(&*overlay.lookup("x").unwrap_err()));
    }

    #[test]
    fn a_parents_real_failure_stays_that_failure() {
        let overlay = Overlay::new(vec![Arc::new(Empty), Arc::new(Broken), Arc::new(Empty)]);
        let error = overlay.lookup("x").unwrap_err();
        assert!(error.is::<io::Error>());
        assert!(!is_tool_not_found(&*error));
    }
}
