//! The reference: wasmtime alone, tuned as the host tunes it, doing no more than a fresh
//! call needs: WASI context, store, limits, instance, typed call, drop.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreContextMut,
    StoreLimits, StoreLimitsBuilder, UpdateDeadline,
    component::{Component, Linker, ResourceTable, Val, types::ComponentItem},
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

mod world {
    wasmtime::component::bindgen!({
        path: ["../wit/tool@0.1.0", "../wit/host@0.1.0", "../wit/plugin@0.1.0"],
        world: "toolgate:plugin/plugin@0.1.0",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

use world::{PluginPre, toolgate::tool::types};

/// As the host's default limits.
const TIMEOUT: Duration = Duration::from_secs(60);
const MEMORY: usize = 64 << 20;
const TICK: Duration = Duration::from_millis(2);
const SLOTS: u32 = 256;

pub(crate) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: StoreLimits,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Raw {
    engine: Engine,
    linker: Arc<Linker<State>>,
}

/// One component, linked.
#[derive(Clone)]
pub(crate) struct Guest(Arc<PluginPre<State>>);

impl Raw {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(SLOTS)
            .total_core_instances(SLOTS * 4)
            .total_memories(SLOTS)
            .total_tables(SLOTS * 2)
            .total_stacks(SLOTS)
            .max_memories_per_component(1)
            .max_tables_per_component(4)
            .max_core_instances_per_component(8)
            .max_memory_size(MEMORY)
            .linear_memory_keep_resident(2 << 20)
            .table_keep_resident(64 << 10)
            .max_unused_warm_slots(SLOTS);
        let mut config = Config::new();
        config
            .concurrency_support(false)
            .epoch_interruption(true)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).map_err(plain)?;
        let weak = engine.weak();
        thread::spawn(move || {
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        });
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(plain)?;
        Ok(Self {
            engine,
            linker: Arc::new(linker),
        })
    }

    pub(crate) fn compile(&self, bytes: &[u8]) -> anyhow::Result<Component> {
        Component::from_binary(&self.engine, bytes).map_err(plain)
    }

    pub(crate) fn precompile(&self, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.engine.precompile_component(bytes).map_err(plain)
    }

    #[expect(
        unsafe_code,
        reason = "the bytes were compiled a moment ago by this engine"
    )]
    pub(crate) fn deserialize(&self, code: &[u8]) -> anyhow::Result<Component> {
        // SAFETY: see the reason above.
        unsafe { Component::deserialize(&self.engine, code) }.map_err(plain)
    }

    /// The host's own imports are never reached by the tools that are compared.
    pub(crate) fn link(&self, component: &Component) -> anyhow::Result<Guest> {
        let mut linker = Linker::clone(&self.linker);
        for (name, item) in component.component_type().imports(&self.engine) {
            let ComponentItem::ComponentInstance(interface) = item.ty else {
                continue;
            };
            if !name.starts_with("toolgate:host/") {
                continue;
            }
            let mut instance = linker.instance(name).map_err(plain)?;
            for (function, item) in interface.exports(&self.engine) {
                if matches!(item.ty, ComponentItem::ComponentFunc(_)) {
                    let unreached = |_: StoreContextMut<'_, State>, _, _: &[Val], _: &mut [Val]| {
                        Err(wasmtime::Error::msg("no such import here"))
                    };
                    instance.func_new(function, unreached).map_err(plain)?;
                }
            }
        }
        let pre = linker.instantiate_pre(component).map_err(plain)?;
        Ok(Guest(Arc::new(PluginPre::new(pre).map_err(plain)?)))
    }
}

impl Guest {
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> anyhow::Result<String> {
        self.call_within(TIMEOUT, tool, arguments).await
    }

    pub(crate) async fn call_within(
        &self,
        limit: Duration,
        tool: &str,
        arguments: &str,
    ) -> anyhow::Result<String> {
        let state = State {
            wasi: WasiCtx::builder().build(),
            table: ResourceTable::new(),
            limits: StoreLimitsBuilder::new().memory_size(MEMORY).build(),
        };
        let mut store = Store::new(self.0.engine(), state);
        store.limiter(|state| &mut state.limits);
        store.set_hostcall_fuel(16 << 20);
        store.set_epoch_deadline(1);
        let until = Instant::now() + limit;
        store.epoch_deadline_callback(move |_| {
            if Instant::now() >= until {
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::YieldCustom(
                1,
                Box::pin(tokio::task::yield_now()),
            ))
        });
        let context = types::Ctx {
            call_id: "call_0".into(),
            index: 0,
            batch_id: "b1".into(),
            principal_id: "assistant".into(),
            principal_origin: "assistant".into(),
            principal_kind: types::PrincipalKind::Agent,
            depth: 0,
            remaining_ms: 60_000,
            extra: Vec::new(),
        };
        // `json` is an alias in the interface, for which the bindings want the type itself.
        let arguments = arguments.to_owned();
        let work = async {
            let plugin = self.0.instantiate_async(&mut store).await?;
            plugin
                .toolgate_tool_tool()
                .call_call(&mut store, &context, tool, &arguments)
                .await
        };
        let answer = tokio::time::timeout(limit, work).await?.map_err(plain)?;
        answer
            .map(|output| output.value)
            .map_err(|failure| anyhow::anyhow!("{}: {}", tool, failure.error.reason))
    }
}

/// The engine's error is no standard one.
fn plain(error: wasmtime::Error) -> anyhow::Error {
    anyhow::Error::from_boxed(error.into_boxed_dyn_error())
}
