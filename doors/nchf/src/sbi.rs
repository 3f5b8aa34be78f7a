//! What TS 29.500 asks of every request: an access token of the NRF, where the settings name keys, and the headers
//! `3gpp-Sbi-...`.

use crate::door::NchfDoor;
use crate::problem::with_cause;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use scurry_http::{Problem, now};
use scurry_sbi::{HeaderFault, RequestHeaders, TokenCheck, TokenFault};
use std::sync::Arc;

/// Lets a request in whose token is one of the NRF for this service.
pub(crate) async fn check_token(
    State((door, check)): State<(Arc<NchfDoor>, Arc<TokenCheck>)>,
    request: Request,
    next: Next,
) -> Response {
    let mut authorizations = request.headers().get_all(header::AUTHORIZATION).iter();
    let (first, second) = (authorizations.next(), authorizations.next());
    let checked = match second {
        None => check.check(first, now_ms() / 1_000),
        Some(_) => Err(TokenFault::Malformed("the request has two".to_owned())),
    };
    match checked {
        Ok(_) => next.run(request).await,
        Err(fault) => {
            door.metrics.refused_token();
            let title = match fault.status() {
                StatusCode::FORBIDDEN => "Forbidden",
                _ => "Unauthorized",
            };
            let problem = Problem::new(fault.status(), title, &fault);
            let mut response = problem.into_response();
            response.headers_mut().insert(header::WWW_AUTHENTICATE, fault.challenge());
            response
        }
    }
}

/// Gives no answer to a sender that does not wait for it any more, and gives back what the answer has to repeat. A request that comes too
/// late is not executed, unless it is one of an open session: the use that it reports is not reported again.
pub(crate) async fn keep_headers(
    State(door): State<Arc<NchfDoor>>,
    request: Request,
    next: Next,
) -> Response {
    let is_of_open_session = request.method() == Method::POST
        && ["/update", "/release"].iter().any(|end| request.uri().path().ends_with(end));
    let headers = match RequestHeaders::read(request.headers(), now_ms()) {
        Ok(headers) => headers,
        Err(HeaderFault::TimedOut { correlation_info, .. }) if is_of_open_session => {
            RequestHeaders { deadline_ms: Some(0), correlation_info, ..RequestHeaders::default() }
        }
        Err(fault @ HeaderFault::TimedOut { .. }) => {
            let HeaderFault::TimedOut { correlation_info, .. } = &fault;
            let headers = RequestHeaders {
                correlation_info: correlation_info.clone(),
                ..RequestHeaders::default()
            };
            return late(&door, &headers, &fault.to_string());
        }
    };
    for ignored in &headers.ignored {
        tracing::debug!(name = %ignored.name, why = ignored.why, "a header is ignored");
    }
    let mut response = next.run(request).await;
    if headers.is_late(now_ms()) {
        return late(
            &door,
            &headers,
            "the answer is later than 3gpp-Sbi-Max-Rsp-Time allows: send the request again as it was",
        );
    }
    headers.write_answer(response.headers_mut());
    response
}

fn late(door: &NchfDoor, headers: &RequestHeaders, why: &str) -> Response {
    door.metrics.late();
    let problem = Problem::new(StatusCode::GATEWAY_TIMEOUT, "Gateway Timeout", why);
    let mut response = with_cause(problem, "TIMED_OUT_REQUEST").into_response();
    headers.write_answer(response.headers_mut());
    response
}

/// Returns the time, ms since 1970.
fn now_ms() -> u64 {
    u64::try_from(now().0).unwrap_or(0)
}
