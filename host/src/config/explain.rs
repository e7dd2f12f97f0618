//! Every value in effect and where it came from, for `toolgate config`.

use super::{
    AuditConfig, HostConfig, ServeConfig,
    document::{Document, KeyPath, lookup},
    environment::Environment,
    error::shown,
    serve,
    units::{size_text, time_text},
};

/// One value in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// Such as `host.limits.timeout`.
    pub key: String,
    /// As the file would write it.
    pub value: String,
    /// `default`, a file with its line, or a variable.
    pub source: String,
}

/// All values, by key. Values of `grants.env` are hidden: they may be secrets, and this
/// is pasted into reports.
pub(super) fn explain(
    document: Option<&Document>,
    environment: &Environment,
    host: &HostConfig,
    audit: &AuditConfig,
    serving: &ServeConfig,
) -> Vec<Explained> {
    let mut all: Vec<Explained> = Vec::new();
    let mut add = |key: &KeyPath, value: &str, source: String| {
        let key = key.to_string();
        if !all.iter().any(|one| one.key == key) {
            all.push(Explained {
                key: shown(&key),
                value: shown(value),
                source,
            });
        }
    };
    for one in &environment.overrides {
        add(
            &KeyPath::of(&one.path),
            &one.value.to_string(),
            one.variable.clone(),
        );
    }
    if let Some(document) = document
        && let Ok(table) = document.text().parse::<toml::Table>()
    {
        for leaf in document.leaves() {
            let Some(value) = lookup(&table, &leaf.key) else {
                continue;
            };
            let value = if leaf.key.to_string().contains(".grants.env.") {
                "(hidden)".to_owned()
            } else {
                value.to_string()
            };
            add(
                &leaf.key,
                &value,
                format!("{}:{}", document.path().display(), leaf.line),
            );
        }
    }
    for (key, value) in defaults(host, audit)
        .into_iter()
        .chain(serve::explained(serving))
    {
        add(&KeyPath::of(&key), &value, "default".to_owned());
    }
    all.sort_by(|a, b| a.key.cmp(&b.key));
    all
}

fn defaults(host: &HostConfig, audit: &AuditConfig) -> Vec<(Vec<&'static str>, String)> {
    let quoted = |text: &dyn std::fmt::Display| format!("{:?}", text.to_string());
    let limits = &host.limits;
    let mut all = vec![
        (vec!["host", "data_dir"], quoted(&host.data_dir.display())),
        (vec!["host", "cache_dir"], quoted(&host.cache_dir.display())),
        (vec!["host", "watch"], quoted(&host.watch.as_str())),
        (vec!["host", "file_io"], quoted(&host.file_io.as_str())),
        (
            vec!["host", "max_concurrent_calls"],
            host.max_concurrent_calls.to_string(),
        ),
        (
            vec!["host", "queue_timeout"],
            quoted(&time_text(host.queue_timeout)),
        ),
        (
            vec!["host", "max_timeout"],
            quoted(&time_text(host.max_timeout)),
        ),
        (vec!["host", "max_depth"], host.max_depth.to_string()),
        (vec!["host", "acts_as", "cli"], quoted(&host.acts_as.cli)),
        (
            vec!["host", "limits", "timeout"],
            quoted(&time_text(limits.timeout)),
        ),
        (
            vec!["host", "limits", "log_lines"],
            limits.log_lines.to_string(),
        ),
        (
            vec!["host", "limits", "handles"],
            limits.handles.to_string(),
        ),
        (vec!["audit", "path"], quoted(&audit.path.display())),
        (
            vec!["audit", "arguments"],
            quoted(&audit.arguments.as_str()),
        ),
        (vec!["audit", "redact"], format!("{:?}", audit.redact)),
        (
            vec!["audit", "rotate_at"],
            quoted(&size_text(audit.rotate_at)),
        ),
        (vec!["audit", "keep"], audit.keep.to_string()),
        (vec!["audit", "on_error"], quoted(&audit.on_error.as_str())),
    ];
    for (name, bytes) in [
        ("memory", limits.memory),
        ("result", limits.result),
        ("blocks", limits.blocks),
        ("host_call", limits.host_call),
        ("log_bytes", limits.log_bytes),
    ] {
        all.push((vec!["host", "limits", name], quoted(&size_text(bytes))));
    }
    if let Some(folder) = &host.plugin_dir {
        all.push((vec!["host", "plugin_dir"], quoted(&folder.display())));
    }
    all
}
