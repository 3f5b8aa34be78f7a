//! Bodies of requests, which are read within bounds of length and time.

use crate::door_codes::{BAD_REQUEST, CONTENT_TOO_LARGE, DoorCode, REQUEST_TIMEOUT};
use crate::form;
use crate::problem::Problem;
use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::time::Duration;
use tokio::time::timeout;

/// Most bytes of a request body.
const BODY_LEN_MAX: usize = 256 * 1024;
/// Timeout for receiving the body of a request.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Reads the whole body of a request, within its bounds of length and time.
pub async fn read_body<B>(body: B) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    read_within(body, BODY_PATIENCE).await
}

async fn read_within<B>(body: B, patience: Duration) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let of = |code: DoorCode, why: String| Problem::of_code(code.name, code.status, why);
    let too_long = || of(CONTENT_TOO_LARGE, format!("the body has more than {BODY_LEN_MAX} bytes"));
    // Checked by Content-Length before reading: a client that waits for `100 Continue` then sends no body.
    if form::is_too_long(&body, BODY_LEN_MAX) {
        return Err(too_long());
    }
    match timeout(patience, Limited::new(body, BODY_LEN_MAX).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(error)) => Err(of(BAD_REQUEST, format!("the body is broken: {error}"))),
        Err(_) => {
            let why = format!("the body took more than {} s", patience.as_secs());
            Err(of(REQUEST_TIMEOUT, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use futures_util::stream::pending;
    use std::convert::Infallible;

    #[tokio::test]
    async fn a_body_that_does_not_come_is_given_up() {
        let body = Body::from_stream(pending::<Result<Bytes, Infallible>>());
        let problem =
            read_within(body, Duration::from_millis(1)).await.expect_err("it never comes");
        assert_eq!(problem.into_response().status(), StatusCode::REQUEST_TIMEOUT);
    }
}
