//! What is never changed here: git's own folder. A file planted in it (a hook, a line
//! of configuration) is run later, outside the sandbox, by whoever calls git.

use toolgate_sdk::ToolError;

/// Is this name git's, on any file system that the folder may lie on? Folding ones
/// ignore case, some ignore invisible characters, dots and spaces at the end, and one
/// has the short form `git~1`.
pub(crate) fn is_git(name: &str) -> bool {
    let seen: String = name
        .chars()
        .filter(|c| !is_ignored(*c))
        .flat_map(char::to_lowercase)
        .collect();
    // After `:`, some file systems take the name of a stream of the same folder.
    let seen = seen.split(':').next().unwrap_or_default();
    matches!(seen.trim_end_matches(['.', ' ']), ".git" | "git~1")
}

/// Characters that HFS+ drops before it compares names.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

pub(crate) fn refusal(field: &str, path: &str) -> ToolError {
    let what = format!("`{path}` lies in a `.git` folder, which this plugin never changes");
    ToolError::new("unauthorized", what)
        .field(field)
        .hint("run git itself, through cmd, where the operator allows it")
}

#[cfg(test)]
mod tests {
    use super::is_git;

    #[test]
    fn spellings_that_a_file_system_may_fold() {
        for name in [
            ".git",
            ".GIT",
            ".Git ",
            ".git.",
            ".g\u{200c}it",
            "GIT~1",
            ".git::$INDEX_ALLOCATION",
        ] {
            assert!(is_git(name), "{name:?}");
        }
        for name in [".gitignore", "git", ".github", "x.git", "", "."] {
            assert!(!is_git(name), "{name:?}");
        }
    }
}
