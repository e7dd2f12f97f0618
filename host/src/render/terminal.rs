//! Text that a tool or a model wrote, on somebody's terminal: it shall be read, not obeyed.

/// The text with everything escaped that moves the cursor, changes colours or the
/// clipboard, hides itself, or turns other text around: as `\r`, `\x1b` or `\u{202e}`.
/// Line ends and tabs stay, and so does everything that can be seen. The letters of an
/// escape are plain text, so text that already holds such letters looks the same.
#[must_use]
pub fn for_terminal(text: &str) -> String {
    use std::fmt::Write as _;
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let _ = match c {
            '\n' | '\t' => safe.write_char(c),
            '\r' => safe.write_str("\\r"),
            _ if c.is_ascii_control() => write!(safe, "\\x{:02x}", u32::from(c)),
            _ if c.is_control() || unseen(c) => write!(safe, "\\u{{{:x}}}", u32::from(c)),
            _ => safe.write_char(c),
        };
    }
    safe
}

/// Characters that take no room of their own, or that order the text around them.
fn unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}' // soft hyphen, joiners, marks
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // fillers
        | '\u{200b}'..='\u{200f}' // zero width, direction marks
        | '\u{2028}'..='\u{202e}' // line and paragraph ends, embeddings and overrides
        | '\u{2060}'..='\u{206f}' // word joiner, invisible operators, isolates
        | '\u{fff9}'..='\u{fffb}' // annotations
        | '\u{e0000}'..='\u{e0fff}' // tags and further variation selectors
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn orders_to_the_terminal_become_text() {
        for (hostile, safe) in [
            ("\u{1b}[2J\u{1b}[1A", "\\x1b[2J\\x1b[1A"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}", "\\x1b]52;c;ZXZpbA==\\x07"),
            ("harmless\rrm -rf /", "harmless\\rrm -rf /"),
            ("a\u{8}\u{7f}\0", "a\\x08\\x7f\\x00"),
            ("\u{9b}31m", "\\u{9b}31m"),
            (
                "exe.\u{202e}txt\u{2066}\u{200f}",
                "exe.\\u{202e}txt\\u{2066}\\u{200f}",
            ),
            (
                "a\u{200b}b\u{feff}\u{2060}",
                "a\\u{200b}b\\u{feff}\\u{2060}",
            ),
            ("\u{e0041}\u{2028}", "\\u{e0041}\\u{2028}"),
        ] {
            assert_eq!(for_terminal(hostile), safe);
        }
    }

    #[test]
    fn what_can_be_seen_stays() {
        let text = "a\tb\nc é—😀 漢字 עברית \\x1b";
        assert_eq!(for_terminal(text), text);
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(text in any::<String>()) {
            let safe = for_terminal(&text);
            prop_assert!(safe.chars().all(|c| c == '\n' || c == '\t' || !c.is_control() && !unseen(c)));
            prop_assert_eq!(&for_terminal(&safe), &safe);
        }
    }
}
