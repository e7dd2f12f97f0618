//! `toolgate init`: a starter configuration, its workspace beside it, trusted. It
//! replaces nothing, and leaves nothing behind where it fails.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;

use super::{context::Context, exit::Exit, problem::Problem};
use crate::config::{Config, FILE_NAME, Request, STARTER, WORKSPACE};

#[derive(Debug, Args)]
pub(super) struct Init {
    /// The folder for it; the working folder unless said
    folder: Option<PathBuf>,
}

pub(super) fn perform(cx: &Context<'_>, args: &Init) -> Result<Exit, Problem> {
    let start = &cx.environment().start;
    let file = match (cx.explicit(), &args.folder) {
        (Some(_), Some(_)) => {
            return Err(
                Problem::usage("--config names the file already").hint("leave the folder away")
            );
        }
        (Some(file), None) => start.join(file),
        (None, folder) => folder
            .as_ref()
            .map_or_else(|| start.clone(), |folder| start.join(folder))
            .join(FILE_NAME),
    };
    let workspace = file.with_file_name(WORKSPACE);
    write(&file)?;
    let made = match fs::create_dir(&workspace) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => {
            undo(&file, None);
            return Err(cannot(&workspace, &error));
        }
    };
    if let Err(problem) = trust(cx, &file) {
        undo(&file, made.then_some(&workspace));
        return Err(problem);
    }
    if cx.out.wants_json() {
        cx.out.json(&json!({ "file": file.display().to_string(), "workspace": workspace.display().to_string() }))?;
        return Ok(Exit::Ok);
    }
    cx.out.line(&format!("wrote {}", file.display()))?;
    let word = if made { "made" } else { "uses" };
    cx.out.line(&format!(
        "{word} {}, which tools may read and write",
        workspace.display()
    ))?;
    cx.out.note(
        "next: `toolgate call files_write path=hello.txt content=Hello`, then `toolgate tools`",
    );
    Ok(Exit::Ok)
}

fn write(file: &Path) -> Result<(), Problem> {
    let mut out = File::options()
        .write(true)
        .create_new(true)
        .open(file)
        .map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                Problem::usage("there is a configuration already, and it stays as it is")
                    .at(file.display().to_string())
                    .hint("edit it, or remove it first")
            } else {
                cannot(file, &error)
            }
        })?;
    out.write_all(STARTER.as_bytes()).map_err(|error| {
        undo(file, None);
        cannot(file, &error)
    })
}

fn trust(cx: &Context<'_>, file: &Path) -> Result<(), Problem> {
    let request = Request {
        explicit: Some(file.to_owned()),
        ..cx.request()
    };
    let Some(examined) = Config::examine(&request)? else {
        return Err(Problem::failed("the file that was just written is gone")
            .at(file.display().to_string()));
    };
    for warning in &examined.config.warnings {
        cx.out.warning(warning);
    }
    examined.trust().map_err(|error| {
        Problem::failed(format!("its trust cannot be recorded: {error}"))
            .hint("`toolgate doctor` looks for the cause")
    })
}

fn cannot(path: &Path, error: &io::Error) -> Problem {
    Problem::usage(format!("it cannot be made: {error}")).at(path.display().to_string())
}

/// Best effort: what stays is harmless, and named in the error.
fn undo(file: &Path, workspace: Option<&PathBuf>) {
    let _ = fs::remove_file(file);
    if let Some(workspace) = workspace {
        let _ = fs::remove_dir(workspace);
    }
}
