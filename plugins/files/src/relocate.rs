//! `files_move` and `files_copy`: never over something that is there, unless asked.

use std::fs;

use serde::Serialize;
use toolgate_sdk::{ToolError, arguments, schemars::JsonSchema, tool};

use crate::{
    fault, mkdir,
    place::{Folders, Place},
};

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Relocate {
    /// What is there.
    source: String,
    /// The new path itself, not the folder to put it in. Missing folders above it are created.
    target: String,
    /// Replace a file that is at `target`. A folder is never replaced.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Moved {
    source: String,
    target: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Copied {
    source: String,
    target: String,
    /// Bytes.
    size: u64,
}

/// Moves or renames a file or folder. Fails if something is at `target`, unless `overwrite: true` replaces a file there. A symbolic link itself is moved, not what it points to. Nothing is moved into or out of a `.git` folder, and no granted folder itself.
#[tool(destructive, output)]
pub(crate) fn files_move(arguments: Relocate) -> Result<Moved, ToolError> {
    move_entry(&Folders::granted(), arguments)
}

/// Copies one file, permission bits included, of any size; not folders. Fails if something is at `target`, unless `overwrite: true` replaces a file there. Symbolic links are followed. Nothing is copied into a `.git` folder.
#[tool(destructive, output)]
pub(crate) fn files_copy(arguments: Relocate) -> Result<Copied, ToolError> {
    copy_file(&Folders::granted(), arguments)
}

pub(crate) fn move_entry(folders: &Folders<'_>, arguments: Relocate) -> Result<Moved, ToolError> {
    let Relocate {
        source,
        target,
        overwrite,
    } = arguments;
    let (source, target) = (
        folders.place("source", &source)?,
        folders.place("target", &target)?,
    );
    let from = folders.writable(&source, false)?;
    let Some(what) = &from.metadata else {
        return Err(fault::not_found("source", &source.path));
    };
    folders.no_root(&source, &from)?;
    let to = folders.writable(&target, false)?;
    if to.path.starts_with(&from.path) {
        let what = format!("`{}` is, or lies in, `{}` itself", target.path, source.path);
        return Err(ToolError::new("arguments", what).field("target"));
    }
    if let Some(there) = &to.metadata {
        free(&target, there, overwrite)?;
        if what.is_dir() {
            let what = format!(
                "`{}` is a folder; it cannot replace the file `{}`",
                source.path, target.path
            );
            return Err(ToolError::new("exists", what).field("target"));
        }
    }
    mkdir::above(folders, &target, &to)?;
    fs::rename(&from.path, &to.path).map_err(|error| fault::io("target", &target.path, &error))?;
    Ok(Moved {
        source: source.shown,
        target: target.shown,
    })
}

pub(crate) fn copy_file(folders: &Folders<'_>, arguments: Relocate) -> Result<Copied, ToolError> {
    let Relocate {
        source,
        target,
        overwrite,
    } = arguments;
    let (source, target) = (
        folders.place("source", &source)?,
        folders.place("target", &target)?,
    );
    let (from, _) = folders
        .file(&source)
        .map_err(|error| match error.reason.as_str() {
            "is_directory" => error.hint("copy its files one by one"),
            _ => error,
        })?;
    let to = folders.writable(&target, overwrite)?;
    if to.path == from {
        let what = format!("`{}` and `{}` are the same file", source.path, target.path);
        return Err(ToolError::new("arguments", what).field("target"));
    }
    if let Some(there) = &to.metadata {
        free(&target, there, overwrite)?;
    }
    let size = folders
        .host
        .copy(&source.path, &target.path, overwrite)
        .map_err(|error| fault::host("target", error))?;
    Ok(Copied {
        source: source.shown,
        target: target.shown,
        size,
    })
}

/// May what is there be replaced?
fn free(target: &Place, there: &fs::Metadata, overwrite: bool) -> Result<(), ToolError> {
    if there.is_dir() {
        let what = format!("`{}` is a folder, which is never replaced", target.path);
        let hint = "`target` is the new path itself: add the file's name to it";
        return Err(ToolError::new("exists", what).field("target").hint(hint));
    }
    if !overwrite {
        let what = format!("`{}` exists already", target.path);
        return Err(ToolError::new("exists", what)
            .field("target")
            .hint("`overwrite: true` replaces it"));
    }
    if there.is_file() || there.is_symlink() {
        Ok(())
    } else {
        Err(fault::special("target", &target.path))
    }
}

#[cfg(test)]
mod tests;
