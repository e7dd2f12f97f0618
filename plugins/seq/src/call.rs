//! `seq_run`, `seq_call`, `seq_when_call`: a whole sequence, or one group of one, now.

use serde_json::{Map, Value, json};
use toolgate_sdk::{
    Context, Failure, Output, ToolError, arguments, log,
    schemars::{Schema, SchemaGenerator, json_schema},
    tool,
};

use crate::{
    condition::Condition,
    create::named,
    kernel::{Host, Kernel},
    list::load,
    problem::{Problem, listed, nearest},
    run::{self, GroupRun, RunStatus, Runner, Status},
    sequence::Target,
    stack::Stack,
    store::{Store, Stored},
};

/// What the host takes of one result.
const MOST_RESULT: usize = 1 << 20;

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct RunArguments {
    /// The sequence.
    name: String,
    /// Its inputs, as seq_list shows them.
    #[serde(default)]
    #[schemars(schema_with = "object")]
    args: Map<String, Value>,
}

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// A group, or `#name` for a whole sequence.
    target: String,
    /// The inputs of what is called.
    #[serde(default)]
    #[schemars(schema_with = "object")]
    args: Map<String, Value>,
    /// The sequence that the group belongs to. Not needed inside a running sequence.
    #[serde(default)]
    #[schemars(with = "String")]
    in_sequence: Option<String>,
}

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct WhenCall {
    /// A group, or `#name` for a whole sequence.
    target: String,
    /// The call is made only if this holds, such as `$args.count > 3`.
    #[schemars(schema_with = "condition")]
    when: Value,
    /// The inputs of what is called; `when` reads them too.
    #[serde(default)]
    #[schemars(schema_with = "object")]
    args: Map<String, Value>,
    /// The sequence that the group belongs to. Not needed inside a running sequence.
    #[serde(default)]
    #[schemars(with = "String")]
    in_sequence: Option<String>,
}

fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

fn condition(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "boolean"] })
}

/// Runs a sequence: its groups one after another, the tool calls of a group side by side.
///
/// Gives a report with `status` (`ok`, `partial` or `failed`), each group and item, and `out`, all values that were set. Every call is made with your own rights. A failed run carries its report as `value`.
#[tool(parallel_safe, timeout = "10m")]
pub(crate) fn seq_run(context: &Context, arguments: RunArguments) -> Result<Output, Failure> {
    run(&Host::now(), &Store::at(crate::FOLDER), context, arguments)
}

/// Calls one group of a sequence by name, or with `#name` a whole sequence, and gives its outputs.
#[tool(parallel_safe, timeout = "10m")]
pub(crate) fn seq_call(context: &Context, arguments: Call) -> Result<Output, Failure> {
    call(&Host::now(), &Store::at(crate::FOLDER), context, arguments)
}

/// As seq_call, but only if the condition `when` holds; else the result is {"skipped": true}.
#[tool(parallel_safe, timeout = "10m")]
pub(crate) fn seq_when_call(context: &Context, arguments: WhenCall) -> Result<Output, Failure> {
    when_call(&Host::now(), &Store::at(crate::FOLDER), context, arguments)
}

pub(crate) fn run(
    kernel: &impl Kernel,
    store: &Store,
    context: &Context,
    arguments: RunArguments,
) -> Result<Output, Failure> {
    let RunArguments { name, args } = arguments;
    let stored = load(store, &named(&name)?, "name")?;
    let stack = Stack::read(&context.extra)?;
    let (report, run) = sequence(kernel, &stored, &stack, &args)?;
    match run.status {
        RunStatus::Ok | RunStatus::Partial => {
            let output = Output {
                blocks: run.blocks,
                ..Output::new(&report)
            };
            whole(output, report)
        }
        RunStatus::Failed(error) => Err(failed(error, report, run.blocks)),
    }
}

pub(crate) fn call(
    kernel: &impl Kernel,
    store: &Store,
    context: &Context,
    arguments: Call,
) -> Result<Output, Failure> {
    let stack = Stack::read(&context.extra)?;
    let Call {
        target,
        args,
        in_sequence,
    } = arguments;
    let target = Target::parse(&target).map_err(|why| {
        ToolError::new("target", format!("{target:?}: {why}"))
            .field("target")
            .hint("name a group, with `in_sequence`, or `#name` a sequence")
    })?;
    match target {
        Target::Sequence(name) => {
            let stored = load(store, &name, "target")?;
            let (report, run) = sequence(kernel, &stored, &stack, &args)?;
            warn(&run.warnings);
            match run.status {
                RunStatus::Failed(error) => Err(failed(error, report, run.blocks)),
                _ => Ok(Output {
                    blocks: run.blocks,
                    ..Output::new(&run.out)
                }),
            }
        }
        Target::Group(name) => group(kernel, store, &stack, &name, &args, in_sequence.as_deref()),
    }
}

