//! Circuits: a plugin that keeps trapping is left alone for a while, so that its callers
//! learn at once what they would wait for. One circuit for each caller of a plugin: crafted
//! arguments of one client must not take a tool away from all. Once several callers'
//! circuits are open it is the plugin, and it is left alone by everybody.
//!
//! Only traps count. A timeout or a tool's own error says nothing about the plugin, and
//! neither does its absence: only a success ends a streak.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;

use super::events::{Event, EventBus};
use crate::tool::{Failure, FailureKind, Implementation, PluginName};

/// When a plugin is left alone, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circuits {
    /// Traps in a row, without a success between, that open a circuit.
    pub traps: usize,
    /// Within this time.
    pub within: Duration,
    /// After this one call is let through to see.
    pub retry: Duration,
    /// Callers' open circuits that open it for everybody.
    pub callers: usize,
}

impl Default for Circuits {
    fn default() -> Self {
        Self {
            traps: 3,
            within: Duration::from_secs(5 * 60),
            retry: Duration::from_secs(30),
            callers: 3,
        }
    }
}

/// The circuits of one host. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Health(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    circuits: Circuits,
    events: EventBus,
    /// Nothing trapped so far: the common case costs no lock.
    untouched: AtomicBool,
    plugins: Mutex<BTreeMap<PluginName, Ward>>,
}

/// What is known about one version of a plugin.
#[derive(Debug)]
struct Ward {
    generation: u64,
    callers: BTreeMap<String, Streak>,
}

/// The traps of one caller in a row.
#[derive(Debug)]
struct Streak {
    traps: Vec<Instant>,
    last: String,
    at: Timestamp,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    next_try: Instant,
    probing: bool,
}

/// A caller's trouble with a plugin, for the operator.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// Whose.
    pub principal: String,
    /// The last trap.
    pub trap: String,
    /// When that was.
    pub at: Timestamp,
    /// Calls are refused; after this one is let through.
    pub refused_for: Option<Duration>,
}

/// A call that is let through; it says how it ended.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    health: &'a Health,
    implementation: &'a Implementation,
    caller: &'a str,
    probe: bool,
}

impl Health {
    /// All circuits closed.
    #[must_use]
    pub fn new(circuits: Circuits, events: EventBus) -> Self {
        Self(Arc::new(Inner {
            circuits,
            events,
            untouched: AtomicBool::new(true),
            plugins: Mutex::default(),
        }))
    }

    /// Another version serves: what the last one did counts no longer.
    pub fn renewed(&self, implementation: &Implementation) {
        let mut plugins = self.lock();
        let stale = plugins
            .get(&implementation.plugin)
            .is_some_and(|ward| ward.generation != implementation.generation);
        if stale && let Some(ward) = plugins.remove(&implementation.plugin) {
            drop(plugins);
            let open = ward.callers.iter().filter(|(_, one)| one.open.is_some());
            for (caller, _) in open {
                self.tell(false, implementation, caller, None);
            }
        }
    }

    /// What is wrong with this version of a plugin.
    #[must_use]
    pub fn troubles(&self, implementation: &Implementation) -> Vec<Trouble> {
        let now = Instant::now();
        let plugins = self.lock();
        let ward = plugins
            .get(&implementation.plugin)
            .filter(|ward| ward.generation == implementation.generation);
        let streaks = ward.into_iter().flat_map(|ward| &ward.callers);
        streaks
            .map(|(principal, streak)| Trouble {
                principal: principal.clone(),
                trap: streak.last.clone(),
                at: streak.at,
                refused_for: streak
                    .open
                    .as_ref()
                    .map(|open| open.next_try.saturating_duration_since(now)),
            })
            .collect()
    }

    /// Circuits that are open now.
    #[must_use]
    pub fn open(&self) -> usize {
        let plugins = self.lock();
        let streaks = plugins.values().flat_map(|ward| ward.callers.values());
        streaks.filter(|streak| streak.open.is_some()).count()
    }

