//! The stream of events in the OpenAPI document.

use super::query::NAMES_MAX;
use crate::operation::OpenApiTag;
use crate::security::security;
use scurry_engine::Event;
use scurry_http::door_codes::DOOR_CODES;
use scurry_ledger::Code;
use scurry_resp::table::Role;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Codes of problems that the answer may have.
const CODES: [&str; 8] = [
    "BAD_REQUEST",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "MISDIRECTED_REQUEST",
    "SERVICE_UNAVAILABLE",
    "STORE_REFUSED",
    "NOT_IMPLEMENTED",
    "STORE_UNAVAILABLE",
];

/// Returns the description of the path.
pub(crate) fn describe(is_open: bool) -> Value {
    let parameter = |name: &str, schema: Value, description: &str| {
        json!({
            "name": name,
            "in": "query",
            "required": false,
            "description": description,
            "schema": schema,
        })
    };
    let text = || json!({ "type": "string" });
    let list = |items: Value| json!({ "type": "array", "items": items, "maxItems": NAMES_MAX });
    let names = json!({ "type": "string", "enum": &Event::WORDS[..] });
    let mut page = json!({
        "operationId": "followEvents",
        "tags": [OpenApiTag::Store.words().0],
        "summary": "Follow committed events as server-sent events.",
        "description": "Follows the store as `SCUR.WATCH` does, over all threads. The name of an event is that of docs/events.md, its data \
            a line of JSON, and its id is what to send as Last-Event-ID to go on after it. docs/push.md has clients.",
        "x-scurry-role": Role::Read.name(),
        "parameters": [
            parameter("event", list(names), "Events of this name only; may be repeated. missed, cleared and loaded are always shown."),
            parameter("unit", list(text()), "Events of this unit only, and those without one; may be repeated."),
            parameter("account", text(), "Events of this account only."),
            parameter("account_prefix", text(), "Events of accounts whose ids begin so."),
            parameter("from", text(), "oldest, newest (the default), or the id of an event of this stream."),
            json!({
                "name": "Last-Event-ID",
                "in": "header",
                "required": false,
                "description": "The id of the last event, which browsers send when they connect again; it counts before from.",
                "schema": text(),
            }),
        ],
        "responses": responses(is_open),
    });
    if !is_open {
        page["security"] = security(is_open, Some(Role::Read));
    }
    json!({ "get": page })
}

fn responses(is_open: bool) -> Value {
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    by_status.insert(Code::Invalid.http(), vec![Code::Invalid.name()]);
    let is_met = |name: &str| CODES.contains(&name) && (!is_open || name != "UNAUTHORIZED");
    for code in DOOR_CODES.iter().filter(|code| is_met(code.name)) {
        by_status.entry(code.status.as_u16()).or_default().push(code.name);
    }
    let problem = json!({ "$ref": "#/components/schemas/Problem" });
    let mut responses: Map<String, Value> = by_status
        .into_iter()
        .map(|(status, names)| {
            let content = json!({ "application/problem+json": { "schema": problem } });
            (status.to_string(), json!({ "description": names.join(", "), "content": content }))
        })
        .collect();
    let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    let done = json!({ "description": "Events, until the client closes the connection.", "content": content });
    responses.insert("200".to_owned(), done);
    Value::Object(responses)
}
