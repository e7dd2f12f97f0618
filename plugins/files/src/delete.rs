//! `files_delete`: a file, a link, or a folder with all that is in it. Looks at the
//! whole tree before anything is removed, so that a refusal finds it untouched.

use std::{fs, io, path::PathBuf};

use serde::Serialize;
use toolgate_sdk::{ToolError, arguments, schemars::JsonSchema, tool};

use crate::{
    fault,
    place::{Folders, Place},
    protected,
};

/// What one call removes; the list of it is held in memory.
const ENTRIES: usize = 100_000;
const BYTES: usize = 16 << 20;

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Delete {
    /// The file, symbolic link or folder.
    path: String,
    /// Needed for a folder that is not empty: deletes all that is in it.
    #[serde(default)]
    recursive: bool,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(crate = "toolgate_sdk::schemars")]
pub(crate) struct Deleted {
    path: String,
    /// Files and links.
    files: usize,
    folders: usize,
}

/// Deletes a file, a symbolic link (never what it points to), or a folder. There is no undo. A folder that is not empty needs `recursive: true`. A granted folder itself, and whatever is or holds a `.git` folder, is not deleted. At most 100000 entries in one call.
#[tool(destructive, output)]
pub(crate) fn files_delete(arguments: Delete) -> Result<Deleted, ToolError> {
    let Delete { path, recursive } = arguments;
    run(&Folders::granted(), &path, recursive)
}

pub(crate) fn run(
    folders: &Folders<'_>,
    path: &str,
    recursive: bool,
) -> Result<Deleted, ToolError> {
    let place = folders.place("path", path)?;
    let found = folders.writable(&place, false)?;
    let Some(metadata) = &found.metadata else {
        return Err(fault::not_found("path", &place.path));
    };
    folders.no_root(&place, &found)?;
    let entries = if metadata.is_dir() {
        scan(&place, found.path, recursive)?
    } else {
        vec![(found.path, false)]
    };
    let mut deleted = Deleted {
        path: place.shown.clone(),
        ..Deleted::default()
    };
    // A folder is listed before what is in it, so the end of the list goes first.
    for (path, is_folder) in entries.iter().rev() {
        let removed = if *is_folder {
            fs::remove_dir(path)
        } else {
            fs::remove_file(path)
        };
        match removed {
            Ok(()) if *is_folder => deleted.folders += 1,
            Ok(()) => deleted.files += 1,
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let Deleted { files, folders, .. } = deleted;
                return Err(
                    fault::io("path", &path.to_string_lossy(), &error).hint(format!(
                        "{files} files and {folders} folders were deleted before this one"
                    )),
                );
            }
        }
    }
    Ok(deleted)
}

/// All that would go, folders before their contents; true for folders.
fn scan(place: &Place, top: PathBuf, recursive: bool) -> Result<Vec<(PathBuf, bool)>, ToolError> {
    let mut entries = vec![(top, true)];
    let (mut next, mut bytes) = (0, 0);
    while let Some((folder, is_folder)) = entries.get(next).cloned() {
        next += 1;
        if !is_folder {
            continue;
        }
        let failed = |error: io::Error| fault::io("path", &folder.to_string_lossy(), &error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            if !recursive {
                let what = format!("`{}` is a folder that is not empty", place.path);
                return Err(ToolError::new("not_empty", what)
                    .field("path")
                    .hint("`recursive: true` deletes it with all that is in it"));
            }
            let unnamed = |_| {
                let what = format!(
                    "`{}` holds a name that is not UTF-8 and cannot be deleted from here; nothing was deleted",
                    folder.display()
                );
                ToolError::new("unsupported", what).field("path")
            };
            let entry = entry.map_err(unnamed)?;
            let path = entry.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                return Err(unnamed(io::ErrorKind::InvalidData.into()));
            };
            if protected::is_git(name) {
                return Err(protected::refusal("path", &path.to_string_lossy()));
            }
            bytes += path.as_os_str().len();
            if entries.len() >= ENTRIES || bytes > BYTES {
                let what = format!(
                    "`{}` holds more than {ENTRIES} entries, too many for one call; nothing was deleted",
                    place.path
                );
                return Err(ToolError::new("too_large", what)
                    .field("path")
                    .hint("delete its subfolders one by one"));
            }
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            entries.push((path, is_folder));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests;
