//! What there is, as far as a principal may know it.

use std::collections::BTreeSet;

use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde_json::{Value, json as value};

use super::{Shared, caller::Caller, json};
use crate::faces::{cli::tool_json, view::PluginsView};

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
    let all = PluginsView::of(&face.host);
    if caller.is_user() {
        return json(StatusCode::OK, &value!(all));
    }
    let targets = face.host.dispatcher().visible(&caller.principal, &[]);
    let seen: BTreeSet<&str> = targets
        .iter()
        .map(|target| target.spec().name.as_str())
        .collect();
    let plugins: Vec<Value> = all
        .plugins
        .iter()
        .filter_map(|plugin| {
            let tools: Vec<&String> = plugin
                .tools
                .iter()
                .filter(|tool| seen.contains(tool.as_str()))
                .collect();
            (!tools.is_empty()).then(|| {
                value!({
                    "name": plugin.name,
                    "loaded": plugin.loaded,
                    "version": plugin.version,
                    "digest": plugin.digest,
                    "generation": plugin.generation,
                    "description": plugin.description,
                    "tools": tools,
                })
            })
        })
        .collect();
    json(StatusCode::OK, &value!({ "plugins": plugins }))
}
