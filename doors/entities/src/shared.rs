//! State shared by the requests to entities.

use crate::coordinator::Coordinator;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use scurry_http::{Problem, form};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Timeout of receiving the body of a request.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// State shared by the request handlers of entities.
pub(crate) struct Shared {
    pub(crate) coordinator: Arc<Coordinator>,
    pub(crate) value_len_max: usize,
}

impl Shared {
    /// Reads the body of a request, within the bounds of length and time.
    pub(crate) async fn body(&self, request: Request) -> Result<Bytes, Problem> {
        let too_long = || {
            let why = format!("the value has more than {} bytes", self.value_len_max);
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "Content Too Large", why)
        };
        let body = request.into_body();
        // Known from the head, before the body is read.
        if form::is_too_long(&body, self.value_len_max) {
            return Err(too_long());
        }
        let body = Limited::new(body, self.value_len_max).collect();
        match timeout(BODY_PATIENCE, body).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
            Ok(Err(error)) => Err(Problem::bad_request(error)),
            Err(_) => {
                let why = format!("the body took more than {} s", BODY_PATIENCE.as_secs());
                Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "Request Timeout", why))
            }
        }
    }
}
