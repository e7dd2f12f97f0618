//! `files_mkdir`: a folder, with the ones above it.

use std::{fs, io::ErrorKind, path::Path};

use serde::Serialize;
use toolgate_sdk::{ToolError, arguments, schemars::JsonSchema, tool};

use crate::{
    fault,
    place::{Folders, Found, Place},
};

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Mkdir {
    /// The folder.
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Made {
    path: String,
    /// False where the folder was there already.
    created: bool,
}

/// Creates a folder and the missing ones above it. A folder that is there already is no error (`created: false`).
#[tool(idempotent, output)]
pub(crate) fn files_mkdir(arguments: Mkdir) -> Result<Made, ToolError> {
    let Mkdir { path } = arguments;
    run(&Folders::granted(), &path)
}

pub(crate) fn run(folders: &Folders<'_>, path: &str) -> Result<Made, ToolError> {
    let place = folders.place("path", path)?;
    let found = folders.writable(&place, true)?;
    let created = match &found.metadata {
        Some(metadata) if metadata.is_dir() => false,
        Some(_) => {
            let what = format!("`{}` exists already and is not a folder", place.path);
            return Err(ToolError::new("exists", what).field("path"));
        }
        None => {
            make(folders, &place, &found.path)?;
            true
        }
    };
    Ok(Made {
        path: if place.shown.is_empty() {
            place.path
        } else {
            place.shown
        },
        created,
    })
}

/// The missing folders above an entry.
pub(crate) fn above(folders: &Folders<'_>, place: &Place, found: &Found) -> Result<(), ToolError> {
    match found.path.parent() {
        Some(parent) => make(folders, place, parent),
        None => Ok(()),
    }
}

/// From the top down, in a loop: the names of a path may be two thousand, the stack of
/// a guest is small.
fn make(folders: &Folders<'_>, place: &Place, path: &Path) -> Result<(), ToolError> {
    let root = folders.root(place);
    let mut at = root.to_owned();
    for name in path.strip_prefix(root).unwrap_or(Path::new("")) {
        at.push(name);
        match fs::create_dir(&at) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(fault::io(place.field, &place.path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
