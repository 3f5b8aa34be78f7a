//! The table of codes that a problem can have, as it is served: those of the ledger, then the door's.

use super::wording::http;
use crate::door_codes::DOOR_CODES;
use schemars::JsonSchema;
use scurry_ledger::{Code, CodeKind};
use serde::Serialize;

/// One row of the table, as it is served.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CodeRow {
    code: &'static str,
    /// Of the ledger's codes, as RESP has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u8>,
    status: u16,
    meaning: String,
}

/// The whole table. A success is no problem.
pub(crate) fn rows() -> Vec<CodeRow> {
    let of_ledger = Code::ALL.iter().filter(|code| code.kind() != CodeKind::Success);
    let of_ledger = of_ledger.map(|code| CodeRow {
        code: code.name(),
        number: Some(*code as u8),
        status: code.http(),
        meaning: http(code.meaning()),
    });
    let of_door = DOOR_CODES.iter().map(|code| CodeRow {
        code: code.name,
        number: None,
        status: code.status.as_u16(),
        meaning: code.meaning.to_owned(),
    });
    of_ledger.chain(of_door).collect()
}
