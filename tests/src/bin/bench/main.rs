//! `make bench`: what a call costs through the whole kernel, next to wasmtime alone, both
//! measured in turns in one run. It shows; it fails on nothing but a broken call.
//!
//! `--quick` measures for a few seconds, `--json` prints JSON, `--only WORD` takes the
//! rows with that word.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its table is what this program is for"
)]

mod kernel;
mod raw;
mod reload;
mod report;
mod rows;
mod samples;
mod turns;

use anyhow::bail;

use report::{Machine, Report};

/// How long to measure, and what.
#[derive(Debug, Clone, Default)]
struct Asked {
    quick: bool,
    json: bool,
    only: Option<String>,
}

impl Asked {
    #[expect(clippy::disallowed_methods, reason = "a program's own command line")]
    fn read() -> anyhow::Result<Self> {
        let mut asked = Self::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => asked.quick = true,
                "--json" => asked.json = true,
                "--only" => asked.only = words.next(),
                other => {
                    bail!("unknown argument {other:?}; there are --quick, --json and --only WORD")
                }
            }
        }
        Ok(asked)
    }

    /// A count for a long run, or a tenth of it.
    fn times(&self, count: usize) -> usize {
        if self.quick {
            count.div_ceil(10)
        } else {
            count
        }
    }

    fn wants(&self, what: &str) -> bool {
        self.only
            .as_ref()
            .is_none_or(|word| what.contains(word.as_str()))
    }
}

fn main() -> anyhow::Result<()> {
    let asked = Asked::read()?;
    let machine = Machine::this();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let rows = runtime.block_on(rows::all(&asked))?;
    let report = Report {
        machine,
        quick: asked.quick,
        rows,
    };
    if asked.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.table());
    }
    Ok(())
}

/// What is measured now; on standard error, since a run takes a minute.
fn progress(what: &str) {
    eprintln!("bench: {what}");
}
