//! At most one serial call of a plugin at a time: in this host by a lock that all versions
//! of the plugin share, and across the hosts of one data folder by a lock on a file.

use std::{
    fs::{File, TryLockError},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::sync::{Mutex, OwnedMutexGuard};

/// How often another host's lock is looked at again.
const RETRY: Duration = Duration::from_millis(10);

/// A plugin's serial lock.
#[derive(Debug, Clone)]
pub struct SerialLock {
    here: Arc<Mutex<()>>,
    file: Option<PathBuf>,
}

/// Held by the one serial call that runs.
#[derive(Debug)]
pub struct SerialGuard {
    _here: OwnedMutexGuard<()>,
    // The lock ends with the file.
    _across: Option<File>,
}

impl SerialLock {
    /// With a file to lock, where there is a data folder.
    #[must_use]
    pub fn new(file: Option<PathBuf>) -> Self {
        Self {
            here: Arc::default(),
            file,
        }
    }

    /// Waits for its turn.
    ///
    /// # Errors
    ///
    /// If the lock's file cannot be used.
    pub async fn enter(&self) -> std::io::Result<SerialGuard> {
        let here = Arc::clone(&self.here).lock_owned().await;
        let across = match &self.file {
            None => None,
            Some(path) => {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                let file = File::options()
                    .create(true)
                    .truncate(false)
                    .write(true)
                    .open(path)?;
                loop {
                    match file.try_lock() {
                        Ok(()) => break Some(file),
                        Err(TryLockError::WouldBlock) => tokio::time::sleep(RETRY).await,
                        Err(TryLockError::Error(error)) => return Err(error),
                    }
                }
            }
        };
        Ok(SerialGuard {
            _here: here,
            _across: across,
        })
    }
}
