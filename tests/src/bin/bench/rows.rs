//! What is measured. Each row takes turns between the reference and the kernel, so that a
//! busy moment of the machine meets both.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::task::JoinSet;
use toolgate::{registry::Standard, tool::ToolCall};
use toolgate_test_guest_bytes as guests;

use crate::{
    Asked,
    kernel::{self, Kernel, Watching},
    progress,
    raw::{Guest, Raw},
    report::{Goal, Row},
    samples::{Samples, Summary},
};

/// Calls in one turn: long enough to be warm, short enough to share the machine's moods.
const TURN: usize = 200;
const TASKS: usize = 64;
const WATCHED: Watching = Watching { audit: true };

struct Bench {
    asked: Asked,
    raw: Raw,
    probe: Guest,
    hostile: Guest,
    kernel: Arc<Kernel>,
    folder: tempfile::TempDir,
}

pub(crate) async fn all(asked: &Asked) -> anyhow::Result<Vec<Row>> {
    progress("compiling the guests");
    let folder = tempfile::tempdir()?;
    let raw = Raw::new()?;
    let roots = ["kernel", "bare"].map(|name| folder.path().join(name));
    for root in &roots {
        kernel::put(root, &PLUGINS)?;
    }
    let bench = Bench {
        probe: raw.link(&raw.compile(guests::PROBE)?)?,
        hostile: raw.link(&raw.compile(guests::HOSTILE)?)?,
        kernel: Arc::new(Kernel::start(&roots[0], Vec::new(), WATCHED).await?),
        raw,
        asked: asked.clone(),
        folder,
    };
    let mut rows = Vec::new();
    if asked.wants("latency") {
        rows.extend(bench.latency().await?);
    }
    if asked.wants("overhead") {
        rows.extend(bench.overhead().await?);
    }
    if asked.wants("nested") {
        rows.push(bench.nested().await?);
    }
    if asked.wants("throughput") {
        rows.push(bench.throughput("throughput, 1 task", 1, None).await?);
        rows.push(
            bench
                .throughput("throughput, 64 tasks", TASKS, Some(Goal::RatioAtLeast(0.6)))
                .await?,
        );
    }
    if asked.wants("parallel") {
        rows.push(bench.parallel().await?);
    }
    if asked.wants("kill") {
        rows.push(bench.kill().await?);
    }
    if asked.wants("load") {
        rows.extend(bench.load().await?);
    }
    Ok(rows)
}

const PLUGINS: [(&str, &[u8]); 3] = [
    ("probe", guests::PROBE),
    ("relay", guests::RELAY),
    ("hostile", guests::HOSTILE),
];

/// About a kilobyte of JSON with some structure.
fn kilobyte() -> String {
    let items: Vec<_> = (0..32)
        .map(|n| json!({ "old": format!("item number {n}") }))
        .collect();
    json!({ "required": "yes", "count": 7, "list": items }).to_string()
}

fn text_of(bytes: usize) -> String {
    json!({ "text": "toolgate ".repeat(bytes / 9) }).to_string()
}

impl Bench {
    async fn latency(&self) -> anyhow::Result<Vec<Row>> {
        let cases = [
            ("empty call", "nothing", "{}".to_owned(), 1.5),
            ("1 KB of JSON", "everything", kilobyte(), 1.3),
            ("64 KB argument", "echo", text_of(64 << 10), 2.0),
        ];
        let mut rows = Vec::new();
        for (what, tool, arguments, most) in cases {
            let pair = self.turns(what, tool, &arguments, &self.kernel).await?;
            rows.push(Row::new(
                what,
                "µs",
                "raw",
                pair,
                Some(Goal::RatioAtMost(most)),
            ));
        }
        Ok(rows)
    }

    /// Raw and kernel in turns. The kernel's subscriber reads between the turns.
    async fn turns(
        &self,
        what: &str,
        tool: &str,
        arguments: &str,
        kernel: &Kernel,
    ) -> anyhow::Result<[Summary; 2]> {
        progress(what);
        let (mut raw, mut whole) = (Samples::default(), Samples::default());
        let mut events = kernel.subscribe();
        for turn in 0..=self.asked.times(100) {
            if turn == 1 {
                // The first turn warms up caches and slots.
                (raw, whole) = (Samples::default(), Samples::default());
            }
            for _ in 0..TURN {
                let start = Instant::now();
                self.probe.call(tool, arguments).await?;
                raw.push(start.elapsed());
            }
            for _ in 0..TURN {
                let start = Instant::now();
                kernel.call(tool, arguments).await?;
                whole.push(start.elapsed());
            }
            while events.try_next().is_some() {}
        }
        Ok([raw.summary(), whole.summary()])
    }

