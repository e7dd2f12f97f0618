//! From a permitted call to the code that answers it: a fresh instance, or a native handler.

use std::sync::Arc;

use serde_json::Value;

use super::Dispatcher;
use crate::{
    ports::Caller,
    registry::Target,
    runtime::Invocation,
    stage::{Link, StageContext},
    tool::{Failure, Output},
};

impl Dispatcher {
    pub(super) async fn invoke(
        &self,
        cx: Arc<StageContext>,
        target: &Target,
        arguments: &Arc<Value>,
    ) -> Result<Output, Failure> {
        match target {
            Target::Plugin(tool) => {
                let link = Link {
                    plugin: tool.plugin.implementation.plugin.clone(),
                    tool: tool.spec.name.clone(),
                    serial: tool.spec.serial,
                    may_call: Arc::clone(&tool.plugin.may_call),
                };
                let invocation = Invocation {
                    component: &tool.plugin.component,
                    sandbox: &tool.plugin.sandbox,
                    limits: &tool.limits,
                    caller: Caller { cx, link },
                    arguments: arguments.to_string(),
                };
                invocation.run(Arc::new(self.clone())).await
            }
            Target::Native(entry) => {
                let work = Arc::clone(&entry.tool).call(Arc::clone(&cx), Arc::clone(arguments));
                let mut outcome = cx.bounded(work).await?;
                if let Ok(output) = &mut outcome {
                    output.blocks.extend(cx.blocks.take());
                }
                outcome
            }
        }
    }
}
