//! `/v0/openapi.json`: the OpenAPI document of the interface of entities.

use crate::entities::{LIMIT, LIMIT_MAX, RANGE_LIMIT_MAX};
use crate::entity::{ID_LEN_MAX, TTL_MAX_MS};
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use scurry_http::security_schemes;
use scurry_resp::table::Role;
use serde_json::{Map, Value, json};

/// Returns the handler of the document. `is_open`: requests need no credentials.
pub(crate) fn answer(is_open: bool) -> impl IntoResponse + Clone {
    let text = Bytes::from(document(is_open).to_string());
    ([(header::CONTENT_TYPE, "application/json")], text)
}

fn document(is_open: bool) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Scurry entities",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Values of any bytes, kept on several nodes. What `replicas` promises is in docs/http.md.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The door that serves this document." }],
        "tags": [{ "name": "entities", "description": "Entities, and the nodes that keep them." }],
        "security": if is_open { json!([{}, { "bearer": [] }, { "basic": [] }]) } else { need(Role::Read) },
        "paths": {
            "/v0/entity": {
                "get": get(is_open),
                "put": put(is_open),
                "delete": delete(is_open),
            },
            "/v0/entities": { "get": find(is_open) },
            "/v0/status": { "get": status(is_open) },
            "/v0/openapi.json": { "get": {
                "operationId": "getEntitiesOpenApi",
                "tags": ["entities"],
                "summary": "This document.",
                "security": [],
                "responses": { "200": json_answer("It.", &json!({ "type": "object" })) },
            }},
        },
        "components": {
            "parameters": parameters(),
            "schemas": schemas(),
            "securitySchemes": security_schemes(),
        },
    })
}

/// Returns the security requirement: either scheme, with the role that the user needs.
fn need(role: Role) -> Value {
    json!([{ "bearer": [role.name()] }, { "basic": [role.name()] }])
}

/// Adds to an operation what all have in common: the tag, its parameters, its role and the usual errors.
fn operation(
    is_open: bool,
    role: Role,
    mut page: Value,
    parameters: &[&str],
    errors: &[(&str, &str)],
) -> Value {
    page["tags"] = json!(["entities"]);
    let own = |name: &&str| json!({ "$ref": format!("#/components/parameters/{name}") });
    page["parameters"] = parameters.iter().map(own).collect();
    if !is_open {
        page["security"] = need(role);
    }
    let common = [
        ("400", "The request means nothing."),
        ("401", "The request does not say who it is from."),
        ("403", "The user has not the role."),
        ("421", "The request is for a host that this door does not answer to."),
        ("504", "Too few nodes have answered."),
    ];
    for (status, why) in common.iter().chain(errors) {
        let content = json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
        page["responses"][status] = json!({ "description": why, "content": content });
    }
    page
}

fn get(is_open: bool) -> Value {
    let page = json!({
        "operationId": "getEntity",
        "summary": "Reads an entity.",
        "description": "Honours If-None-Match (304) and If-Match (412).",
        "responses": {
            "200": {
                "description": "The value.",
                "headers": { "ETag": tag(), "Entity-TTL-Ms": life("The rest of its life; absent where it has no end.") },
                "content": bytes(),
            },
            "304": { "description": "The entity is as the client has it." },
        },
    });
    let errors = [("404", "There is no such entity."), ("412", "The entity has another version.")];
    operation(is_open, Role::Read, page, &["id", "replicas"], &errors)
}

fn put(is_open: bool) -> Value {
    let page = json!({
        "operationId": "putEntity",
        "summary": "Writes an entity.",
        "requestBody": { "required": true, "content": bytes() },
        "responses": { "201": { "description": "As many nodes have it as were asked for.", "headers": { "ETag": tag() } } },
    });
    let errors = [
        ("408", "The body took too long to come."),
        ("413", "The value is too long."),
        (
            "501",
            "The request has a condition: nodes keep the greater version and compare nothing else.",
        ),
    ];
    operation(is_open, Role::Charge, page, &["id", "replicas", "life"], &errors)
}

fn delete(is_open: bool) -> Value {
    let page = json!({
        "operationId": "deleteEntity",
        "summary": "Deletes an entity, also one that is not there.",
        "responses": { "202": { "description": "As many nodes know it as were asked for.", "headers": { "ETag": tag() } } },
    });
    let errors = [("501", "The request has a condition.")];
    operation(is_open, Role::Charge, page, &["id", "replicas"], &errors)
}

