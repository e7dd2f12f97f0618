//! What is measured, row by row, with the goal of each.

mod sequences;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::task::JoinSet;
use toolgate::{
    registry::Standard,
    tool::{Digest, ToolCall},
};
use toolgate_test_guest_bytes as guests;

use crate::{
    Asked,
    kernel::{self, Kernel},
    progress,
    raw::{Guest, Raw},
    reload,
    report::{Goal, Row},
    samples::Summary,
    turns::{in_turns, one_by_one, rate, resident},
};

const PLUGINS: [(&str, &[u8]); 3] = [
    ("probe", guests::PROBE),
    ("relay", guests::RELAY),
    ("hostile", guests::HOSTILE),
];

/// Tasks that call at once: many more than cores.
const TASKS: usize = 64;
/// Calls that wait at once: nearly the bound that a host has by default.
const WAITING: usize = 250;

struct Bench {
    asked: Asked,
    raw: Raw,
    probe: Guest,
    hostile: Guest,
    /// Keeps an audit log.
    kernel: Arc<Kernel>,
    /// Keeps none.
    bare: Arc<Kernel>,
    folder: tempfile::TempDir,
}

pub(crate) async fn all(asked: &Asked) -> anyhow::Result<Vec<Row>> {
    progress("compiling the guests");
    let bench = Bench::start(asked).await?;
    let mut rows = Vec::new();
    // First: what runs later leaves warm memory behind.
    bench.waiting(&mut rows).await?;
    bench.latency(&mut rows).await?;
    bench.parts(&mut rows).await?;
    bench.nested(&mut rows).await?;
    bench.throughput(&mut rows).await?;
    bench.parallel(&mut rows).await?;
    bench.sequences(&mut rows).await?;
    bench.kill(&mut rows).await?;
    bench.load(&mut rows).await?;
    reload::rows(asked, &bench.raw, bench.folder.path(), &mut rows).await?;
    Ok(rows)
}

