//! Which plugins serve, and how that changes while calls run: sources are read, compared
//! by content with what serves, loaded beside it, and swapped in as one catalog. A version
//! that cannot serve never takes the place of one that does.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, watch};

use super::{
    Catalog, Fresh, LoadError, Loaded, Loader, Origin, Registry, Source, discover, load::ReadError,
};
use crate::{
    config::PluginConfig,
    tool::{Digest, Implementation, PluginName},
};

/// Plugins that are compiled at once; each compilation uses all cores by itself.
const LOADS: usize = 2;

/// A file that looks cut short is believed after it has not changed for so long.
const GRACE: Duration = Duration::from_secs(2);

/// What should be there.
#[derive(Debug)]
pub struct Wanted {
    /// The sections of the configuration.
    pub plugins: BTreeMap<PluginName, PluginConfig>,
    /// What a plugin without a section gets.
    pub unconfigured: PluginConfig,
    /// The plugin folder.
    pub folder: Option<PathBuf>,
}

impl Wanted {
    fn config(&self, name: &PluginName) -> &PluginConfig {
        self.plugins.get(name).unwrap_or(&self.unconfigured)
    }
}

/// What happened to one plugin.
#[derive(Debug, Clone)]
pub enum Change {
    /// A version serves from now on.
    Loaded {
        /// Which.
        implementation: Implementation,
        /// From the bytes to the swap.
        took: Duration,
    },
    /// The version that serves has other grants, limits or settings from now on.
    Configured {
        /// Which.
        implementation: Implementation,
    },
    /// A version cannot serve.
    Failed {
        /// Whose.
        plugin: PluginName,
        /// Why.
        problem: String,
        /// The generation that goes on serving, if one does.
        serving: Option<u64>,
    },
    /// No version serves any longer.
    Removed {
        /// Which one did.
        implementation: Implementation,
    },
}

/// The plugins of one host. Cheap to clone.
#[derive(Clone)]
pub struct Roster(Arc<Inner>);

struct Inner {
    loader: Loader,
    registry: Arc<Registry>,
    loads: Semaphore,
    state: Mutex<State>,
    /// Loads that have not ended.
    unfinished: watch::Sender<usize>,
    tell: Box<dyn Fn(Change) + Send + Sync>,
}

#[derive(Default)]
struct State {
    /// In the order in which a contested tool name is kept.
    order: Vec<PluginName>,
    slots: BTreeMap<PluginName, Slot>,
    /// The last that served, of removed plugins too: a number is never given twice.
    generations: BTreeMap<PluginName, u64>,
    passed_over: Vec<String>,
}

struct Slot {
    origin: Origin,
    /// What serves.
    serving: Option<Serving>,
    /// What is being loaded, or was found unfit: not to be tried again as it is.
    tried: Option<Tried>,
    /// Why the latest does not serve.
    problem: Option<String>,
}

struct Serving {
    fresh: Fresh,
    config: Arc<PluginConfig>,
    origin: Origin,
}

#[derive(Clone)]
struct Tried {
    digest: Digest,
    config: Arc<PluginConfig>,
    origin: Origin,
    since: Instant,
    running: bool,
}

/// One load to be done.
struct Job {
    name: PluginName,
    bytes: Cow<'static, [u8]>,
    tried: Tried,
    generation: u64,
}

