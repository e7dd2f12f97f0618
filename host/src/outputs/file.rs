//! Kind `file`: each message is appended in one write, so that several hosts may share the
//! file, and ends with a line end.

use std::{
    fs::{DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use rustix::fs::OFlags;

use super::{
    Message,
    tool::{Channel, Undelivered},
};

pub(super) struct FileChannel {
    path: PathBuf,
    /// Held while something is written: what was given up on may still be on its way.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl FileChannel {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            turn: Arc::default(),
        }
    }
}

impl Channel for FileChannel {
    fn kind(&self) -> &'static str {
        "a file"
    }

    fn keeps_media(&self) -> bool {
        false
    }

    fn send(self: Arc<Self>, message: Message) -> BoxFuture<'static, Result<(), Undelivered>> {
        Box::pin(async move {
            let turn = Arc::clone(&self.turn).lock_owned().await;
            let path = self.path.clone();
            let written = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                append(&path, &message)
            });
            let error = match written.await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => error,
                Err(error) => io::Error::other(error),
            };
            // The path is the operator's; the model gets the kind of the trouble.
            tracing::warn!(path = %self.path.display(), %error, "an output channel cannot be written");
            Err(Undelivered::unavailable(
                format!("its file cannot be written: {}", error.kind()),
                "use another channel; the operator finds the reason in the log",
            ))
        })
    }
}

fn append(path: &Path, message: &Message) -> io::Result<()> {
    let mut text = message.as_text();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    // Opened each time: the file may be rotated away. Readable by this user alone.
    let mut file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)?;
            }
            open(path)?
        }
        opened => opened?,
    };
    let written = file.write(text.as_bytes())?;
    if written != text.len() {
        // The torn message stays; the next one begins on a line of its own.
        let _ = file.write_all(b"\n");
        return Err(io::Error::new(
            io::ErrorKind::StorageFull,
            "the disk took only a part of the message",
        ));
    }
    Ok(())
}

/// Never through a link that was put in the file's place, and never a FIFO or a device,
/// where a write could wait for ever.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is no regular file",
        ))
    }
}
