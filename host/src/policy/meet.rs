//! What two policies, grants or limits allow *both*. A running host takes over an edited
//! configuration this way: what tightens holds at once, what widens waits for the operator.
//!
//! In doubt less: a pattern that cannot be compared with another one is left out.

use std::path::Path;

use super::{FsGrant, Limits, ParallelSafety, PluginGrants, ProcessGrant};
use crate::tool::NamePattern;

impl PluginGrants {
    /// What both grant, in `new`'s order. Values of variables stay as they run.
    #[must_use]
    pub fn meet(&self, new: &Self) -> Self {
        let mut fs: Vec<FsGrant> = Vec::new();
        for wanted in &new.fs {
            for granted in &self.fs {
                if let Some(both) = folder(granted, wanted)
                    && !fs.contains(&both)
                {
                    fs.push(both);
                }
            }
        }
        Self {
            fs,
            process: match (&self.process, &new.process) {
                (Some(granted), Some(wanted)) => Some(processes(granted, wanted)),
                _ => None,
            },
            tools: patterns(&self.tools, &new.tools),
            env: self
                .env
                .iter()
                .filter(|(name, _)| new.env.contains_key(*name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }
    }
}

impl Limits {
    /// The smaller of each.
    #[must_use]
    pub fn meet(&self, new: &Self) -> Self {
        Self {
            timeout: self.timeout.min(new.timeout),
            memory: self.memory.min(new.memory),
            result: self.result.min(new.result),
            blocks: self.blocks.min(new.blocks),
            host_call: self.host_call.min(new.host_call),
            log_bytes: self.log_bytes.min(new.log_bytes),
            log_lines: self.log_lines.min(new.log_lines),
            handles: self.handles.min(new.handles),
        }
    }
}

impl ParallelSafety {
    /// One word for both; where they differ, no call runs beside others.
    pub(crate) fn meet(running: Option<&Self>, new: Option<&Self>) -> Option<Self> {
        if running == new {
            running.cloned()
        } else {
            Some(Self::fixed(false))
        }
    }
}

/// The deeper of two folders that are the same place under the same name, or none.
fn folder(granted: &FsGrant, wanted: &FsGrant) -> Option<FsGrant> {
    let inside = |outer: &FsGrant, inner: &FsGrant| {
        let host = inner.host.strip_prefix(&outer.host).ok();
        let guest = Path::new(&inner.guest).strip_prefix(&outer.guest).ok();
        host.is_some() && host == guest
    };
    let deeper = if inside(granted, wanted) {
        wanted
    } else if inside(wanted, granted) {
        granted
    } else {
        return None;
    };
    Some(FsGrant {
        writable: granted.writable && wanted.writable,
        ..deeper.clone()
    })
}

fn processes(granted: &ProcessGrant, wanted: &ProcessGrant) -> ProcessGrant {
    let both = |granted: &[String], wanted: &[String]| -> Vec<String> {
        let both = wanted.iter().filter(|name| granted.contains(name));
        both.cloned().collect()
    };
    let mut cwd = Vec::new();
    for folder in &wanted.cwd {
        for other in &granted.cwd {
            let deeper = if folder.starts_with(other) {
                folder
            } else if other.starts_with(folder) {
                other
            } else {
                continue;
            };
            if !cwd.contains(deeper) {
                cwd.push(deeper.clone());
            }
        }
    }
    ProcessGrant {
        programs: both(&granted.programs, &wanted.programs),
        shell: granted.shell && wanted.shell,
        env: both(&granted.env, &wanted.env),
        cwd,
        output: granted.output.min(wanted.output),
    }
}

/// The patterns of either side that one pattern of the other side covers.
fn patterns(granted: &[NamePattern], wanted: &[NamePattern]) -> Vec<NamePattern> {
    let covered = |one: &NamePattern, by: &[NamePattern]| by.iter().any(|by| by.covers(one));
    let mut both: Vec<NamePattern> = Vec::new();
    let narrower = wanted
        .iter()
        .filter(|one| covered(one, granted))
        .chain(granted.iter().filter(|one| covered(one, wanted)));
    for pattern in narrower {
        if !both.contains(pattern) {
            both.push(pattern.clone());
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn fs(host: &str, guest: &str, writable: bool) -> FsGrant {
        FsGrant {
            host: host.into(),
            guest: guest.into(),
            writable,
        }
    }

    fn folders(running: &[&FsGrant], new: &[&FsGrant]) -> Vec<FsGrant> {
        let of = |fs: &[&FsGrant]| PluginGrants {
            fs: fs.iter().copied().cloned().collect(),
            ..PluginGrants::default()
        };
        of(running).meet(&of(new)).fs
    }

    #[test]
    fn of_two_folders_the_deeper_one_with_the_lesser_right_remains() {
        let (rw, ro) = (fs("/w", "/w", true), fs("/w", "/w", false));
        let deep = fs("/w/a", "/w/a", true);
        assert_eq!(folders(&[&rw], &[&ro]), [fs("/w", "/w", false)]);
        assert_eq!(folders(&[&ro], &[&rw]), [fs("/w", "/w", false)]);
        assert_eq!(folders(&[&rw], &[]), []);
        assert_eq!(folders(&[], &[&rw]), []);
        assert_eq!(folders(&[&rw], &[&deep]), [fs("/w/a", "/w/a", true)]);
        assert_eq!(folders(&[&deep], &[&rw]), [fs("/w/a", "/w/a", true)]);
        assert_eq!(folders(&[&ro], &[&deep]), [fs("/w/a", "/w/a", false)]);
        // The same folder under another name is another grant.
        assert_eq!(folders(&[&rw], &[&fs("/w", "/doc", true)]), []);
        assert_eq!(folders(&[&rw], &[&fs("/w/a", "/w/b", true)]), []);
    }

    #[test]
    fn the_first_folder_is_the_new_first() {
        let (a, b) = (fs("/a", "/a", true), fs("/b", "/b", true));
        assert_eq!(folders(&[&a, &b], &[&b, &a]), [b, a]);
    }

    #[test]
    fn of_processes_only_what_both_name_remains() {
        let of = |programs: &[&str], shell, cwd: &[&str]| PluginGrants {
            process: Some(ProcessGrant {
                programs: programs.iter().map(|one| (*one).to_owned()).collect(),
                shell,
                cwd: cwd.iter().map(Into::into).collect(),
                ..ProcessGrant::default()
            }),
            ..PluginGrants::default()
        };
        let both = of(&["git", "ls"], true, &["/w"]).meet(&of(&["sh", "git"], false, &["/w/a"]));
        assert_eq!(both, of(&["git"], false, &["/w/a"]));
        let none = of(&["git"], true, &["/w"]).meet(&PluginGrants::default());
        assert_eq!(none.process, None);
    }

    #[test]
    fn of_patterns_the_narrower_remains_and_in_doubt_none() {
        let of = |tools: &[&str]| -> Vec<NamePattern> {
            let all = tools.iter().map(|one| NamePattern::new(one).unwrap());
            all.collect()
        };
        let both = |running: &[&str], new: &[&str]| patterns(&of(running), &of(new));
        assert_eq!(both(&["*"], &["files_*"]), of(&["files_*"]));
        assert_eq!(both(&["files_*"], &["*"]), of(&["files_*"]));
        assert_eq!(both(&["files_*"], &["files_read"]), of(&["files_read"]));
        assert_eq!(both(&["files_*"], &["cmd_run"]), of(&[]));
        assert_eq!(both(&["files_r*"], &["files_*d"]), of(&[]));
        assert_eq!(both(&["a_*", "b_*"], &["b_*", "c_*"]), of(&["b_*"]));
    }

    #[test]
    fn of_limits_the_smaller_of_each_remains() {
        let running = Limits {
            timeout: Duration::from_secs(1),
            ..Limits::default()
        };
        let new = Limits {
            memory: 1,
            ..Limits::default()
        };
        let both = running.meet(&new);
        assert_eq!(both.timeout, Duration::from_secs(1));
        assert_eq!(both.memory, 1);
    }

    #[test]
    fn calls_run_side_by_side_only_if_both_say_the_same() {
        let yes = ParallelSafety::fixed(true);
        assert_eq!(ParallelSafety::meet(None, None), None);
        assert_eq!(
            ParallelSafety::meet(Some(&yes), Some(&yes)),
            Some(yes.clone())
        );
        let never = Some(ParallelSafety::fixed(false));
        assert_eq!(ParallelSafety::meet(Some(&yes), None), never);
        assert_eq!(ParallelSafety::meet(None, Some(&yes)), never);
    }
}
