//! Capability `tools`: calls other tools. Each call passes the same gate as a model's
//! own call, with the rights of the original caller and of every plugin in the chain.

pub use crate::bindings::toolgate::host::tools::{
    CallFailure, CallResult, Implementation, Missing, NestedCall, Options, Permission, ToolInfo,
    can_use, execute, list,
};

#[expect(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Options {
    fn default() -> Self {
        Self {
            serial: false,
            stop_on_failure: false,
            timeout_ms: None,
            retry_delay_ms: None,
            extra: Vec::new(),
        }
    }
}
