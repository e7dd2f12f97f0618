//! What a configuration allows, as plain lines for the person who is to trust it. Says
//! what is granted after all paths are resolved; asks nothing and grants nothing.

use super::{Config, OutputConfig, PluginConfig, ServeConfig, Source, error::shown};
use crate::policy::{Otherwise, PrincipalRules, Rule};

/// One line each; safe on a terminal.
pub(super) fn describe(config: &Config) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(folder) = &config.host.plugin_dir {
        lines.push(format!("plugins are loaded from {}", folder.display()));
    }
    for (name, plugin) in &config.plugins {
        let mut says = plugin_says(plugin);
        if says.is_empty() {
            says.push("is granted nothing".to_owned());
        }
        lines.extend(says.into_iter().map(|what| format!("plugin {name} {what}")));
    }
    for (id, rules) in config.policy.iter() {
        lines.push(format!(
            "principal {id} ({}): {}",
            rules.kind.as_str(),
            principal_may(rules)
        ));
    }
    lines.push(format!(
        "the command line acts as {}",
        config.host.acts_as.cli
    ));
    for (name, output) in &config.outputs {
        let what = match output {
            OutputConfig::Stdout => "prints on standard output".to_owned(),
            OutputConfig::File { path } => format!("appends to {}", path.display()),
            OutputConfig::Webhook {
                url,
                token_env: None,
            } => format!("posts to {url}"),
            OutputConfig::Webhook {
                url,
                token_env: Some(variable),
            } => {
                format!("posts to {url}, with the secret in the variable {variable}")
            }
            OutputConfig::Memory => "is kept in memory".to_owned(),
        };
        lines.push(format!("output {name} {what}"));
    }
    if config.serve != ServeConfig::default() {
        lines.push(serving(&config.serve));
    }
    lines.push(format!(
        "calls are logged in {}",
        config.audit.path.display()
    ));
    lines.iter().map(|line| shown(line)).collect()
}

fn serving(serve: &ServeConfig) -> String {
    let origins = if serve.allowed_origins.is_empty() {
        String::new()
    } else {
        format!(
            ", and takes calls of web pages from {}",
            serve.allowed_origins.join(", ")
        )
    };
    format!(
        "toolgate serve listens on {} as {}{origins}",
        serve.listen,
        serve.allowed_hosts.join(", ")
    )
}

fn plugin_says(plugin: &PluginConfig) -> Vec<String> {
    let mut says = Vec::new();
    if let Some(Source::Path(path)) = &plugin.source {
        says.push(format!("is the code in {}", path.display()));
    }
    for grant in &plugin.grants.fs {
        let verb = if grant.writable {
            "reads and writes"
        } else {
            "reads"
        };
        let host = grant.host.display().to_string();
        let name = if grant.guest == host {
            String::new()
        } else {
            format!(" (as {})", grant.guest)
        };
        says.push(format!("{verb} {host}{name}"));
    }
    if let Some(process) = &plugin.grants.process {
        let programs = if process.programs.is_empty() {
            "no program".to_owned()
        } else {
            process.programs.join(", ")
        };
        let shell = if process.shell {
            ", and any text in a shell"
        } else {
            ""
        };
        let cwd: Vec<String> = process
            .cwd
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        let place = if cwd.is_empty() {
            String::new()
        } else {
            format!(", in {}", cwd.join(", "))
        };
        says.push(format!("runs {programs}{shell}{place}, with your rights"));
        if !process.env.is_empty() {
            says.push(format!(
                "passes on the variables {}",
                process.env.join(", ")
            ));
        }
    }
    if !plugin.grants.tools.is_empty() {
        let globs: Vec<&str> = plugin
            .grants
            .tools
            .iter()
            .map(crate::tool::NamePattern::as_str)
            .collect();
        says.push(format!("calls tools: {}", globs.join(", ")));
    }
    if !plugin.grants.env.is_empty() {
        let names: Vec<&str> = plugin.grants.env.keys().map(String::as_str).collect();
        says.push(format!("is given the variables {}", names.join(", ")));
    }
    says
}

fn principal_may(rules: &PrincipalRules) -> String {
    let list = |word: &str, rules: &[Rule]| {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        (!rules.is_empty()).then(|| format!("{word} {}", rules.join(", ")))
    };
    let otherwise = match rules.otherwise {
        Otherwise::Deny => "deny everything else",
        Otherwise::Ask => "ask about everything else",
    };
    let outputs: Vec<&str> = rules
        .allowed_outputs
        .iter()
        .map(crate::tool::NamePattern::as_str)
        .collect();
    let parts = [
        list("allow", &rules.allow),
        list("ask about", &rules.ask),
        list("deny", &rules.deny),
        Some(otherwise.to_owned()),
        (!outputs.is_empty()).then(|| format!("send to {}", outputs.join(", "))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
