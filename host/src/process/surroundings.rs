//! Where a command runs and which environment it sees: the granted folders, and the
//! granted names of variables, nothing else.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use super::admit::{nul, refusal};
use crate::{
    policy::ProcessGrant,
    tool::{Reason, ToolError},
};

/// Names that make a harmless program run other code, by the programs that read them. A
/// grant hands the *host's* value on; no request sets one.
const STEERING: &[&str] = &[
    // loader, shell
    "LD_*",
    "DYLD_*",
    "GCONV_PATH",
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "BASH_FUNC_*",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    // where configuration is read from
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    // programs that other programs start
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "GIT_*",
    "RSYNC_RSH",
    "CVS_RSH",
    "TAR_OPTIONS",
    "MAKEFLAGS",
    "MAKEFILES",
    "CC",
    "CXX",
    "LD",
    "AR",
    // interpreters and their start files
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_CONFIG_*",
    "npm_config_*",
    "PYTHON*",
    "PERL*",
    "RUBY*",
    "GEM_*",
    "BUNDLE_*",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_*",
    "DOTNET_*",
    "GOFLAGS",
    "RUSTC*",
    "RUSTFLAGS",
    "CARGO_*",
    // the ways into a secure connection
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
];

/// The folder to run in, resolved.
pub(super) fn folder(grant: &ProcessGrant, wanted: Option<&str>) -> Result<PathBuf, ToolError> {
    let Some(first) = grant.cwd.first() else {
        return Err(
            ToolError::new(Reason::Unauthorized, "no working folder is granted")
                .field("cwd")
                .hint("only the operator can add one to `cwd` under grants.process"),
        );
    };
    let wanted = wanted.unwrap_or(".");
    if wanted.contains('\0') {
        return Err(nul("cwd"));
    }
    let path = first.join(wanted);
    let granted = |path: &Path| grant.cwd.iter().any(|folder| path.starts_with(folder));
    match path.canonicalize() {
        Ok(folder) if !granted(&folder) => Err(outside(grant, wanted)),
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(refusal("not_a_folder", format!("`{wanted}` is a file"))
            .field("cwd")
            .hint("name its folder")),
        Err(error) => {
            // What does not exist outside is not told apart from what does.
            let known = path.ancestors().find_map(|part| part.canonicalize().ok());
            if known.is_none_or(|known| !granted(&known)) {
                return Err(outside(grant, wanted));
            }
            Err(unusable(wanted, &error))
        }
    }
}

fn unusable(wanted: &str, error: &io::Error) -> ToolError {
    let error = match error.kind() {
        io::ErrorKind::NotFound => {
            ToolError::new(Reason::NotFound, format!("there is no folder `{wanted}`"))
        }
        io::ErrorKind::NotADirectory => {
            refusal("not_a_folder", format!("a part of `{wanted}` is a file"))
        }
        _ => refusal(
            "not_a_folder",
            format!("`{wanted}` cannot be used: {error}"),
        ),
    };
    error
        .field("cwd")
        .hint("create the folder first, or choose one that exists")
}

fn outside(grant: &ProcessGrant, wanted: &str) -> ToolError {
    let folders: Vec<_> = grant
        .cwd
        .iter()
        .take(20)
        .map(|folder| folder.to_string_lossy())
        .collect();
    ToolError::new(
        Reason::Unauthorized,
        format!("`{wanted}` is outside the granted folders"),
    )
    .field("cwd")
    .hint(format!(
        "use a folder inside {}, or leave `cwd` out",
        folders.join(", ")
    ))
}

/// The whole environment of the command.
pub(super) fn environment(
    grant: &ProcessGrant,
    host: &[(String, String)],
    wanted: &[(String, String)],
) -> Result<Vec<(String, String)>, ToolError> {
    let granted = |name: &str| grant.env.iter().any(|entry| entry == name);
    let usable = |(name, value): &&(String, String)| {
        !name.is_empty() && !has(name, "=\0") && !has(value, "\0")
    };
    let passed = host.iter().filter(|(name, _)| granted(name)).filter(usable);
    let mut all: BTreeMap<&str, &str> = passed
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    for (name, value) in wanted {
        if name.is_empty() || has(name, "=\0") {
            return Err(ToolError::new(
                Reason::Arguments,
                format!("{name:?} cannot be the name of a variable"),
            )
            .field("env")
            .hint("a name is not empty and has neither `=` nor NUL in it"));
        }
        let field = format!("env.{name}");
        if has(value, "\0") {
            return Err(nul(field));
        }
        if !granted(name) {
            return Err(ToolError::new(
                Reason::Unauthorized,
                format!("the variable `{name}` is not granted"),
            )
            .field(field)
            .hint(format!(
                "granted: {}; leave it out, or pass the value as an argument",
                settable(grant)
            )));
        }
        if is_steering(name) {
            return Err(ToolError::new(
                Reason::Unauthorized,
                format!("`{name}` decides which code a program runs: a command gets the host's value or none"),
            )
            .field(field)
            .hint(format!("leave it out; what a call may set: {}", settable(grant))));
        }
        all.insert(name, value);
    }
    Ok(all
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

fn settable(grant: &ProcessGrant) -> String {
    let names: Vec<&str> = grant
        .env
        .iter()
        .map(String::as_str)
        .filter(|name| !is_steering(name))
        .collect();
    if names.is_empty() {
        "nothing".into()
    } else {
        names.join(", ")
    }
}

fn has(text: &str, any_of: &str) -> bool {
    text.contains(|c| any_of.contains(c))
}

fn is_steering(name: &str) -> bool {
    STEERING.iter().any(|entry| match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *entry == name,
    })
}

#[cfg(test)]
mod tests;
