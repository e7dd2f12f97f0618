//! Notices that files changed. Says only *that* something changed, once it has been quiet:
//! what changed is found by whoever reads the files, by their content. So a lost event, an
//! overflow or a rescan costs a second look, never a change.
//!
//! Folders are watched, not files: a file that is saved by renaming another one over it is
//! a new file under an old name. Links on the way are watched too, and what does not exist
//! yet is waited for at the nearest folder that does.

mod pending;
mod places;
mod stamps;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use pending::Pending;
use places::Places;
use stamps::Stamps;

pub(crate) use places::Interest;

/// How often files are looked at where the system tells nothing.
const POLL: Duration = Duration::from_secs(1);

/// How often they are looked at where it does: what it failed to tell is found then.
const SWEEP: Duration = Duration::from_secs(15);

/// How often folders are found anew because they changed while they were being watched;
/// where that never ends, sweeping has to do.
const PLACINGS: usize = 8;

/// Watches some files and folders.
#[derive(Debug)]
pub(crate) struct Watcher {
    interests: Vec<Interest>,
    pending: Arc<Pending>,
    system: Option<System>,
    stamps: Stamps,
    why_polling: Option<String>,
}

/// The operating system's own watcher and what it watches.
#[derive(Debug)]
struct System {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

impl Watcher {
    /// By what the system says, or by looking every second if `poll` says so or the
    /// system cannot say.
    #[must_use]
    pub(crate) fn new(interests: Vec<Interest>, poll: bool) -> Self {
        let pending = Arc::new(Pending::default());
        let mut watcher = Self {
            stamps: Stamps::take(&interests),
            interests,
            system: None,
            why_polling: None,
            pending,
        };
        if poll {
            watcher.pending.only_polled();
        } else {
            match watcher.start_system() {
                Ok(system) => {
                    watcher.system = Some(system);
                    watcher.place();
                }
                Err(error) => watcher.give_up(&error),
            }
        }
        watcher
    }

    /// Watches these from now on.
    pub(crate) fn watch(&mut self, interests: Vec<Interest>) {
        if self.interests != interests {
            self.interests = interests;
            self.stamps = Stamps::take(&self.interests);
            self.place();
        }
    }

    /// Why files are looked at every second although nobody asked for that.
    #[must_use]
    pub(crate) fn why_polling(&self) -> Option<&str> {
        self.why_polling.as_deref()
    }

    /// Returns when something may have changed and has been quiet since.
    pub(crate) async fn changed(&mut self) {
        let every = if self.system.is_some() { SWEEP } else { POLL };
        let mut look = interval_at(Instant::now() + every, every);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let pending = Arc::clone(&self.pending);
        loop {
            // Before the question, so that no event falls between the two.
            let woken = pending.woken();
            let due = pending.due();
            tokio::select! {
                () = woken => {}
                () = at(due) => {
                    pending.clear();
                    // First, so that what changes from here on is seen.
                    self.place();
                    self.stamps = Stamps::take(&self.interests);
                    return;
                }
                _ = look.tick() => {
                    let stamps = Stamps::take(&self.interests);
                    if stamps != self.stamps {
                        self.stamps = stamps;
                        pending.changed();
                    }
                }
            }
        }
    }

    fn start_system(&self) -> Result<System, notify::Error> {
        let pending = Arc::clone(&self.pending);
        let watcher = notify::recommended_watcher(move |event| pending.hear(event))?;
        Ok(System {
            watcher,
            watched: BTreeSet::new(),
        })
    }

    /// Watches the folders in which the interests lie *now*: any of them may have been
    /// made, moved or replaced.
    fn place(&mut self) {
        let Some(system) = &mut self.system else {
            return;
        };
        let mut places = Places::of(&self.interests);
        let mut failed = None;
        for _ in 0..PLACINGS {
            // Before the system watches them, so that its first word is heard.
            self.pending.expect(places.clone());
            failed = system.follow(&places).err();
            // A folder that was made meanwhile was told to nobody.
            let now = Places::of(&self.interests);
            if failed.is_some() || now == places {
                break;
            }
            places = now;
        }
        let network = places.on_network().map(Path::to_owned);
        if let Some(error) = failed {
            self.give_up(&error);
        } else if let Some(folder) = network {
            self.poll_because(format!(
                "{} lies on a network file system, which does not tell of changes by others; looking every second",
                folder.display()
            ));
        }
    }

    fn give_up(&mut self, error: &notify::Error) {
        let hint = match error.kind {
            notify::ErrorKind::MaxFilesWatch => {
                " (the limit is the system's: fs.inotify.max_user_watches)"
            }
            _ => "",
        };
        self.poll_because(format!(
            "the system cannot watch files: {error}{hint}; looking every second"
        ));
    }

    fn poll_because(&mut self, why: String) {
        tracing::warn!("{why}");
        self.system = None;
        self.pending.only_polled();
        self.why_polling = Some(why);
    }
}

impl System {
    /// All of them anew: a folder may be another one under the same name, even with the
    /// same inode number, and its watch went with the old one.
    fn follow(&mut self, places: &Places) -> Result<(), notify::Error> {
        let now: BTreeSet<PathBuf> = places.folders().map(Path::to_owned).collect();
        for gone in self.watched.difference(&now) {
            // A folder that has gone took its watch with it.
            let _ = self.watcher.unwatch(gone);
        }
        self.watched.clear();
        for folder in now {
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder);
                }
                // Gone again: the folder above tells when it is back.
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_missing(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
