//! The interface's description of itself: the OpenAPI 3.1 document, made from the table of operations, and the table
//! of all problem codes.

use crate::bounds::Bounds;
use crate::events;
use crate::http_wording;
use crate::operation::{OpenApiTag, Operation, Retry};
use crate::security::security;
use crate::table::OPERATIONS;
use crate::text::{AccountId, Id, Name};
use axum::body::Bytes;
use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use scurry_http::door_codes::DOOR_CODES;
use scurry_http::security_schemes;
use scurry_ledger::{Code, CodeKind};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Returns the OpenAPI document for a store with these bounds. `is_open` means that the door authenticates no users.
pub(crate) fn document(is_open: bool, bounds: &Bounds) -> Value {
    // Two generators, because the schemas of parsed and of written bodies differ: an `Option` may be missing from a
    // request, but an answer has it as null.
    let mut requests = generator(Contract::Deserialize);
    let mut answers = generator(Contract::Serialize);
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.word()] = describe(operation, is_open, &mut requests, &mut answers);
    }
    paths.insert(events::PATH.to_owned(), events::describe(is_open));
    let rows = answers.subschema_for::<Vec<CodeRow>>();
    paths.insert(
        "/v1/problems".to_owned(),
        describe_meta_path("listProblems", "The codes of problems.", &json!(rows)),
    );
    let document = describe_meta_path("getOpenApi", "This document.", &json!({ "type": "object" }));
    paths.insert("/v1/openapi.json".to_owned(), document);
    let mut schemas = requests.take_definitions(true);
    schemas.extend(answers.take_definitions(true));
    for (name, schema) in &mut schemas {
        add_enum_names(name, schema);
    }
    schemas.insert("Problem".to_owned(), problem());
    schemas.insert("Fault".to_owned(), fault());
    let tags = OpenApiTag::ALL.map(OpenApiTag::words);
    let tags = tags.map(|(name, description)| json!({ "name": name, "description": description }));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Scurry charging",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Accounts, direct debits and charging sessions. The rules are those of docs/ledger.md, this interface is docs/charging-http.md.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The door that serves this document." }],
        "tags": tags,
        "security": security(is_open, None),
        "paths": paths,
        "components": { "schemas": schemas, "securitySchemes": security_schemes() },
    });
    bounds.set(&mut document);
    document
}

/// The document as text, cached for the last known bounds, because it is slow to build.
pub(crate) struct DocumentCache {
    is_open: bool,
    last: Mutex<Option<(Bounds, Bytes)>>,
}

impl DocumentCache {
    pub(crate) fn new(is_open: bool) -> DocumentCache {
        DocumentCache { is_open, last: Mutex::default() }
    }

    pub(crate) fn document(&self, bounds: Bounds) -> Bytes {
        // Locked while the document is built, so that concurrent requests build it only once.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = last.as_ref().filter(|(known, _)| *known == bounds) {
            return text.clone();
        }
        let text = Bytes::from(document(self.is_open, &bounds).to_string());
        *last = Some((bounds, text.clone()));
        text
    }
}

fn generator(contract: Contract) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.contract = contract;
    settings.transforms.push(Box::new(RecursiveTransform(bound)));
    settings.transforms.push(Box::new(RecursiveTransform(use_property_names)));
    settings.into_generator()
}

/// Adds constant names to an enum's values, prefixed with the enum's name: generated Go clients have one namespace for
/// the constants of all enums.
fn add_enum_names(name: &str, schema: &mut Value) {
    let words = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let names: Vec<String> =
        words.map(|word| format!("{name}_{word}").to_ascii_uppercase()).collect();
    if !names.is_empty() {
        schema["x-enum-varnames"] = json!(names);
    }
}

/// Rewrites `patternProperties` of a map to `additionalProperties` and `propertyNames`, the form that client
/// generators support.
fn use_property_names(schema: &mut Schema) {
    let Some(Value::Object(patterns)) = schema.remove("patternProperties") else { return };
    if let Some((pattern, value)) = patterns.into_iter().next() {
        schema.insert("additionalProperties".to_owned(), value);
        schema.insert("propertyNames".to_owned(), json!({ "pattern": pattern }));
    }
}

/// Gives an integer the bounds of its Rust type, and one of the two formats that OpenAPI knows.
fn bound(schema: &mut Schema) {
    let (format, least, most) = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => ("int32", json!(u8::MIN), json!(u8::MAX)),
        Some("int16") => ("int32", json!(i16::MIN), json!(i16::MAX)),
        Some("uint16") => ("int32", json!(u16::MIN), json!(u16::MAX)),
        Some("int32") => ("int32", json!(i32::MIN), json!(i32::MAX)),
        Some("uint32") => ("int64", json!(u32::MIN), json!(u32::MAX)),
        Some("int64") => ("int64", json!(i64::MIN), json!(i64::MAX)),
        _ => return,
    };
    schema.insert("format".to_owned(), json!(format));
    for (name, bound) in [("minimum", least), ("maximum", most)] {
        if schema.get(name).is_none() {
            schema.insert(name.to_owned(), bound);
        }
    }
}

