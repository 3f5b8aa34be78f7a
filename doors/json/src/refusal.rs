//! Converts failures of the store to problems. If the ledger objects to a field, the problem points to it in the
//! request's body.

use crate::http_wording::{member_named, to_http_words};
use crate::operation::Retry;
use axum::http::StatusCode;
use scurry_http::door_codes::{
    DoorCode, NOT_IMPLEMENTED, OUTCOME_UNKNOWN, STORE_REFUSED, STORE_UNAVAILABLE, WRONG_TYPE,
};
use scurry_http::{FaultLocation, Problem, field_problem};
use scurry_ledger::Code;
use scurry_service::{CallError, Refusal};
use serde_json::Value as Json;

/// Why a request has no answer.
#[derive(Debug)]
pub enum StoreFailure {
    /// A rejection by the ledger, with its explanation.
    Rejected(Code, String),
    /// Any other failure, also one with an unknown outcome.
    Otherwise(&'static DoorCode, String),
}

impl From<StoreFailure> for Problem {
    fn from(refused: StoreFailure) -> Problem {
        match refused {
            StoreFailure::Rejected(code, why) => {
                let status = StatusCode::from_u16(code.http());
                let status = status.unwrap_or(StatusCode::BAD_REQUEST);
                let wait_s = wait_s(&why);
                Problem::of_code(code.name(), status, why).retry_after(wait_s)
            }
            StoreFailure::Otherwise(code, why) => Problem::of_code(code.name, code.status, why),
        }
    }
}

/// Returns the wait that a BUSY explanation states, in whole seconds, at least 1: when the first entry that fills the
/// bound is forgotten. None if only a request makes room.
pub fn wait_s(why: &str) -> Option<u64> {
    let why = of_link(why).map_or(why, |(_, why)| why);
    let (bound, _) = why.split_once(": ")?;
    let (_, wait_ms) = bound.strip_suffix(" ms")?.rsplit_once(" in ")?;
    Some(wait_ms.parse::<u64>().ok()?.div_ceil(1_000).max(1))
}

/// Splits an explanation about a command of a chain into the command's index and the rest of the text.
fn of_link(why: &str) -> Option<(usize, &str)> {
    let (number, rest) = why.strip_prefix("command ")?.split_once(", account ")?;
    let (_, why) = rest.split_once(": ")?;
    Some((number.parse::<usize>().ok()?.checked_sub(1)?, why))
}

/// Converts the error of a call. `retry` decides the advice if the outcome is unknown.
pub fn refused(error: CallError, retry: Retry) -> StoreFailure {
    match error {
        CallError::Refused(why) => refusal(why),
        CallError::NotSent(_) => StoreFailure::Otherwise(
            &STORE_UNAVAILABLE,
            format!("{error}; nothing was done: send it again later"),
        ),
        CallError::Unknown(_) => {
            StoreFailure::Otherwise(&OUTCOME_UNKNOWN, format!("{error}; {}", retry.advice()))
        }
        CallError::WrongShape => wrong_shape(),
    }
}

/// Returns the failure for a reply of the wrong shape: the server is not a store of this version.
pub fn wrong_shape() -> StoreFailure {
    StoreFailure::Otherwise(&STORE_REFUSED, CallError::WrongShape.to_string())
}

fn refusal(refusal: Refusal) -> StoreFailure {
    let whole = match refusal {
        Refusal::Rejected { code, why } => {
            return StoreFailure::Rejected(code, to_http_words(&why));
        }
        Refusal::Store(text) => text,
    };
    let (name, details) = whole.split_once(' ').unwrap_or((&whole, ""));
    if details.starts_with("wrong number of arguments") {
        // The syntax of the RESP command follows, which means nothing in HTTP.
        let words = details.split_once("' command: ").map_or(details, |(words, _)| words);
        return StoreFailure::Rejected(Code::Invalid, to_http_words(words));
    }
    if name == "CROSSSLOT" {
        let why = "the accounts of a chain must be of one hash slot: begin their ids with the same \
                   {tag}";
        return StoreFailure::Rejected(Code::Invalid, why.to_owned());
    }
    if scurry_resp::is_unsupported_error(&whole) {
        return StoreFailure::Otherwise(&NOT_IMPLEMENTED, to_http_words(details));
    }
    let code = match name {
        "WRONGTYPE" => &WRONG_TYPE,
        // Temporary states of a server: the client can retry later.
        "OOM" | "MISCONF" | "LOADING" | "CLUSTERDOWN" | "TRYAGAIN" | "MASTERDOWN" | "READONLY"
        | "NOREPLICAS" | "MOVED" | "ASK" | "BUSYKEY" => &STORE_UNAVAILABLE,
        _ => &STORE_REFUSED,
    };
    StoreFailure::Otherwise(code, to_http_words(&whole))
}

/// Returns the problem for a refusal. If the ledger rejects a field, the problem names its place in `body`.
pub(crate) fn explain(refused: StoreFailure, body: &[u8]) -> Problem {
    match &refused {
        StoreFailure::Rejected(Code::Invalid, why) => match json_pointer_of(why, body) {
            Some(pointer) => field_problem(FaultLocation::Body(&pointer), why),
            None => refused.into(),
        },
        _ => refused.into(),
    }
}

/// Returns the JSON pointer of the member that an explanation is about: the first one it names that the body has.
fn json_pointer_of(why: &str, body: &[u8]) -> Option<String> {
    let body: Json = serde_json::from_slice(body).ok()?;
    if let Some((at, why)) = of_link(why) {
        let command = body.get("commands")?.get(at)?;
        let within = named(why, command).unwrap_or_default();
        return Some(format!("/commands/{at}{within}"));
    }
    named(why, &body)
}

fn named(why: &str, body: &Json) -> Option<String> {
    why.split([' ', ',', ':']).filter_map(member_named).find_map(|member| find(body, member))
}

/// Returns the JSON pointer of a member of the body or of its items or buckets. If several elements have it, the
/// pointer is of their array.
fn find(body: &Json, member: &str) -> Option<String> {
    let says = |object: &Json| object.get(member).is_some_and(|value| !value.is_null());
    if says(body) {
        return Some(format!("/{member}"));
    }
    ["items", "buckets"].into_iter().find_map(|list| {
        let elements = body.get(list)?.as_array()?.iter().enumerate();
        let mut have = elements.filter(|(_, element)| says(element));
        let (number, _) = have.next()?;
        Some(match have.next() {
            None => format!("/{list}/{number}/{member}"),
            Some(_) => format!("/{list}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_resp::{NO_INDEX_OF_MODULE, NO_LOG, NO_LOG_OF_MODULE};

    #[test]
    fn a_store_that_lacks_something_has_not_refused_the_door() {
        for lack in [NO_LOG, NO_LOG_OF_MODULE, NO_INDEX_OF_MODULE] {
            let refused = refused(Refusal::Store(lack.to_owned()).into(), Retry::Read);
            let StoreFailure::Otherwise(code, why) = refused else { panic!("{refused:?}") };
            assert_eq!((code.name, format!("ERR {why}")), ("NOT_IMPLEMENTED", lack.to_owned()));
        }
    }

    #[test]
    fn what_is_wrong_has_a_place_as_far_as_it_can_be_told() {
        for (why, body, pointer) in [
            ("TO must be in the future", r#"{"valid_to_ms":1}"#, Some("/valid_to_ms")),
            (
                "TO must be in the future",
                r#"{"buckets":[{"valid_to_ms":null},{"valid_to_ms":1}]}"#,
                Some("/buckets/1/valid_to_ms"),
            ),
            (
                "TO must be in the future",
                r#"{"buckets":[{"valid_to_ms":2},{"valid_to_ms":1}]}"#,
                Some("/buckets"),
            ),
            ("the counter has another unit", r#"{"items":[{"unit":"x"}]}"#, Some("/items/0/unit")),
            (
                "identities_max 8: the account would have more identities",
                r#"{"identities":{}}"#,
                Some("/identities"),
            ),
            ("something else", r#"{"unit":"x"}"#, None),
            (
                "command 2, account a: TO must be in the future",
                r#"{"commands":[{"valid_to_ms":1},{"valid_to_ms":1}]}"#,
                Some("/commands/1/valid_to_ms"),
            ),
            (
                "command 1, account a: the accounts of a chain must differ",
                r#"{"commands":[{"account":"a"}]}"#,
                Some("/commands/0"),
            ),
        ] {
            assert_eq!(
                json_pointer_of(&to_http_words(why), body.as_bytes()).as_deref(),
                pointer,
                "{why}"
            );
        }
    }
}
