//! Errors as ProblemDetails (TS 29.571), with the causes of TS 29.500 clause 5.2.7.2 and TS 32.291 clause 6.1.7.

use crate::version::Version;
use axum::http::StatusCode;
use scurry_door_json::{Retry, StoreFailure, refused, wait_s};
use scurry_http::{FaultLocation, Problem, field_problem};
use scurry_ledger::Code;
use scurry_quota::QuotaFailure;
use scurry_service::CallError;
use serde_json::{Value, json};

/// Returns the problem for a member with a wrong value.
pub(crate) fn incorrect(pointer: &str, why: &str) -> Problem {
    with_cause(field_problem(FaultLocation::Body(pointer), why), "MANDATORY_IE_INCORRECT")
}

/// Returns the problem for a required member that is missing.
pub(crate) fn missing(pointer: &str, why: &str) -> Problem {
    with_cause(field_problem(FaultLocation::Body(pointer), why), "MANDATORY_IE_MISSING")
}

/// Adds a cause to the problem of a body that could not be read. A body that is too long, too slow or of another type
/// has none: the status says it all.
pub(crate) fn unreadable(problem: Problem) -> Problem {
    if problem.status() != StatusCode::BAD_REQUEST {
        return problem;
    }
    let cause = match problem.member("errors").map(|errors| &errors[0]) {
        // An empty pointer means the whole body: it is not JSON, or not an object.
        Some(error) if error["pointer"] == "" => "INVALID_MSG_FORMAT",
        Some(error) if error["detail"].as_str().is_some_and(|why| why.starts_with("missing")) => {
            "MANDATORY_IE_MISSING"
        }
        Some(_) => "MANDATORY_IE_INCORRECT",
        None => "INVALID_MSG_FORMAT",
    };
    with_cause(problem, cause)
}

/// Returns the problem for a denial of the whole request.
pub(crate) fn denied(code: Code) -> Problem {
    of_code(code, code.meaning())
}

/// Returns the problem for a request that the store rejected, or that failed on the way to it or back.
pub(crate) fn call_failed(error: CallError) -> Problem {
    match refused(error, Retry::Request) {
        StoreFailure::Rejected(code, why) => of_code(code, &why).retry_after(wait_s(&why)),
        StoreFailure::Otherwise(code, why) => {
            // TS 29.500 has no other status for what is wrong behind this door.
            let status = match code.status {
                known @ (StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT) => known,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            with_cause(Problem::of_code(code.name, status, why), cause_of_failure(status))
        }
    }
}

/// Returns the cause of TS 29.500 table 5.2.7.2-1 for a status of 500 and above.
fn cause_of_failure(status: StatusCode) -> &'static str {
    match status {
        StatusCode::SERVICE_UNAVAILABLE => "NF_CONGESTION",
        StatusCode::GATEWAY_TIMEOUT => "TIMED_OUT_REQUEST",
        _ => "SYSTEM_FAILURE",
    }
}

/// Returns the problem for a path below a service of Nchf that is none of its resources here.
pub(crate) fn unknown_path(path: &str) -> Problem {
    let is_served = [Version::V2, Version::V3].iter().any(|version| {
        let (api, _) = version.resources().rsplit_once('/').unwrap_or_default();
        path.strip_prefix(api).is_some_and(|rest| rest.starts_with('/'))
    });
    let resources = Version::V3.resources();
    if is_served {
        let why = format!(
            "no such resource: {resources}, and /update and /release below a ChargingDataRef"
        );
        let problem = Problem::new(StatusCode::NOT_FOUND, "Not Found", why).at(path);
        return with_cause(problem, "RESOURCE_URI_STRUCTURE_NOT_FOUND");
    }
    let why = "this service or version is not here: nchf-convergedcharging, v2 and v3, is";
    with_cause(Problem::bad_request(why).at(path), "INVALID_API")
}

/// Returns the problem for a request that found no account, or that the store did not carry out.
pub(crate) fn failed(failure: QuotaFailure) -> Problem {
    match failure {
        QuotaFailure::Store(error) => call_failed(error),
        QuotaFailure::UnknownSubscriber(_) => {
            of_code(Code::UnknownAccount, QuotaFailure::UNKNOWN_SUBSCRIBER)
        }
        QuotaFailure::SeveralAccounts => {
            let problem = Problem::bad_request(QuotaFailure::SEVERAL_ACCOUNTS);
            with_cause(problem, "CHARGING_FAILED")
        }
    }
}

/// Returns the problem for amounts whose sum has more than 63 bits, or more rating groups than an event can have.
pub(crate) fn uncountable() -> Problem {
    incorrect("/multipleUnitUsage", "has more than can be counted at once")
}

/// Returns the problem for a URI with a reference that this door did not issue.
pub(crate) fn unknown_reference() -> Problem {
    of_code(Code::UnknownSession, "no charging data resource has this reference")
}

/// Returns the problem for an Update after the session has ended: the store has debited the reported use.
pub(crate) fn settled_late() -> Problem {
    let why =
        "the session has ended: what was used is debited, and nothing is granted; create another";
    of_code(Code::UnknownSession, why)
}

/// Returns the problem for a ledger code. Its status follows from the Nchf cause, and differs from the status of the
/// JSON API.
fn of_code(code: Code, why: &str) -> Problem {
    let status = match code.nchf() {
        "USER_UNKNOWN" | "CONTEXT_NOT_FOUND" => StatusCode::NOT_FOUND,
        "QUOTA_LIMIT_REACHED" | "END_USER_REQUEST_DENIED" | "CHARGING_NOT_APPLICABLE" => {
            StatusCode::FORBIDDEN
        }
        _ if code == Code::Busy => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    };
    let cause = match status {
        StatusCode::SERVICE_UNAVAILABLE => cause_of_failure(status),
        _ => code.nchf(),
    };
    with_cause(Problem::of_code(code.name(), status, why), cause)
}

pub(crate) fn with_cause(problem: Problem, cause: &str) -> Problem {
    // invalidParams repeats `errors` in the form of TS 29.571.
    let wrong = problem.member("errors").and_then(Value::as_array).map(|errors| {
        let params = errors.iter().map(|error| {
            let name = ["pointer", "header", "parameter"].iter().find_map(|name| error.get(*name));
            json!({ "param": name, "reason": error["detail"] })
        });
        params.collect::<Vec<Value>>()
    });
    let problem = problem.with("cause", cause);
    match wrong {
        Some(wrong) => problem.with("invalidParams", wrong),
        None => problem,
    }
}
