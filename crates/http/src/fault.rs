//! Faults of a request, and where they are.

use crate::problem::Problem;
use axum::http::StatusCode;
use scurry_ledger::Code;
use serde_json::json;

/// Location of a fault in a request.
#[derive(Clone, Copy, Debug)]
pub enum FaultLocation<'a> {
    /// A JSON pointer (RFC 6901) into the body.
    Body(&'a str),
    /// The name of a header.
    Header(&'a str),
    /// A parameter of the path or of the query.
    Parameter(&'a str),
}

/// Returns a problem with status 400 that names the field.
pub fn field_problem(location: FaultLocation<'_>, why: &str) -> Problem {
    let (kind, name) = match location {
        FaultLocation::Body(pointer) => ("pointer", pointer),
        FaultLocation::Header(name) => ("header", name),
        FaultLocation::Parameter(name) => ("parameter", name),
    };
    let shown = if name.is_empty() { "the body" } else { name };
    let status = StatusCode::BAD_REQUEST;
    Problem::of_code(Code::Invalid.name(), status, format!("{shown}: {why}"))
        .with("errors", json!([{ kind: name, "detail": why }]))
}
