//! `[host]`, `[host.limits]` and `[audit]`: defaults, and what is checked about them.

use std::{fs, os::unix::fs::FileTypeExt as _, time::Duration};

use super::{
    AuditArguments, AuditConfig, FileIo, HostConfig, OnAuditError, Watch,
    check::Check,
    document::KeyPath,
    folders::{Protected, resolve},
    shape, units,
};
use crate::policy::{LOCAL, Limits};

/// More calls at once than this exhaust memory and descriptors before they help.
const MOST_CALLS: u32 = 65_536;

/// Deeper nesting is a runaway recursion.
const MOST_DEPTH: u32 = 256;

/// One page of linear memory: with less no guest can start.
const LEAST_MEMORY: u64 = 64 << 10;

/// Rotating a smaller log would keep almost nothing of it.
const LEAST_LOG: u64 = 64 << 10;

impl Check<'_> {
    /// `[host]`. What belongs to Toolgate itself is protected from here on.
    pub(super) fn host(&mut self, shape: &shape::Host) -> HostConfig {
        let key = |name: &str| KeyPath::of(&["host", name]);
        let dir = |check: &Self, name: &str, text: &Option<String>| {
            text.as_ref()
                .map(|text| resolve(&check.path(&key(name), text)))
        };
        for (name, text) in [
            ("data_dir", &shape.data_dir),
            ("cache_dir", &shape.cache_dir),
            ("plugin_dir", &shape.plugin_dir),
        ] {
            if text.as_deref() == Some("") {
                self.problem(
                    &key(name),
                    "an empty path names no folder",
                    "remove the key for the default",
                );
            }
        }
        let data_dir =
            dir(self, "data_dir", &shape.data_dir).unwrap_or_else(|| resolve(&self.dirs.data));
        let cache_dir =
            dir(self, "cache_dir", &shape.cache_dir).unwrap_or_else(|| resolve(&self.dirs.cache));
        let plugin_dir = dir(self, "plugin_dir", &shape.plugin_dir);

        self.protected
            .push(Protected::new("data folder", &data_dir));
        // Trust is recorded here even if the file moves its data elsewhere.
        self.protected.push(Protected::new(
            "trust store",
            &super::trust::folder(self.environment, self.start, self.dirs),
        ));
        self.protected
            .push(Protected::new("cache folder", &cache_dir));
        if let Some(plugin_dir) = &plugin_dir {
            self.protected
                .push(Protected::new("plugin folder", plugin_dir));
        }
        // A file in there is used without trust.
        self.protected.push(Protected::from_writing(
            "configuration folder",
            &self.dirs.config,
        ));

        let max_timeout = shape
            .max_timeout
            .map_or(Duration::from_secs(600), |time| time.0);
        if max_timeout.is_zero() {
            self.problem(&key("max_timeout"), "no call could run", "use more than 0");
        }
        let limits_key = KeyPath::of(&["host", "limits"]);
        let mut limits = self.limits(&limits_key, &shape.limits, &Limits::default());
        self.timeout_fits(&limits_key, &shape.limits, max_timeout);
        limits.timeout = limits.timeout.min(max_timeout);
        let max_concurrent_calls = self.count(
            &key("max_concurrent_calls"),
            shape.max_concurrent_calls,
            256,
            MOST_CALLS,
        );
        let max_depth = shape.max_depth.unwrap_or(16);
        if max_depth > MOST_DEPTH {
            self.problem(
                &key("max_depth"),
                format!("{max_depth} is too deep"),
                format!("use at most {MOST_DEPTH}"),
            );
        }
        HostConfig {
            data_dir,
            cache_dir,
            plugin_dir,
            watch: shape.watch.unwrap_or(Watch::Auto),
            file_io: shape.file_io.unwrap_or(FileIo::Inline),
            max_concurrent_calls,
            queue_timeout: shape
                .queue_timeout
                .map_or(Duration::from_secs(10), |time| time.0),
            max_timeout,
            max_depth,
            acts_as: super::ActsAs {
                cli: shape
                    .acts_as
                    .cli
                    .clone()
                    .unwrap_or_else(|| LOCAL.to_owned()),
            },
            limits,
        }
    }

    /// A count from 1 to `most`.
    pub(super) fn count(
        &mut self,
        key: &KeyPath,
        value: Option<u32>,
        default: u32,
        most: u32,
    ) -> usize {
        let value = value.unwrap_or(default);
        if value == 0 || value > most {
            self.problem(
                key,
                format!("{value} is out of range"),
                format!("use 1 to {most}"),
            );
        }
        usize::try_from(value).unwrap_or(usize::MAX)
    }

    /// Limits on top of those that they override.
    pub(super) fn limits(
        &mut self,
        key: &KeyPath,
        shape: &shape::LimitsShape,
        under: &Limits,
    ) -> Limits {
        let limits = shape.over(under);
        let more_than_zero = [
            (
                "timeout",
                shape.timeout.is_some_and(|time| time.0.is_zero()),
            ),
            ("result", shape.result.is_some_and(|size| size.0 == 0)),
            ("host_call", shape.host_call.is_some_and(|size| size.0 == 0)),
            ("handles", shape.handles == Some(0)),
        ];
        for (name, zero) in more_than_zero {
            if zero {
                self.problem(
                    &key.key(name),
                    "with 0 no call could run",
                    "use more than 0",
                );
            }
        }
        if limits.memory < LEAST_MEMORY && shape.memory.is_some() {
            let least = units::size_text(LEAST_MEMORY);
            self.problem(
                &key.key("memory"),
                "no guest can start with so little",
                format!("use at least {least}"),
            );
        }
        limits
    }

    /// A timeout that an operator wrote may not lie above the operator's own maximum.
    pub(super) fn timeout_fits(
        &mut self,
        key: &KeyPath,
        shape: &shape::LimitsShape,
        max: Duration,
    ) {
        if let Some(time) = shape.timeout.filter(|time| time.0 > max) {
            let (own, max) = (units::time_text(time.0), units::time_text(max));
            self.problem(
                &key.key("timeout"),
                format!("{own} is more than host.max_timeout ({max})"),
                "lower it, or raise max_timeout in [host]",
            );
        }
    }

    /// `[audit]`.
    pub(super) fn audit(&mut self, shape: &shape::Audit, host: &HostConfig) -> AuditConfig {
        let key = |name: &str| KeyPath::of(&["audit", name]);
        let path = shape.path.as_ref().map_or_else(
            || host.data_dir.join("audit").join("audit.jsonl"),
            |text| resolve(&self.path(&key("path"), text)),
        );
        if path.is_dir() {
            self.problem(
                &key("path"),
                format!("{} is a folder", path.display()),
                "name a file in it",
            );
        } else if fs::metadata(&path).is_ok_and(|found| found.file_type().is_fifo()) {
            // Opening it would wait for a reader.
            self.problem(
                &key("path"),
                format!("{} is a pipe", path.display()),
                "name a file",
            );
        }
        self.protected.push(Protected::new("audit log", &path));
        let redact = shape
            .redact
            .clone()
            .unwrap_or_else(|| ["/content", "/env"].map(str::to_owned).to_vec());
        for (i, pointer) in redact.iter().enumerate() {
            if !pointer.starts_with('/') {
                self.problem(
                    &key("redact").item(i),
                    format!("{pointer:?} is no JSON pointer"),
                    format!("write it with a slash in front: \"/{pointer}\""),
                );
            }
        }
        let rotate_at = shape.rotate_at.map_or(64 << 20, |size| size.0);
        if rotate_at < LEAST_LOG {
            let least = units::size_text(LEAST_LOG);
            self.problem(
                &key("rotate_at"),
                "the log would be rotated all the time",
                format!("use at least {least}"),
            );
        }
        AuditConfig {
            path,
            arguments: shape.arguments.unwrap_or(AuditArguments::Digest),
            redact,
            rotate_at,
            keep: shape.keep.unwrap_or(10),
            on_error: shape.on_error.unwrap_or(OnAuditError::Refuse),
        }
    }
}
