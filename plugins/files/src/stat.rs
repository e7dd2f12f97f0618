//! `files_stat`: what is known of one entry without showing it.

use serde::Serialize;
use toolgate_sdk::{ToolError, arguments, schemars::JsonSchema, tool};

use crate::{content, fault, place::Folders, text, walk::Kind};

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Stat {
    /// The file or folder.
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Facts {
    path: String,
    /// `file`, `folder`, `special` (FIFO, device, socket), or `link` for a symbolic link to nothing.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Bytes, of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Last change, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    /// SHA-256, of files up to 8 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Where a symbolic link points; the rest is about what it points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

/// Tells type, size in bytes, time of last change (UTC) and, for files up to 8 MiB, the SHA-256 `digest` that `if_digest` of files_write takes. Symbolic links are followed; `link` says where they point.
#[tool(parallel_safe, read_only, output)]
pub(crate) fn files_stat(arguments: Stat) -> Result<Facts, ToolError> {
    let Stat { path } = arguments;
    run(&Folders::granted(), &path)
}

pub(crate) fn run(folders: &Folders<'_>, path: &str) -> Result<Facts, ToolError> {
    let place = folders.place("path", path)?;
    let failed = |error: std::io::Error| fault::io("path", &place.path, &error);
    let own = folders.find(&place, false)?;
    let own_metadata = own
        .metadata
        .ok_or_else(|| fault::not_found("path", &place.path))?;
    let link = own_metadata
        .is_symlink()
        .then(|| std::fs::read_link(&own.path).map(|target| target.to_string_lossy().into_owned()))
        .transpose()
        .map_err(failed)?;
    let found = folders.find(&place, true)?;
    let metadata = found.metadata.unwrap_or(own_metadata);
    let kind = Kind::of(metadata.file_type());
    let digest = match kind {
        Kind::File => content::whole(&found.path)
            .map_err(failed)?
            .as_deref()
            .map(content::digest),
        _ => None,
    };
    Ok(Facts {
        path: if place.shown.is_empty() {
            place.path
        } else {
            place.shown
        },
        kind: kind.name(),
        size: (kind == Kind::File).then_some(metadata.len()),
        modified: metadata.modified().ok().and_then(text::date),
        digest,
        link,
    })
}

#[cfg(test)]
mod tests;
