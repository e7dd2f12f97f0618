//! A batch in, one result per call out. The only way into a tool.
//!
//! ```text
//! Batch → validate → gate → plan → run → invoke → settle → ToolResult
//! ```
//!
//! Each stage takes what only the stage before can make, so no check can be skipped.

mod admit;
mod approve;
mod audit;
mod call;
mod events;
mod gate;
mod health;
mod ids;
mod invoke;
mod nested;
mod plan;
mod run;
mod settle;
mod steps;
mod validate;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use crate::{
    metrics::Metrics,
    policy::Policy,
    ports::{Approver, Caller},
    registry::{Overlay, Registry, Shelf},
    stage::RootGate,
    tool::{Batch, Extra, Principal, ToolResult},
};

pub use audit::{Audit, AuditError, AuditSettings, OnError};
pub use events::{Event, EventBus, EventKind, Numbered, Subscription};
pub use health::{Circuits, Health, Trouble};
pub use plan::{Mode, Plan};

/// The bounds that hold for all calls together.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Calls at once at one depth.
    pub concurrent: usize,
    /// How long a call waits for its slot.
    pub queue_timeout: Duration,
    /// How many calls wait at one depth.
    pub queue: usize,
    /// Nesting.
    pub max_depth: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            concurrent: 256,
            queue_timeout: Duration::from_secs(10),
            queue: 1_024,
            max_depth: 16,
        }
    }
}

/// On whose behalf a batch runs, and within what.
#[derive(Clone)]
pub struct Scope {
    /// Who calls.
    pub principal: Principal,
    /// Looked in before the plugins, in this order.
    pub layers: Vec<Arc<dyn Shelf>>,
    /// When all of it has to end.
    pub deadline: Option<Instant>,
    /// To give up.
    pub cancel: CancellationToken,
    /// Handed down to the calls and what they call.
    pub extra: Extra,
}

impl Scope {
    /// A batch of this principal, without layers or a deadline.
    #[must_use]
    pub fn new(principal: Principal) -> Self {
        Self {
            principal,
            layers: Vec::new(),
            deadline: None,
            cancel: CancellationToken::new(),
            extra: Extra::default(),
        }
    }
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope")
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

/// What a dispatcher is made of.
pub struct DispatcherParts {
    /// Which tools exist.
    pub registry: Arc<Registry>,
    /// Who may do what.
    pub policy: Policy,
    /// Whom to ask, if anybody.
    pub approver: Option<Arc<dyn Approver>>,
    /// Native tools that every scope sees.
    pub native: Vec<Arc<dyn Shelf>>,
    /// What holds for all calls together.
    pub bounds: Bounds,
    /// One line a call.
    pub audit: Audit,
    /// What can be watched.
    pub events: EventBus,
    /// Which plugins are left alone.
    pub health: Health,
    /// What is counted.
    pub metrics: Metrics,
}

impl std::fmt::Debug for DispatcherParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DispatcherParts")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// Runs batches. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher(Arc<Inner>);

struct Inner {
    registry: Arc<Registry>,
    policy: ArcSwap<Policy>,
    approver: Option<Arc<dyn Approver>>,
    native: Vec<Arc<dyn Shelf>>,
    bounds: Bounds,
    slots: admit::Slots,
    audit: Audit,
    events: EventBus,
    health: Health,
    metrics: Metrics,
    batches: AtomicU64,
    questions: AtomicU64,
}

/// Where a batch stands in the tree of calls.
#[derive(Clone)]
struct Branch {
    scope: Scope,
    /// The call that made this batch, if one did.
    parent: Option<Caller>,
    gate: RootGate,
    batch_id: Arc<str>,
    /// One after another in any case.
    serial: bool,
    stop_on_failure: bool,
}

impl Dispatcher {
    /// A dispatcher with these parts.
    #[must_use]
    pub fn new(parts: DispatcherParts) -> Self {
        Self(Arc::new(Inner {
            slots: admit::Slots::new(&parts.bounds),
            registry: parts.registry,
            policy: ArcSwap::from_pointee(parts.policy),
            approver: parts.approver,
            native: parts.native,
            bounds: parts.bounds,
            audit: parts.audit,
            events: parts.events,
            health: parts.health,
            metrics: parts.metrics,
            batches: AtomicU64::new(0),
            questions: AtomicU64::new(0),
        }))
    }

    /// Runs one batch of a model, or of whoever `scope` names: exactly one result a call,
    /// in ascending index. Dropping the future ends what runs.
    pub async fn run(&self, scope: Scope, batch: Batch) -> Vec<ToolResult> {
        let branch = Branch {
            scope,
            parent: None,
            gate: RootGate::default(),
            batch_id: self.next_batch_id(),
            serial: false,
            stop_on_failure: false,
        };
        self.run_branch(branch, batch).await
    }

    /// What `principal` may see, by name: for lists that faces show.
    #[must_use]
    pub fn visible(
        &self,
        principal: &Principal,
        layers: &[Arc<dyn Shelf>],
    ) -> Vec<crate::registry::Target> {
        let overlay = self.overlay(layers);
        let policy = self.0.policy.load();
        let names = overlay.names();
        let seen = names
            .iter()
            .filter(|name| policy.may_see(principal, name.as_str()));
        seen.filter_map(|name| overlay.lookup(name.as_str()).ok())
            .collect()
    }

    /// The rules in force.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.0.policy.load_full()
    }

    /// From now on, these rules. Calls that run go on; whatever is decided from here on,
    /// nested calls and answers to questions included, is decided by them.
    pub fn set_policy(&self, policy: Policy) {
        self.0.policy.store(Arc::new(policy));
    }

    /// Which plugins keep trapping.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.0.health
    }

    /// What can be watched.
    #[must_use]
    pub fn events(&self) -> &EventBus {
        &self.0.events
    }

    /// Whether calls may run, as far as their record goes.
    ///
    /// # Errors
    ///
    /// Why the audit log cannot be written, where calls shall not run without it.
    pub fn ready(&self) -> std::io::Result<()> {
        self.0.audit.look()
    }

    /// What is counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    async fn run_branch(&self, branch: Branch, batch: Batch) -> Vec<ToolResult> {
        let calls = ids::assign(batch);
        let overlay = self.overlay(&branch.scope.layers);
        let checked = calls
            .into_iter()
            .map(|call| self.check(&branch, &overlay, call))
            .collect();
        let plan = Plan::new(checked, branch.serial || branch.stop_on_failure);
        self.run_plan(&Arc::new(branch), plan).await
    }

    fn next_batch_id(&self) -> Arc<str> {
        format!("b{}", self.0.batches.fetch_add(1, Ordering::Relaxed) + 1).into()
    }

    /// Layers first, then the host's native tools, then the plugins of this moment.
    fn overlay(&self, layers: &[Arc<dyn Shelf>]) -> Overlay {
        let mut shelves = layers.to_vec();
        shelves.extend(self.0.native.iter().cloned());
        shelves.push(self.0.registry.snapshot());
        Overlay::new(shelves)
    }
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher")
            .field("bounds", &self.0.bounds)
            .finish_non_exhaustive()
    }
}
