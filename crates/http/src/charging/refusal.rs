//! What a store says instead of an answer, as problems: what is wrong with a member has its place in
//! the body.

use super::input::{FaultLocation, field_problem};
use super::operation::Retry;
use super::wording::{http, subject};
use crate::door_codes::{
    DoorCode, NOT_IMPLEMENTED, OUTCOME_UNKNOWN, STORE_REFUSED, STORE_UNAVAILABLE, WRONG_TYPE,
};
use crate::problem::Problem;
use axum::http::StatusCode;
use redis::Value;
use scurry_ledger::Code;
use scurry_service::{CallError, Refusal};
use serde_json::Value as Json;

/// Why nothing was done.
#[derive(Debug)]
pub(crate) enum Refused {
    /// A reject of the ledger, with its explanation.
    Rejected(Code, String),
    /// Anything else.
    Otherwise(&'static DoorCode, String),
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        match refused {
            Refused::Rejected(code, why) => {
                let status = StatusCode::from_u16(code.http());
                let status = status.unwrap_or(StatusCode::BAD_REQUEST);
                let wait_s = wait_s(&why);
                Problem::of_code(code.name(), status, why).retry_after(wait_s)
            }
            Refused::Otherwise(code, why) => Problem::of_code(code.name, code.status, why),
        }
    }
}

/// How long BUSY says that it takes until the first of what fills the bound is gone, in whole seconds.
/// None where only a request makes room.
pub(crate) fn wait_s(why: &str) -> Option<u64> {
    let why = of_link(why).map_or(why, |(_, why)| why);
    let (bound, _) = why.split_once(": ")?;
    let (_, wait_ms) = bound.strip_suffix(" ms")?.rsplit_once(" in ")?;
    Some(wait_ms.parse::<u64>().ok()?.div_ceil(1_000).max(1))
}

/// The place of a command among those of its chain, and what is said of it.
fn of_link(why: &str) -> Option<(usize, &str)> {
    let (number, rest) = why.strip_prefix("command ")?.split_once(", account ")?;
    let (_, why) = rest.split_once(": ")?;
    Some((number.parse::<usize>().ok()?.checked_sub(1)?, why))
}

/// The reply, or what it refuses.
pub(crate) fn outcome(reply: Result<Value, CallError>, retry: Retry) -> Result<Value, Refused> {
    match reply {
        Ok(Value::ServerError(error)) => Err(refusal(scurry_cluster_client::refusal(&error))),
        Ok(value) => Ok(value),
        Err(error) => Err(refused(error, retry)),
    }
}

/// There is no reply.
pub(crate) fn refused(error: CallError, retry: Retry) -> Refused {
    match error {
        CallError::Refused(why) => refusal(why),
        CallError::NotSent(_) => Refused::Otherwise(
            &STORE_UNAVAILABLE,
            format!("{error}; nothing was done: send it again later"),
        ),
        CallError::Unknown(_) => {
            Refused::Otherwise(&OUTCOME_UNKNOWN, format!("{error}; {}", retry.advice()))
        }
        CallError::WrongShape => foreign(),
    }
}

/// A reply has another shape than its request's: the server there is no store of ours.
pub(crate) fn foreign() -> Refused {
    Refused::Otherwise(&STORE_REFUSED, CallError::WrongShape.to_string())
}

fn refusal(refusal: Refusal) -> Refused {
    let whole = match refusal {
        Refusal::Rejected { code, why } => return Refused::Rejected(code, http(&why)),
        Refusal::Store(text) => text,
    };
    let (name, details) = whole.split_once(' ').unwrap_or((&whole, ""));
    if details.starts_with("wrong number of arguments") {
        // After the command stands its syntax, which is none of HTTP's.
        let words = details.split_once("' command: ").map_or(details, |(words, _)| words);
        return Refused::Rejected(Code::Invalid, http(words));
    }
    if name == "CROSSSLOT" {
        let why = "the accounts of a chain must be of one hash slot: begin their ids with the same \
                   {tag}";
        return Refused::Rejected(Code::Invalid, why.to_owned());
    }
    if scurry_resp::is_unsupported_error(&whole) {
        return Refused::Otherwise(&NOT_IMPLEMENTED, http(details));
    }
    let code = match name {
        "WRONGTYPE" => &WRONG_TYPE,
        "OOM" | "MISCONF" | "LOADING" | "CLUSTERDOWN" | "TRYAGAIN" | "MASTERDOWN" | "READONLY"
        | "NOREPLICAS" | "MOVED" | "ASK" | "BUSYKEY" => &STORE_UNAVAILABLE,
        _ => &STORE_REFUSED,
    };
    Refused::Otherwise(code, http(&whole))
}

/// A refusal as a problem; of a field that the ledger finds wrong with its place in this body.
pub(crate) fn explain(refused: Refused, body: &[u8]) -> Problem {
    match &refused {
        Refused::Rejected(Code::Invalid, why) => match place(why, body) {
            Some(pointer) => field_problem(FaultLocation::Body(&pointer), why),
            None => refused.into(),
        },
        _ => refused.into(),
    }
}

/// The member that this is about: the first of those that it names which the body has.
fn place(why: &str, body: &[u8]) -> Option<String> {
    let body: Json = serde_json::from_slice(body).ok()?;
    if let Some((at, why)) = of_link(why) {
        let command = body.get("commands")?.get(at)?;
        let within = named(why, command).unwrap_or_default();
        return Some(format!("/commands/{at}{within}"));
    }
    named(why, &body)
}

fn named(why: &str, body: &Json) -> Option<String> {
    why.split([' ', ',', ':']).filter_map(subject).find_map(|member| find(body, member))
}

/// The place of a member. Among several elements that have it, it is somewhere in their array.
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
            let reply = redis::parse_redis_value(format!("-{lack}\r\n").as_bytes());
            let refused = outcome(Ok(reply.expect("an error")), Retry::Read).expect_err(lack);
            let Refused::Otherwise(code, why) = refused else { panic!("{refused:?}") };
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
            assert_eq!(place(&http(why), body.as_bytes()).as_deref(), pointer, "{why}");
        }
    }
}
