//! Text in results: where it may be cut, and what it weighs as JSON.

use std::time::SystemTime;

/// What one result may hold as JSON text: the host ends a call above 1 MiB, and the
/// keys around the text need room as well.
pub(crate) const RESULT: usize = 900 << 10;

/// The longest start of `text` that has at most `bytes` bytes and whole characters.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Bytes of `c` inside a JSON string.
pub(crate) fn weight_of(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

/// Bytes of `text` as a JSON string, quotes included.
pub(crate) fn weight(text: &str) -> usize {
    text.chars().map(weight_of).sum::<usize>() + 2
}

/// RFC 3339 in UTC, to the second. Absent before 1970 and after year 9999.
pub(crate) fn date(time: SystemTime) -> Option<String> {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March make the leap day the last of its year; 719,468 days
    // lie between 0000-03-01 and 1970-01-01, 146,097 in each 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year + carry;
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    (year < 10_000)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_cut_breaks_a_character() {
        let text = "é—😀".repeat(3);
        for bytes in 0..=text.len() + 3 {
            let head = head(&text, bytes);
            assert!(head.len() <= bytes && text.starts_with(head));
            assert!(bytes >= text.len() || bytes - head.len() < 4);
        }
    }

    #[test]
    fn weight_is_what_json_needs() {
        for text in [
            "",
            "a\"\\\n\r\t",
            "\u{0}\u{1f}\u{8}\u{c}\u{7f}",
            "é—😀\u{2028}",
        ] {
            assert_eq!(
                weight(text),
                serde_json::to_string(text).unwrap().len(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn dates() {
        let at = |seconds| date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399).unwrap(), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400).unwrap(), "2000-02-29T00:00:00Z");
        assert_eq!(at(951_868_800).unwrap(), "2000-03-01T00:00:00Z");
        assert_eq!(at(1_735_689_599).unwrap(), "2024-12-31T23:59:59Z");
        assert_eq!(at(253_402_300_800), None);
    }
}