/// A source as it was read.
struct Seen {
    source: Source,
    read: Result<(Cow<'static, [u8]>, Digest), ReadError>,
}

impl Roster {
    /// Without plugins yet. `tell` hears of every change after it took effect.
    #[must_use]
    pub fn new(
        loader: Loader,
        registry: Arc<Registry>,
        tell: impl Fn(Change) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            loader,
            registry,
            loads: Semaphore::new(LOADS),
            state: Mutex::default(),
            unfinished: watch::Sender::new(0),
            tell: Box::new(tell),
        }))
    }

    /// Brings what serves to what should be there, and returns when all loads have ended.
    /// With `patient`, a file that looks cut short and has changed lately is left alone;
    /// the answer says when to look again.
    ///
    /// May be called at any time, also while another call of it runs: the latest bytes win.
    pub async fn refresh(&self, wanted: Arc<Wanted>, patient: bool) -> Option<Duration> {
        let roster = self.clone();
        let reading = Arc::clone(&wanted);
        let read = tokio::task::spawn_blocking(move || roster.0.read(&reading)).await;
        let Ok((seen, passed_over)) = read else {
            tracing::error!("reading the plugins' files ended its task");
            return None;
        };
        let (jobs, changes) = self.0.compare(&wanted, seen, passed_over);
        for change in changes {
            (self.0.tell)(change);
        }
        // Tasks of their own: a load that began is brought to its end, whoever waits for it.
        let running: Vec<_> = jobs
            .into_iter()
            .map(|job| {
                let inner = Arc::clone(&self.0);
                let load = Unfinished::new(&self.0.unfinished);
                tokio::spawn(async move {
                    let again = inner.run(job, patient).await;
                    drop(load);
                    again
                })
            })
            .collect();
        let mut again = None;
        for job in running {
            let later = job.await.unwrap_or_default();
            again = match (again, later) {
                (Some(one), Some(other)) => Some(Duration::min(one, other)),
                (one, other) => one.or(other),
            };
        }
        // What another call of this began counts as well.
        let mut unfinished = self.0.unfinished.subscribe();
        let _ = unfinished.wait_for(|count| *count == 0).await;
        again
    }

    /// What was passed over while plugins were looked for.
    #[must_use]
    pub fn passed_over(&self) -> Vec<String> {
        self.0.lock().passed_over.clone()
    }
}

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roster").finish_non_exhaustive()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, wanted: &Wanted) -> (Vec<Seen>, Vec<String>) {
        let folder: Option<&Path> = wanted.folder.as_deref();
        let (sources, passed_over) = discover(self.loader.standard(), &wanted.plugins, folder);
        let seen = sources.into_iter().map(|source| Seen {
            read: self.loader.read(&source),
            source,
        });
        (seen.collect(), passed_over)
    }

    /// Compares what was read with what serves. What has gone is gone at once, and so is
    /// what a changed configuration takes away; what is new is left to be loaded.
    fn compare(
        &self,
        wanted: &Wanted,
        seen: Vec<Seen>,
        passed_over: Vec<String>,
    ) -> (Vec<Job>, Vec<Change>) {
        let (mut jobs, mut changes) = (Vec::new(), Vec::new());
        let mut state = self.lock();
        state.passed_over = passed_over;
        let mut order = Vec::new();
        let mut names = BTreeSet::new();
        for Seen { source, read } in seen {
            let Source { name, origin } = source;
            // Discovery puts the one that is used first.
            if !names.insert(name.clone()) {
                let why = format!("{origin} has the name of another plugin and is not used");
                state.passed_over.push(why);
                continue;
            }
            order.push(name.clone());
            let config = wanted.config(&name);
            let State {
                slots, generations, ..
            } = &mut *state;
            let slot = slots.entry(name.clone()).or_insert_with(|| Slot {
                origin: origin.clone(),
                serving: None,
                tried: None,
                problem: None,
            });
            slot.origin = origin.clone();
            self.configure(slot, config, &mut changes);
            match read {
                Err(error) => slot.unreadable(&name, error, &mut changes),
                Ok((bytes, digest)) => {
                    let Some(tried) = slot.needs(digest, config, &origin) else {
                        continue;
                    };
                    // Given for good only if it comes to serve.
                    let generation = generations.get(&name).map_or(1, |last| last + 1);
                    jobs.push(Job {
                        name,
                        bytes,
                        tried,
                        generation,
                    });
                }
            }
        }
        let gone: Vec<PluginName> = state
            .slots
            .keys()
            .filter(|name| !names.contains(*name))
            .cloned()
            .collect();
        for name in gone {
            changes.extend(state.slots.remove(&name).and_then(Slot::removed));
        }
        state.order = order;
        self.publish(&state);
        (jobs, changes)
    }

    /// Gives a version that serves the configuration of now. Where that fails it does not
    /// serve any longer: it would keep rights that were taken away.
    fn configure(&self, slot: &mut Slot, config: &PluginConfig, changes: &mut Vec<Change>) {
        let Some(serving) = &mut slot.serving else {
            return;
        };
        if *serving.config == *config {
            return;
        }
        match self.loader.configure(&serving.fresh, config) {
            Ok(fresh) => {
                serving.fresh = fresh;
                serving.config = Arc::new(config.clone());
                changes.push(Change::Configured {
                    implementation: serving.fresh.plugin.implementation.clone(),
                });
            }
            Err(error) => {
                let implementation = &serving.fresh.plugin.implementation;
                changes.push(Change::Failed {
                    plugin: implementation.plugin.clone(),
                    problem: error.problem.clone(),
                    serving: None,
                });
                slot.serving = None;
                slot.problem = Some(error.problem);
            }
        }
    }

    async fn run(&self, job: Job, patient: bool) -> Option<Duration> {
        let began = Instant::now();
        let Job {
            name,
            bytes,
            tried,
            generation,
        } = job;
        let loaded = match self.loads.acquire().await {
            Ok(_permit) => {
                self.loader
                    .load(&name, (bytes, tried.digest), &tried.config, generation)
                    .await
            }
            Err(_) => return None,
        };
        let (change, again) = {
            let mut state = self.lock();
            // Something newer was seen meanwhile, or the plugin has gone.
            let slot = state.slots.get_mut(&name)?;
            let latest = slot.tried.as_ref();
            if !latest.is_some_and(|latest| latest.running && latest.is(&tried)) {
                return None;
            }
            let outcome = slot.settle(&name, loaded, tried, began, patient);
            if slot.generation() == Some(generation) {
                state.generations.insert(name, generation);
            }
            self.publish(&state);
            outcome
        };
        if let Some(change) = change {
            (self.tell)(change);
        }
        again
    }

    /// One pointer: a call sees the old or the new catalog.
    fn publish(&self, state: &State) {
        let loaded = state.order.iter().filter_map(|name| {
            let slot = state.slots.get(name)?;
            Some(slot.show(name))
        });
        self.registry.swap(Catalog::new(loaded));
    }
}

