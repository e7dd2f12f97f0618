//! The names under which an argument's path is known, by text alone.
//!
//! Nothing is looked up on disk: rules are decided before anything runs, and the granted
//! folder stays the wall. A symbolic link can therefore lead past a rule, never past a
//! grant.

use crate::policy::FsGrant;

/// One path in all its spellings that mean the same file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// Absolute, normalised, by every granted folder that shows the file. Without any
    /// grant: the path itself, normalised, possibly relative.
    pub(super) absolute: Vec<String>,
    /// Relative to a granted folder: the first one's only, or to each.
    pub(super) relative: Vec<String>,
}

/// How far [`names`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// As the sandbox resolves it: the longest granted folder, relative to the first.
    Exact,
    /// Everything that it could be called, the host's own path included.
    Every,
}

/// All names of `path`. Relative paths resolve in the first of `roots`; `.`, `..`,
/// doubled and trailing slashes vanish. `..` at the top stays at the top.
pub(super) fn names(path: &str, roots: &[FsGrant], reach: Reach) -> Names {
    let own = absolute(path, roots);
    let mut holders: Vec<(&FsGrant, &str)> = roots
        .iter()
        .filter_map(|root| Some((root, below(&own, &fold(&root.guest))?)))
        .map(|(root, rest)| (root, &own[own.len() - rest.len()..]))
        .collect();
    if reach == Reach::Exact {
        let nearest = holders.iter().map(|(_, rest)| rest.len()).min();
        holders.retain(|(_, rest)| Some(rest.len()) == nearest);
    }
    let mut names = Names {
        absolute: vec![own.clone()],
        relative: Vec::new(),
    };
    for (holder, rest) in holders {
        let Some(host) = holder.host.to_str() else {
            continue;
        };
        let host = join(host, rest);
        for root in roots {
            let Some(rest) = root.host.to_str().and_then(|top| below(&host, top)) else {
                continue;
            };
            push(&mut names.absolute, join(&root.guest, rest));
        }
        if reach == Reach::Every {
            push(&mut names.absolute, host);
        }
    }
    let tops = if reach == Reach::Every {
        roots.len()
    } else {
        1
    };
    for root in roots.iter().take(tops) {
        let top = fold(&root.guest);
        for name in &names.absolute {
            match below(name, &top) {
                Some("") => push(&mut names.relative, ".".to_owned()),
                Some(rest) => push(&mut names.relative, rest.to_owned()),
                None => {}
            }
        }
    }
    names
}

/// `path` normalised, and absolute if there is a first granted folder to join it to.
pub(super) fn absolute(path: &str, roots: &[FsGrant]) -> String {
    match roots.first() {
        Some(first) if !path.starts_with('/') => fold(&join(&first.guest, path)),
        _ => fold(path),
    }
}

/// What is left of `path` below `top`, whole components only; both normalised. Empty
/// where they are the same.
pub(super) fn below<'a>(path: &'a str, top: &str) -> Option<&'a str> {
    match (path, top) {
        (path, "/") => path.strip_prefix('/'),
        // Without a granted folder, `.` is the folder of all paths that do not leave it.
        (path, ".") if !path.starts_with('/') && path != ".." && !path.starts_with("../") => {
            Some(if path == "." { "" } else { path })
        }
        _ => {
            let rest = path.strip_prefix(top)?;
            if rest.is_empty() {
                Some(rest)
            } else {
                rest.strip_prefix('/')
            }
        }
    }
}

fn join(top: &str, rest: &str) -> String {
    match rest {
        "" => top.to_owned(),
        _ => format!("{}/{rest}", top.trim_end_matches('/')),
    }
}

/// Removes `.`, `..`, and empty components. A relative path that leaves its start keeps
/// its leading `..`.
fn fold(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if rooted => {}
            part => kept.push(part),
        }
    }
    match (rooted, kept.is_empty()) {
        (true, _) => format!("/{}", kept.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => kept.join("/"),
    }
}

fn push(list: &mut Vec<String>, name: String) {
    if !list.contains(&name) {
        list.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(host: &str, guest: &str) -> FsGrant {
        FsGrant {
            host: host.into(),
            guest: guest.into(),
            writable: true,
        }
    }

    #[test]
    fn folding_leaves_no_dots_and_never_climbs_above_the_top() {
        for (path, want) in [
            ("a/./b//c/", "a/b/c"),
            ("a/../../b", "../b"),
            ("/../../etc", "/etc"),
            ("", "."),
            (".", "."),
            ("a/..", "."),
            ("..", ".."),
            ("/", "/"),
        ] {
            assert_eq!(fold(path), want, "{path:?}");
        }
    }

    #[test]
    fn below_counts_whole_components() {
        assert_eq!(below("/ws/src/a", "/ws/src"), Some("a"));
        assert_eq!(below("/ws/src", "/ws/src"), Some(""));
        assert_eq!(below("/ws/srcx", "/ws/src"), None);
        assert_eq!(below("/etc", "/"), Some("etc"));
        assert_eq!(below("../a", "."), None);
        assert_eq!(below("a", "."), Some("a"));
    }

    #[test]
    fn one_file_shown_by_two_folders_has_both_names() {
        let roots = [root("/real/ws", "/ws"), root("/real/ws/src", "/src")];
        let by_inner = names("/src/a", &roots, Reach::Exact);
        assert_eq!(by_inner.absolute, ["/src/a", "/ws/src/a"]);
        assert_eq!(by_inner.relative, ["src/a"]);
        let every = names("src/a", &roots, Reach::Every);
        assert_eq!(every.absolute, ["/ws/src/a", "/src/a", "/real/ws/src/a"]);
        assert_eq!(every.relative, ["src/a", "a"]);
    }

    #[test]
    fn a_path_that_leaves_the_folder_has_no_relative_name() {
        let roots = [root("/real/ws", "/ws")];
        let out = names("src/../../etc/passwd", &roots, Reach::Exact);
        assert_eq!(out.absolute, ["/etc/passwd"]);
        assert!(out.relative.is_empty());
    }

    /// What a deeper folder hides from an outer one is not reached through the outer one.
    #[test]
    fn the_deepest_folder_wins_unless_every_name_is_asked_for() {
        let roots = [root("/x", "/a"), root("/y", "/a/b"), root("/x/b", "/z")];
        assert_eq!(names("/a/b/c", &roots, Reach::Exact).absolute, ["/a/b/c"]);
        let every = names("/a/b/c", &roots, Reach::Every).absolute;
        assert!(every.contains(&"/z/c".to_owned()), "{every:?}");
    }
}
