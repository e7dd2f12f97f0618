//! `toolgate audit`: reads the log, rotated files included, oldest first. Changes nothing
//! in it; a line that cannot be read is said and passed by.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::Value;

use super::{
    context::Context,
    exit::Exit,
    output::{TableCell, Tone, cell},
    problem::Problem,
};
use crate::policy::name_pattern;

/// A line holds one call's arguments at most, and those are at most 16 MiB.
const LONGEST: u64 = 32 << 20;
/// Lines that are printed at once, so that a long log needs little memory.
const CHUNK: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct Audit {
    /// Only calls of this principal, or on its behalf
    #[arg(long, value_name = "ID")]
    principal: Option<String>,
    /// Only calls of these tools, such as `files_*`
    #[arg(long, value_name = "GLOB")]
    tool: Option<String>,
    /// Only calls that did not succeed
    #[arg(long)]
    failed: bool,
    /// Only the last so many of them
    #[arg(long, value_name = "N")]
    last: Option<usize>,
}

pub(super) fn perform(cx: &Context<'_>, args: &Audit) -> Result<Exit, Problem> {
    let glob = args.tool.as_deref().map(name_pattern).transpose();
    let glob =
        glob.map_err(|error| Problem::usage(format!("--tool: {error}")).hint(error.hint()))?;
    let config = cx.config()?;
    let wanted = |line: &Value| {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        let by = args.principal.as_deref();
        by.is_none_or(|id| text("principal") == Some(id) || text("origin") == Some(id))
            && glob
                .as_ref()
                .is_none_or(|glob| text("tool").is_some_and(|tool| glob.matches(tool)))
            && (!args.failed || text("outcome") != Some("ok"))
    };
    let mut kept: VecDeque<Value> = VecDeque::new();
    for file in files(&config.audit.path) {
        let read = each_line(&file, |number, line| {
            let Some(line) = line else {
                cx.out.warning(&format!(
                    "{}:{number}: this line is torn, and passed by",
                    file.display()
                ));
                return Ok(());
            };
            if !wanted(&line) {
                return Ok(());
            }
            kept.push_back(line);
            match args.last {
                Some(last) if kept.len() > last => {
                    kept.pop_front();
                }
                None if kept.len() >= CHUNK => show(cx, &mut kept)?,
                _ => {}
            }
            Ok(())
        });
        match read {
            Ok(shown) => shown?,
            // Another host may have rotated it away just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(
                    Problem::failed(format!("the audit log cannot be read: {error}"))
                        .at(file.display().to_string()),
                );
            }
        }
    }
    show(cx, &mut kept)?;
    Ok(Exit::Ok)
}

/// Those that are there: `<path>.2`, `<path>.1`, `<path>`.
fn files(path: &Path) -> Vec<PathBuf> {
    let old = |n: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{n}"));
        PathBuf::from(name)
    };
    let mut files: Vec<PathBuf> = (1..).map(old).take_while(|path| path.exists()).collect();
    files.reverse();
    files.push(path.to_owned());
    files
}

/// `None` stands for a line that is no JSON.
fn each_line(
    file: &Path,
    mut take: impl FnMut(usize, Option<Value>) -> Result<(), Problem>,
) -> io::Result<Result<(), Problem>> {
    let mut reader = BufReader::new(File::open(file)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let value = serde_json::from_slice(&line).ok().filter(Value::is_object);
        if let Err(problem) = take(number, value) {
            return Ok(Err(problem));
        }
    }
    Ok(Ok(()))
}

fn show(cx: &Context<'_>, lines: &mut VecDeque<Value>) -> Result<(), Problem> {
    if cx.out.wants_json() {
        // One line each, as in the log: it can be cut, joined and followed.
        for line in lines.drain(..) {
            cx.out.json(&line)?;
        }
        return Ok(());
    }
    if lines.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = lines.drain(..).map(|line| row(&line)).collect();
    cx.out.table(
        &[
            "time",
            "principal",
            "tool",
            "decision",
            "outcome",
            "ms",
            "batch",
            "rule",
        ],
        &rows,
    )
}

fn row(line: &Value) -> Vec<TableCell> {
    let text = |key: &str| match line.get(key) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let outcome = text("outcome");
    let tone = match outcome.as_str() {
        "ok" => Tone::Good,
        "unauthorized" => Tone::Warning,
        _ => Tone::Bad,
    };
    vec![
        cell(&text("time")).tone(Tone::Faint),
        cell(&text("principal")),
        cell(&text("tool")).tone(Tone::Strong),
        cell(&text("decision")),
        cell(&outcome).tone(tone),
        cell(&text("elapsed_ms")),
        cell(&format!(
            "{}/{}#{}",
            text("host"),
            text("batch"),
            text("index")
        )),
        cell(&text("rule")),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rotated_files_come_first_and_oldest_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for name in [
            "audit.jsonl",
            "audit.jsonl.1",
            "audit.jsonl.2",
            "audit.jsonl.4",
            "audit.jsonl.lock",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<_> = files(&path)
            .iter()
            .map(|path| path.file_name().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["audit.jsonl.2", "audit.jsonl.1", "audit.jsonl"]);
    }

    #[test]
    fn a_torn_line_is_said_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        fs::write(&path, b"{\"a\":1}\n\n{\"b\":\n\xff\n5\n{\"c\":3}\n{\"d\":").unwrap();
        let mut seen = Vec::new();
        each_line(&path, |number, line| {
            seen.push((number, line.is_some()));
            Ok(())
        })
        .unwrap()
        .unwrap();
        assert_eq!(
            seen,
            [
                (1, true),
                (3, false),
                (4, false),
                (5, false),
                (6, true),
                (7, false)
            ]
        );
    }
}
