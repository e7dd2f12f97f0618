//! Plugins that change: how long a save takes to serve, and what calls feel of it.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use anyhow::Context as _;
use toolgate::dispatch::EventKind;
use toolgate_test_guest_bytes::{PROBE, living};

use crate::{
    Asked,
    kernel::{self, Kernel},
    progress,
    raw::Raw,
    report::{Goal, Row},
    samples::Samples,
    turns::one_by_one,
};

/// Megabytes of code: as large as a guest that brings an interpreter.
const LARGE: usize = 20;

/// Calls before and while it is compiled, at most.
const CALLS: usize = 200_000;

pub(crate) async fn rows(
    asked: &Asked,
    raw: &Raw,
    folder: &Path,
    rows: &mut Vec<Row>,
) -> anyhow::Result<()> {
    let root = folder.join("reload");
    kernel::put(&root, &[("probe", PROBE), ("living", &living(1, '-'))])?;
    let file = root.join("plugins/living.wasm");
    let kernel = Arc::new(Kernel::start(&root, Vec::new(), true).await?);
    let what = "save of a plugin until it serves";
    if asked.wants(what) {
        progress(what);
        rows.push(save(asked, raw, &kernel, &file, what).await?);
    }
    let what = "a call while 20 MB are compiled";
    if asked.wants(what) {
        progress(what);
        rows.push(disturbed(&kernel, &file, what).await?);
    }
    Ok(())
}

async fn save(
    asked: &Asked,
    raw: &Raw,
    kernel: &Kernel,
    file: &Path,
    what: &'static str,
) -> anyhow::Result<Row> {
    let _watching = kernel.host().watch();
    let version = std::cell::Cell::new(1_000);
    let next = || {
        version.set(version.get() + 1);
        version.get()
    };
    let fresh = file.with_extension("new");
    let pair = one_by_one(
        asked.times(20),
        async || {
            let bytes = living(next(), '-');
            let start = Instant::now();
            raw.compile(&bytes)?;
            Ok(start.elapsed())
        },
        async || {
            let number = next();
            fs::write(&fresh, living(number, '-'))?;
            let start = Instant::now();
            let mut events = kernel.subscribe();
            fs::rename(&fresh, file)?;
            loop {
                let event = events.next().await.transpose().ok().flatten();
                let event = event.context("events were missed")?;
                if event.event.kind == EventKind::PluginLoaded {
                    break;
                }
            }
            let served = kernel.value("living_version", "{}").await?;
            anyhow::ensure!(served == number, "version {served} answered");
            Ok(start.elapsed())
        },
    );
    Ok(Row::new(
        what,
        "ms",
        "raw compile",
        pair.await?,
        Some(Goal::RatioAndAtMost(1.2, 150.0)),
    ))
}

/// Both sides are the kernel's: in quiet, and beside the compilation.
async fn disturbed(kernel: &Arc<Kernel>, file: &Path, what: &'static str) -> anyhow::Result<Row> {
    let measure = async |until: &AtomicBool, least: usize| {
        let mut samples = Samples::default();
        for calls in 0..CALLS {
            if calls >= least && until.load(Ordering::Acquire) {
                break;
            }
            let start = Instant::now();
            kernel.call("nothing", "{}").await?;
            samples.push(start.elapsed());
        }
        anyhow::Ok(samples.summary())
    };
    let ended = Arc::new(AtomicBool::new(true));
    let quiet = measure(&ended, 20_000).await?;
    fs::write(file, large(living(9_999, '-'), LARGE))?;
    ended.store(false, Ordering::Release);
    let compiling = {
        let (kernel, ended) = (Arc::clone(kernel), Arc::clone(&ended));
        tokio::spawn(async move {
            kernel.host().refresh().await;
            ended.store(true, Ordering::Release);
        })
    };
    let beside = measure(&ended, 0).await?;
    compiling.await?;
    anyhow::ensure!(
        kernel.value("living_version", "{}").await? == 9_999,
        "the large plugin was not loaded"
    );
    Ok(Row::new(
        what,
        "µs",
        "in quiet",
        [quiet, beside],
        Some(Goal::TailRatioAtMost(2.0)),
    ))
}

/// The same component with so many more megabytes of code, which nobody calls.
fn large(mut component: Vec<u8>, megabytes: usize) -> Vec<u8> {
    let module = module(1 << 20);
    for _ in 0..megabytes {
        // A core module is a section of a component.
        section(&mut component, 1, &module);
    }
    component
}

/// A core module with about so many bytes of arithmetic.
fn module(bytes: usize) -> Vec<u8> {
    const FUNCTIONS: usize = 500;
    let mut body = vec![0];
    let mut constant = 1_u8;
    body.extend([0x20, 0]);
    while body.len() < bytes / FUNCTIONS {
        constant = constant.wrapping_mul(5).wrapping_add(3) % 64;
        // x = (x * constant) ^ argument
        body.extend([0x41, constant, 0x6c, 0x20, 0, 0x73]);
    }
    body.push(0x0b);
    let (mut declared, mut code) = (Vec::new(), Vec::new());
    number(&mut declared, FUNCTIONS);
    number(&mut code, FUNCTIONS);
    declared.extend(std::iter::repeat_n(0, FUNCTIONS));
    for _ in 0..FUNCTIONS {
        number(&mut code, body.len());
        code.extend(&body);
    }
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // (i32) -> i32
    section(&mut module, 1, &[1, 0x60, 1, 0x7f, 1, 0x7f]);
    section(&mut module, 3, &declared);
    section(&mut module, 10, &code);
    module
}

fn section(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.push(id);
    number(out, content.len());
    out.extend(content);
}

/// LEB128.
fn number(out: &mut Vec<u8>, mut number: usize) {
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}
