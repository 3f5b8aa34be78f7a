//! What a store says instead of an answer, as problems.

use super::codes::{DoorCode, OUTCOME_UNKNOWN, STORE_REFUSED, STORE_UNAVAILABLE, WRONG_TYPE};
use super::operation::Retry;
use super::wording::http;
use crate::problem::Problem;
use crate::service::ServiceError;
use axum::http::StatusCode;
use redis::{ServerError, Value};
use scurry_ledger::Code;

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
    let (bound, _) = why.split_once(": ")?;
    let (_, wait_ms) = bound.strip_suffix(" ms")?.rsplit_once(" in ")?;
    Some(wait_ms.parse::<u64>().ok()?.div_ceil(1_000).max(1))
}

/// The reply, or what it refuses.
pub(crate) fn outcome(reply: Result<Value, ServiceError>, retry: Retry) -> Result<Value, Refused> {
    match reply {
        Ok(Value::ServerError(error)) => Err(refusal(&error)),
        Ok(value) => Ok(value),
        Err(error) => Err(no_reply(&error, retry)),
    }
}

/// There is no reply.
pub(crate) fn no_reply(error: &ServiceError, retry: Retry) -> Refused {
    match error {
        ServiceError::NotSent(_) => Refused::Otherwise(
            &STORE_UNAVAILABLE,
            format!("{error}; nothing was done: send it again later"),
        ),
        ServiceError::Unknown(_) => {
            Refused::Otherwise(&OUTCOME_UNKNOWN, format!("{error}; {}", retry.advice()))
        }
    }
}

/// A reply has another shape than its command's: whoever answers there is no store of ours.
pub(crate) fn foreign() -> Refused {
    let why = "the store answers with something else than is asked for: is it of this version?";
    Refused::Otherwise(&STORE_REFUSED, why.to_owned())
}

fn refusal(error: &ServerError) -> Refused {
    let (name, details) = (error.code(), error.details().unwrap_or_default());
    if let Some(code) = Code::ALL.iter().find(|code| code.name() == name) {
        // The number stands before the explanation.
        let why = details.split_once(' ').map_or(details, |(_, why)| why);
        return Refused::Rejected(*code, http(why));
    }
    if details.starts_with("wrong number of arguments") {
        return Refused::Rejected(Code::Invalid, http(details));
    }
    let whole = http(&format!("{name} {details}"));
    let code = match name {
        "WRONGTYPE" => &WRONG_TYPE,
        "OOM" | "MISCONF" | "LOADING" | "CLUSTERDOWN" | "TRYAGAIN" | "MASTERDOWN" | "READONLY"
        | "NOREPLICAS" | "MOVED" | "ASK" | "BUSYKEY" => &STORE_UNAVAILABLE,
        _ => &STORE_REFUSED,
    };
    Refused::Otherwise(code, whole)
}
