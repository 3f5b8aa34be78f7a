//! What the interface tells of itself: the OpenAPI 3.1 document, which is the table of operations said in
//! JSON, and the table of codes that a problem can have.

use super::operation::{Operation, Retry};
use super::table::OPERATIONS;
use super::text::{AccountId, Id, Name};
use super::wording;
use crate::door_codes::DOOR_CODES;
use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use scurry_ledger::{Code, CodeKind};
use scurry_resp::table::Role;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The document of a door that asks nobody who they are, or of one that does.
pub(crate) fn document(is_open: bool) -> Value {
    // What is read and what is written: an optional field of an answer is there all the same.
    let mut requests = generator(Contract::Deserialize);
    let mut answers = generator(Contract::Serialize);
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.word()] = describe(operation, is_open, &mut requests, &mut answers);
    }
    let rows = answers.subschema_for::<Vec<CodeRow>>();
    paths.insert(
        "/v1/problems".to_owned(),
        told("listProblems", "The codes of problems.", &json!(rows)),
    );
    let document = told("getOpenApi", "This document.", &json!({ "type": "object" }));
    paths.insert("/v1/openapi.json".to_owned(), document);
    let mut schemas = requests.take_definitions(true);
    schemas.extend(answers.take_definitions(true));
    schemas.insert("Problem".to_owned(), problem());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Scurry charging",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Accounts, direct debits and charging sessions. The rules are those of docs/ledger.md, this interface is docs/charging-http.md.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": schemas, "securitySchemes": security_schemes() },
    })
}

fn security_schemes() -> Value {
    json!({
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of a user: scurry make-token.",
        },
        "basic": {
            "type": "http",
            "scheme": "basic",
            "description": "Name and password of a user.",
        },
    })
}

/// Either scheme, with the role that the user needs.
fn security(role: Role) -> Value {
    let roles = [role.name()];
    json!([{ "bearer": roles }, { "basic": roles }])
}

fn generator(contract: Contract) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.contract = contract;
    settings.transforms.push(Box::new(RecursiveTransform(bound)));
    settings.into_generator()
}

/// An integer has the bounds of its width.
fn bound(schema: &mut Schema) {
    let (least, most) = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("uint32") => (json!(u32::MIN), json!(u32::MAX)),
        Some("int64") => (json!(i64::MIN), json!(i64::MAX)),
        _ => return,
    };
    for (name, bound) in [("minimum", least), ("maximum", most)] {
        if schema.get(name).is_none() {
            schema.insert(name.to_owned(), bound);
        }
    }
}

/// A path that tells of the interface itself.
fn told(id: &str, summary: &str, schema: &Value) -> Value {
    let content = json!({ "application/json": { "schema": schema } });
    json!({ "get": {
        "operationId": id,
        "summary": summary,
        "x-scurry-role": "-",
        "responses": { "200": { "description": "It.", "content": content } },
    }})
}

fn describe(
    operation: &Operation,
    is_open: bool,
    requests: &mut SchemaGenerator,
    answers: &mut SchemaGenerator,
) -> Value {
    let spec = operation.spec();
    let mut page = json!({
        "operationId": operation.id,
        "summary": wording::http(spec.summary),
        "description": format!("Runs `{}`. {}", operation.command, operation.notes).trim(),
        "x-scurry-role": spec.role.name(),
        "parameters": parameters(operation, requests),
        "responses": responses(operation, is_open, answers),
    });
    if !is_open {
        page["security"] = security(spec.role);
    }
    if let Some((schema, example)) = operation.body {
        let example: Value = serde_json::from_str(example).unwrap_or_default();
        page["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": schema(requests), "example": example } },
        });
    }
    page
}

