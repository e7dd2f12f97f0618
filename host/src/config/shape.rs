//! The file as it is written: every known key, and no meaning yet. A key that is not
//! here is refused.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, value::MapAccessDeserializer},
};

use super::units::{Size, Time};
use crate::{policy::Limits, tool::Kind};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) host: Host,
    pub(super) plugins: BTreeMap<String, Plugin>,
    pub(super) principals: BTreeMap<String, Principal>,
    pub(super) outputs: BTreeMap<String, Output>,
    pub(super) audit: Audit,
    pub(super) serve: Serve,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Host {
    pub(super) data_dir: Option<String>,
    pub(super) cache_dir: Option<String>,
    pub(super) plugin_dir: Option<String>,
    pub(super) watch: Option<super::Watch>,
    pub(super) file_io: Option<super::FileIo>,
    pub(super) max_concurrent_calls: Option<u32>,
    pub(super) queue_timeout: Option<Time>,
    pub(super) max_timeout: Option<Time>,
    pub(super) max_depth: Option<u32>,
    pub(super) acts_as: ActsAs,
    pub(super) limits: LimitsShape,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ActsAs {
    pub(super) cli: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsShape {
    pub(super) timeout: Option<Time>,
    pub(super) memory: Option<Size>,
    pub(super) result: Option<Size>,
    pub(super) blocks: Option<Size>,
    pub(super) host_call: Option<Size>,
    pub(super) log_bytes: Option<Size>,
    pub(super) log_lines: Option<u64>,
    pub(super) handles: Option<u32>,
}

impl LimitsShape {
    /// `under`, with what is said here on top.
    pub(super) fn over(&self, under: &Limits) -> Limits {
        let size = |own: Option<Size>, under: u64| own.map_or(under, |size| size.0);
        Limits {
            timeout: self.timeout.map_or(under.timeout, |time| time.0),
            memory: size(self.memory, under.memory),
            result: size(self.result, under.result),
            blocks: size(self.blocks, under.blocks),
            host_call: size(self.host_call, under.host_call),
            log_bytes: size(self.log_bytes, under.log_bytes),
            log_lines: self.log_lines.unwrap_or(under.log_lines),
            handles: self.handles.unwrap_or(under.handles),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Plugin {
    pub(super) source: Option<String>,
    pub(super) grants: Grants,
    pub(super) limits: LimitsShape,
    pub(super) tools: BTreeMap<String, Tool>,
    pub(super) max_concurrent: Option<u32>,
    pub(super) settings: toml::Table,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Grants {
    pub(super) fs: Vec<Fs>,
    pub(super) process: Option<Process>,
    pub(super) tools: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fs {
    pub(super) host: String,
    pub(super) guest: Option<String>,
    pub(super) mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    Ro,
    Rw,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Process {
    pub(super) programs: Vec<String>,
    pub(super) shell: bool,
    pub(super) env: Vec<String>,
    pub(super) cwd: Vec<String>,
    pub(super) output: Option<Size>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Tool {
    pub(super) limits: LimitsShape,
    pub(super) parallel_safe: Option<Parallel>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Principal {
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) allow: Vec<Rule>,
    #[serde(default)]
    pub(super) ask: Vec<Rule>,
    #[serde(default)]
    pub(super) deny: Vec<Rule>,
    #[serde(default)]
    pub(super) otherwise: Otherwise,
    #[serde(default)]
    pub(super) allowed_outputs: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Otherwise {
    #[default]
    Deny,
    Ask,
}

/// `"files_*"`, or a table with conditions.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) tool: String,
    pub(super) when: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Condition {
    pub(super) at: String,
    pub(super) equals: Option<toml::Value>,
    pub(super) one_of: Option<Vec<toml::Value>>,
    pub(super) glob: Option<String>,
    pub(super) under: Option<String>,
}

/// `true`, `false`, or a list of descriptions.
#[derive(Debug)]
pub(super) enum Parallel {
    Fixed(bool),
    When(Vec<When>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    pub(super) when: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    pub(super) kind: OutputKind,
    pub(super) path: Option<String>,
    pub(super) url: Option<String>,
    pub(super) token_env: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OutputKind {
    Stdout,
    File,
    Webhook,
    Memory,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Audit {
    pub(super) path: Option<String>,
    pub(super) arguments: Option<super::AuditArguments>,
    pub(super) redact: Option<Vec<String>>,
    pub(super) rotate_at: Option<Size>,
    pub(super) keep: Option<u32>,
    pub(super) on_error: Option<super::OnAuditError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Serve {
    pub(super) listen: Option<String>,
    pub(super) allowed_hosts: Option<Vec<String>>,
    pub(super) allowed_origins: Option<Vec<String>>,
    pub(super) max_body: Option<Size>,
    pub(super) rate_limit: RateLimit,
    pub(super) drain: Option<Time>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RateLimit {
    pub(super) per_second: Option<u32>,
    pub(super) burst: Option<u32>,
}

// By hand, not `untagged`: that would lose the place of an error inside.
impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Full {
            tool: String,
            #[serde(default)]
            when: Vec<Condition>,
        }

        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Rule;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a tool's name or pattern, or a table `{ tool = \"…\", when = [ … ] }`")
            }

            fn visit_str<E: de::Error>(self, tool: &str) -> Result<Rule, E> {
                Ok(Rule {
                    tool: tool.to_owned(),
                    when: Vec::new(),
                })
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Rule, A::Error> {
                let Full { tool, when } = Full::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Rule { tool, when })
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for Parallel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Parallel;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a list of `{ when = [ … ] }`")
            }

            fn visit_bool<E: de::Error>(self, safe: bool) -> Result<Parallel, E> {
                Ok(Parallel::Fixed(safe))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Parallel, A::Error> {
                let mut rules = Vec::new();
                while let Some(rule) = items.next_element()? {
                    rules.push(rule);
                }
                Ok(Parallel::When(rules))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
