//! The host's end.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
    sync::Semaphore,
    task::JoinHandle,
};

use super::{Answer, ReloadedView, Request, socket};
use crate::{Host, faces::view::PluginsView};

/// A question is one short line.
const LINE: u64 = 4_096;

/// Who connects asks at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who asked at once; more wait.
const CONNECTIONS: usize = 32;

/// Listens until it is dropped.
#[derive(Debug)]
pub(in crate::faces) struct Control {
    task: JoinHandle<()>,
    path: PathBuf,
}

impl Control {
    /// # Errors
    ///
    /// If the socket cannot be made.
    pub(in crate::faces) fn open(host: &Host) -> io::Result<Self> {
        let data_dir = host.config().host.data_dir.clone();
        let folder = socket::make_folder(&data_dir)?;
        let path = folder.join(format!("{}.sock", std::process::id()));
        let listener = bind(&path)?;
        let host = host.clone();
        let task = tokio::spawn(async move { serve(listener, host).await });
        Ok(Self { task, path })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
        let _ = fs::remove_file(&self.path);
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    // Of a process that had this number before.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (address, _short) = socket::address(path)?;
    let listener = UnixListener::bind(address)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn serve(listener: UnixListener, host: Host) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let (stream, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, say: it passes.
                tracing::warn!(%error, "control socket");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let host = host.clone();
        tokio::spawn(async move {
            if let Err(error) = answer(stream, &host).await {
                tracing::debug!(%error, "control socket");
            }
            drop(slot);
        });
    }
}

async fn answer(stream: UnixStream, host: &Host) -> io::Result<()> {
    // The folder lets nobody else in; root, say, has no business here.
    let peer = stream.peer_cred()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("asked by another user"));
    }
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    let mut read = BufReader::new(read.take(LINE));
    tokio::time::timeout(PATIENCE, read.read_line(&mut line)).await??;
    let answer = match serde_json::from_str(&line) {
        Ok(Request::Events) => return events(read.into_inner().into_inner(), write, host).await,
        Ok(Request::Plugins) => Answer::Plugins(PluginsView::of(host)),
        Ok(Request::Reload) => Answer::Reloaded(reload(host).await),
        Err(error) => Answer::Refused(format!("no question of this version: {error}")),
    };
    send(&mut write, &answer).await
}

async fn reload(host: &Host) -> ReloadedView {
    let reloaded = host.reload().await;
    let (error, needs_restart) = match reloaded {
        Ok(reloaded) => (None, reloaded.needs_restart),
        Err(error) => (Some(error.to_string()), Vec::new()),
    };
    ReloadedView {
        error,
        needs_restart: needs_restart.into_iter().map(str::to_owned).collect(),
        now: PluginsView::of(host),
    }
}

/// Until the asker leaves.
async fn events(
    mut read: tokio::net::unix::OwnedReadHalf,
    mut write: tokio::net::unix::OwnedWriteHalf,
    host: &Host,
) -> io::Result<()> {
    let mut events = host.dispatcher().events().subscribe();
    // Says that it listens, so that nothing the asker does from here on is missed.
    send(&mut write, &serde_json::json!({ "watching": true })).await?;
    let mut nothing = [0; 64];
    loop {
        tokio::select! {
            event = events.next() => match event {
                None => return Ok(()),
                Some(Ok(event)) => send(&mut write, &*event).await?,
                Some(Err(missed)) => send(&mut write, &serde_json::json!({ "missed": missed })).await?,
            },
            read = read.read(&mut nothing) => if read? == 0 {
                return Ok(());
            },
        }
    }
}

async fn send(
    write: &mut tokio::net::unix::OwnedWriteHalf,
    value: &impl Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    write.write_all(&line).await
}
