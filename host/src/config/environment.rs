//! `TOOLGATE_*`: values of `[host]` that the environment overrides. The environment is
//! handed in; only faces read it.
//!
//! `TOOLGATE_HOST_` and the key in capitals, its parts joined by `_`, such as
//! `TOOLGATE_HOST_DATA_DIR` or `TOOLGATE_HOST_LIMITS_TIMEOUT`. `TOOLGATE_CONFIG` names
//! the file. An empty variable counts as absent. Paths are relative to the working
//! folder. Anything else that begins with `TOOLGATE_` is refused: a misspelt limit must
//! not be silently no limit.

use super::error::{ConfigError, Place, did_you_mean};

/// Names the file, as `--config` does.
pub(super) const CONFIG: &str = "TOOLGATE_CONFIG";

/// Read by the faces before there is a configuration.
const FACES: [&str; 1] = ["TOOLGATE_LOG"];

/// The keys below `[host]` that can be overridden.
const KEYS: [&[&str]; 18] = [
    &["data_dir"],
    &["cache_dir"],
    &["plugin_dir"],
    &["watch"],
    &["file_io"],
    &["max_concurrent_calls"],
    &["queue_timeout"],
    &["max_timeout"],
    &["max_depth"],
    &["acts_as", "cli"],
    &["limits", "timeout"],
    &["limits", "memory"],
    &["limits", "result"],
    &["limits", "blocks"],
    &["limits", "host_call"],
    &["limits", "log_bytes"],
    &["limits", "log_lines"],
    &["limits", "handles"],
];

/// Keys whose value is a text even if it looks like a number.
const TEXTS: [&str; 6] = [
    "data_dir",
    "cache_dir",
    "plugin_dir",
    "watch",
    "file_io",
    "cli",
];

/// One value from the environment.
#[derive(Debug, Clone)]
pub(super) struct Override {
    pub(super) variable: String,
    /// From the top of the file.
    pub(super) path: Vec<&'static str>,
    pub(super) value: toml::Value,
}

/// What the environment says.
#[derive(Debug, Default)]
pub(super) struct Environment {
    pub(super) config: Option<String>,
    pub(super) overrides: Vec<Override>,
}

impl Environment {
    /// Takes what begins with `TOOLGATE_` and passes the rest by.
    pub(super) fn read(pairs: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut environment = Self::default();
        for (variable, text) in pairs
            .iter()
            .filter(|(name, _)| name.starts_with("TOOLGATE_"))
        {
            if FACES.contains(&variable.as_str()) || text.is_empty() {
                continue;
            }
            if variable == CONFIG {
                environment.config = Some(text.clone());
                continue;
            }
            let Some(keys) = KEYS.iter().find(|keys| name_of(keys) == *variable) else {
                return Err(unknown(variable));
            };
            let mut path = vec!["host"];
            path.extend(*keys);
            environment.overrides.push(Override {
                variable: variable.clone(),
                path,
                value: value(keys, text),
            });
        }
        Ok(environment)
    }

    /// What the environment sets this key to.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Override> {
        self.overrides.iter().find(|one| one.path == path)
    }
}

/// A number where the key may take one; names and texts such as `30s` stay texts.
fn value(keys: &[&str], text: &str) -> toml::Value {
    match text.parse::<i64>() {
        Ok(number) if !TEXTS.iter().any(|key| keys.contains(key)) => toml::Value::Integer(number),
        _ => toml::Value::String(text.to_owned()),
    }
}

fn name_of(keys: &[&str]) -> String {
    format!("TOOLGATE_HOST_{}", keys.join("_").to_uppercase())
}

fn unknown(variable: &str) -> ConfigError {
    let mut known: Vec<String> = KEYS.iter().map(|keys| name_of(keys)).collect();
    known.push(CONFIG.to_owned());
    known.extend(FACES.iter().map(|name| (*name).to_owned()));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    ConfigError::new(
        format!("unknown variable {variable}"),
        Some(Place::Environment(variable.to_owned())),
        did_you_mean(variable, &known),
    )
}
