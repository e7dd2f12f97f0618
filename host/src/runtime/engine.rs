//! Two engines of the same code settings: a tuned pool, which makes a fresh instance in
//! microseconds, and an on-demand engine for components that the pool's fixed shape
//! cannot hold and for the moment when the pool is full.

use std::sync::Arc;

use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, component::Linker,
};

use super::{compile::CompileThreads, guard, imports, quota, state::CallState, ticker::Ticker};

/// Memory of one pooled slot. Larger limits run on demand.
const POOLED_MEMORY: usize = 64 << 20;

/// Slots that stay as the last call of their component left them. With more plugins times
/// calls at once than this, making an instance takes twice as long; with more of them the
/// host grows with every version of a plugin, until each slot has been used once.
const WARM: u32 = 128;

/// How the engines are made.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Slots of the pool. Each reserves 4 GiB of address space, not of memory.
    pub slots: u32,
}

/// The engines of one host, their linkers and their clock.
#[derive(Clone)]
pub struct Engines(Arc<Inner>);

struct Inner {
    pooled: Option<(Engine, Linker<CallState>)>,
    on_demand: (Engine, Linker<CallState>),
    ticker: Ticker,
    compiling: CompileThreads,
}

impl Engines {
    /// Where the address space does not hold the pool (a limit on virtual memory), all
    /// calls run on demand: slower, with the same limits.
    ///
    /// # Errors
    ///
    /// If this machine cannot run the engine at all.
    pub fn new(settings: &EngineSettings) -> wasmtime::Result<Self> {
        let pooled = match pooled(settings) {
            Ok(engine) => Some(engine),
            Err(error) => {
                tracing::warn!(%error, "no pool of instances; calls will be slower");
                None
            }
        };
        let pooled = match pooled {
            Some(engine) => Some((engine.clone(), linker(&engine)?)),
            None => None,
        };
        let engine = Engine::new(&base())?;
        let on_demand = (engine.clone(), linker(&engine)?);
        let mut clocked = vec![on_demand.0.weak()];
        clocked.extend(pooled.iter().map(|(engine, _)| engine.weak()));
        Ok(Self(Arc::new(Inner {
            pooled,
            on_demand,
            ticker: Ticker::start(clocked),
            compiling: CompileThreads::default(),
        })))
    }

    pub(super) fn pooled(&self) -> Option<&(Engine, Linker<CallState>)> {
        self.0.pooled.as_ref()
    }

    pub(super) fn on_demand(&self) -> &(Engine, Linker<CallState>) {
        &self.0.on_demand
    }

    pub(super) fn ticker(&self) -> &Ticker {
        &self.0.ticker
    }

    pub(super) fn compiling(&self) -> &CompileThreads {
        &self.0.compiling
    }

    /// Live instances in the pool.
    #[must_use]
    pub fn pooled_instances(&self) -> usize {
        self.pooled()
            .and_then(|(engine, _)| engine.pooling_allocator_metrics())
            .map_or(0, |metrics| {
                usize::try_from(metrics.component_instances()).unwrap_or(usize::MAX)
            })
    }
}

impl std::fmt::Debug for Engines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engines")
            .field("pooled", &self.0.pooled.is_some())
            .finish_non_exhaustive()
    }
}

/// What decides about compiled code is here, so that one artefact serves both engines.
fn base() -> Config {
    let mut config = Config::new();
    // Without it a call costs a third less. Guests with async exports need it: not yet.
    config.concurrency_support(false);
    // Epochs, not fuel: free per call, and they can yield.
    config.epoch_interruption(true);
    config
}

fn pooled(settings: &EngineSettings) -> wasmtime::Result<Engine> {
    let slots = settings.slots;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        // A component of Rust's standard library has three core instances and two tables.
        .total_core_instances(slots.saturating_mul(4))
        .total_memories(slots)
        .total_tables(slots.saturating_mul(2))
        .total_stacks(slots)
        .max_memories_per_component(1)
        .max_tables_per_component(4)
        .max_core_instances_per_component(8)
        .max_memory_size(POOLED_MEMORY)
        // Zero what small-stack guests use instead of asking the kernel for new pages:
        // no page fault, no lock on the address space, and it scales with cores.
        .linear_memory_keep_resident(2 << 20)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(slots.min(WARM));
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// All of WASI is linked for every plugin, in a form that gives nothing: guests import
/// much that they never use. What is granted is decided in each call's state.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    guard::shadow(&mut linker)?;
    quota::shadow(&mut linker)?;
    imports::add_to_linker(&mut linker)?;
    Ok(linker)
}
