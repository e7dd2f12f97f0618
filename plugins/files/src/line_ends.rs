//! Line ends: which ones a file uses, and text that follows them.

use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Lf,
    CrLf,
    /// Only in files that hold no line feed at all.
    Cr,
}

impl LineEnd {
    /// What most lines of `bytes` end with.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let feeds = memchr::memchr_iter(b'\n', bytes).count();
        let pairs = memchr::memmem::find_iter(bytes, b"\r\n").count();
        if feeds == 0 && memchr::memchr(b'\r', bytes).is_some() {
            Self::Cr
        } else if pairs * 2 > feeds {
            Self::CrLf
        } else {
            Self::Lf
        }
    }

    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Cr => b"\r",
        }
    }

    /// `text` with this line end. Text that says CR itself is taken as it is.
    pub(crate) fn follow(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self == Self::Lf || memchr::memchr(b'\r', text).is_some() {
            return Cow::Borrowed(text);
        }
        let mut followed = Vec::with_capacity(text.len());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => {
                    followed.extend_from_slice(line);
                    followed.extend_from_slice(self.bytes());
                }
                None => followed.extend_from_slice(line),
            }
        }
        Cow::Owned(followed)
    }
}
