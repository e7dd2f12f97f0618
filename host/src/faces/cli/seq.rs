//! `toolgate seq`: sequences at the terminal. Each verb is one ordinary call of a tool of
//! the plugin `seq`, at the same gate as a model's; what is here is words around it.

mod report;

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Who, arguments,
    context::Context,
    exit::Exit,
    output::{Tone, cell},
    problem::Problem,
    results, run,
};
use crate::tool::{Batch, RawArguments, ToolCall, ToolResult};

/// Of a document; the plugin takes no more.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(super) struct Seq {
    #[command(subcommand)]
    verb: Verb,
    /// Act as this principal instead of `host.acts_as.cli`
    #[arg(long = "as", value_name = "PRINCIPAL", global = true)]
    principal: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create or replace a sequence from its document
    Create {
        /// A JSON document with name and groups; - reads standard input
        file: PathBuf,
    },
    /// Run a sequence, and show what each of its groups did
    Run {
        /// The sequence
        name: String,
        /// Its inputs: one JSON object, or words: key=text, key:=JSON
        #[arg(value_name = "JSON | KEY=VALUE")]
        inputs: Vec<String>,
    },
    /// List the sequences
    List,
    /// Print the document of a sequence
    Show {
        /// The sequence
        name: String,
    },
    /// Delete a sequence
    Delete {
        /// The sequence
        name: String,
    },
}

impl Verb {
    /// The tool and its arguments.
    fn call(&self) -> Result<(&'static str, RawArguments), Problem> {
        let named = |name: &str| RawArguments::Value(json!({ "name": name }));
        Ok(match self {
            // A document is what the tool takes, word for word: its keys are judged there.
            Self::Create { file } => ("seq_create", RawArguments::Text(read(file)?)),
            Self::Run { name, inputs } => {
                let name = Value::from(name.as_str());
                let text = match arguments::read(inputs)? {
                    RawArguments::Text(inputs) => format!("{{\"name\":{name},\"args\":{inputs}}}"),
                    _ => format!("{{\"name\":{name}}}"),
                };
                ("seq_run", RawArguments::Text(text))
            }
            Self::List => ("seq_list", RawArguments::Value(json!({}))),
            Self::Show { name } => ("seq_list", named(name)),
            Self::Delete { name } => ("seq_delete", named(name)),
        })
    }
}

pub(super) async fn perform(cx: &Context<'_>, args: Seq) -> Result<Exit, Problem> {
    let (tool, arguments) = args.verb.call()?;
    let host = cx.working_host(cx.config()?).await?;
    let who = Who {
        principal: args.principal,
    };
    let principal = cx.principal(&host, &who)?;
    let batch = Batch {
        calls: vec![ToolCall::new(tool, arguments)],
        cut: false,
    };
    let Some(ran) = run::run(cx, &host, principal, batch).await? else {
        return Ok(Exit::Interrupted);
    };
    for result in &ran.results {
        if cx.out.wants_json() {
            cx.out.json(result)?;
        } else {
            show(cx, &args.verb, result)?;
        }
    }
    Ok(ran.exit)
}

fn show(cx: &Context<'_>, verb: &Verb, result: &ToolResult) -> Result<(), Problem> {
    match &result.outcome {
        Ok(output) => match verb {
            Verb::Create { .. } => created(cx, &output.value),
            Verb::Run { .. } => report::show(cx.out, &output.value),
            Verb::List => listed(cx, &output.value),
            Verb::Show { .. } => {
                let text = serde_json::to_string_pretty(&output.value)
                    .map_err(|error| Problem::failed(error.to_string()))?;
                cx.out.raw(&text)
            }
            Verb::Delete { .. } => deleted(cx, &output.value),
        },
        Err(failure) => {
            let value = failure.value.as_ref();
            if let Some(report) = value.filter(|value| value["groups"].is_array()) {
                report::show(cx.out, report)?;
            }
            let errors = value.and_then(|value| value["errors"].as_array());
            match errors.filter(|errors| errors.len() > 1) {
                Some(errors) => errors.iter().for_each(|error| refused(cx, error)),
                None => {
                    for line in results::failure(result) {
                        cx.out.note(&line);
                    }
                }
            }
            Ok(())
        }
    }
}