    /// What of the kernel's time is record keeping.
    async fn overhead(&self) -> anyhow::Result<Vec<Row>> {
        let bare = Kernel::start(
            &self.folder.path().join("bare"),
            Vec::new(),
            Watching { audit: false },
        )
        .await?;
        let kernels = [
            ("empty call, nobody watches, no audit", &bare, false),
            ("empty call, with audit", &*self.kernel, false),
            ("empty call, a reader waits for each event", &bare, true),
        ];
        let mut rows = Vec::new();
        for (what, kernel, watched) in kernels {
            progress(what);
            let reader = watched.then(|| {
                let mut events = kernel.subscribe();
                tokio::spawn(async move { while events.next().await.is_some() {} })
            });
            let (mut raw, mut whole) = (Samples::default(), Samples::default());
            for turn in 0..=self.asked.times(50) {
                if turn == 1 {
                    raw.clear();
                    whole.clear();
                }
                for _ in 0..TURN {
                    let start = Instant::now();
                    self.probe.call("nothing", "{}").await?;
                    raw.push(start.elapsed());
                }
                for _ in 0..TURN {
                    let start = Instant::now();
                    kernel.call("nothing", "{}").await?;
                    whole.push(start.elapsed());
                }
            }
            if let Some(reader) = reader {
                reader.abort();
            }
            rows.push(Row::new(
                what,
                "µs",
                "raw",
                [raw.summary(), whole.summary()],
                None,
            ));
        }
        Ok(rows)
    }

    /// A call that makes a call, against the two made one after the other.
    async fn nested(&self) -> anyhow::Result<Row> {
        progress("nested call");
        let inner = json!({ "name": "echo", "arguments": "{\"text\":\"x\"}" });
        let (with, without) = (
            json!({ "calls": [inner] }).to_string(),
            json!({ "calls": [] }).to_string(),
        );
        let (mut two, mut nested) = (Samples::default(), Samples::default());
        for _ in 0..self.asked.times(50) {
            for _ in 0..TURN {
                let start = Instant::now();
                self.kernel.call("relay_parallel", &without).await?;
                self.kernel.call("echo", "{\"text\":\"x\"}").await?;
                two.push(start.elapsed());
            }
            for _ in 0..TURN {
                let start = Instant::now();
                self.kernel.call("relay_parallel", &with).await?;
                nested.push(start.elapsed());
            }
        }
        let pair = [two.summary(), nested.summary()];
        Ok(Row::new(
            "nested call",
            "µs",
            "two kernel calls",
            pair,
            Some(Goal::RatioAtMost(1.3)),
        ))
    }

