//! The audit log: one JSON line a call, denied and failed ones included, appended in one
//! write. Hosts that share the file rotate it under a lock.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

#[cfg(target_os = "linux")]
use rustix::{fs::FallocateFlags, io::Errno};
use serde::Serialize;
use serde_json::Value;

use super::{
    Branch,
    events::{milliseconds, now},
    settle::DecisionRecord,
};
use crate::{
    arguments::canonical,
    tool::{Digest, RawArguments, ToolResult},
};

/// Stands where a secret was.
const REDACTED: &str = "[redacted]";

/// Reserved on the disk when the log is opened.
#[cfg(target_os = "linux")]
const ROOM: u64 = 64 << 10;

/// For so long nobody looks whether another host has rotated the file: a look costs as much
/// as a line. What is written meanwhile is in the rotated one.
const UNSEEN: Duration = Duration::from_millis(20);

/// Where and how to write.
#[derive(Debug, Clone)]
pub struct AuditSettings {
    /// The file.
    pub path: PathBuf,
    /// Whole arguments with these pointers redacted, or their digest only.
    pub redacted: Option<Vec<String>>,
    /// Bytes after which a new file begins.
    pub rotate_at: u64,
    /// Old files kept, as `<path>.1` (the youngest) and so on.
    pub keep: u32,
    /// What a log that cannot be written means for calls.
    pub on_error: OnError,
}

/// What a log that cannot be written means for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// Calls are `unavailable`.
    Refuse,
    /// Calls run, and the host's log says that they are not on record.
    Warn,
}

/// Why a log cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {error}", path = .path.display())]
pub struct AuditError {
    path: PathBuf,
    #[source]
    error: io::Error,
}

/// A log, or none. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Audit(Option<Arc<Log>>);

#[derive(Debug)]
struct Log {
    settings: AuditSettings,
    host: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    open: Option<Open>,
    /// The last write failed.
    failed: bool,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// When it was looked at.
    seen: Instant,
    /// Then, and what this host has written since.
    size: u64,
}

impl Open {
    fn new(file: File) -> io::Result<Self> {
        Ok(Self {
            size: file.metadata()?.len(),
            seen: Instant::now(),
            file,
        })
    }
}

pub(super) struct Record<'a> {
    pub(super) branch: &'a Branch,
    pub(super) result: &'a ToolResult,
    pub(super) decision: &'a DecisionRecord,
    pub(super) arguments: Option<&'a Value>,
    pub(super) raw: &'a RawArguments,
}

impl Audit {
    /// Keeps no record.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Opens the log, and its folder with mode 0700.
    ///
    /// # Errors
    ///
    /// If it cannot be written and calls shall not run without it.
    pub fn open(settings: AuditSettings) -> Result<Self, AuditError> {
        let log = Log {
            host: format!("h{}", std::process::id()),
            state: Mutex::new(State {
                open: None,
                failed: false,
            }),
            settings,
        };
        let opened = log.reopen().and_then(Open::new);
        match opened {
            Ok(open) => log.state().open = Some(open),
            Err(error) if log.settings.on_error == OnError::Refuse => {
                return Err(AuditError {
                    path: log.settings.path,
                    error,
                });
            }
            Err(error) => {
                tracing::warn!(path = %log.settings.path.display(), %error, "the audit log cannot be written");
                log.state().failed = true;
            }
        }
        Ok(Self(Some(Arc::new(log))))
    }

    /// Before a call runs: may it, as far as the record goes?
    pub(super) fn ready(&self) -> Result<(), io::Error> {
        let Some(log) = &self.0 else {
            return Ok(());
        };
        if log.settings.on_error == OnError::Warn {
            return Ok(());
        }
        let mut state = log.state();
        if state.failed {
            // A blank line tells whether the disk takes writes again.
            let mut file = log.reopen()?;
            file.write_all(b"\n")?;
            *state = State {
                open: Some(Open::new(file)?),
                failed: false,
            };
        }
        Ok(())
    }

    /// The same, but looks now.
    pub(super) fn look(&self) -> Result<(), io::Error> {
        if let Some(log) = &self.0 {
            let mut state = log.state();
            let current = match &state.open {
                Some(open) => is_current(&open.file, &log.settings.path).unwrap_or(false),
                None => true,
            };
            if !current {
                *state = State {
                    open: None,
                    failed: true,
                };
            }
        }
        self.ready()
    }

    pub(super) fn append<'a>(&self, record: impl FnOnce() -> Record<'a>) {
        let Some(log) = &self.0 else {
            return;
        };
        let line = log.line(&record());
        let mut state = log.state();
        match line.and_then(|line| log.write(&mut state, &line)) {
            Ok(()) => state.failed = false,
            Err(error) => {
                if !state.failed {
                    tracing::error!(path = %log.settings.path.display(), %error, "the audit log cannot be written");
                }
                *state = State {
                    open: None,
                    failed: true,
                };
            }
        }
    }
}

impl Log {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reopen(&self) -> io::Result<File> {
        let path = &self.settings.path;
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let file = File::options()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        if self.settings.on_error == OnError::Refuse {
            reserve(&file)?;
        }
        Ok(file)
    }