/// One of several errors of a document.
fn refused(cx: &Context<'_>, error: &Value) {
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    let place = match (&error["line"], &error["column"]) {
        (Value::Number(line), Value::Number(column)) => format!(" (line {line}, column {column})"),
        _ => String::new(),
    };
    cx.out.note(&format!(
        "error: {}: {}{place}",
        text("path"),
        text("message")
    ));
    if !text("hint").is_empty() {
        cx.out.note(&format!("hint: {}", text("hint")));
    }
}

fn created(cx: &Context<'_>, value: &Value) -> Result<(), Problem> {
    let verb = if value["replaced"] == true {
        "replaced"
    } else {
        "created"
    };
    let groups = value["groups"].as_array().map_or(0, Vec::len);
    let groups = counted(groups, "group");
    cx.out.toned(
        Tone::Good,
        &format!(
            "{verb} {}: {groups}, inputs: {}",
            word(&value["name"]),
            slots(&value["inputs"])
        ),
    )?;
    for warning in value["warnings"].as_array().into_iter().flatten() {
        let text = |key: &str| warning[key].as_str().unwrap_or_default();
        cx.out
            .warning(&format!("{}: {}", text("path"), text("message")));
    }
    Ok(())
}

fn listed(cx: &Context<'_>, value: &Value) -> Result<(), Problem> {
    let sequences = value["sequences"].as_array().into_iter().flatten();
    let mut rows: Vec<_> = sequences
        .map(|one| {
            let groups = one["groups"].as_array().map_or(0, Vec::len);
            vec![
                cell(word(&one["name"])).tone(Tone::Strong),
                cell(&groups.to_string()),
                cell(&one["tools"].to_string()),
                cell(&slots(&one["inputs"])),
                cell(word(&one["creator"])),
                cell(word(&one["description"])),
            ]
        })
        .collect();
    for more in value["more"].as_array().into_iter().flatten() {
        rows.push(vec![cell(word(more)).tone(Tone::Strong)]);
    }
    if rows.is_empty() {
        cx.out
            .note("there are no sequences; `toolgate seq create FILE` makes one");
    } else {
        let heads = [
            "SEQUENCE",
            "GROUPS",
            "TOOLS",
            "INPUTS",
            "CREATOR",
            "DESCRIPTION",
        ];
        cx.out.table(&heads, &rows)?;
    }
    for broken in value["broken"].as_array().into_iter().flatten() {
        cx.out.warning(&format!(
            "{}: {}",
            word(&broken["file"]),
            word(&broken["error"])
        ));
    }
    Ok(())
}

fn deleted(cx: &Context<'_>, value: &Value) -> Result<(), Problem> {
    cx.out
        .line(&format!("deleted {}", word(&value["deleted"])))?;
    for caller in value["called_by"].as_array().into_iter().flatten() {
        cx.out.warning(&format!("{} calls it", word(caller)));
    }
    Ok(())
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Such as `host: string, deep: boolean?`.
fn slots(value: &Value) -> String {
    let slots = value.as_object().into_iter().flatten();
    let slots: Vec<String> = slots
        .map(|(key, ty)| format!("{key}: {}", word(ty)))
        .collect();
    if slots.is_empty() {
        "none".to_owned()
    } else {
        slots.join(", ")
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn read(file: &Path) -> Result<String, Problem> {
    let failed =
        |error: io::Error| Problem::usage(format!("cannot read {}: {error}", file.display()));
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
    }
    .map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(
            Problem::usage(format!("{} is larger than {LARGEST} bytes", file.display()))
                .hint("split the sequence: one may call another with `seq_call`"),
        );
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Problem::usage(format!("{} is not UTF-8", file.display())))?;
    Ok(text
        .strip_prefix('\u{feff}')
        .map_or_else(|| text.clone(), str::to_owned))
}