    async fn throughput(
        &self,
        what: &'static str,
        tasks: usize,
        goal: Option<Goal>,
    ) -> anyhow::Result<Row> {
        progress(what);
        let window = Duration::from_millis(if self.asked.quick { 300 } else { 1_000 });
        let _events = self.kernel.subscribe();
        let (mut raw, mut whole) = (Vec::new(), Vec::new());
        for turn in 0..=self.asked.times(5) {
            let guest = self.probe.clone();
            let calls = rate(tasks, window, move || {
                let guest = guest.clone();
                async move { guest.call("nothing", "{}").await.map(drop) }
            });
            let reference = calls.await?;
            let kernel = Arc::clone(&self.kernel);
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
        Ok(Row::new(
            what,
            "calls/s",
            "raw",
            [Summary::of(raw), Summary::of(whole)],
            goal,
        ))
    }

    async fn parallel(&self) -> anyhow::Result<Row> {
        progress("parallel batch of 8 calls that wait");
        let arguments = "{\"ms\":250}";
        let (mut raw, mut whole) = (Samples::default(), Samples::default());
        for _ in 0..self.asked.times(10) {
            let start = Instant::now();
            let mut calls = JoinSet::new();
            for _ in 0..8 {
                let guest = self.probe.clone();
                calls.spawn(async move { guest.call("sleep_parallel", arguments).await });
            }
            while let Some(call) = calls.join_next().await {
                call??;
            }
            raw.push(start.elapsed());
            let start = Instant::now();
            self.kernel
                .batch(
                    (0..8)
                        .map(|_| ToolCall::new("sleep_parallel", arguments))
                        .collect(),
                )
                .await?;
            whole.push(start.elapsed());
        }
        let pair = [milliseconds(raw.summary()), milliseconds(whole.summary())];
        Ok(Row::new(
            "8 parallel calls of 250 ms",
            "ms",
            "raw, 8 tasks",
            pair,
            Some(Goal::AtMost(250.0 * 1.05)),
        ))
    }

    /// How long after its limit an endless loop ends.
    async fn kill(&self) -> anyhow::Result<Row> {
        progress("kill of an endless loop");
        let limit = Duration::from_millis(50);
        let (mut raw, mut whole) = (Samples::default(), Samples::default());
        for _ in 0..self.asked.times(50) {
            let start = Instant::now();
            if self.hostile.call_within(limit, "spin", "{}").await.is_ok() {
                anyhow::bail!("the endless loop ended");
            }
            raw.push(start.elapsed().saturating_sub(limit));
            let start = Instant::now();
            self.kernel.stopped(limit, "spin").await?;
            whole.push(start.elapsed().saturating_sub(limit));
        }
        let pair = [milliseconds(raw.summary()), milliseconds(whole.summary())];
        Ok(Row::new(
            "endless loop, past its limit",
            "ms",
            "raw",
            pair,
            Some(Goal::AtMost(5.0)),
        ))
    }

    async fn load(&self) -> anyhow::Result<Vec<Row>> {
        progress("load");
        let (mut compile, mut cold) = (Samples::default(), Samples::default());
        let (mut link, mut warm) = (Samples::default(), Samples::default());
        let three = [toolgate_guests::FILES, toolgate_guests::CMD, guests::PROBE];
        let code = three.map(|bytes| self.raw.precompile(bytes));
        for turn in 0..self.asked.times(10) {
            let start = Instant::now();
            for bytes in three {
                self.raw.link(&self.raw.compile(bytes)?)?;
            }
            compile.push(start.elapsed());
            let root = self.folder.path().join(format!("load-{turn}"));
            kernel::put(&root, &PLUGINS[..1])?;
            cold.push(start_of(&root).await?);
            for _ in 0..5 {
                let start = Instant::now();
                for code in &code {
                    let code = code
                        .as_ref()
                        .map_err(|error| anyhow::anyhow!("{error:#}"))?;
                    self.raw.link(&self.raw.deserialize(code)?)?;
                }
                link.push(start.elapsed());
                warm.push(start_of(&root).await?);
            }
        }
        let rows = [
            (
                "start with 3 plugins, nothing compiled yet",
                "raw compile and link",
                compile,
                cold,
                None,
            ),
            (
                "start with 3 plugins, code cached",
                "raw deserialize and link",
                link,
                warm,
                Some(Goal::AtMost(15.0)),
            ),
        ];
        Ok(rows
            .map(|(what, against, raw, whole, goal)| {
                Row::new(
                    what,
                    "ms",
                    against,
                    [milliseconds(raw.summary()), milliseconds(whole.summary())],
                    goal,
                )
            })
            .into())
    }
}

fn standard() -> Vec<Standard> {
    vec![
        Standard {
            name: "files",
            bytes: toolgate_guests::FILES,
        },
        Standard {
            name: "cmd",
            bytes: toolgate_guests::CMD,
        },
    ]
}

/// From nothing to a host that answers; its end is not counted.
async fn start_of(root: &Path) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let kernel = Kernel::start(root, standard(), WATCHED).await?;
    let elapsed = start.elapsed();
    kernel.call("nothing", "{}").await?;
    Ok(elapsed)
}

fn milliseconds(summary: Summary) -> Summary {
    let Summary { min, median, p99 } = summary;
    Summary {
        min: min / 1e3,
        median: median / 1e3,
        p99: p99 / 1e3,
    }
}

/// Calls a second of this many tasks, each with one call after the other.
async fn rate<F>(
    tasks: usize,
    window: Duration,
    call: impl Fn() -> F + Clone + Send + 'static,
) -> anyhow::Result<f64>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let stop = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..tasks {
        let (stop, call) = (Arc::clone(&stop), call.clone());
        running.spawn(async move {
            let mut calls = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                call().await?;
                calls += 1;
                // A call that never waits would keep its worker.
                tokio::task::consume_budget().await;
            }
            anyhow::Ok(calls)
        });
    }
    // A thread: under full load a timer of the runtime may be late.
    let end = Arc::clone(&stop);
    std::thread::spawn(move || {
        std::thread::sleep(window);
        end.store(true, Ordering::Relaxed);
    });
    let mut calls = 0.0;
    while let Some(task) = running.join_next().await {
        calls += f64::from(task??);
    }
    Ok(calls / start.elapsed().as_secs_f64())
}