    /// Lets a call through, unless its circuit is open.
    ///
    /// # Errors
    ///
    /// `unavailable`, with the last trap and the time of the next try.
    pub(super) fn enter<'a>(
        &'a self,
        implementation: &'a Implementation,
        caller: &'a str,
    ) -> Result<Pass<'a>, Failure> {
        let mut pass = Pass {
            health: self,
            implementation,
            caller,
            probe: false,
        };
        if self.0.untouched.load(Ordering::Acquire) {
            return Ok(pass);
        }
        let mut plugins = self.lock();
        let ward = plugins
            .get_mut(&implementation.plugin)
            .filter(|ward| ward.generation == implementation.generation);
        let Some(ward) = ward else { return Ok(pass) };
        let everybody = ward.open().count() >= self.0.circuits.callers;
        let streak = match ward.callers.get_mut(caller) {
            Some(streak) if streak.open.is_some() => streak,
            _ if everybody => {
                // The one that may be tried first.
                let open = ward.callers.values_mut().filter(|one| one.open.is_some());
                match open.min_by_key(|one| one.open.as_ref().map(|open| open.next_try)) {
                    Some(streak) => streak,
                    None => return Ok(pass),
                }
            }
            _ => return Ok(pass),
        };
        let Some(open) = &mut streak.open else {
            return Ok(pass);
        };
        let now = Instant::now();
        if !open.probing && open.next_try <= now {
            open.probing = true;
            pass.probe = true;
            return Ok(pass);
        }
        let wait = open.next_try.saturating_duration_since(now).as_secs_f64();
        let next = if open.probing {
            "one call is being tried now".to_owned()
        } else {
            format!("the next call is tried in {wait:.0} s")
        };
        let plugin = &implementation.plugin;
        Err(Failure::host(
            FailureKind::Unavailable,
            format!(
                "plugin `{plugin}` trapped {} times in a row, last at {:.0}: {}; {next}",
                self.0.circuits.traps, streak.at, streak.last
            ),
        )
        .hint("use another tool meanwhile; a new version of the plugin is tried at once"))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PluginName, Ward>> {
        self.0
            .plugins
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(
        &self,
        open: bool,
        implementation: &Implementation,
        caller: &str,
        detail: Option<String>,
    ) {
        let plugin = &implementation.plugin;
        if open {
            tracing::warn!(%plugin, caller, detail, "circuit open: it keeps trapping");
        } else {
            tracing::info!(%plugin, caller, "circuit closed");
        }
        self.0
            .events
            .emit(|| Event::circuit(open, implementation, caller, detail));
    }
}

impl Ward {
    fn open(&self) -> impl Iterator<Item = &Open> {
        self.callers.values().filter_map(|one| one.open.as_ref())
    }
}

impl Pass<'_> {
    /// How the call ended.
    pub(super) fn ended<T>(self, outcome: &Result<T, Failure>) {
        match outcome {
            Ok(_) => self.succeeded(),
            Err(failure) if failure.kind == FailureKind::Trapped => self.trapped(failure),
            // No verdict; a probe leaves the next call to try.
            Err(_) => {}
        }
    }

    fn succeeded(&self) {
        if self.health.0.untouched.load(Ordering::Acquire) {
            return;
        }
        let mut closed = Vec::new();
        let mut plugins = self.health.lock();
        if let Some(ward) = plugins.get_mut(&self.implementation.plugin)
            && ward.generation == self.implementation.generation
        {
            // A probe in everybody's name speaks for everybody.
            let all = self.probe && ward.open().count() >= self.health.0.circuits.callers;
            ward.callers.retain(|caller, streak| {
                let over = all || caller == self.caller;
                if over && streak.open.is_some() {
                    closed.push(caller.clone());
                }
                !over
            });
            if ward.callers.is_empty() {
                plugins.remove(&self.implementation.plugin);
            }
        }
        drop(plugins);
        for caller in closed {
            self.health.tell(false, self.implementation, &caller, None);
        }
    }

    fn trapped(&self, failure: &Failure) {
        let Circuits {
            traps,
            within,
            retry,
            ..
        } = self.health.0.circuits;
        let now = Instant::now();
        self.health.0.untouched.store(false, Ordering::Release);
        let mut plugins = self.health.lock();
        let generation = self.implementation.generation;
        let ward = plugins
            .entry(self.implementation.plugin.clone())
            .or_insert_with(|| Ward {
                generation,
                callers: BTreeMap::new(),
            });
        if ward.generation > generation {
            // The last call of a version that has been replaced.
            return;
        }
        if ward.generation < generation {
            ward.generation = generation;
            ward.callers.clear();
        }
        let detail = failure.error.detail.clone().unwrap_or_default();
        let streak = ward
            .callers
            .entry(self.caller.to_owned())
            .or_insert_with(|| Streak {
                traps: Vec::new(),
                last: String::new(),
                at: Timestamp::now(),
                open: None,
            });
        streak.last.clone_from(&detail);
        streak.at = Timestamp::now();
        streak.traps.retain(|at| now.duration_since(*at) < within);
        streak.traps.push(now);
        let opened = streak.open.is_none() && streak.traps.len() >= traps;
        if self.probe || opened {
            streak.open = Some(Open {
                next_try: now + retry,
                probing: false,
            });
        }
        drop(plugins);
        if opened {
            let caller = self.caller;
            self.health
                .tell(true, self.implementation, caller, Some(detail));
        }
    }
}

impl Drop for Pass<'_> {
    /// Whatever became of a probe, the next call may try.
    fn drop(&mut self) {
        if !self.probe {
            return;
        }
        let mut plugins = self.health.lock();
        let ward = plugins.get_mut(&self.implementation.plugin);
        let streaks = ward.into_iter().flat_map(|ward| ward.callers.values_mut());
        for open in streaks.filter_map(|streak| streak.open.as_mut()) {
            open.probing = false;
        }
    }
}

#[cfg(test)]
mod tests;
