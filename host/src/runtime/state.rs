//! The data of one call's store: the call itself, and what is lent to it.

use std::{fmt, sync::Arc};

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::{limiter::CallLimiter, quota::Private, sandbox::Sandbox, stdio::GuestLog};
use crate::{
    policy::Limits,
    ports::{Caller, Nested},
};

/// Random bytes in one host call. More is no key and no nonce but a way to fill memory.
const RANDOM: u64 = 64 << 10;

pub(super) struct CallState {
    wasi: WasiCtx,
    table: ResourceTable,
    pub(super) limiter: CallLimiter,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) log: GuestLog,
    /// What is open of the private folder.
    pub(super) private: Private,
    /// Absent while a plugin describes itself.
    pub(super) caller: Option<CallerPort>,
}

/// The call that runs here, and the way to other tools.
pub(super) struct CallerPort {
    pub(super) caller: Caller,
    pub(super) nested: Arc<dyn Nested>,
}

impl CallState {
    pub(super) fn new(sandbox: Arc<Sandbox>, limits: &Limits, caller: Option<CallerPort>) -> Self {
        let log = GuestLog::new(
            &sandbox.plugin,
            caller.as_ref().map(|port| &port.caller),
            limits,
        );
        let mut builder = WasiCtx::builder();
        builder
            .stdout(log.stream("stdout"))
            .stderr(log.stream("stderr"))
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .max_random_size(RANDOM);
        for (key, value) in &sandbox.grants.env {
            builder.env(key, value);
        }
        let mut wasi = builder.build();
        *wasi.filesystem() = sandbox.filesystem();
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles).unwrap_or(usize::MAX));
        Self {
            wasi,
            table,
            limiter: CallLimiter::new(limits.memory),
            sandbox,
            log,
            private: Private::default(),
            caller,
        }
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl fmt::Debug for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallState").finish_non_exhaustive()
    }
}
