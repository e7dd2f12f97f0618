//! How much each principal may ask: a bucket of tokens that fills up again with time, and
//! a bound on requests at once. A batch costs as much as it has calls, and may leave the
//! bucket in debt.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::config::RateLimit;

/// Requests of one principal at once, streams of events among them. A quarter of all
/// connections: nobody alone can take them from the others.
const AT_ONCE: usize = 128;

/// When to try again after too many at once.
const SOON: Duration = Duration::from_secs(1);

/// One bucket a principal: as many as the configuration defines. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Rates(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: RateLimit,
    buckets: Mutex<HashMap<String, Bucket>>,
}

/// Room for one request, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    rates: Rates,
    principal: String,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled: Instant,
    open: usize,
}

impl Rates {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self(Arc::new(Inner {
            limit,
            buckets: Mutex::default(),
        }))
    }

    /// Takes one token, and room for one request.
    ///
    /// # Errors
    ///
    /// How long until there may be some.
    pub(super) fn take(&self, principal: &str, now: Instant) -> Result<Place, Duration> {
        let rate = f64::from(self.0.limit.per_second);
        self.with(principal, now, |bucket| {
            if bucket.tokens < 1.0 {
                return Err(Duration::from_secs_f64((1.0 - bucket.tokens) / rate));
            }
            if bucket.open >= AT_ONCE {
                return Err(SOON);
            }
            bucket.tokens -= 1.0;
            bucket.open += 1;
            Ok(())
        })?;
        Ok(Place {
            rates: self.clone(),
            principal: principal.to_owned(),
        })
    }

    /// Takes more for a request that turned out to be so many calls.
    pub(super) fn also(&self, principal: &str, calls: usize, now: Instant) {
        // A batch has 10,000 calls at most.
        let calls = f64::from(u32::try_from(calls).unwrap_or(u32::MAX));
        self.with(principal, now, |bucket| bucket.tokens -= calls);
    }

    fn with<T>(&self, principal: &str, now: Instant, work: impl FnOnce(&mut Bucket) -> T) -> T {
        let burst = f64::from(self.0.limit.burst);
        let full = Bucket {
            tokens: burst,
            filled: now,
            open: 0,
        };
        let mut buckets = self.buckets();
        let bucket = buckets.entry(principal.to_owned()).or_insert(full);
        let passed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.tokens = burst.min(bucket.tokens + passed * f64::from(self.0.limit.per_second));
        bucket.filled = bucket.filled.max(now);
        work(bucket)
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<String, Bucket>> {
        self.0
            .buckets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(bucket) = self.rates.buckets().get_mut(&self.principal) {
            bucket.open -= 1;
        }
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
        let take = |who, now| rates.take(who, now).map(drop);
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(take("a", start), Ok(()));
        }
        assert_eq!(take("a", start), Err(Duration::from_millis(100)));
        assert_eq!(take("b", start), Ok(()));
        assert_eq!(take("a", start + Duration::from_millis(101)), Ok(()));
        assert!(take("a", start + Duration::from_millis(101)).is_err());
        // Never more than the burst.
        let later = start + Duration::from_secs(3_600);
        for _ in 0..3 {
            assert_eq!(take("a", later), Ok(()));
        }
        assert!(take("a", later).is_err());
    }

    #[test]
    fn a_batch_is_as_many_calls_as_it_has() {
        let rates = Rates::new(RateLimit {
            per_second: 10,
            burst: 5,
        });
        let take = |who, now| rates.take(who, now).map(drop);
        let start = Instant::now();
        take("a", start).unwrap();
        rates.also("a", 23, start);
        assert_eq!(take("a", start), Err(Duration::from_secs(2)));
        assert_eq!(take("a", start + Duration::from_millis(2_001)), Ok(()));
    }

    #[test]
    fn so_many_at_once_and_then_room_again() {
        let rates = Rates::new(RateLimit {
            per_second: 1,
            burst: 1_000,
        });
        let start = Instant::now();
        let mut held: Vec<Place> = (0..AT_ONCE)
            .map(|_| rates.take("a", start).unwrap())
            .collect();
        assert_eq!(rates.take("a", start).map(drop), Err(SOON));
        assert!(rates.take("b", start).is_ok());
        held.pop();
        assert!(rates.take("a", start).is_ok());
    }
}
