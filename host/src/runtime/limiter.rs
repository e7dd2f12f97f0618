//! Memory and tables of one call, summed: the engine's own limit counts each memory of
//! a component apart, so several memories would have several times the limit.

use wasmtime::ResourceLimiter;

/// Table elements of one call in all. A large Rust guest has a few thousand.
const TABLE_ELEMENTS: usize = 100_000;
/// Core instances, memories and tables of one call: composed guests have dozens.
const INSTANCES: usize = 64;
const MEMORIES: usize = 16;
const TABLES: usize = 64;

#[derive(Debug)]
pub(super) struct CallLimiter {
    memory_limit: usize,
    memory: usize,
    elements: usize,
    hit: Option<Hit>,
}

/// Which limit was asked to give more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    Memory { limit: usize },
    Table,
}

impl CallLimiter {
    pub(super) fn new(memory_limit: u64) -> Self {
        Self {
            memory_limit: usize::try_from(memory_limit).unwrap_or(usize::MAX),
            memory: 0,
            elements: 0,
            hit: None,
        }
    }

    /// The limit that refused, if one did: a guest that then ends badly ended by it.
    pub(super) fn hit(&self) -> Option<Hit> {
        self.hit
    }
}

impl ResourceLimiter for CallLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.memory_limit {
            self.hit = Some(Hit::Memory {
                limit: self.memory_limit,
            });
            return Ok(false);
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.memory = total;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self
            .elements
            .saturating_add(desired.saturating_sub(current));
        if total > TABLE_ELEMENTS {
            self.hit = Some(Hit::Table);
            return Ok(false);
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        INSTANCES
    }

    fn tables(&self) -> usize {
        TABLES
    }

    fn memories(&self) -> usize {
        MEMORIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_summed() {
        let mut limiter = CallLimiter::new(100);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 60, None).unwrap());
        assert_eq!(limiter.hit(), Some(Hit::Memory { limit: 100 }));
        assert!(limiter.memory_growing(60, 100, None).unwrap());
    }

    #[test]
    fn a_components_own_maximum_is_no_limit_of_ours() {
        let mut limiter = CallLimiter::new(100);
        assert!(!limiter.memory_growing(0, 60, Some(50)).unwrap());
        assert_eq!(limiter.hit(), None);
    }
}
