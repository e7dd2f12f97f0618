use std::{fs, time::Duration};

use tokio::time::timeout;

use super::*;

/// Nothing is told within this time.
const SILENCE: Duration = Duration::from_secs(1);
/// Something is told within this time, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(12);

#[tokio::test]
async fn a_folder_that_goes_is_told_once_and_missed_nowhere() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("plugins");
    fs::create_dir(&folder).unwrap();
    let mut watcher = Watcher::new(vec![Interest::Components(folder.clone())], false);
    fs::remove_dir(&folder).unwrap();
    timeout(PATIENCE, watcher.changed()).await.unwrap();
    // A watcher that is gone does not keep its reader busy.
    assert!(timeout(SILENCE, watcher.changed()).await.is_err());
    // And what comes back in its place is seen, with what is put into it at once.
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.wasm"), b"a").unwrap();
    timeout(PATIENCE, watcher.changed()).await.unwrap();
    fs::write(folder.join("a.wasm"), b"b").unwrap();
    timeout(PATIENCE, watcher.changed()).await.unwrap();
}
