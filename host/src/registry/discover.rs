//! Which plugins should be there: the standard ones, those of the configuration, those of
//! the plugin folder, in that order, which is also who keeps a contested tool name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
};

use crate::{
    config::{PluginConfig, Source as Configured},
    tool::{Digest, PluginName},
};

/// A standard plugin, embedded in the program.
#[derive(Debug, Clone, Copy)]
pub struct Standard {
    /// Its name.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
    /// Of the component, if it is known already: hashing takes a good part of a start.
    pub digest: Option<Digest>,
}

/// Where a plugin comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In the program itself.
    Embedded,
    /// A path of the configuration.
    Configured(PathBuf),
    /// The plugin folder.
    Folder(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Configured(path) | Self::Folder(path) => write!(f, "{}", path.display()),
        }
    }
}

/// One plugin that should be there.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name: the key of the configuration, or the file's stem.
    pub name: PluginName,
    /// Where it comes from.
    pub origin: Origin,
}

/// All plugins that should be there, and what was passed over, with the reason.
///
/// A file in the plugin folder never takes the place of an embedded or configured plugin:
/// a dropped component that calls itself `cmd` inherits no grant.
#[must_use]
pub fn discover(
    standard: &[Standard],
    configured: &BTreeMap<PluginName, PluginConfig>,
    folder: Option<&Path>,
) -> (Vec<Source>, Vec<String>) {
    let mut problems = Vec::new();
    let mut embedded = Vec::new();
    let mut paths = Vec::new();
    let mut from_folder = BTreeSet::new();

    for name in standard
        .iter()
        .filter_map(|plugin| PluginName::new(plugin.name).ok())
    {
        let replaced = configured
            .get(&name)
            .is_some_and(|plugin| matches!(plugin.source, Some(Configured::Path(_))));
        if !replaced {
            embedded.push(Source {
                name,
                origin: Origin::Embedded,
            });
        }
    }
    for (name, plugin) in configured {
        match &plugin.source {
            Some(Configured::Path(path)) => paths.push(Source {
                name: name.clone(),
                origin: Origin::Configured(path.clone()),
            }),
            Some(Configured::Embedded)
                if !standard.iter().any(|plugin| plugin.name == name.as_str()) =>
            {
                problems.push(format!(
                    "[plugins.{name}] source = \"embedded\": no plugin of that name is embedded"
                ));
            }
            Some(Configured::Embedded) => {}
            None if standard.iter().any(|plugin| plugin.name == name.as_str()) => {}
            None => {
                from_folder.insert(name.clone());
            }
        }
    }

    let mut sources = embedded;
    sources.append(&mut paths);
    let taken: BTreeSet<PluginName> = sources.iter().map(|source| source.name.clone()).collect();
    match folder.map(components_in) {
        None => {}
        Some(Err(error)) => {
            if let Some(folder) = folder.filter(|_| error.kind() != io::ErrorKind::NotFound) {
                problems.push(format!(
                    "cannot read the plugin folder {}: {error}",
                    folder.display()
                ));
            }
        }
        Some(Ok(files)) => {
            for file in files {
                let stem = file
                    .file_stem()
                    .and_then(|stem| stem.to_str())
                    .unwrap_or_default();
                match PluginName::new(stem) {
                    Err(error) => problems.push(format!("{}: {error}", file.display())),
                    Ok(name) if taken.contains(&name) => problems.push(format!(
                        "{} is not used: plugin `{name}` comes from elsewhere; set [plugins.{name}] source to replace it",
                        file.display()
                    )),
                    Ok(name) => {
                        from_folder.remove(&name);
                        sources.push(Source { name, origin: Origin::Folder(file) });
                    }
                }
            }
        }
    }
    for name in from_folder {
        problems.push(format!(
            "[plugins.{name}] has no `source`, and the plugin folder has no {name}.wasm"
        ));
    }
    (sources, problems)
}

/// The `*.wasm` of a folder, by name.
fn components_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "wasm")
            && path.is_file()
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
