//! `seq_create`: from a document to a stored sequence, or to all that is wrong with it.

use std::{cell::RefCell, collections::BTreeMap, io};

use serde_json::{Value, json};
use toolgate_sdk::{
    Context, Failure, Output, PrincipalKind, ToolError, arguments,
    schemars::{Schema, SchemaGenerator, json_schema},
    tool,
    tools::{Permission, ToolInfo},
};

use crate::{
    checks::{self, Findings, Tool, World},
    document::{self, Document},
    fetch,
    kernel::{Host, Kernel},
    name::{self, Name},
    problem::{self, Problem},
    sequence::{Digests, Group, Sequence},
    store::{Creator, Record, Store, StoreError},
};

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Create {
    /// The name to run it by.
    name: String,
    /// What it is for.
    #[serde(default)]
    #[schemars(with = "String")]
    description: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "groups")]
    groups: Option<Value>,
    /// Instead of `groups`: a file in the workspace that holds the whole document (up to 1 MiB). For long sequences.
    #[serde(default)]
    #[schemars(with = "String")]
    file: Option<String>,
}

/// The second branch takes anything, so that this plugin's own errors, which show the
/// right form, come instead of a bare `type`.
fn groups(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The groups, in the order in which they run. Give this or `file`.",
        "anyOf": [
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string" },
                        "description": { "type": "string" },
                        "step": { "type": "boolean", "description": "false: only called by name (default true)" },
                        "in": { "type": "object", "description": "input names and types, such as {\"host\": \"string\", \"deep\": \"boolean?\"}" },
                        "out": { "type": "object", "description": "output names and types, such as {\"found\": \"any\"}" },
                        "tools": { "type": "string", "description": "JSON objects, each followed by `;`, such as {\"tool\":\"files_list\",\"args\":{\"path\":\"$args.path\"},\"as\":\"found\"} ;" },
                        "when": { "type": "string", "description": "a condition such as $args.deep == true" },
                        "parallel": { "type": "boolean", "description": "false: items one after another (default true)" },
                        "timeout": { "description": "for the whole group, such as \"30s\" (the default)" },
                        "on_error": { "enum": ["abort", "continue", "retry"] },
                        "retries": { "type": "integer" },
                        "missing": { "enum": ["fail", "skip", "degrade"] },
                        "fallback": { "type": "object" }
                    },
                    "required": ["name", "tools"]
                }
            },
            {}
        ]
    })
}

/// Creates or replaces a named sequence of tool calls: groups that run one after another, each with tool calls side by side. Call seq_help once for the format.
///
/// Everything is checked before anything is saved; all errors are reported at once, each with its path and the right form, and an older version of the name stays as it was. Run it with seq_run.
#[tool(serial)]
pub(crate) fn seq_create(context: &Context, arguments: Create) -> Result<Output, Failure> {
    create(&Host::now(), &Store::at(crate::FOLDER), context, arguments)
}

pub(crate) fn create(
    kernel: &impl Kernel,
    store: &Store,
    context: &Context,
    arguments: Create,
) -> Result<Output, Failure> {
    let name = named(&arguments.name)?;
    let mut findings = Findings::default();
    let errors = &mut findings.errors;
    let document = match (arguments.groups, arguments.file) {
        (Some(groups), None) => Some(Document {
            name: None,
            description: None,
            groups,
        }),
        (None, Some(file)) => Document::read(&fetch::text(kernel, &file)?, errors),
        (Some(_), Some(_)) => {
            let what = "both `groups` and `file` are given";
            return Err(ToolError::new("arguments", what)
                .field("groups")
                .hint("give one")
                .into());
        }
        (None, None) => {
            let what = "neither `groups` nor `file` is given";
            return Err(ToolError::new("required", what)
                .field("groups")
                .hint("give `groups` (an array; seq_help shows one), or `file` for a document in the workspace")
                .into());
        }
    };
    let Some(document) = document else {
        return Err(problem::failure(&findings.errors));
    };
    if let Some(own) = &document.name
        && name::normal(own) != name.as_str()
    {
        let what = format!(
            "the document calls itself {own:?}, and the parameter `name` is {:?}",
            name.as_str()
        );
        errors.push(Problem::new("name", "name", what).hint("make both the same"));
    }
    let drafts = document::groups(&document.groups, errors, &mut findings.warnings);
    let world = Outside::new(kernel, store);
    let inputs = checks::check(Some(&name), &drafts, &world, &mut findings);
    if !findings.errors.is_empty() {
        return Err(problem::failure(&findings.errors));
    }
    let replaced = may_change(store, context, &name)?;
    let sequence = Sequence {
        name,
        description: arguments
            .description
            .or(document.description)
            .unwrap_or_default(),
        groups: drafts.into_iter().map(|draft| draft.group).collect(),
        inputs,
    };
    let result = json!({
        "name": sequence.name,
        "replaced": replaced,
        "groups": sequence.groups.iter().map(shown).collect::<Vec<_>>(),
        "inputs": sequence.inputs,
        "warnings": findings.warnings,
    });
    let record = Record::new(creator(context), world.digests(&sequence), sequence);
    store.save(&record).map_err(|error| unsaved(&error))?;
    Ok(Output::new(&result))
}

