//! Numbers that an operator watches, in one registry a host: two hosts in one process do
//! not add up.
//!
//! Everything is counted where it happens, not by a reader of events, who may miss some.
//! Labels come from what is loaded, never from what a caller wrote: whatever names no tool
//! is `unknown`, and beyond a bound new tools are `other`.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::tool::{FailureKind, ToolResult};

/// Stands for every name that is no tool, or none that the caller may know.
const UNKNOWN: &str = "unknown";

/// Stands for tools beyond [`MOST_TOOLS`].
const OTHER: &str = "other";

/// Tools with series of their own, in the life of a host. Reloads may bring new names for
/// ever; a metrics store cannot take that.
const MOST_TOOLS: usize = 1_000;

/// Seconds: an empty call takes 10 µs, the longest may take 10 minutes.
const TIMES: [f64; 14] = [
    0.000_05, 0.000_2, 0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 600.0,
];

/// `ok` and every kind of failure, as events have them.
const OUTCOMES: usize = 12;

/// What one host counts. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    seconds: Family<ToolLabels, Histogram, fn() -> Histogram>,
    queue_seconds: Histogram,
    in_flight: Gauge,
    queued: Gauge,
    instances: Gauge,
    plugin_loads: Family<LoadLabels, Counter>,
    compile_seconds: Histogram,
    circuits_open: Gauge,
    http: Family<HttpLabels, Counter>,
    /// By tool, so that a call finds its counters with one look-up.
    tools: RwLock<HashMap<Arc<str>, Arc<Meters>>>,
}