/// Returns the description of a path that describes the interface itself and needs no role.
fn describe_meta_path(id: &str, summary: &str, schema: &Value) -> Value {
    let content = json!({ "application/json": { "schema": schema } });
    json!({ "get": {
        "operationId": id,
        "tags": [OpenApiTag::Store.words().0],
        "summary": summary,
        "x-scurry-role": "-",
        "security": [],
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
        "tags": [operation.tag.words().0],
        "summary": http_wording::to_http_words(spec.summary),
        "description": format!("Runs `{}`. {}", operation.command, operation.notes).trim(),
        "x-scurry-role": spec.role.name(),
        "parameters": parameters(operation, requests),
        "responses": responses(operation, is_open, answers),
    });
    if !is_open {
        page["security"] = security(is_open, Some(spec.role));
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
        parameters.push(json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": format!("Id of the {name}. A slash in it is written as %2F."),
            "schema": schema,
        }));
    }
    for parameter in operation.query {
        let schema = (parameter.schema)(requests);
        parameters.push(json!({
            "name": parameter.name,
            "in": "query",
            "required": parameter.required,
            "description": parameter.description,
            "schema": schema,
        }));
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

/// Returns the responses of an operation: the statuses of its command's codes, and of the door's codes that it can
/// meet.
fn responses(operation: &Operation, is_open: bool, answers: &mut SchemaGenerator) -> Value {
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in operation.spec().codes.iter().chain(&[Code::Invalid]) {
        if operation.retry == Retry::Read && code.kind() == CodeKind::Denial {
            // A read reports a denial in its answer, with the status of success.
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
        let of_lacks = code.name == "NOT_IMPLEMENTED";
        let may_lack = matches!(operation.command, "SCUR.STATEMENT" | "SCUR.FIND");
        // NOT_FOUND and METHOD_NOT_ALLOWED concern paths that are not in the table.
        let is_met = !of_paths && (!of_users || !is_open) && (!of_lacks || may_lack);
        if is_met && (!of_bodies || operation.body.is_some()) {
            by_status.entry(code.status.as_u16()).or_default().push(code.name);
        }
    }
    let problem = json!({ "$ref": "#/components/schemas/Problem" });
    let mut responses: Map<String, Value> = by_status
        .into_iter()
        .map(|(status, names)| {
            let content = json!({ "application/problem+json": { "schema": problem } });
            let description = names.join(", ");
            let mut response = json!({ "description": description, "content": content });
            if status == Code::CreditLimitReached.http() {
                response["headers"] = waits();
            }
            (status.to_string(), response)
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

/// Returns the headers of a denial by limits that allow it later.
fn waits() -> Value {
    let wait = |unit: &str| {
        let description = format!(
            "{unit} until the limits that denied allow it, if nothing else changes; absent where time alone does not help."
        );
        json!({ "description": description, "schema": { "type": "integer", "minimum": 0 } })
    };
    json!({ "Retry-After": wait("Seconds"), "retry-after-ms": wait("Milliseconds") })
}

/// Returns the schema of problems, which refers to other schemas by component.
fn problem() -> Value {
    let own = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "description": "RFC 9457. Of a denial the members of the answer stand beside these.",
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": text("Where the code is told of, or about:blank."),
            "title": text("The status in words."),
            "status": { "type": "integer", "format": "int32", "description": "The status of the answer." },
            "detail": text("What is wrong and what to do about it, for people."),
            "code": text("What is wrong, for programs: GET /v1/problems lists the codes."),
            "errors": {
                "description": "Where it is wrong.",
                "type": "array",
                "items": own("Fault"),
            },
            "replayed": { "type": "boolean", "description": "Of a denial: it is the stored answer." },
            "version": { "type": "integer", "format": "int64", "description": "Of a denial: as in its answer." },
            "amount": own("Quantity"),
            "items": { "type": "array", "items": own("ItemAnswer"), "description": "Of a denial: its items." },
            "cause": text("Of a denial: balance, no_bucket, limit, items, chain or status."),
            "limit": text("Of a denial: the limit that is reached."),
        },
        "additionalProperties": true,
    })
}

/// Returns the schema of an element of a problem's `errors`.
fn fault() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "description": "A fault of a request, and where it is: in the body, a header, or a parameter.",
        "type": "object",
        "required": ["detail"],
        "properties": {
            "pointer": text("A JSON pointer into the body."),
            "header": text("A header."),
            "parameter": text("A parameter of the path or the query."),
            "detail": text("What is wrong."),
        },
    })
}

/// One row of the table of codes, as it is served.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CodeRow {
    /// The code.
    code: &'static str,
    /// Of the ledger's codes, as RESP has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u8>,
    /// Status of the answers that have it.
    status: u16,
    /// Meaning of it, for people.
    meaning: String,
}

/// Returns the table of codes: the ledger's codes except success, then the door's.
pub(crate) fn codes() -> Vec<CodeRow> {
    let of_ledger = Code::ALL.iter().filter(|code| code.kind() != CodeKind::Success);
    let of_ledger = of_ledger.map(|code| CodeRow {
        code: code.name(),
        number: Some(*code as u8),
        status: code.http(),
        meaning: http_wording::to_http_words(code.meaning()),
    });
    let of_door = DOOR_CODES.iter().map(|code| CodeRow {
        code: code.name,
        number: None,
        status: code.status.as_u16(),
        meaning: code.meaning.to_owned(),
    });
    of_ledger.chain(of_door).collect()
}