impl Slot {
    /// What has to be loaded, if these bytes are not what serves or was tried.
    fn needs(&mut self, digest: Digest, config: &PluginConfig, origin: &Origin) -> Option<Tried> {
        if let Some(serving) = &self.serving
            && serving.fresh.plugin.implementation.digest == digest
            && serving.origin == *origin
        {
            // The good bytes are back, or were never gone.
            self.tried = None;
            self.problem = None;
            return None;
        }
        let tried = self.tried.as_ref();
        if let Some(tried) = tried.filter(|tried| tried.same(digest, config, origin)) {
            let cut_short = !tried.running && self.problem.is_none();
            if !cut_short {
                return None;
            }
        }
        let since = tried
            .filter(|tried| tried.digest == digest)
            .map_or_else(Instant::now, |tried| tried.since);
        let tried = Tried {
            digest,
            config: Arc::new(config.clone()),
            origin: origin.clone(),
            since,
            running: true,
        };
        self.tried = Some(tried.clone());
        Some(tried)
    }

    fn settle(
        &mut self,
        name: &PluginName,
        loaded: Result<Fresh, LoadError>,
        tried: Tried,
        began: Instant,
        patient: bool,
    ) -> (Option<Change>, Option<Duration>) {
        match loaded {
            Ok(fresh) => {
                let implementation = fresh.plugin.implementation.clone();
                self.serving = Some(Serving {
                    fresh,
                    config: tried.config,
                    origin: tried.origin,
                });
                self.tried = None;
                self.problem = None;
                let took = began.elapsed();
                (
                    Some(Change::Loaded {
                        implementation,
                        took,
                    }),
                    None,
                )
            }
            Err(error) => {
                let age = tried.since.elapsed();
                self.tried = Some(Tried {
                    running: false,
                    ..tried
                });
                if patient && error.unfinished && age < GRACE {
                    return (None, Some(GRACE - age));
                }
                self.problem = Some(error.problem.clone());
                (
                    Some(Change::Failed {
                        plugin: name.clone(),
                        problem: error.problem,
                        serving: self.generation(),
                    }),
                    None,
                )
            }
        }
    }

    /// A file that has gone takes its tools with it. One that is there and cannot be read
    /// takes nothing.
    fn unreadable(&mut self, name: &PluginName, error: ReadError, changes: &mut Vec<Change>) {
        self.tried = None;
        if error.missing
            && let Some(serving) = self.serving.take()
        {
            changes.push(Change::Removed {
                implementation: serving.fresh.plugin.implementation.clone(),
            });
        } else if self.problem.as_deref() != Some(error.problem.as_str()) {
            changes.push(Change::Failed {
                plugin: name.clone(),
                problem: error.problem.clone(),
                serving: self.generation(),
            });
        }
        self.problem = Some(error.problem);
    }

    fn removed(self) -> Option<Change> {
        let serving = self.serving?;
        Some(Change::Removed {
            implementation: serving.fresh.plugin.implementation.clone(),
        })
    }

    fn generation(&self) -> Option<u64> {
        let serving = self.serving.as_ref()?;
        Some(serving.fresh.plugin.implementation.generation)
    }

    fn show(&self, name: &PluginName) -> Loaded {
        let mut problems = Vec::new();
        let outcome = match &self.serving {
            Some(Serving { fresh, .. }) => {
                problems.extend(self.problem.iter().map(|problem| {
                    let generation = fresh.plugin.implementation.generation;
                    format!("generation {generation} goes on serving; the file as it is now does not load: {problem}")
                }));
                problems.extend(fresh.problems.iter().cloned());
                Ok((Arc::clone(&fresh.plugin), fresh.tools.clone()))
            }
            None => Err(self
                .problem
                .clone()
                .unwrap_or_else(|| "it is being loaded".into())),
        };
        Loaded {
            name: name.clone(),
            origin: self.origin.clone(),
            outcome,
            problems,
        }
    }
}

/// A load that has not ended.
struct Unfinished(watch::Sender<usize>);

impl Unfinished {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Tried {
    fn same(&self, digest: Digest, config: &PluginConfig, origin: &Origin) -> bool {
        self.digest == digest && *self.config == *config && self.origin == *origin
    }

    fn is(&self, other: &Self) -> bool {
        self.same(other.digest, &other.config, &other.origin)
    }
}
