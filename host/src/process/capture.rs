//! Keeps the head and the tail of a stream under a cap, applied while reading: a command
//! that never stops writing costs no more memory than one that writes a page.
//!
//! Refuses to split a character: not between two reads, not at the cap, and not where
//! one stream breaks into the other's.

use std::collections::VecDeque;

/// One stream of a command, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// Head and tail, with the number of bytes cut between them if it is more than the
    /// cap. Invalid UTF-8 is shown as U+FFFD, so the text can have up to three times as
    /// many bytes as the cap.
    pub text: String,
    /// All bytes that were written, kept or not.
    pub total_bytes: u64,
    /// Whether the middle is cut.
    pub truncated: bool,
    /// Whether there was invalid UTF-8 in what is kept.
    pub invalid_utf8: bool,
}

/// The bytes of one stream as they come.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_cap: usize,
    tail_cap: usize,
    total: u64,
}

impl Capture {
    /// Keeps `cap` bytes: half of the beginning, half of the end.
    pub(super) fn new(cap: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_cap: cap / 2,
            tail_cap: cap - cap / 2,
            total: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.head_cap - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);

        let rest = &rest[rest.len().saturating_sub(self.tail_cap)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_cap);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(super) fn finish(self) -> Captured {
        let mut head = self.head;
        let mut tail = Vec::from(self.tail);
        let truncated = self.total > (head.len() + tail.len()) as u64;
        let mut captured = Captured {
            total_bytes: self.total,
            truncated,
            ..Captured::default()
        };
        if truncated {
            head.truncate(head.len() - unfinished(&head));
            tail.drain(..continuation(&tail));
            let cut = self.total - (head.len() + tail.len()) as u64;
            captured.add(&head);
            captured
                .text
                .push_str(&format!("\n[… {cut} bytes cut …]\n"));
            captured.add(&tail);
        } else {
            head.append(&mut tail);
            captured.add(&head);
        }
        captured
    }
}

impl Captured {
    fn add(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        self.invalid_utf8 |= matches!(text, std::borrow::Cow::Owned(_));
        self.text.push_str(&text);
    }
}

/// One stream's way into the capture of both: holds back the beginning of a character
/// until the rest has come, so that the other stream cannot break into it.
#[derive(Debug, Default)]
pub(super) struct Whole {
    held: Vec<u8>,
}

impl Whole {
    pub(super) fn pass(&mut self, bytes: &[u8], into: &mut Capture) {
        let mut joined = std::mem::take(&mut self.held);
        let bytes = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let (whole, held) = bytes.split_at(bytes.len() - unfinished(bytes));
        into.push(whole);
        self.held = held.to_vec();
    }

    /// The stream has ended; what is held back was no character.
    pub(super) fn finish(self, into: &mut Capture) {
        into.push(&self.held);
    }
}

/// How many bytes at the end begin a character that is not complete: 0 to 3.
fn unfinished(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    (1..=longest)
        .find(|back| bytes[bytes.len() - back] >= 0xC0)
        .filter(|back| {
            let end = &bytes[bytes.len() - back..];
            std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none())
        })
        .unwrap_or(0)
}

/// How many bytes at the start end a character whose beginning was cut: 0 to 3.
fn continuation(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(3)
        .take_while(|byte| (0x80..0xC0).contains(*byte))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(cap: usize, pieces: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(cap);
        for piece in pieces {
            capture.push(piece);
        }
        capture.finish()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let all = captured(10, &[b"01234", b"56789"]);
        assert_eq!(
            (all.text.as_str(), all.total_bytes, all.truncated),
            ("0123456789", 10, false)
        );
    }

    #[test]
    fn one_byte_more_is_counted_as_cut() {
        let all = captured(10, &[b"0123456", b"789a"]);
        assert_eq!(all.text, "01234\n[… 1 bytes cut …]\n6789a");
        assert_eq!((all.total_bytes, all.truncated), (11, true));
    }

    #[test]
    fn any_size_of_pieces_gives_the_same() {
        let text: Vec<u8> = (0..1000u32)
            .flat_map(|n| n.to_string().into_bytes())
            .collect();
        let whole = captured(101, &[&text]);
        for size in [1, 7, 50, 51, 52, 101, 999] {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(captured(101, &pieces), whole, "pieces of {size}");
        }
    }

    #[test]
    fn no_cap_keeps_nothing_and_counts() {
        let none = captured(0, &[b"abc", b"d"]);
        assert_eq!(
            (none.text.trim(), none.total_bytes),
            ("[… 4 bytes cut …]", 4)
        );
    }

    #[test]
    fn a_character_across_the_cap_is_cut_whole() {
        // Every place of the two cuts within a character of four bytes.
        for cap in 16..24 {
            let all = captured(cap, &["😀".repeat(20).as_bytes()]);
            assert!(!all.invalid_utf8, "cap {cap}: {}", all.text);
            let kept = all.text.matches('😀').count() as u64;
            assert!(
                all.text.contains(&format!("{} bytes cut", 80 - 4 * kept)),
                "{}",
                all.text
            );
        }
    }

    #[test]
    fn a_character_in_two_pieces_is_one() {
        let both = captured(100, &[&[0xC3], &[0xA9]]);
        assert_eq!((both.text.as_str(), both.invalid_utf8), ("é", false));
    }

    #[test]
    fn invalid_bytes_are_marked() {
        for bytes in [&[0xFF, 0xFE][..], &[b'a', 0xC3], &[0xC4, 0xE3, 0xBA, 0xC3]] {
            let all = captured(100, &[bytes]);
            assert!(
                all.invalid_utf8 && all.text.contains('\u{FFFD}'),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn one_stream_does_not_break_the_others_character() {
        let mut both = Capture::new(100);
        let (mut out, mut err) = (Whole::default(), Whole::default());
        out.pass(&[0xF0, 0x9F], &mut both);
        err.pass(b"e", &mut both);
        out.pass(&[0x98], &mut both);
        out.pass(&[0x80], &mut both);
        err.pass(&[0xC3], &mut both);
        out.finish(&mut both);
        err.finish(&mut both);
        assert_eq!(both.finish().text, "e😀\u{FFFD}");
    }
}
