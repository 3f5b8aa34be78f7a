//! OPTIONS (RFC 9110 clause 9.3.7): what a path allows. HAProxy's `option httpchk` asks with it unless it is
//! told otherwise, so the paths of health answer it as they answer GET.

use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Paths that say how a door is, for a balancer.
const HEALTH: [&str; 2] = ["/healthz", "/readyz"];
/// Methods that these allow, as the router says it.
const OF_HEALTH: HeaderValue = HeaderValue::from_static("GET,HEAD");
/// Methods that some path of a door allows: the answer to `OPTIONS *`.
const OF_DOOR: HeaderValue = HeaderValue::from_static("GET,HEAD,POST,PUT,PATCH,DELETE");

/// Makes a question for health the GET that it means; true where it was one.
pub(crate) fn take_for_get<B>(request: &mut Request<B>) -> bool {
    let is_health = is_options(request) && HEALTH.contains(&request.uri().path());
    if is_health {
        *request.method_mut() = Method::GET;
    }
    is_health
}

/// Names OPTIONS, which the router does not know, in each Allow.
pub(crate) fn add_to_allow(answer: &mut Response, is_health: bool) {
    let headers = answer.headers_mut();
    if is_health {
        headers.insert(header::ALLOW, OF_HEALTH);
    }
    let allow = headers.get(header::ALLOW).and_then(|allow| allow.to_str().ok());
    let allow = allow.and_then(|allow| HeaderValue::try_from(format!("{allow},OPTIONS")).ok());
    if let Some(allow) = allow {
        headers.insert(header::ALLOW, allow);
    }
}

/// The answer where a path has no such method: the router adds what it allows.
pub(crate) fn of_path<B>(request: &Request<B>) -> Option<Response> {
    is_options(request).then(|| StatusCode::NO_CONTENT.into_response())
}

/// The answer where there is no such path: `*` is the door as a whole.
pub(crate) fn of_door<B>(request: &Request<B>) -> Option<Response> {
    let is_door = is_options(request) && request.uri().path() == "*";
    is_door.then(|| (StatusCode::NO_CONTENT, [(header::ALLOW, OF_DOOR)]).into_response())
}

fn is_options<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS
}
