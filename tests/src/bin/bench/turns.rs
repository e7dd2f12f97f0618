//! How it is measured: the reference and the kernel take turns, so that a busy moment of
//! the machine meets both.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use tokio::task::JoinSet;

use crate::samples::{Samples, Summary};

/// Calls in one turn: long enough to be warm, short enough to share the machine's moods.
const TURN: usize = 200;

/// Times `turns` turns of each side, microseconds; `between` runs after each pair. One more
/// turn before the first warms up caches and slots.
pub(crate) async fn in_turns(
    turns: usize,
    reference: impl AsyncFn() -> anyhow::Result<()>,
    kernel: impl AsyncFn() -> anyhow::Result<()>,
    mut between: impl FnMut(),
) -> anyhow::Result<[Summary; 2]> {
    let mut sides = [Samples::default(), Samples::default()];
    for turn in 0..=turns {
        if turn == 1 {
            sides = [Samples::default(), Samples::default()];
        }
        for _ in 0..TURN {
            let start = Instant::now();
            reference().await?;
            sides[0].push(start.elapsed());
        }
        for _ in 0..TURN {
            let start = Instant::now();
            kernel().await?;
            sides[1].push(start.elapsed());
        }
        between();
    }
    Ok(sides.map(|side| side.summary()))
}

/// Times each side once a turn, for what takes milliseconds; in milliseconds. A side says
/// itself how long it took.
pub(crate) async fn one_by_one(
    turns: usize,
    reference: impl AsyncFn() -> anyhow::Result<Duration>,
    kernel: impl AsyncFn() -> anyhow::Result<Duration>,
) -> anyhow::Result<[Summary; 2]> {
    let mut sides = [Samples::default(), Samples::default()];
    for _ in 0..turns {
        sides[0].push(reference().await?);
        sides[1].push(kernel().await?);
    }
    Ok(sides.map(|side| side.summary().in_milliseconds()))
}

/// Calls a second of this many tasks, each with one call after the other.
pub(crate) async fn rate<F>(
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

/// Memory of this process that is in use now, KiB.
pub(crate) fn resident() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let figure = line.and_then(|line| line.split_whitespace().next());
    Ok(figure.context("no VmRSS in /proc/self/status")?.parse()?)
}