    /// One write of one whole line, so that lines of several hosts never mix.
    fn write(&self, state: &mut State, line: &[u8]) -> io::Result<()> {
        let mut open = match state.open.take() {
            Some(open) if open.seen.elapsed() < UNSEEN && open.size < self.settings.rotate_at => {
                open
            }
            Some(open) if is_current(&open.file, &self.settings.path)? => Open::new(open.file)?,
            _ => Open::new(self.reopen()?)?,
        };
        if open.size >= self.settings.rotate_at {
            drop(open);
            self.rotate()?;
            open = Open::new(self.reopen()?)?;
        }
        let written = open.file.write(line)?;
        if written != line.len() {
            // The torn line stays; the next one begins on a line of its own.
            let _ = open.file.write_all(b"\n");
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                "the disk took only a part of the line",
            ));
        }
        open.size += u64::try_from(written).unwrap_or(u64::MAX);
        state.open = Some(open);
        Ok(())
    }

    /// Under a lock, and looked at again there: another host may have been first.
    fn rotate(&self) -> io::Result<()> {
        let path = &self.settings.path;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(numbered(path, "lock"))?;
        lock.lock()?;
        match fs::metadata(path) {
            Ok(found) if found.len() >= self.settings.rotate_at => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let old = |n: u32| numbered(path, &n.to_string());
        if self.settings.keep == 0 {
            return fs::remove_file(path);
        }
        for n in (1..self.settings.keep).rev() {
            match fs::rename(old(n), old(n + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(path, old(1))
    }

    fn line(&self, record: &Record<'_>) -> io::Result<Vec<u8>> {
        let Record {
            branch,
            result,
            decision,
            ..
        } = record;
        let canonical = record.arguments.map(canonical);
        let shown = match (&self.settings.redacted, record.arguments) {
            (Some(pointers), Some(arguments)) => Some(redacted(arguments.clone(), pointers)),
            _ => None,
        };
        let implementation = result.implementation.as_ref();
        let failure = result.outcome.as_ref().err();
        let line = Line {
            v: 1,
            time: now(),
            host: &self.host,
            batch: &branch.batch_id,
            id: &result.id,
            index: result.index,
            principal: branch.scope.principal.id(),
            origin: branch.scope.principal.origin(),
            chain: branch
                .chain()
                .iter()
                .map(|link| format!("{}/{}", link.plugin, link.tool))
                .collect(),
            tool: beginning(&result.name),
            digest: implementation.map(|of| of.digest),
            generation: implementation.map(|of| of.generation),
            decision: decision.word,
            rule: decision.rule.as_deref(),
            approval: decision.approval.as_deref(),
            arguments_sha256: canonical
                .as_ref()
                .map(|text| Digest::of(text.as_bytes()).hex()),
            arguments: shown,
            outcome: failure.map_or("ok", |failure| failure.kind.as_str()),
            reason: failure.map(|failure| &*failure.error.reason),
            bytes_in: match record.raw {
                RawArguments::Absent => 0,
                RawArguments::Text(text) => text.len(),
                RawArguments::Value(_) => canonical.as_ref().map_or(0, String::len),
            },
            bytes_out: result.text.len(),
            queue_ms: milliseconds(result.queue),
            elapsed_ms: milliseconds(result.elapsed),
        };
        let mut text = Vec::with_capacity(640);
        serde_json::to_writer(&mut text, &line)?;
        text.push(b'\n');
        Ok(text)
    }
}

/// One line, in the order of its keys.
#[derive(Serialize)]
struct Line<'a> {
    v: u8,
    time: String,
    host: &'a str,
    batch: &'a str,
    id: &'a str,
    index: u32,
    principal: &'a str,
    origin: &'a str,
    chain: Vec<String>,
    tool: &'a str,
    digest: Option<Digest>,
    generation: Option<u64>,
    decision: &'a str,
    rule: Option<&'a str>,
    approval: Option<&'a str>,
    arguments_sha256: Option<String>,
    arguments: Option<Value>,
    outcome: &'a str,
    reason: Option<&'a str>,
    bytes_in: usize,
    bytes_out: usize,
    queue_ms: f64,
    elapsed_ms: f64,
}

/// Of a name that a model may have made up, 200 characters.
fn beginning(name: &str) -> &str {
    name.char_indices()
        .nth(200)
        .map_or(name, |(end, _)| &name[..end])
}

/// Room for the next lines, so that a full disk is known before a call runs rather than
/// after it. The file stays as long as it is; a file system that cannot do this is used.
#[cfg(target_os = "linux")]
fn reserve(file: &File) -> io::Result<()> {
    let end = file.metadata()?.len();
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, end, ROOM) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File) -> io::Result<()> {
    Ok(())
}

fn numbered(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// Whether the path still means the open file: another host may have rotated it away.
fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn redacted(mut arguments: Value, pointers: &[String]) -> Value {
    for pointer in pointers {
        if let Some(found) = arguments.pointer_mut(pointer) {
            *found = REDACTED.into();
        }
    }
    arguments
}
