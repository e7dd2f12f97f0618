//! What there is, as far as a principal may know it.

use std::collections::BTreeSet;

use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde_json::{Value, json as value};

use super::{Shared, caller::Caller, json};
use crate::{
    faces::cli::{plugin_json, tool_json},
    tool::ToolName,
};

/// The tools that the principal may see, with their schemas.
pub(super) async fn tools(
    State(face): State<Shared>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let targets = face.host.dispatcher().visible(&caller.principal, &[]);
    let tools: Vec<Value> = targets.iter().map(tool_json).collect();
    json(StatusCode::OK, &value!({ "tools": tools }))
}

/// A user sees all plugins with everything that is known of them; anybody else the ones
/// behind its own tools, without where they lie and what is wrong with them.
pub(super) async fn plugins(
    State(face): State<Shared>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let catalog = face.host.catalog();
    let targets = face.host.dispatcher().visible(&caller.principal, &[]);
    let seen: BTreeSet<&str> = targets
        .iter()
        .map(|target| target.spec().name.as_str())
        .collect();
    let plugins: Vec<Value> = catalog
        .plugins()
        .filter_map(|(name, entry)| {
            if caller.is_user() {
                return Some(plugin_json(name, entry));
            }
            let plugin = entry.plugin.as_deref()?;
            let tools: Vec<&str> = entry
                .tools
                .iter()
                .map(ToolName::as_str)
                .filter(|tool| seen.contains(tool))
                .collect();
            let from = &plugin.implementation;
            (!tools.is_empty()).then(|| {
                value!({
                    "name": name,
                    "loaded": true,
                    "version": from.version,
                    "digest": from.digest,
                    "generation": from.generation,
                    "description": plugin.description,
                    "tools": tools,
                })
            })
        })
        .collect();
    json(StatusCode::OK, &value!({ "plugins": plugins }))
}
