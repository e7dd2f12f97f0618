//! What a file's first bytes say it is. Names are not asked: they lie.

/// Enough for every mark below, and for a NUL to show in most binary files.
pub(crate) const SNIFF: usize = 8 << 10;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A picture that models can look at: its MIME type.
    Image(&'static str),
    /// Anything else that is no text: in words.
    Binary(&'static str),
}

const UTF_16: &str = "UTF-16 text";

const MARKS: &[(&[u8], &str)] = &[
    (b"%PDF-", "a PDF document"),
    (
        b"PK\x03\x04",
        "a ZIP archive (also .docx, .xlsx, .jar, .whl)",
    ),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"\x00asm", "WebAssembly"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O binary"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O binary"),
    (b"MZ", "a Windows program or library"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"BM", "a BMP image"),
];

impl Kind {
    /// Is it text whose bytes UTF-8 text cannot be mixed with?
    pub(crate) fn is_utf16(start: &[u8]) -> bool {
        Self::of(start) == Self::Binary(UTF_16)
    }

    pub(crate) fn of(start: &[u8]) -> Self {
        match start {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => {
                return Self::Image("image/png");
            }
            [0xff, 0xd8, 0xff, ..] => return Self::Image("image/jpeg"),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => return Self::Image("image/gif"),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => return Self::Image("image/webp"),
            _ => {}
        }
        if start.starts_with(b"%PDF-") {
            return Self::Binary("a PDF document");
        }
        // Short marks such as `BM` begin honest text too; a NUL never does.
        if !start.iter().take(SNIFF).any(|byte| *byte == 0) && !start.starts_with(b"\x1f\x8b") {
            return Self::Text;
        }
        let known = MARKS.iter().find(|(mark, _)| start.starts_with(mark));
        Self::Binary(known.map_or("binary data of an unknown kind", |(_, name)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn by_content() {
        assert_eq!(Kind::of(b""), Kind::Text);
        assert_eq!(Kind::of(b"BM is a text\n"), Kind::Text);
        assert_eq!(Kind::of("é\n".as_bytes()), Kind::Text);
        assert_eq!(Kind::of(b"caf\xe9"), Kind::Text);
        assert_eq!(Kind::of(b"\x89PNG\r\n\x1a\n\0"), Kind::Image("image/png"));
        assert_eq!(
            Kind::of(b"a\0b"),
            Kind::Binary("binary data of an unknown kind")
        );
        assert_eq!(Kind::of(b"\xff\xfea\0"), Kind::Binary("UTF-16 text"));
        assert_eq!(
            Kind::of(b"\x7fELF\x02\x01\0"),
            Kind::Binary("an ELF program or library")
        );
    }
}