/// The parameter `name` of any tool.
pub(crate) fn named(text: &str) -> Result<Name, ToolError> {
    Name::parse(text).map_err(|why| {
        let shown: String = text.chars().take(80).collect();
        ToolError::new(
            "name",
            format!("{shown:?} is no name for a sequence: {why}"),
        )
        .field("name")
        .hint(
            "1 to 128 characters, such as `inspect-nodes`; seq_list shows the names that are there",
        )
    })
}

/// Whether something is there to be changed. Only who made it, or a user, may.
pub(crate) fn may_change(store: &Store, context: &Context, name: &Name) -> Result<bool, ToolError> {
    if !store.holds(name) {
        return Ok(false);
    }
    let owner = match store.load(name) {
        Ok(stored) => Some(stored.record.creator.id),
        Err(StoreError::Absent) => return Ok(false),
        Err(_) => None,
    };
    if context.principal_kind == PrincipalKind::User
        || owner.as_deref() == Some(&context.principal_origin)
    {
        return Ok(true);
    }
    let owner = owner.map_or_else(
        || "its file cannot be read, so only a user may replace or delete it".into(),
        |owner| {
            format!("it was made by `{owner}`, and only they or a user may replace or delete it")
        },
    );
    Err(
        ToolError::new("unauthorized", format!("sequence `{name}`: {owner}"))
            .field("name")
            .hint("create yours under another name"),
    )
}

fn creator(context: &Context) -> Creator {
    let kind = match context.principal_kind {
        PrincipalKind::User => "user",
        PrincipalKind::Agent => "agent",
        PrincipalKind::Client => "client",
    };
    Creator {
        id: context.principal_origin.clone(),
        kind: kind.into(),
    }
}

fn shown(group: &Group) -> Value {
    let mut members = group.signature();
    members.insert("tools".into(), group.items.len().into());
    members.into()
}

fn unsaved(error: &io::Error) -> ToolError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ToolError::new(
            "no_space",
            "not saved: the disk is full, or this plugin's 64 MiB are used up",
        )
        .hint("delete sequences that are no longer needed with seq_delete"),
        _ => ToolError::new("io", format!("not saved: {error}"))
            .hint("perhaps this plugin's 64 MiB are used up: seq_delete what is no longer needed"),
    }
}

/// The tools and sequences that are there now.
struct Outside<'a, K> {
    kernel: &'a K,
    store: &'a Store,
    listed: BTreeMap<String, ToolInfo>,
    /// What the gate said of tools that are not listed.
    asked: RefCell<BTreeMap<String, Tool>>,
}

impl<'a, K: Kernel> Outside<'a, K> {
    fn new(kernel: &'a K, store: &'a Store) -> Self {
        let listed = kernel.list();
        Self {
            kernel,
            store,
            listed: listed
                .into_iter()
                .map(|tool| (tool.name.clone(), tool))
                .collect(),
            asked: RefCell::default(),
        }
    }

    fn digests(&self, sequence: &Sequence) -> Digests {
        let items = sequence.groups.iter().flat_map(|group| &group.items);
        items
            .filter_map(|item| {
                let tool = self.listed.get(&item.tool)?;
                Some((item.tool.clone(), tool.implementation.digest.clone()))
            })
            .collect()
    }
}

impl<K: Kernel> World for Outside<'_, K> {
    fn tool(&self, name: &str) -> Tool {
        if let Some(tool) = self.listed.get(name) {
            return Tool::Known {
                parallel_safe: tool.parallel_safe,
                parameters: serde_json::from_str(&tool.parameters).unwrap_or_default(),
            };
        }
        let mut asked = self.asked.borrow_mut();
        asked
            .entry(name.to_owned())
            .or_insert_with(|| match self.kernel.can_use(name, "{}") {
                Permission::Denied(error) if error.reason == "not_found" => Tool::Absent,
                _ => Tool::Denied,
            })
            .clone()
    }

    fn calls(&self, name: &Name) -> Option<Vec<Name>> {
        let stored = self.store.load(name).ok()?;
        Some(stored.record.sequence.calls())
    }
}
