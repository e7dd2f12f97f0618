//! How fast each principal may call: a bucket of tokens that fills up again with time.
//! A batch costs as much as it has calls, and may leave the bucket in debt.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::config::RateLimit;

/// One bucket a principal: as many as the configuration defines.
#[derive(Debug)]
pub(super) struct Rates {
    limit: RateLimit,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Rates {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self {
            limit,
            buckets: Mutex::default(),
        }
    }

    /// Takes one token.
    ///
    /// # Errors
    ///
    /// How long until there is one.
    pub(super) fn take(&self, principal: &str, now: Instant) -> Result<(), Duration> {
        let rate = f64::from(self.limit.per_second);
        self.with(principal, now, |bucket| {
            if bucket.tokens < 1.0 {
                return Err(Duration::from_secs_f64((1.0 - bucket.tokens) / rate));
            }
            bucket.tokens -= 1.0;
            Ok(())
        })
    }

    /// Takes more for a request that turned out to be so many calls.
    pub(super) fn also(&self, principal: &str, calls: usize, now: Instant) {
        // A batch has 10,000 calls at most.
        let calls = f64::from(u32::try_from(calls).unwrap_or(u32::MAX));
        self.with(principal, now, |bucket| bucket.tokens -= calls);
    }

    fn with<T>(&self, principal: &str, now: Instant, work: impl FnOnce(&mut Bucket) -> T) -> T {
        let burst = f64::from(self.limit.burst);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(principal) {
            let full = Bucket {
                tokens: burst,
                filled: now,
            };
            buckets.insert(principal.to_owned(), full);
        }
        let mut spare = Bucket {
            tokens: burst,
            filled: now,
        };
        let bucket = buckets.get_mut(principal).unwrap_or(&mut spare);
        let passed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.tokens = burst.min(bucket.tokens + passed * f64::from(self.limit.per_second));
        bucket.filled = bucket.filled.max(now);
        work(bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_a_rate_and_each_has_its_own() {
        let rates = Rates::new(RateLimit {
            per_second: 10,
            burst: 3,
        });
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(rates.take("a", start), Ok(()));
        }
        assert_eq!(rates.take("a", start), Err(Duration::from_millis(100)));
        assert_eq!(rates.take("b", start), Ok(()));
        assert_eq!(rates.take("a", start + Duration::from_millis(101)), Ok(()));
        assert!(rates.take("a", start + Duration::from_millis(101)).is_err());
        // Never more than the burst.
        let later = start + Duration::from_secs(3_600);
        for _ in 0..3 {
            assert_eq!(rates.take("a", later), Ok(()));
        }
        assert!(rates.take("a", later).is_err());
    }

    #[test]
    fn a_batch_is_as_many_calls_as_it_has() {
        let rates = Rates::new(RateLimit {
            per_second: 10,
            burst: 5,
        });
        let start = Instant::now();
        rates.take("a", start).unwrap();
        rates.also("a", 23, start);
        assert_eq!(rates.take("a", start), Err(Duration::from_secs(2)));
        assert_eq!(
            rates.take("a", start + Duration::from_millis(2_001)),
            Ok(())
        );
    }
}
