//! The cursor of a list over HTTP.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_http::{FaultLocation, Problem, field_problem};
use scurry_service::ListCursor;
use std::borrow::Cow;

/// Most keys that one step examines, as in SCUR.LIST.
pub(crate) const LIMIT_MAX: i64 = scurry_resp::LIST_COUNT_MAX as i64;

/// The schema of a [`ListCursor`], which clients return unchanged.
pub(crate) struct Cursor;

/// Parses the cursor of a query. Without one the list starts at the beginning.
pub(crate) fn read(value: Option<&[u8]>) -> Result<ListCursor, Problem> {
    let Some(value) = value else { return Ok(ListCursor::default()) };
    let why = "must be the cursor of an earlier answer";
    ListCursor::parse(value).ok_or_else(|| field_problem(FaultLocation::Parameter("cursor"), why))
}

impl JsonSchema for Cursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]{1,4}[.][0-9]{1,19}$" })
    }
}
