//! Errors as RFC 9457 has them: `application/problem+json`.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::ext::ReasonPhrase;
use serde::Serialize;

/// An error, for programs by its status and for people by its detail.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    title: &'static str,
    detail: String,
}

#[derive(Serialize)]
struct Body9457<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl Problem {
    pub(crate) fn bad_request(detail: impl ToString) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "Bad Request", detail)
    }

    /// A write may have happened or not; a read is to be tried again.
    pub(crate) fn not_enough_replicas(detail: impl ToString) -> Problem {
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "Not Enough Replicas", detail)
    }

    pub(crate) fn new(status: StatusCode, title: &'static str, detail: impl ToString) -> Problem {
        Problem { status, title, detail: detail.to_string() }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Problem { status, title, detail } = &self;
        let body = Body9457 { kind: "about:blank", title, status: status.as_u16(), detail };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = *status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if status.canonical_reason() != Some(title) {
            response.extensions_mut().insert(ReasonPhrase::from_static(title.as_bytes()));
        }
        response
    }
}
