//! A host that changes while calls run: plugins by their files, rights by the edited
//! configuration. What an edit takes away is gone at once; what it adds waits until the
//! operator says so, since whoever edits the file may be the one it is to hold back.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::task::JoinHandle;

use super::{Host, Inner, wanted};
use crate::{
    config::{Config, ConfigError, Source, Watch},
    watch::{Interest, Watcher},
};

/// What a reload came to.
#[derive(Debug, Clone, Default)]
pub struct Reloaded {
    /// Sections of the file that only a new start takes over.
    pub needs_restart: Vec<&'static str>,
}

/// Why the configuration cannot be taken over; the running one stays in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// It cannot be used as it is.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Another file, or none, would be found in its place.
    #[error("the configuration {0} has gone; the running one stays in force")]
    Gone(String),
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Host {
    /// Takes over plugins and configuration as they are now, all that the configuration
    /// grants included. To be called on the operator's word alone.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used; plugins are looked at in any case.
    pub async fn reload(&self) -> Result<Reloaded, ReloadError> {
        let reread = self.0.reread(true).await;
        self.refresh().await;
        reread
    }

    /// Looks at the plugins' files, and loads, replaces and removes what changed by its
    /// content. Returns when all of that has ended.
    pub async fn refresh(&self) {
        self.0.refresh(false).await;
    }

    /// Follows the plugins' files and the configuration from now on, as `host.watch` of
    /// the configuration says. Runs on the current tokio runtime.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use = "dropping it ends the watch"]
    pub fn watch(&self) -> Watching {
        let host = Arc::downgrade(&self.0);
        Watching(tokio::spawn(follow(host)))
    }
}

async fn follow(host: Weak<Inner>) {
    let Some(inner) = host.upgrade() else { return };
    let poll = match inner.config.load().host.watch {
        Watch::Auto => false,
        Watch::Poll => true,
        Watch::Off => return,
    };
    let mut watcher = Watcher::new(inner.interests(), poll);
    // What changed since the host was built.
    let mut again = inner.look().await;
    drop(inner);
    loop {
        let later = async {
            match again {
                Some(later) => tokio::time::sleep(later).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = watcher.changed() => {}
            () = later => {}
        }
        let Some(inner) = host.upgrade() else { return };
        again = inner.look().await;
        watcher.watch(inner.interests());
        inner.notes().watching = watcher.why_polling().map(str::to_owned);
    }
}

impl Inner {
    async fn look(&self) -> Option<Duration> {
        // What is wrong with it is noted there.
        let _ = self.reread(false).await;
        self.refresh(true).await
    }

    async fn refresh(&self, patient: bool) -> Option<Duration> {
        let wanted = Arc::new(wanted(&self.config.load()));
        self.roster.refresh(wanted, patient).await
    }

    fn interests(&self) -> Vec<Interest> {
        let config = self.config.load();
        let sources = config.plugins.values().filter_map(|plugin| {
            let Some(Source::Path(path)) = &plugin.source else {
                return None;
            };
            Some(Interest::File(path.clone()))
        });
        let folder = config.host.plugin_dir.clone().map(Interest::Components);
        let file = config.path.clone().map(Interest::File);
        sources.chain(folder).chain(file).collect()
    }

    /// Reads the configuration again. Unless the operator has `confirmed` it, only what
    /// it takes away holds.
    async fn reread(&self, confirmed: bool) -> Result<Reloaded, ReloadError> {
        let _one_at_a_time = self.rereading.lock().await;
        let Some(request) = &self.request else {
            return Ok(Reloaded::default());
        };
        let running = self.config.load_full();
        let Some(path) = &running.path else {
            return Ok(Reloaded::default());
        };
        let new = Config::load(request)
            .map_err(ReloadError::from)
            .and_then(|new| {
                // Found elsewhere, it would be another configuration, not an edit.
                if new.path.as_deref() == Some(path) {
                    Ok(new)
                } else {
                    Err(ReloadError::Gone(path.display().to_string()))
                }
            });
        let new = match new {
            Ok(new) => new,
            Err(error) => {
                self.note(vec![format!(
                    "the configuration as it is now is not used: {error}"
                )]);
                return Err(error);
            }
        };
        let needs_restart = running.needs_restart(&new);
        let effective = if confirmed {
            running.replaced_by(new.clone())
        } else {
            running.meet(&new)
        };
        let waiting = effective.waiting(&new);
        let mut notes = Vec::new();
        if !waiting.is_empty() {
            notes.push(format!(
                "the configuration was edited: what it takes away holds, what it adds in {} waits for `toolgate reload`",
                waiting.join(", ")
            ));
        }
        if !needs_restart.is_empty() {
            notes.push(format!(
                "the configuration was edited: {} needs a new start of the host",
                needs_restart.join(", ")
            ));
        }
        self.note(notes);
        self.dispatcher.set_policy(effective.policy.clone());
        self.config.store(Arc::new(effective));
        Ok(Reloaded { needs_restart })
    }

    /// Each is said once in the log, and stays among the problems.
    fn note(&self, notes: Vec<String>) {
        let mut kept = self.notes();
        for note in &notes {
            if !kept.configuration.contains(note) {
                tracing::warn!("{note}");
            }
        }
        kept.configuration = notes;
    }
}
