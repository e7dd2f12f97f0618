//! The audit log: one JSON line a call, denied and failed ones included, appended in one
//! write. Hosts that share the file rotate it under a lock.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(target_os = "linux")]
use rustix::{fs::FallocateFlags, io::Errno};
use serde_json::{Value, json};

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
    file: Option<File>,
    /// The last write failed.
    failed: bool,
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
                file: None,
                failed: false,
            }),
            settings,
        };
        let opened = log.reopen();
        match opened {
            Ok(file) => log.state().file = Some(file),
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
                file: Some(file),
                failed: false,
            };
        }
        Ok(())
    }

    pub(super) fn append<'a>(&self, record: impl FnOnce() -> Record<'a>) {
        let Some(log) = &self.0 else {
            return;
        };
        let mut line = log.line(&record()).to_string();
        line.push('\n');
        let mut state = log.state();
        match log.write(&mut state, line.as_bytes()) {
            Ok(()) => state.failed = false,
            Err(error) => {
                if !state.failed {
                    tracing::error!(path = %log.settings.path.display(), %error, "the audit log cannot be written");
                }
                *state = State {
                    file: None,
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
        let file = match state.file.take() {
            Some(file) if is_current(&file, &self.settings.path)? => file,
            _ => self.reopen()?,
        };
        let mut file = if file.metadata()?.len() >= self.settings.rotate_at {
            drop(file);
            self.rotate()?;
            self.reopen()?
        } else {
            file
        };
        let written = file.write(line)?;
        if written != line.len() {
            // The torn line stays; the next one begins on a line of its own.
            let _ = file.write_all(b"\n");
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                "the disk took only a part of the line",
            ));
        }
        state.file = Some(file);
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

    fn line(&self, record: &Record<'_>) -> Value {
        let Record {
            branch,
            result,
            decision,
            ..
        } = record;
        let principal = &branch.scope.principal;
        let chain: Vec<String> = branch
            .chain()
            .iter()
            .map(|link| format!("{}/{}", link.plugin, link.tool))
            .collect();
        let implementation = result.implementation.as_ref();
        let canonical = record.arguments.map(canonical);
        let raw = match record.raw {
            RawArguments::Absent => 0,
            RawArguments::Text(text) => text.len(),
            RawArguments::Value(_) => canonical.as_ref().map_or(0, String::len),
        };
        let failure = result.outcome.as_ref().err();
        let shown = match (&self.settings.redacted, record.arguments) {
            (Some(pointers), Some(arguments)) => redacted(arguments.clone(), pointers),
            _ => Value::Null,
        };
        json!({
            "v": 1,
            "time": now(),
            "host": self.host,
            "batch": &*branch.batch_id,
            "id": result.id,
            "index": result.index,
            "principal": principal.id(),
            "origin": principal.origin(),
            "chain": chain,
            "tool": result.name.chars().take(200).collect::<String>(),
            "digest": implementation.map(|of| of.digest),
            "generation": implementation.map(|of| of.generation),
            "decision": decision.word,
            "rule": decision.rule,
            "approval": decision.approval,
            "arguments_sha256": canonical.map(|text| Digest::of(text.as_bytes()).hex()),
            "arguments": shown,
            "outcome": failure.map_or("ok", |failure| failure.kind.as_str()),
            "reason": failure.map(|failure| &failure.error.reason),
            "bytes_in": raw,
            "bytes_out": result.text.len(),
            "queue_ms": milliseconds(result.queue),
            "elapsed_ms": milliseconds(result.elapsed),
        })
    }
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
