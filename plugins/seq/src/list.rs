//! `seq_list`: what there is, or one document whole.

use serde_json::{Value, json};
use toolgate_sdk::{Output, ToolError, arguments, tool};

use crate::{
    create::named,
    name::Name,
    problem::nearest,
    store::{Store, StoreError, Stored},
};

/// Bytes of the list, below what a result may hold; what comes after is named only.
const MOST: usize = 768 << 10;

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// One sequence: its whole document, as it can be created again.
    #[serde(default)]
    #[schemars(with = "String")]
    name: Option<String>,
}

/// Lists the sequences with their groups and inputs, or shows the whole document of one.
#[tool(parallel_safe, read_only)]
pub(crate) fn seq_list(arguments: List) -> Result<Output, ToolError> {
    list(&Store::at(crate::FOLDER), arguments)
}

pub(crate) fn list(store: &Store, arguments: List) -> Result<Output, ToolError> {
    if let Some(name) = arguments.name {
        let stored = load(store, &named(&name)?, "name")?;
        return Ok(Output::new(&stored.record.sequence.document()));
    }
    let (stored, broken) = store
        .list(|one| (one.record.sequence.name.clone(), entry(one)))
        .map_err(|error| {
            ToolError::new("io", format!("the sequences cannot be listed: {error}"))
        })?;
    let mut room = MOST;
    let (mut sequences, mut more) = (Vec::new(), Vec::new());
    for (name, entry) in stored {
        let size = entry.to_string().len();
        if size <= room {
            room -= size;
            sequences.push(entry);
        } else {
            more.push(name);
        }
    }
    let mut result = json!({ "sequences": sequences, "broken": broken });
    if let Some(members) = result.as_object_mut().filter(|_| !more.is_empty()) {
        // By name: `name` shows each.
        members.insert("more".into(), json!(more));
    }
    Ok(Output::new(&result))
}

/// A stored sequence, or what there is instead.
pub(crate) fn load(store: &Store, name: &Name, field: &str) -> Result<Stored, ToolError> {
    store.load(name).map_err(|error| match error {
        StoreError::Absent => {
            let names = store.list(|one| one.record.sequence.name.clone());
            let names = names.map(|(names, _)| names).unwrap_or_default();
            let near = nearest(name.as_str(), names.iter().map(Name::as_str));
            let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            ToolError::new("not_found", format!("there is no sequence `{name}`"))
                .field(field)
                .hint(format!("{near}seq_list shows what is there"))
        }
        StoreError::Broken(broken) => {
            let what = format!(
                "sequence `{name}` cannot be read: {}: {}",
                broken.file, broken.error
            );
            ToolError::new("broken", what)
                .field(field)
                .hint("create it again, or delete it")
        }
        StoreError::Io(error) => {
            ToolError::new("io", format!("sequence `{name}` cannot be read: {error}")).field(field)
        }
    })
}

fn entry(stored: &Stored) -> Value {
    let sequence = &stored.record.sequence;
    json!({
        "name": sequence.name,
        "description": sequence.description,
        "groups": sequence.groups.iter().map(crate::sequence::Group::signature).collect::<Vec<_>>(),
        "tools": sequence.tool_count(),
        "inputs": sequence.inputs,
        "creator": stored.record.creator.id,
    })
}
