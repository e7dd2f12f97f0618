//! The system's table of processes, by who started what. A snapshot: a process may have
//! ended since. Processes that the system hides (`hidepid`) are those of other users.

use std::fs;

use rustix::process::Pid;

/// The processes whose parent is `parent`, zombies included.
pub(super) fn children(parent: Pid) -> Vec<Pid> {
    all()
        .filter(|process| process.parent == Some(parent))
        .map(|process| process.id)
        .collect()
}

/// The processes of the session that `leader` began.
pub(super) fn session(leader: Pid) -> Vec<Pid> {
    all()
        .filter(|process| process.session == Some(leader))
        .map(|process| process.id)
        .collect()
}

/// A number in a file of the system as a process id; 0 is none.
pub(super) fn id(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

struct Process {
    id: Pid,
    parent: Option<Pid>,
    session: Option<Pid>,
}

fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(id(entry.file_name().to_str()?)?))
}

/// From `/proc/<id>/stat`: `id (name) state parent group session …`, where a name may hold
/// blanks and brackets.
fn process(id: Pid) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
    let parent = self::id(fields.next()?);
    let session = self::id(fields.nth(1)?);
    Some(Process {
        id,
        parent,
        session,
    })
}
