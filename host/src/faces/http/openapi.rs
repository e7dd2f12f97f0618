//! What can be asked and what comes back, for programs that make clients. Paths and
//! methods come from the table that the router is made of.

use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde_json::{Map, Value, json as value};

use super::{
    Shared,
    caller::Caller,
    json,
    routes::{ROUTES, Route},
};

pub(super) async fn description(
    State(_): State<Shared>,
    Extension(_): Extension<Caller>,
) -> Response {
    json(StatusCode::OK, &document())
}

fn document() -> Value {
    let paths: Map<String, Value> = ROUTES
        .iter()
        .map(|route| {
            (
                route.path.to_owned(),
                value!({ route.method: operation(route) }),
            )
        })
        .collect();
    value!({
        "openapi": "3.1.0",
        "info": {
            "title": "Toolgate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Tool calls, each validated, authorised for its principal, run in a sandbox and reported honestly.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut responses = Map::new();
    responses.insert("200".into(), success(route.path));
    let mut statuses = vec!["403"];
    if !route.open {
        statuses.extend(["401", "429"]);
    }
    if route.method == "post" {
        statuses.extend(["400", "408", "413", "415", "500", "503"]);
    }
    match route.path {
        "/readyz" => statuses.push("503"),
        "/api/v1/events" => statuses.push("400"),
        _ => {}
    }
    for status in statuses {
        let refusal = value!({
            "description": "Not answered; the body says why and what to do",
            "content": { "application/json": { "schema": reference("Refusal") } },
        });
        responses.insert(status.to_owned(), refusal);
    }
    let mut operation = value!({
        "summary": route.summary,
        "security": if route.open { value!([]) } else { value!([{ "token": [] }]) },
        "responses": responses,
    });
    if let Some(schema) = request(route.path) {
        operation["requestBody"] = value!({
            "required": true,
            "content": { "application/json": { "schema": schema } },
        });
    }
    if route.path == "/api/v1/events" {
        operation["parameters"] = value!([{
            "name": "Last-Event-ID",
            "in": "header",
            "required": false,
            "description": "The id of the last event that was read: go on behind it",
            "schema": { "type": "string" },
        }]);
    }
    operation
}

fn request(path: &str) -> Option<Value> {
    match path {
        "/api/v1/call" => Some(reference("Call")),
        "/api/v1/batch" => Some(reference("Batch")),
        _ => None,
    }
}

fn success(path: &str) -> Value {
    let (kind, schema, what) = match path {
        "/metrics" => (
            "application/openmetrics-text",
            value!({ "type": "string" }),
            "All numbers; for a principal of kind `user`",
        ),
        "/api/v1/events" => (
            "text/event-stream",
            value!({ "type": "string" }),
            "Events with ids, `missed` with a count where some are gone; a principal's own ones, for a `user` everybody's",
        ),
        "/api/v1/call" => (
            "application/json",
            reference("ToolResult"),
            "The call was run, or refused by the gate: the result says so",
        ),
        "/api/v1/batch" => (
            "application/json",
            value!({ "type": "array", "items": reference("ToolResult") }),
            "One result a call, in their order",
        ),
        _ => (
            "application/json",
            value!({ "type": "object" }),
            "The answer",
        ),
    };
    value!({ "description": what, "content": { kind: { "schema": schema } } })
}

fn reference(name: &str) -> Value {
    value!({ "$ref": format!("#/components/schemas/{name}") })
}

fn schemas() -> Value {
    let arguments = value!({
        "description": "An object, or its JSON text",
        "type": ["object", "string", "null"],
    });
    let text_or_none = value!({ "type": ["string", "null"] });
    value!({
        "Call": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": false,
            "properties": {
                "id": text_or_none,
                "name": { "type": "string" },
                "arguments": arguments,
                "timeout": {
                    "description": "How long it may take, never more than the host allows: seconds, or text such as \"30s\"",
                    "type": ["number", "string", "null"],
                },
            },
        },
        "Batch": {
            "description": "As below, a bare array of such calls, or a message of an OpenAI- or Anthropic-style API",
            "type": ["object", "array"],
            "properties": {
                "calls": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "additionalProperties": false,
                        "properties": {
                            "id": text_or_none,
                            "name": { "type": "string" },
                            "arguments": arguments,
                        },
                    },
                },
                "finish_reason": text_or_none,
                "stop_reason": text_or_none,
            },
        },
        "ToolError": {
            "type": "object",
            "required": ["reason"],
            "properties": {
                "field": { "type": "string" },
                "reason": { "type": "string" },
                "detail": { "type": "string" },
                "hint": { "type": "string" },
            },
        },
        "Refusal": reference("ToolError"),
        "ToolResult": {
            "type": "object",
            "required": ["id", "index", "name", "success", "failure", "value", "error", "blocks", "text", "parallel", "elapsed_ms", "queue_ms", "implementation"],
            "properties": {
                "id": { "type": "string" },
                "original_id": { "type": "string" },
                "index": { "type": "integer" },
                "name": { "type": "string" },
                "success": { "type": "boolean" },
                "failure": {
                    "enum": [null, "not-found", "unauthorized", "invalid", "failed", "timeout", "trapped", "unavailable", "cancelled", "limit", "skipped", "internal"],
                },
                "value": {},
                "error": { "anyOf": [reference("ToolError"), { "type": "null" }] },
                "also": { "type": "array", "items": reference("ToolError") },
                "blocks": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["mime", "name", "data"],
                        "properties": {
                            "mime": { "type": "string" },
                            "name": text_or_none,
                            "data": { "type": "string", "contentEncoding": "base64" },
                        },
                    },
                },
                "text": { "description": "What a model gets", "type": "string" },
                "parallel": { "type": "boolean" },
                "elapsed_ms": { "type": "number" },
                "queue_ms": { "type": "number" },
                "implementation": {
                    "type": ["object", "null"],
                    "properties": {
                        "plugin": { "type": "string" },
                        "version": { "type": "string" },
                        "digest": { "type": "string" },
                        "generation": { "type": "integer" },
                    },
                },
            },
        },
    })
}
