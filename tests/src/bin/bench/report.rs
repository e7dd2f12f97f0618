//! The table, and the same as JSON.

use std::{fmt::Write as _, fs};

use serde::Serialize;

use crate::samples::Summary;

/// One line of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    /// What it is compared with.
    pub(crate) against: &'static str,
    pub(crate) reference: Summary,
    pub(crate) kernel: Summary,
    /// Kernel by reference, medians.
    pub(crate) ratio: f64,
    pub(crate) goal: Option<Goal>,
    pub(crate) met: Option<bool>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    /// The ratio is at most this.
    RatioAtMost(f64),
    /// The ratio is at least this.
    RatioAtLeast(f64),
    /// The kernel's median is at most this, in the row's unit.
    AtMost(f64),
    /// The same of the times that 99 of 100 stay below.
    TailRatioAtMost(f64),
    /// The kernel's median is at most so many times the reference and this, in the row's
    /// unit.
    RatioAndAtMost(f64, f64),
}

impl Row {
    pub(crate) fn new(
        what: &'static str,
        unit: &'static str,
        against: &'static str,
        [reference, kernel]: [Summary; 2],
        goal: Option<Goal>,
    ) -> Self {
        let ratio = if reference.median > 0.0 {
            kernel.median / reference.median
        } else {
            0.0
        };
        let met = goal.map(|goal| match goal {
            Goal::RatioAtMost(most) => ratio <= most,
            Goal::RatioAtLeast(least) => ratio >= least,
            Goal::AtMost(most) => kernel.median <= most,
            Goal::TailRatioAtMost(most) => kernel.p99 <= reference.p99 * most,
            Goal::RatioAndAtMost(most, more) => kernel.median <= reference.median * most + more,
        });
        Self {
            what,
            unit,
            against,
            reference,
            kernel,
            ratio,
            goal,
            met,
        }
    }
}

/// Where it was measured: figures of two machines do not compare, ratios do.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    kernel: String,
    load: String,
}

impl Machine {
    pub(crate) fn this() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let processor = info
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Self {
            processor: processor
                .map_or("unknown", |(_, name)| name)
                .trim()
                .to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: read("/proc/loadavg")
                .split(' ')
                .take(3)
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) quick: bool,
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// As Markdown, for a terminal and for `docs/performance.md` alike.
    pub(crate) fn table(&self) -> String {
        let Machine {
            processor,
            cores,
            kernel,
            load,
        } = &self.machine;
        let mut table = format!("{processor}, {cores} cores, Linux {kernel}, load {load}\n\n");
        table.push_str("| what | unit | reference: min / median / p99 | kernel: min / median / p99 | ratio | goal | met |\n");
        table.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
        for row in &self.rows {
            let goal = match row.goal {
                None => "–".to_owned(),
                Some(Goal::RatioAtMost(most)) => format!("≤ {most} ×"),
                Some(Goal::RatioAtLeast(least)) => format!("≥ {least} ×"),
                Some(Goal::AtMost(most)) => format!("≤ {most} {}", row.unit),
                Some(Goal::TailRatioAtMost(most)) => format!("p99 ≤ {most} ×"),
                Some(Goal::RatioAndAtMost(most, more)) => {
                    format!("≤ {most} × + {more} {}", row.unit)
                }
            };
            let met = row.met.map_or("", |met| if met { "yes" } else { "**no**" });
            let _ = writeln!(
                table,
                "| {} | {} | {}: {} | {} | {:.2} | {goal} | {met} |",
                row.what,
                row.unit,
                row.against,
                shown(row.reference),
                shown(row.kernel),
                row.ratio,
            );
        }
        table
    }
}

fn shown(summary: Summary) -> String {
    let figure = |value: f64| {
        if value >= 1_000.0 {
            format!("{value:.0}")
        } else {
            format!("{value:.1}")
        }
    };
    let Summary { min, median, p99 } = summary;
    if min.total_cmp(&p99).is_eq() {
        return figure(median);
    }
    format!("{} / {} / {}", figure(min), figure(median), figure(p99))
}