impl Bench {
    async fn start(asked: &Asked) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let raw = Raw::new()?;
        let [audited, bare] = ["kernel", "bare"].map(|name| folder.path().join(name));
        kernel::put(&audited, &PLUGINS)?;
        kernel::put(&bare, &PLUGINS)?;
        Ok(Self {
            probe: raw.link(&raw.compile(guests::PROBE)?)?,
            hostile: raw.link(&raw.compile(guests::HOSTILE)?)?,
            kernel: Arc::new(Kernel::start(&audited, Vec::new(), true).await?),
            bare: Arc::new(Kernel::start(&bare, Vec::new(), false).await?),
            raw,
            asked: asked.clone(),
            folder,
        })
    }

    fn wants(&self, what: &str) -> bool {
        let wanted = self.asked.wants(what);
        if wanted {
            progress(what);
        }
        wanted
    }

    /// Memory of a call that waits in the host.
    async fn waiting(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let what = "memory of a waiting call, of 250";
        if !self.wants(what) {
            return Ok(());
        }
        let arguments = r#"{"ms":1500}"#;
        let seen = async |calls: &mut JoinSet<anyhow::Result<()>>| {
            let before = resident()?;
            tokio::time::sleep(Duration::from_millis(750)).await;
            let each = (resident()? - before) / f64::from(u16::try_from(WAITING)?);
            while let Some(call) = calls.join_next().await {
                call??;
            }
            anyhow::Ok(Summary::of(vec![each]))
        };
        let mut calls = JoinSet::new();
        for _ in 0..WAITING {
            let guest = self.probe.clone();
            calls.spawn(async move { guest.call("sleep_parallel", arguments).await.map(drop) });
        }
        let raw = seen(&mut calls).await?;
        let kernel = Arc::clone(&self.kernel);
        calls.spawn(async move {
            let batch = (0..WAITING).map(|_| ToolCall::new("sleep_parallel", arguments));
            kernel.batch(batch.collect()).await.map(drop)
        });
        let whole = seen(&mut calls).await?;
        rows.push(Row::new(
            what,
            "KiB",
            "raw",
            [raw, whole],
            Some(Goal::AtMost(150.0)),
        ));
        Ok(())
    }

    /// The kernel's subscriber reads between the turns.
    async fn latency(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let most = |ratio| Some(Goal::RatioAtMost(ratio));
        let cases = [
            ("empty call", "nothing", "{}".to_owned(), most(1.5)),
            (
                "1 KB of JSON, in and out",
                "everything",
                kilobyte(),
                most(1.3),
            ),
            ("1 KB of text, in and out", "echo", text_of(1 << 10), None),
            (
                "64 KB of text, in and out",
                "echo",
                text_of(64 << 10),
                most(2.0),
            ),
        ];
        for (what, tool, arguments, goal) in cases {
            if !self.wants(what) {
                continue;
            }
            let mut events = self.kernel.subscribe();
            let pair = in_turns(
                self.asked.times(100),
                async || self.probe.call(tool, &arguments).await.map(drop),
                async || self.kernel.call(tool, &arguments).await,
                || while events.try_next().is_some() {},
            );
            rows.push(Row::new(what, "µs", "raw", pair.await?, goal));
        }
        Ok(())
    }

    /// What of the kernel's time is record keeping.
    async fn parts(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        for (what, kernel, read) in [
            ("empty call: no audit, no reader", &*self.bare, false),
            ("empty call: audit, no reader", &*self.kernel, false),
            (
                "empty call: no audit, a reader wakes for each event",
                &*self.bare,
                true,
            ),
        ] {
            if !self.wants(what) {
                continue;
            }
            let reader = read.then(|| {
                let mut events = kernel.subscribe();
                tokio::spawn(async move { while events.next().await.is_some() {} })
            });
            let pair = in_turns(
                self.asked.times(50),
                async || self.probe.call("nothing", "{}").await.map(drop),
                async || kernel.call("nothing", "{}").await,
                || {},
            )
            .await;
            if let Some(reader) = reader {
                reader.abort();
            }
            rows.push(Row::new(what, "µs", "raw", pair?, None));
        }
        Ok(())
    }

    /// A call that makes a call, against the two made one after the other.
    async fn nested(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let what = "nested call";
        if !self.wants(what) {
            return Ok(());
        }
        let text = r#"{"text":"x"}"#;
        let with = json!({ "calls": [{ "name": "echo", "arguments": text }] }).to_string();
        let without = json!({ "calls": [] }).to_string();
        let pair = in_turns(
            self.asked.times(50),
            async || {
                self.kernel.call("relay_parallel", &without).await?;
                self.kernel.call("echo", text).await
            },
            async || self.kernel.call("relay_parallel", &with).await,
            || {},
        );
        let goal = Some(Goal::RatioAtMost(1.3));
        rows.push(Row::new(what, "µs", "two kernel calls", pair.await?, goal));
        Ok(())
    }

    async fn throughput(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let window = Duration::from_millis(if self.asked.quick { 300 } else { 1_000 });
        let goal = Some(Goal::RatioAtLeast(0.6));
        for (what, tasks, kernel, watched, goal) in [
            ("throughput, 1 task", 1, &self.kernel, true, None),
            ("throughput, 64 tasks", TASKS, &self.kernel, true, goal),
            (
                "throughput, 64 tasks: no audit, no reader",
                TASKS,
                &self.bare,
                false,
                None,
            ),
        ] {
            if !self.wants(what) {
                continue;
            }
            let _events = watched.then(|| kernel.subscribe());
            let (mut raw, mut whole) = (Vec::new(), Vec::new());
            for turn in 0..=self.asked.times(5) {
                let guest = self.probe.clone();
                let calls = rate(tasks, window, move || {
                    let guest = guest.clone();
                    async move { guest.call("nothing", "{}").await.map(drop) }
                });
                let reference = calls.await?;
                let kernel = Arc::clone(kernel);
                let calls = rate(tasks, window, move || {
                    let kernel = Arc::clone(&kernel);
                    async move { kernel.call("nothing", "{}").await }
                });
                let through = calls.await?;
                if turn > 0 {
                    raw.push(reference);
                    whole.push(through);
                }
            }
            let pair = [Summary::of(raw), Summary::of(whole)];
            rows.push(Row::new(what, "calls/s", "raw", pair, goal));
        }
        Ok(())
    }

    async fn parallel(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let what = "8 parallel calls of 250 ms";
        if !self.wants(what) {
            return Ok(());
        }
        let arguments = r#"{"ms":250}"#;
        let pair = one_by_one(
            self.asked.times(10),
            async || {
                let start = Instant::now();
                let mut calls = JoinSet::new();
                for _ in 0..8 {
                    let guest = self.probe.clone();
                    calls.spawn(async move { guest.call("sleep_parallel", arguments).await });
                }
                while let Some(call) = calls.join_next().await {
                    call??;
                }
                Ok(start.elapsed())
            },
            async || {
                let start = Instant::now();
                let batch = (0..8).map(|_| ToolCall::new("sleep_parallel", arguments));
                self.kernel.batch(batch.collect()).await?;
                Ok(start.elapsed())
            },
        );
        let goal = Some(Goal::AtMost(250.0 * 1.05));
        rows.push(Row::new(what, "ms", "raw, 8 tasks", pair.await?, goal));
        Ok(())
    }

    /// How long after its limit an endless loop ends.
    async fn kill(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let what = "endless loop, past its limit";
        if !self.wants(what) {
            return Ok(());
        }
        let limit = Duration::from_millis(50);
        let pair = one_by_one(
            self.asked.times(50),
            async || {
                let start = Instant::now();
                let ended = self.hostile.call_within(limit, "spin", "{}").await;
                anyhow::ensure!(ended.is_err(), "the endless loop ended");
                Ok(start.elapsed().saturating_sub(limit))
            },
            async || {
                let start = Instant::now();
                self.kernel.stopped(limit, "spin").await?;
                Ok(start.elapsed().saturating_sub(limit))
            },
        );
        rows.push(Row::new(
            what,
            "ms",
            "raw",
            pair.await?,
            Some(Goal::AtMost(5.0)),
        ));
        Ok(())
    }

    async fn load(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        let three = [toolgate_guests::FILES, toolgate_guests::CMD, guests::PROBE];
        let what = "start with 3 plugins, nothing compiled yet";
        if self.wants(what) {
            let pair = one_by_one(
                self.asked.times(10),
                async || {
                    let start = Instant::now();
                    for bytes in three {
                        self.raw.link(&self.raw.compile(bytes)?)?;
                    }
                    Ok(start.elapsed())
                },
                async || start_of(&self.root(true)?).await,
            );
            rows.push(Row::new(
                what,
                "ms",
                "raw compile and link",
                pair.await?,
                None,
            ));
        }
        let what = "start with 3 plugins, code cached";
        if self.wants(what) {
            let mut code = Vec::new();
            for bytes in three {
                code.push(self.raw.precompile(bytes)?);
            }
            start_of(&self.root(false)?).await?;
            let pair = one_by_one(
                self.asked.times(50),
                async || {
                    let start = Instant::now();
                    for code in &code {
                        self.raw.link(&self.raw.deserialize(code)?)?;
                    }
                    Ok(start.elapsed())
                },
                async || start_of(&self.root(false)?).await,
            );
            let goal = Some(Goal::AtMost(15.0));
            rows.push(Row::new(
                what,
                "ms",
                "raw deserialize and link",
                pair.await?,
                goal,
            ));
        }
        Ok(())
    }

    /// A folder for a host to start in, with nothing compiled if `fresh`.
    fn root(&self, fresh: bool) -> anyhow::Result<PathBuf> {
        let root = self.folder.path().join("load");
        if fresh && root.exists() {
            std::fs::remove_dir_all(&root)?;
        }
        kernel::put(&root, &PLUGINS[..1])?;
        Ok(root)
    }
}

/// From nothing to a host that answers; its end is not counted.
async fn start_of(root: &Path) -> anyhow::Result<Duration> {
    let standard = vec![
        Standard {
            name: "files",
            bytes: toolgate_guests::FILES,
            digest: Some(Digest::known(toolgate_guests::FILES_SHA256)),
        },
        Standard {
            name: "cmd",
            bytes: toolgate_guests::CMD,
            digest: Some(Digest::known(toolgate_guests::CMD_SHA256)),
        },
    ];
    let start = Instant::now();
    let kernel = Kernel::start(root, standard, true).await?;
    kernel.call("nothing", "{}").await?;
    Ok(start.elapsed())
}

/// About a kilobyte of JSON with some structure.
fn kilobyte() -> String {
    let item = |n| json!({ "old": format!("item number {n}") });
    let items: Vec<_> = (0..32).map(item).collect();
    json!({ "required": "yes", "count": 7, "list": items }).to_string()
}

fn text_of(bytes: usize) -> String {
    json!({ "text": "toolgate ".repeat(bytes / 9) }).to_string()
}