fn parameters(operation: &Operation, requests: &mut SchemaGenerator) -> Vec<Value> {
    let mut parameters = Vec::new();
    for name in operation.parameters() {
        let schema = match name {
            "account" => requests.subschema_for::<AccountId>(),
            "session" | "value" => requests.subschema_for::<Id>(),
            _ => requests.subschema_for::<Name>(),
        };
        parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    for parameter in operation.query {
        let schema = (parameter.schema)(requests);
        let (name, required) = (parameter.name, parameter.required);
        parameters
            .push(json!({ "name": name, "in": "query", "required": required, "schema": schema }));
    }
    if matches!(operation.retry, Retry::Key | Retry::StateOrKey) {
        let schema = requests.subschema_for::<Id>();
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": operation.retry == Retry::Key,
            "description": "The transaction id: the same when a request is sent again.",
            "schema": schema,
        }));
    }
    parameters
}

/// Answers of an operation: the statuses of the codes that its command has, and those that every
/// request can meet.
fn responses(operation: &Operation, is_open: bool, answers: &mut SchemaGenerator) -> Value {
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in operation.spec().codes.iter().chain(&[Code::Invalid]) {
        if operation.retry == Retry::Read && code.kind() == CodeKind::Denial {
            // What a read finds out is its answer.
            continue;
        }
        let names = by_status.entry(code.http()).or_default();
        if !names.contains(&code.name()) {
            names.push(code.name());
        }
    }
    for code in DOOR_CODES {
        let of_paths = matches!(code.name, "NOT_FOUND" | "METHOD_NOT_ALLOWED");
        let of_bodies =
            matches!(code.name, "UNSUPPORTED_MEDIA_TYPE" | "CONTENT_TOO_LARGE" | "REQUEST_TIMEOUT");
        let of_users = code.name == "UNAUTHORIZED";
        let is_met = !of_paths && (!of_users || !is_open);
        if is_met && (!of_bodies || operation.body.is_some()) {
            by_status.entry(code.status.as_u16()).or_default().push(code.name);
        }
    }
    let problem = json!({ "$ref": "#/components/schemas/Problem" });
    let mut responses: Map<String, Value> = by_status
        .into_iter()
        .map(|(status, names)| {
            let content = json!({ "application/problem+json": { "schema": problem } });
            (status.to_string(), json!({ "description": names.join(", "), "content": content }))
        })
        .collect();
    let schema = (operation.answer)(answers);
    let mut done = json!({
        "description": "Done.",
        "content": { "application/json": { "schema": schema } },
    });
    if matches!(operation.retry, Retry::Key | Retry::StateOrKey | Retry::Request | Retry::Commands)
    {
        done["headers"] = json!({ "Idempotency-Replayed": {
            "description": "true: the request was a duplicate, and this is the stored answer.",
            "schema": { "type": "string", "const": "true" },
        }});
    }
    responses.insert(operation.status.to_string(), done);
    Value::Object(responses)
}

fn problem() -> Value {
    json!({
        "description": "RFC 9457. Of a denial the members of the answer stand beside these.",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "code": { "type": "string" },
            "errors": {
                "description": "Where it is wrong: a JSON pointer into the body, a header, or a parameter.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["detail"],
                    "properties": {
                        "pointer": { "type": "string" },
                        "header": { "type": "string" },
                        "parameter": { "type": "string" },
                        "detail": { "type": "string" },
                    },
                },
            },
        },
    })
}

/// One row of the table of codes, as it is served.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CodeRow {
    code: &'static str,
    /// Of the ledger's codes, as RESP has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u8>,
    status: u16,
    meaning: String,
}

/// The table of codes: those of the ledger, then the door's. A success is no problem.
pub(crate) fn codes() -> Vec<CodeRow> {
    let of_ledger = Code::ALL.iter().filter(|code| code.kind() != CodeKind::Success);
    let of_ledger = of_ledger.map(|code| CodeRow {
        code: code.name(),
        number: Some(*code as u8),
        status: code.http(),
        meaning: wording::http(code.meaning()),
    });
    let of_door = DOOR_CODES.iter().map(|code| CodeRow {
        code: code.name,
        number: None,
        status: code.status.as_u16(),
        meaning: code.meaning.to_owned(),
    });
    of_ledger.chain(of_door).collect()
}