/// The counters of one tool.
struct Meters {
    labels: ToolLabels,
    seconds: Histogram,
    outcomes: [OnceLock<Counter>; OUTCOMES],
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: Arc<str>,
    plugin: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: Arc<str>,
    plugin: Arc<str>,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LoadLabels {
    plugin: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HttpLabels {
    route: &'static str,
    status: u16,
}

/// Adds one to a gauge until it is dropped, whichever way that comes.
#[derive(Debug)]
pub(crate) struct Held(Gauge);

impl Held {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All at zero.
    #[must_use]
    pub fn new() -> Self {
        let times: fn() -> Histogram = || Histogram::new(TIMES);
        let mut inner = Inner {
            registry: Registry::with_prefix("toolgate"),
            calls: Family::default(),
            seconds: Family::new_with_constructor(times),
            queue_seconds: times(),
            in_flight: Gauge::default(),
            queued: Gauge::default(),
            instances: Gauge::default(),
            plugin_loads: Family::default(),
            compile_seconds: Histogram::new([
                0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
            ]),
            circuits_open: Gauge::default(),
            http: Family::default(),
            tools: RwLock::default(),
        };
        let registry = &mut inner.registry;
        registry.register(
            "calls",
            "Calls that ended, nested ones included",
            inner.calls.clone(),
        );
        registry.register_with_unit(
            "call_duration",
            "Time in the tool, of calls that were started",
            Unit::Seconds,
            inner.seconds.clone(),
        );
        registry.register_with_unit(
            "queue_wait",
            "Time that permitted calls waited for their turn",
            Unit::Seconds,
            inner.queue_seconds.clone(),
        );
        registry.register(
            "calls_in_flight",
            "Calls that run now",
            inner.in_flight.clone(),
        );
        registry.register(
            "calls_queued",
            "Permitted calls that wait for their turn now",
            inner.queued.clone(),
        );
        registry.register(
            "instances_live",
            "Instances of plugins in the pool now",
            inner.instances.clone(),
        );
        registry.register(
            "plugin_loads",
            "Loads of plugins, reloads included",
            inner.plugin_loads.clone(),
        );
        registry.register_with_unit(
            "plugin_compile",
            "Time to get a plugin's code ready, from the cache or by compiling",
            Unit::Seconds,
            inner.compile_seconds.clone(),
        );
        registry.register(
            "circuits_open",
            "Plugins that are set aside after traps now, each principal counted",
            inner.circuits_open.clone(),
        );
        registry.register(
            "http_requests",
            "Requests that the HTTP face answered",
            inner.http.clone(),
        );
        Self(Arc::new(inner))
    }

    /// A call has ended.
    pub(crate) fn call_ended(&self, result: &ToolResult) {
        let meters = match &result.implementation {
            // Named by what is loaded.
            Some(from) => self.meters(&result.name, from.plugin.as_str()),
            None => self.meters(UNKNOWN, UNKNOWN),
        };
        let (slot, outcome) = outcome(result);
        meters.outcomes[slot]
            .get_or_init(|| {
                self.0.calls.get_or_create_owned(&CallLabels {
                    tool: Arc::clone(&meters.labels.tool),
                    plugin: Arc::clone(&meters.labels.plugin),
                    outcome,
                })
            })
            .inc();
        // Of a call that was never started there is no time.
        if !result.elapsed.is_zero() {
            meters.seconds.observe(result.elapsed.as_secs_f64());
        }
    }

    fn meters(&self, tool: &str, plugin: &str) -> Arc<Meters> {
        {
            let tools = self.0.tools.read().unwrap_or_else(PoisonError::into_inner);
            // A tool may move to another plugin.
            if let Some(found) = tools.get(tool)
                && &*found.labels.plugin == plugin
            {
                return Arc::clone(found);
            }
        }
        let mut tools = self.0.tools.write().unwrap_or_else(PoisonError::into_inner);
        let known = tools.contains_key(tool) || tools.len() < MOST_TOOLS;
        let (tool, plugin) = if known {
            (tool, plugin)
        } else {
            (OTHER, OTHER)
        };
        let labels = ToolLabels {
            tool: tool.into(),
            plugin: plugin.into(),
        };
        let meters = Arc::new(Meters {
            seconds: self.0.seconds.get_or_create_owned(&labels),
            outcomes: Default::default(),
            labels,
        });
        tools.insert(tool.into(), Arc::clone(&meters));
        meters
    }

    /// A permitted call waits for its turn while this lives.
    pub(crate) fn queued(&self) -> Held {
        Held::new(&self.0.queued)
    }

    /// A permitted call has waited this long.
    pub(crate) fn waited(&self, time: Duration) {
        self.0.queue_seconds.observe(time.as_secs_f64());
    }

    /// A call runs while this lives.
    pub(crate) fn in_flight(&self) -> Held {
        Held::new(&self.0.in_flight)
    }

    /// A plugin was loaded, or was not. Named by configuration and folder, so the names
    /// are as many as an operator makes.
    pub(crate) fn plugin_loaded(&self, plugin: &str, loaded: bool) {
        let outcome = if loaded { "ok" } else { "failed" };
        self.0
            .plugin_loads
            .get_or_create_owned(&LoadLabels {
                plugin: plugin.to_owned(),
                outcome,
            })
            .inc();
    }

    /// A plugin's code was made ready in this time.
    pub(crate) fn compiled(&self, time: Duration) {
        self.0.compile_seconds.observe(time.as_secs_f64());
    }

    /// So many circuits are open now.
    pub(crate) fn circuits_open(&self, count: usize) {
        self.0
            .circuits_open
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// A request was answered. `route` is the pattern, not what was asked for.
    pub(crate) fn http_request(&self, route: &'static str, status: u16) {
        self.0
            .http
            .get_or_create_owned(&HttpLabels { route, status })
            .inc();
    }

    /// All of it in the text format of OpenMetrics. `instances`: in the pool now.
    #[must_use]
    pub fn text(&self, instances: usize) -> String {
        self.0
            .instances
            .set(i64::try_from(instances).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// The word that events use, and its place among a tool's counters.
fn outcome(result: &ToolResult) -> (usize, &'static str) {
    let Err(failure) = &result.outcome else {
        return (0, "ok");
    };
    let slot = match failure.kind {
        FailureKind::NotFound => 1,
        FailureKind::Unauthorized => return (2, "denied"),
        FailureKind::Invalid => 3,
        FailureKind::Failed => 4,
        FailureKind::Timeout => 5,
        FailureKind::Trapped => 6,
        FailureKind::Unavailable => 7,
        FailureKind::Cancelled => 8,
        FailureKind::Limit => 9,
        FailureKind::Skipped => 10,
        FailureKind::Internal => 11,
    };
    (slot, failure.kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Digest, Failure, Implementation, Output, PluginName};

    fn result(tool: &str, plugin: Option<&str>, kind: Option<FailureKind>) -> ToolResult {
        ToolResult {
            id: "a".into(),
            original_id: None,
            index: 0,
            name: tool.into(),
            outcome: kind.map_or(Ok(Output::default()), |kind| Err(Failure::host(kind, ""))),
            text: String::new(),
            parallel: false,
            elapsed: Duration::from_millis(3),
            queue: Duration::ZERO,
            implementation: plugin.map(|plugin| Implementation {
                plugin: PluginName::new(plugin).unwrap(),
                version: "1".into(),
                digest: Digest::of(b""),
                generation: 1,
            }),
        }
    }

    #[test]
    fn every_outcome_counts_once_and_names_come_from_what_is_loaded() {
        let metrics = Metrics::new();
        for _ in 0..3 {
            metrics.call_ended(&result("echo", Some("probe"), None));
        }
        let denied = ToolResult {
            elapsed: Duration::ZERO,
            ..result("echo", Some("probe"), Some(FailureKind::Unauthorized))
        };
        metrics.call_ended(&denied);
        metrics.call_ended(&result("a\"b\n{}", None, Some(FailureKind::NotFound)));
        // The tool moved.
        metrics.call_ended(&result("echo", Some("other"), None));
        let text = metrics.text(7);
        for line in [
            r#"toolgate_calls_total{tool="echo",plugin="probe",outcome="ok"} 3"#,
            r#"toolgate_calls_total{tool="echo",plugin="probe",outcome="denied"} 1"#,
            r#"toolgate_calls_total{tool="echo",plugin="other",outcome="ok"} 1"#,
            r#"toolgate_calls_total{tool="unknown",plugin="unknown",outcome="not-found"} 1"#,
            r#"toolgate_call_duration_seconds_count{tool="echo",plugin="probe"} 3"#,
            r#"toolgate_call_duration_seconds_bucket{le="0.001",tool="echo",plugin="probe"} 0"#,
            r#"toolgate_call_duration_seconds_bucket{le="0.005",tool="echo",plugin="probe"} 3"#,
            "toolgate_instances_live 7",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
        assert!(!text.contains("a\\\"b"), "{text}");
    }

    #[test]
    fn every_failure_has_its_own_place() {
        use FailureKind::{
            Cancelled, Failed, Internal, Invalid, Limit, NotFound, Skipped, Timeout, Trapped,
            Unauthorized, Unavailable,
        };
        let all = [
            NotFound,
            Unauthorized,
            Invalid,
            Failed,
            Timeout,
            Trapped,
            Unavailable,
            Cancelled,
            Limit,
            Skipped,
            Internal,
        ];
        let mut places: Vec<usize> = all
            .iter()
            .map(|kind| outcome(&result("x", None, Some(*kind))).0)
            .collect();
        places.push(0);
        places.sort_unstable();
        assert_eq!(places, (0..OUTCOMES).collect::<Vec<_>>());
    }

    #[test]
    fn new_names_for_ever_are_one_label() {
        let metrics = Metrics::new();
        for n in 0..MOST_TOOLS + 50 {
            metrics.call_ended(&result(&format!("t{n}"), Some("p"), None));
        }
        let text = metrics.text(0);
        let series = text
            .lines()
            .filter(|line| line.starts_with("toolgate_calls_total"));
        assert_eq!(series.count(), MOST_TOOLS + 1);
        assert!(
            text.contains(r#"toolgate_calls_total{tool="other",plugin="other",outcome="ok"} 50"#)
        );
    }

    #[test]
    fn a_gauge_falls_whichever_way_its_holder_ends() {
        let metrics = Metrics::new();
        let held = metrics.in_flight();
        assert!(metrics.text(0).contains("toolgate_calls_in_flight 1"));
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = held;
            panic!("as asked");
        }));
        assert!(unwound.is_err());
        assert!(metrics.text(0).contains("toolgate_calls_in_flight 0"));
    }
}
