//! Sizes and durations as an operator writes them.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, de};

/// Longest duration that is taken: ten years. Beyond it a number is a mistake, and clock
/// arithmetic would overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Bytes: a whole number, or text such as `64MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// A duration: seconds as a number, or text such as `30s`, `2m`, `500ms`, `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time(pub(super) Duration);

fn size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let shift = match unit {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn time(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    seconds(number.parse::<f64>().ok()? * scale)
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| *time <= LONGEST)
}

/// The number in front and the unit behind.
fn split(text: &str) -> Option<(&str, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then_some((number, unit.trim()))
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a size: bytes as a whole number, or text such as \"64MiB\" (B, KiB, MiB, GiB)",
                )
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Size, E> {
                u64::try_from(number)
                    .map(Size)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Size, E> {
                Ok(Size(number))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                size(text)
                    .map(Size)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration: seconds as a number, or text such as \"30s\" (ms, s, m, h), at most 10 years")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Time, E> {
                u64::try_from(number)
                    .ok()
                    .map(Duration::from_secs)
                    .filter(|time| *time <= LONGEST)
                    .map(Time)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Time, E> {
                seconds(number)
                    .map(Time)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                time(text)
                    .map(Time)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A size as [`Size`] reads it.
pub(super) fn size_text(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    format!("{bytes}B")
}

/// A duration as [`Time`] reads it.
pub(super) fn time_text(time: Duration) -> String {
    match (time.as_secs(), time.subsec_millis()) {
        (seconds, 0) => format!("{seconds}s"),
        _ => format!("{}ms", time.as_millis()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, want) in [
            ("0", 0),
            ("12B", 12),
            ("1KiB", 1024),
            ("64 MiB", 64 << 20),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(size(text), Some(want), "{text}");
        }
        for bad in [
            "",
            "MiB",
            "1MB",
            "-1",
            "1.5MiB",
            "1 mib",
            "99999999999GiB",
            "1MiB2",
        ] {
            assert_eq!(size(bad), None, "{bad}");
        }
        for bytes in [1, 1024, 64 << 20, (1 << 20) + 1] {
            assert_eq!(size(&size_text(bytes)), Some(bytes));
        }
    }

    #[test]
    fn durations() {
        for (text, want) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("2m", 120_000),
            ("1.5s", 1_500),
            ("1h", 3_600_000),
        ] {
            assert_eq!(time(text), Some(Duration::from_millis(want)), "{text}");
            assert_eq!(
                time(&time_text(Duration::from_millis(want))),
                Some(Duration::from_millis(want))
            );
        }
        for bad in [
            "",
            "s",
            "30",
            "-1s",
            "1d",
            "1e9s",
            "999999999999h",
            "1..2s",
            "nans",
        ] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }
}