fn find(is_open: bool) -> Value {
    let page = json!({
        "operationId": "findEntities",
        "summary": "Lists entities by their value, or shows those of a range of ids.",
        "description": "Say `value`, or `start`, `end` or both. A range is a stream with a chunk for each entity: its id, a line feed, its value.",
        "responses": { "200": {
            "description": "Ids of entities that have the value, or the entities of the range.",
            "content": {
                "application/json": { "schema": { "$ref": "#/components/schemas/EntityIds" } },
                "application/octet-stream": { "schema": { "type": "string", "format": "binary" } },
            },
        }},
    });
    let errors = [
        ("422", "A node has too many entities with this value, or too many keys."),
        ("501", "Too few nodes have an index."),
    ];
    let parameters = ["value", "start", "end", "after", "limit", "replicas"];
    operation(is_open, Role::Read, page, &parameters, &errors)
}

fn status(is_open: bool) -> Value {
    let page = json!({
        "operationId": "getEntityStatus",
        "summary": "Shows the nodes, and whether a majority counts.",
        "responses": { "200": json_answer("The nodes.", &json!({ "$ref": "#/components/schemas/EntityStatus" })) },
    });
    operation(is_open, Role::Read, page, &[], &[])
}

fn json_answer(description: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

fn bytes() -> Value {
    json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } })
}

fn tag() -> Value {
    let described = "The version with a digest of the value: no two values have the same.";
    json!({ "description": described, "schema": { "type": "string" } })
}

fn life(description: &str) -> Value {
    let schema = json!({ "type": "integer", "format": "int64", "minimum": 0 });
    json!({ "description": description, "schema": schema })
}

/// Returns the parameters, by the names under which operations refer to them.
fn parameters() -> Value {
    let limit = format!(
        "Ids that an answer looks at, at most {LIMIT_MAX} and {LIMIT} unless told otherwise; of a range entities."
    );
    let text = |name: &str, required: bool, description: &str| {
        json!({
            "name": name,
            "in": "query",
            "required": required,
            "description": description,
            "schema": { "type": "string" },
        })
    };
    let mut all = Map::new();
    let mut add = |name: &str, parameter: Value| all.insert(name.to_owned(), parameter);
    let mut id = text("id", true, "1 to 16,384 bytes of any value.");
    id["schema"]["minLength"] = json!(1);
    id["schema"]["maxLength"] = json!(ID_LEN_MAX);
    add("id", id);
    let mut replicas =
        text("replicas", false, "`ack/from`: of how many nodes how many must have answered.");
    replicas["schema"]["pattern"] = json!("^[1-9][0-9]?/[1-9][0-9]?$");
    add("replicas", replicas);
    add("value", text("value", false, "The whole value of the entities."));
    add("start", text("start", false, "The first id of a range."));
    add("end", text("end", false, "The id before which a range ends."));
    add("after", text("after", false, "The last id of the answer before, to go on."));
    add(
        "limit",
        json!({
            "name": "limit",
            "in": "query",
            "description": limit,
            "schema": { "type": "integer", "format": "int32", "minimum": 1, "maximum": RANGE_LIMIT_MAX },
        }),
    );
    add(
        "life",
        json!({
            "name": "Entity-TTL-Ms",
            "in": "header",
            "description": "Life of the entity, ms.",
            "schema": { "type": "integer", "format": "int64", "minimum": 1, "maximum": TTL_MAX_MS },
        }),
    );
    Value::Object(all)
}

fn schemas() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "EntityIds": {
            "type": "object",
            "description": "Ids in the order of their bytes, escaped as they may stand in a URL.",
            "required": ["ids"],
            "properties": {
                "ids": { "type": "array", "items": { "type": "string" }, "description": "The ids." },
                "next": text("`after` of the next request; absent at the end."),
            },
        },
        "EntityStatus": {
            "type": "object",
            "description": "The nodes of a door.",
            "required": ["ready", "replicas", "nodes"],
            "properties": {
                "ready": { "type": "boolean", "description": "A request without `replicas` can be answered." },
                "replicas": text("Meaning of a request without `replicas`."),
                "nodes": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/EntityNode" },
                    "description": "The nodes.",
                },
            },
        },
        "EntityNode": {
            "type": "object",
            "description": "A node as the door sees it.",
            "required": ["address", "state", "since_ms"],
            "properties": {
                "address": text("Its address."),
                "state": text("ready, not ready or away."),
                "why": text("Why it is not ready."),
                "since_ms": { "type": "integer", "format": "int64", "description": "Since when, by the clock of the door." },
            },
        },
        "Problem": {
            "type": "object",
            "description": "RFC 9457.",
            "required": ["type", "title", "status", "detail", "code"],
            "properties": {
                "type": text("about:blank."),
                "title": text("The status in words."),
                "status": { "type": "integer", "format": "int32", "description": "The status of the answer." },
                "detail": text("What is wrong and what to do about it, for people."),
                "code": text("The title in capitals, for programs."),
            },
            "additionalProperties": true,
        },
    })
}
