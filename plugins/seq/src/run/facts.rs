//! What the host says of the tools, asked for anew in each run and again whenever a result
//! comes from another implementation than the one that was listed.

use std::collections::BTreeMap;

use toolgate_sdk::tools::{Implementation, ToolInfo};

use crate::kernel::Kernel;

#[derive(Debug, Default)]
pub(super) struct Facts {
    tools: Option<BTreeMap<String, ToolInfo>>,
}

impl Facts {
    fn tools(&mut self, kernel: &impl Kernel) -> &BTreeMap<String, ToolInfo> {
        self.tools.get_or_insert_with(|| {
            let listed = kernel.list();
            listed
                .into_iter()
                .map(|tool| (tool.name.clone(), tool))
                .collect()
        })
    }

    /// Whether the tool must run alone. One that is not listed is not.
    pub(super) fn runs_alone(&mut self, kernel: &impl Kernel, tool: &str) -> bool {
        self.tools(kernel)
            .get(tool)
            .is_some_and(|tool| !tool.parallel_safe)
    }

    /// Whether a call whose end is not known may be made again.
    pub(super) fn repeatable(&mut self, kernel: &impl Kernel, tool: &str) -> bool {
        self.tools(kernel).get(tool).is_some_and(|tool| {
            tool.hints.idempotent == Some(true) || tool.hints.read_only == Some(true)
        })
    }

    /// Looks again, if this answer came from another implementation than was listed.
    pub(super) fn met(&mut self, kernel: &impl Kernel, tool: &str, met: Option<&Implementation>) {
        let listed = self.tools.as_ref().and_then(|tools| tools.get(tool));
        let same = match (listed, met) {
            (Some(tool), Some(met)) => {
                tool.implementation.digest == met.digest
                    && tool.implementation.generation == met.generation
            }
            (None, None) => true,
            _ => false,
        };
        if !same && self.tools.take().is_some() {
            self.tools(kernel);
        }
    }
}
