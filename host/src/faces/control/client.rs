//! The asker's end.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixStream, unix::OwnedReadHalf, unix::OwnedWriteHalf},
};

use super::{Answer, Request, socket};

/// An answer is no larger than this.
const ANSWER: u64 = 64 << 20;

/// A host that lives accepts at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// A host that runs.
#[derive(Debug)]
pub(in crate::faces) struct HostLink {
    /// Its process.
    pub(in crate::faces) process: u32,
    path: PathBuf,
}

/// The lines of an answer.
#[derive(Debug)]
pub(in crate::faces) struct Lines {
    read: BufReader<tokio::io::Take<OwnedReadHalf>>,
    _write: OwnedWriteHalf,
}

/// The hosts on this data folder, by process. What hosts that were killed left is removed.
pub(in crate::faces) async fn running(data_dir: &Path) -> Vec<HostLink> {
    let folder = socket::folder(data_dir);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        let process = path
            .file_stem()
            .filter(|_| path.extension() == Some(OsStr::new("sock")))
            .and_then(OsStr::to_str)
            .and_then(|stem| stem.parse().ok());
        let Some(process) = process else { continue };
        match connect(&path).await {
            Ok(_) => found.push(HostLink { process, path }),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let _ = fs::remove_file(&path);
            }
            Err(error) => tracing::debug!(%error, path = %path.display(), "no host answers"),
        }
    }
    found.sort_by_key(|link| link.process);
    found
}

impl HostLink {
    /// Asks, and waits for the one answer.
    pub(in crate::faces) async fn ask(&self, request: Request) -> io::Result<Answer> {
        let mut lines = self.lines(request).await?;
        let line = lines.next().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        serde_json::from_value(line).map_err(|error| {
            io::Error::other(format!(
                "its answer is not of this version of toolgate: {error}"
            ))
        })
    }

    /// Asks, and gives the lines as they come.
    pub(in crate::faces) async fn lines(&self, request: Request) -> io::Result<Lines> {
        let (read, mut write) = connect(&self.path).await?.into_split();
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        write.write_all(&line).await?;
        Ok(Lines {
            read: BufReader::new(read.take(ANSWER)),
            _write: write,
        })
    }
}

impl Lines {
    /// The next line; none after the host has ended.
    pub(in crate::faces) async fn next(&mut self) -> io::Result<Option<Value>> {
        self.read.get_mut().set_limit(ANSWER);
        let mut line = String::new();
        if self.read.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line)?))
    }
}

async fn connect(path: &Path) -> io::Result<UnixStream> {
    let (address, _short) = socket::address(path)?;
    tokio::time::timeout(PATIENCE, UnixStream::connect(address)).await?
}
