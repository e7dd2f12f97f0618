//! Sequences: what a run costs next to its bare calls, and whether a full store makes
//! anything slower.

use std::time::{Duration, Instant};

use serde_json::json;
use toolgate::{registry::Standard, tool::ToolCall};

use super::{Bench, PLUGINS};
use crate::{
    kernel::{self, Kernel},
    report::{Goal, Row},
    turns::one_by_one,
};

/// Sequences in a full store.
const STORED: usize = 2_000;

impl Bench {
    pub(super) async fn sequences(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        self.ten_by_ten(rows).await?;
        self.creates(rows).await
    }

    async fn store(&self, name: &str) -> anyhow::Result<Kernel> {
        let root = self.folder.path().join(name);
        kernel::put(&root, &PLUGINS)?;
        let standard = Standard {
            name: "seq",
            bytes: toolgate_guests::SEQ,
            digest: None,
        };
        Kernel::start(&root, vec![standard], false).await
    }

    async fn ten_by_ten(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let what = "a sequence of 10 groups of 10 empty calls";
        if !self.wants(what) {
            return Ok(());
        }
        let kernel = self.store("sequences").await?;
        let tools = r#"{"tool":"nothing"} ; "#.repeat(10);
        let groups = (0..10).map(|n| json!({ "name": format!("g{n}"), "tools": tools }));
        let groups: Vec<_> = groups.collect();
        let create = json!({ "name": "s", "groups": groups }).to_string();
        kernel.call("seq_create", &create).await?;
        let pair = one_by_one(
            self.asked.times(200),
            async || {
                let start = Instant::now();
                let batch = (0..100).map(|_| ToolCall::new("nothing", "{}"));
                kernel.batch(batch.collect()).await?;
                Ok(start.elapsed())
            },
            async || {
                let start = Instant::now();
                kernel.call("seq_run", r#"{"name":"s"}"#).await?;
                Ok(start.elapsed())
            },
        );
        let goal = Some(Goal::RatioAtMost(2.0));
        rows.push(Row::new(what, "ms", "100 kernel calls", pair.await?, goal));
        Ok(())
    }

    async fn creates(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let what = "a create beside 2,000 stored sequences";
        if !self.wants(what) {
            return Ok(());
        }
        let (empty, full) = (self.store("empty").await?, self.store("full").await?);
        for n in 0..STORED {
            // Each calls another, a dozen deep at most: a create looks at all it can reach.
            create(&full, &format!("s{n}"), &format!("s{}", n / 2)).await?;
        }
        let timed = async |kernel: &Kernel| {
            let took = create(kernel, "x", &format!("s{}", STORED - 1)).await?;
            kernel.call("seq_delete", r#"{"name":"x"}"#).await?;
            anyhow::Ok(took)
        };
        let pair = one_by_one(
            self.asked.times(50),
            async || timed(&empty).await,
            async || timed(&full).await,
        );
        let goal = Some(Goal::RatioAtMost(3.0));
        rows.push(Row::new(what, "ms", "beside none", pair.await?, goal));
        Ok(())
    }
}

async fn create(kernel: &Kernel, name: &str, target: &str) -> anyhow::Result<Duration> {
    let call = json!({ "tool": "seq_call", "args": { "target": format!("#{target}") } });
    let call = if name == "s0" {
        json!({ "tool": "nothing" })
    } else {
        call
    };
    let groups = json!([{ "name": "a", "tools": format!("{call} ;") }]);
    let arguments = json!({ "name": name, "groups": groups }).to_string();
    let start = Instant::now();
    kernel.call("seq_create", &arguments).await?;
    Ok(start.elapsed())
}