pub(crate) fn when_call(
    kernel: &impl Kernel,
    store: &Store,
    context: &Context,
    arguments: WhenCall,
) -> Result<Output, Failure> {
    let condition = match &arguments.when {
        Value::Bool(fixed) => Condition::Fixed(*fixed),
        other => {
            let text = other.as_str().unwrap_or_default();
            Condition::parse(text).map_err(|error| {
                let what = format!("`{text}`: {}", error.what);
                Problem::new("when", "condition", what)
                    .hint(error.hint)
                    .at(text, error.offset)
                    .to_error()
            })?
        }
    };
    let holds = condition.holds(&arguments.args).map_err(|why| {
        ToolError::new("condition", why)
            .field("when")
            .hint("`when` reads `args`: give what it names there")
    })?;
    if !holds {
        return Ok(Output::new(&json!({ "skipped": true })));
    }
    let WhenCall {
        target,
        args,
        in_sequence,
        ..
    } = arguments;
    call(
        kernel,
        store,
        context,
        Call {
            target,
            args,
            in_sequence,
        },
    )
}

/// Arguments first, then the steps.
fn sequence(
    kernel: &impl Kernel,
    stored: &Stored,
    stack: &Stack,
    args: &Map<String, Value>,
) -> Result<(Value, run::Run), ToolError> {
    let sequence = &stored.record.sequence;
    let stack = stack.enter(stored)?;
    let args = run::inputs(
        &format!("sequence `{}`", sequence.name),
        &sequence.inputs,
        args,
    )?;
    let run = Runner::new(kernel, stored, stack).sequence(&args);
    Ok((run::report(stored, &run), run))
}

fn group(
    kernel: &impl Kernel,
    store: &Store,
    stack: &Stack,
    name: &str,
    args: &Map<String, Value>,
    in_sequence: Option<&str>,
) -> Result<Output, Failure> {
    let of = match (in_sequence, stack.top()) {
        (Some(text), _) => named(text).map_err(|error| error.field("in_sequence"))?,
        (None, Some(running)) => running.clone(),
        (None, None) => {
            return Err(ToolError::new(
                "required",
                format!("nothing says which sequence group `{name}` belongs to"),
            )
            .field("in_sequence")
            .hint(format!(
                "give `in_sequence`, or `\"target\":\"#{name}\"` for the sequence of that name"
            ))
            .into());
        }
    };
    let stored = load(store, &of, "in_sequence")?;
    let stack = if stack.top() == Some(&of) {
        stack.clone()
    } else {
        stack.enter(&stored)?
    };
    let sequence = &stored.record.sequence;
    let Some((at, group)) = sequence.group(name) else {
        let names = || sequence.groups.iter().map(|group| group.name.as_str());
        let near = nearest(name, names())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        return Err(ToolError::new(
            "not_found",
            format!("sequence `{of}` has no group `{name}`"),
        )
        .field("target")
        .hint(format!(
            "{near}its groups: {}; another sequence is `#name`",
            listed(names())
        ))
        .into());
    };
    let inputs = run::inputs(&format!("group `{name}`"), &group.input, args)?;
    let mut runner = Runner::new(kernel, &stored, stack);
    let mut run: GroupRun = runner.group(at, group, &inputs);
    let mut warnings = runner.warnings();
    let blocks = run::within_cap(std::mem::take(&mut run.blocks), &mut warnings);
    warn(&warnings);
    if matches!(run.status, Status::Failed | Status::Timeout)
        && group.on_error != crate::sequence::OnError::Continue
    {
        let report = run::group_report(&stored, &run);
        return Err(failed(run.failure(), report, blocks));
    }
    if run.status == Status::Failed && run.items.is_empty() {
        // Nothing of it could run: there is nothing to go on with.
        return Err(failed(
            run.failure(),
            run::group_report(&stored, &run),
            blocks,
        ));
    }
    Ok(Output {
        blocks,
        ..Output::new(&run.out)
    })
}

fn failed(error: ToolError, report: Value, blocks: Vec<toolgate_sdk::Block>) -> Failure {
    let report = if report.to_string().len() > MOST_RESULT {
        without_out(report)
    } else {
        report
    };
    Failure {
        blocks,
        ..Failure::from(error).with_value(&report)
    }
}

/// A result that the host would refuse would take its report with it, and the calls that
/// were made would look as if they had not been.
fn whole(output: Output, report: Value) -> Result<Output, Failure> {
    let size = output.value.len();
    if size <= MOST_RESULT {
        return Ok(output);
    }
    let what = format!(
        "the sequence ran to its end, but its result has {size} bytes; the limit is {MOST_RESULT}"
    );
    let error = ToolError::new("limit", what)
        .hint("let items write large values to files; `value` is the report without `out`");
    Err(Failure {
        blocks: output.blocks,
        ..Failure::from(error).with_value(&without_out(report))
    })
}

fn without_out(mut report: Value) -> Value {
    if let Some(out) = report.get_mut("out") {
        let sizes = out.as_object().into_iter().flatten().map(|(slot, value)| {
            (
                slot.clone(),
                format!("({} bytes)", value.to_string().len()).into(),
            )
        });
        *out = sizes.collect::<Map<_, _>>().into();
    }
    report
}

/// Where a result has no room for warnings.
fn warn(warnings: &[String]) {
    for warning in warnings {
        log::warn(warning);
    }
}
