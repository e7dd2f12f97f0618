//! `seq_delete`: one sequence less, and who will miss it.

use serde_json::json;
use toolgate_sdk::{Context, Output, ToolError, arguments, tool};

use crate::{
    create::{may_change, named},
    name::Name,
    store::Store,
};

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Delete {
    /// The sequence.
    name: String,
}

/// Deletes a sequence. Says which other sequences call it.
#[tool(serial, destructive)]
pub(crate) fn seq_delete(context: &Context, arguments: Delete) -> Result<Output, ToolError> {
    let Delete { name } = arguments;
    delete(&Store::at(crate::FOLDER), context, &name)
}

pub(crate) fn delete(store: &Store, context: &Context, name: &str) -> Result<Output, ToolError> {
    let name = named(name)?;
    if !may_change(store, context, &name)? {
        return Err(
            ToolError::new("not_found", format!("there is no sequence `{name}`"))
                .field("name")
                .hint("seq_list shows what is there"),
        );
    }
    let failed = |error: std::io::Error| {
        ToolError::new("io", format!("sequence `{name}` was not deleted: {error}")).field("name")
    };
    store.delete(&name).map_err(failed)?;
    let callers = store.list(|one| {
        let sequence = &one.record.sequence;
        sequence
            .calls()
            .contains(&name)
            .then(|| sequence.name.clone())
    });
    let callers: Vec<Name> = callers.map_err(failed)?.0.into_iter().flatten().collect();
    Ok(Output::new(
        &json!({ "deleted": name, "called_by": callers }),
    ))
}
