//! Problem codes beside the result codes of the ledger, for errors between a client, a door and a store.

use axum::http::StatusCode;

/// A problem code that is not a result code of the ledger.
#[derive(Clone, Copy, Debug)]
pub struct DoorCode {
    /// The code, in capitals.
    pub name: &'static str,
    /// Status of the answers that have it.
    pub status: StatusCode,
    /// Its meaning, for people.
    pub meaning: &'static str,
}

const fn code(name: &'static str, status: StatusCode, meaning: &'static str) -> DoorCode {
    DoorCode { name, status, meaning }
}

/// The request is no HTTP, or its query is wrong.
pub const BAD_REQUEST: DoorCode =
    code("BAD_REQUEST", StatusCode::BAD_REQUEST, "The request is no HTTP, or its query is wrong.");
/// The path is unknown.
pub const NOT_FOUND: DoorCode = code("NOT_FOUND", StatusCode::NOT_FOUND, "There is no such path.");
/// The path has no such method.
pub const METHOD_NOT_ALLOWED: DoorCode = code(
    "METHOD_NOT_ALLOWED",
    StatusCode::METHOD_NOT_ALLOWED,
    "The path has no such method: see the header Allow.",
);
const UNAUTHORIZED: DoorCode = code(
    "UNAUTHORIZED",
    StatusCode::UNAUTHORIZED,
    "The request does not say who it is from, or wrongly: a token, or name and password.",
);
const FORBIDDEN: DoorCode = code(
    "FORBIDDEN",
    StatusCode::FORBIDDEN,
    "The user has not the role that this needs, or a web page of another host asks.",
);
const MISDIRECTED_REQUEST: DoorCode = code(
    "MISDIRECTED_REQUEST",
    StatusCode::MISDIRECTED_REQUEST,
    "The request is for a host that this door does not answer to.",
);
const SERVICE_UNAVAILABLE: DoorCode = code(
    "SERVICE_UNAVAILABLE",
    StatusCode::SERVICE_UNAVAILABLE,
    "The door can not answer now: try again in a second.",
);
/// The body took too long.
pub const REQUEST_TIMEOUT: DoorCode =
    code("REQUEST_TIMEOUT", StatusCode::REQUEST_TIMEOUT, "The body took too long to come.");
/// The body is too long.
pub const CONTENT_TOO_LARGE: DoorCode =
    code("CONTENT_TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE, "The body is too long.");
/// The body is no JSON, or is encoded.
pub const UNSUPPORTED_MEDIA_TYPE: DoorCode = code(
    "UNSUPPORTED_MEDIA_TYPE",
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "The body is not said to be application/json.",
);
/// The key holds something else than an account.
pub const WRONG_TYPE: DoorCode =
    code("WRONG_TYPE", StatusCode::CONFLICT, "The key holds something else than an account.");
/// The store refused the command.
pub const STORE_REFUSED: DoorCode = code(
    "STORE_REFUSED",
    StatusCode::BAD_GATEWAY,
    "The store does not let this door in, or is no store of accounts: nothing was done.",
);
/// The store lacks something that the request needs.
pub const NOT_IMPLEMENTED: DoorCode = code(
    "NOT_IMPLEMENTED",
    StatusCode::NOT_IMPLEMENTED,
    "The store has not what this needs, such as a log: the detail says how to start one that has.",
);
/// The store is unreachable, and nothing was done.
pub const STORE_UNAVAILABLE: DoorCode = code(
    "STORE_UNAVAILABLE",
    StatusCode::SERVICE_UNAVAILABLE,
    "The store is not reached, not ready, or full: nothing was done, and it may be tried again.",
);
/// The store did not answer, and the outcome is unknown.
pub const OUTCOME_UNKNOWN: DoorCode = code(
    "OUTCOME_UNKNOWN",
    StatusCode::GATEWAY_TIMEOUT,
    "The store did not answer: the request may have been done or not. Send it again as it was.",
);

/// All problem codes of the door.
pub const DOOR_CODES: &[DoorCode] = &[
    BAD_REQUEST,
    UNAUTHORIZED,
    FORBIDDEN,
    NOT_FOUND,
    METHOD_NOT_ALLOWED,
    REQUEST_TIMEOUT,
    CONTENT_TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE,
    MISDIRECTED_REQUEST,
    SERVICE_UNAVAILABLE,
    WRONG_TYPE,
    STORE_REFUSED,
    NOT_IMPLEMENTED,
    STORE_UNAVAILABLE,
    OUTCOME_UNKNOWN,
];

/// Reports whether problems under this path have their own `type`.
pub fn has_types(path: &str) -> bool {
    path.starts_with("/v1/") || path.starts_with("/nchf-convergedcharging/")
}

/// Returns the code of the door with this name. None when there is no such code.
pub fn code_of(name: &str) -> Option<&'static str> {
    DOOR_CODES.iter().map(|code| code.name).find(|known| *known == name)
}
