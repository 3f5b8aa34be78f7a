//! OPTIONS (RFC 9110 clause 9.3.7): which methods a path allows. HAProxy's `option httpchk` sends OPTIONS by default,
//! so the health paths answer it as they answer GET.

use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Paths at which a load balancer checks the door's health.
const HEALTH: [&str; 2] = ["/healthz", "/readyz"];
/// Allow of the health paths, in the router's spelling.
const OF_HEALTH: HeaderValue = HeaderValue::from_static("GET,HEAD");
/// Allow of the answer to `OPTIONS *`: all methods that some path of a door allows.
const OF_DOOR: HeaderValue = HeaderValue::from_static("GET,HEAD,POST,PUT,PATCH,DELETE");

/// Turns OPTIONS of a health path into GET. Returns true when it did.
pub(crate) fn health_options_to_get<B>(request: &mut Request<B>) -> bool {
    let is_health = is_options(request) && HEALTH.contains(&request.uri().path());
    if is_health {
        *request.method_mut() = Method::GET;
    }
    is_health
}

/// Adds OPTIONS, which the router does not know, to the Allow of an answer.
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

/// Returns the answer to OPTIONS of a path that has no such method; the router adds Allow. None for other methods.
pub(crate) fn of_path<B>(request: &Request<B>) -> Option<Response> {
    is_options(request).then(|| StatusCode::NO_CONTENT.into_response())
}

/// Returns the answer to `OPTIONS *`, which asks about the door as a whole. None for other requests.
pub(crate) fn of_door<B>(request: &Request<B>) -> Option<Response> {
    let is_door = is_options(request) && request.uri().path() == "*";
    is_door.then(|| (StatusCode::NO_CONTENT, [(header::ALLOW, OF_DOOR)]).into_response())
}

fn is_options<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS
}
