//! Names of sequences and of groups. A sequence's name becomes a file's name, so one
//! allow-list serves every verb, and no two names share a file.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;

const LONGEST: usize = 128;
/// Longest encoded name that is kept as it is: file systems take 255 bytes, and `.json`
/// and a temporary name's ending come on top.
const LONGEST_FILE: usize = 200;

/// Everything but small letters, digits, `-` and `_`. Capitals too: some file systems
/// take `A` and `a` for one.
const ENCODED: &AsciiSet = &{
    let mut set = NON_ALPHANUMERIC.remove(b'-').remove(b'_');
    let mut letter = b'A';
    while letter <= b'Z' {
        set = set.add(letter);
        letter += 1;
    }
    set
};

/// What Windows takes for a device, with any ending.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// A sequence's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(crate) struct Name(String);

impl Name {
    /// # Errors
    ///
    /// Which rule of names the text breaks.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let name = checked(text)?;
        if let Some(bad) = name.chars().find(|c| matches!(c, '/' | '\\' | ':')) {
            return Err(format!("a name holds no `{bad}`"));
        }
        if name.starts_with('.') {
            return Err("a name does not begin with `.`".into());
        }
        if name.ends_with('.') {
            return Err("a name does not end with `.`".into());
        }
        if is_device(&name) {
            return Err("the name of a device is no name".into());
        }
        Ok(Self(name))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The file's stem. A long one ends in the name's digest instead.
    pub(crate) fn file_stem(&self) -> String {
        let encoded = utf8_percent_encode(&self.0, ENCODED).to_string();
        if encoded.len() <= LONGEST_FILE {
            return encoded;
        }
        let digest = Sha256::digest(self.0.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        // `~` is in no encoded name, so this is nobody else's.
        format!("~{hex}")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A group's name: it is never a file's, so more is allowed.
pub(crate) fn group(text: &str) -> Result<String, String> {
    checked(text)
}

/// Text in the one normal form in which names and keys are compared.
pub(crate) fn normal(text: &str) -> String {
    text.nfc().collect()
}

fn checked(text: &str) -> Result<String, String> {
    let name = normal(text);
    let length = name.chars().count();
    if name.is_empty() {
        return Err("a name is not empty".into());
    }
    if length > LONGEST {
        return Err(format!(
            "a name has at most {LONGEST} characters; this one has {length}"
        ));
    }
    if let Some(control) = name.chars().find(|c| c.is_control()) {
        return Err(format!(
            "a name holds no control character (U+{:04X})",
            u32::from(control)
        ));
    }
    if name.trim() != name {
        return Err("a name neither begins nor ends with a blank".into());
    }
    if name.starts_with('#') {
        return Err("a name does not begin with `#`: that marks a sequence in a `target`".into());
    }
    Ok(name)
}

/// Such as `con`, `NUL.txt`, `COM1`, `LPT²`.
fn is_device(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or(name)
        .trim_end()
        .to_lowercase();
    let numbered = |prefix: &str| {
        let mut rest = stem.strip_prefix(prefix).unwrap_or_default().chars();
        matches!(rest.next(), Some('0'..='9' | '¹' | '²' | '³')) && rest.next().is_none()
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn one_list_for_all_names() {
        for bad in [
            "", " ", "a ", " a", "../x", "a/b", "a\\b", "..", ".", ".h", "#a", "a\0", "a\nb",
            "con", "CON.txt", "nul", "COM1", "com¹", "LPT²", "a:stream", "dot.", "/abs",
        ] {
            assert!(Name::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Name::parse(&"x".repeat(129)).is_err());
        assert!(Name::parse(&"x".repeat(300)).is_err());
        for good in [
            "a",
            "slack-summary",
            "a.b",
            "a b",
            "巡检三节点",
            "हिन्दी",
            "Ä",
            "x.json",
            "comet",
            "com10",
            "100%",
        ] {
            assert!(Name::parse(good).is_ok(), "{good:?}");
        }
        assert!(Name::parse(&"巡".repeat(128)).is_ok());
        assert!(group("a/b: c").is_ok());
        assert!(group("#a").is_err() && group("").is_err() && group("a\tb").is_err());
    }

    #[test]
    fn normal_forms_are_one_name_and_other_names_are_other_files() {
        assert_eq!(
            Name::parse("e\u{301}").unwrap(),
            Name::parse("\u{e9}").unwrap()
        );
        let long = [
            "巡".repeat(128),
            "巡".repeat(127),
            format!("{}x", "巡".repeat(127)),
        ];
        let names = [
            "Deploy", "deploy", "dePloy", "É", "é", "a%41", "aA", "a b", "a_b", "~x", "%",
        ];
        let all: Vec<String> = names.iter().map(|n| (*n).to_owned()).chain(long).collect();
        let files: BTreeSet<String> = all
            .iter()
            .map(|name| Name::parse(name).unwrap().file_stem().to_lowercase())
            .collect();
        assert_eq!(files.len(), all.len());
        assert!(files.iter().all(|file| {
            file.len() <= LONGEST_FILE
                && file
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_%~".contains(c))
        }));
        assert_eq!(Name::parse("deploy-2_a").unwrap().file_stem(), "deploy-2_a");
    }
}
