//! Times, and what is said of them: the shortest, the middle, and the one that 99 of 100
//! stay below. Means are not used: one pause of the machine moves them.

use std::time::Duration;

use serde::Serialize;

/// Times of one kind of call, in the order of measuring.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<Duration>);

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

impl Samples {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// In microseconds; zeros if nothing was measured.
    pub(crate) fn summary(&self) -> Summary {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
            sorted
                .get(index)
                .map_or(0.0, |time| time.as_secs_f64() * 1e6)
        };
        Summary {
            min: at(0),
            median: at(50),
            p99: at(99),
        }
    }
}

impl Summary {
    /// From microseconds.
    pub(crate) fn in_milliseconds(self) -> Self {
        let Self { min, median, p99 } = self;
        Self {
            min: min / 1e3,
            median: median / 1e3,
            p99: p99 / 1e3,
        }
    }

    /// Of several figures, such as calls a second.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or_default();
        Self {
            min: at(0),
            median: at(values.len() / 2),
            p99: at(values.len().saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_middle() {
        let mut samples = Samples::default();
        for micros in (0..200).rev() {
            samples.push(Duration::from_micros(micros));
        }
        assert_eq!(
            samples.summary(),
            Summary {
                min: 0.0,
                median: 100.0,
                p99: 198.0
            }
        );
        assert_eq!(
            Samples::default().summary(),
            Summary {
                min: 0.0,
                median: 0.0,
                p99: 0.0
            }
        );
    }
}
