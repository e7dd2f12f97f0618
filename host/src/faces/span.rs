//! Lengths of time as people and clients write them.

use std::time::Duration;

/// What [`read`] takes.
pub(super) const FORMS: &str = "a number with its unit, such as 500ms, 30s, 5m, 12h, 30d";

/// Longer times are slips.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// `30s`, `1.5h`, `30d`. None: the text is no such time, or more than ten years.
pub(super) fn read(text: &str) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(end);
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    if !number.starts_with(|c: char| c.is_ascii_digit()) || !number.chars().all(digits) {
        return None;
    }
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return None,
    };
    seconds(number.parse::<f64>().ok()? * scale)
}

/// Of a plain number.
pub(super) fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| *time <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            (" 1.5m ", 90_000),
            ("2h", 7_200_000),
            ("30d", 30 * 86_400_000),
            ("1w", 7 * 86_400_000),
        ] {
            assert_eq!(read(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for bad in [
            "",
            "30",
            "d",
            "-1d",
            "1e9d",
            "1y",
            "11000000h",
            "1 2d",
            ".5d",
            "1..2d",
            "infs",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
