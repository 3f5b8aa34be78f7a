//! Checks that every HTTP request must pass, whatever it asks for (RFC 9110, RFC 9112). A malformed request is refused
//! here, so that no handler misinterprets it.

use crate::problem::Problem;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{self, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// Passes a request on, or answers it with an error. An answer before the end of the request's body says that the
/// connection closes, since the library closes it then: a client would send its next request on it otherwise. HTTP/2
/// ends the stream alone.
pub(crate) async fn check(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() || request.version() == Version::HTTP_2 {
        return answer(request, next).await;
    }
    let has_ended = Arc::new(AtomicBool::new(false));
    let watch = |body| Body::new(WatchedBody { body, has_ended: Arc::clone(&has_ended) });
    let mut response = answer(request.map(watch), next).await;
    if !has_ended.load(Ordering::Relaxed) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn answer(request: Request, next: Next) -> Response {
    match refusal(&request) {
        Some(response) => response,
        None => next.run(request).await,
    }
}

/// The body of a request, which notes when it was read to its end.
struct WatchedBody {
    body: Body,
    has_ended: Arc<AtomicBool>,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.has_ended.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns the error for a malformed request; None when it is well-formed.
pub fn refusal<B>(request: &http::Request<B>) -> Option<Response> {
    let problem = match fault(request) {
        Some(why) => Problem::bad_request(why),
        None if is_transfer_coded(request) => {
            let why = "the only Transfer-Encoding that is understood is chunked, alone";
            Problem::new(StatusCode::NOT_IMPLEMENTED, "Not Implemented", why)
        }
        None if is_coded(request) => {
            let why =
                "the body is compressed, and is taken as it is alone: leave Content-Encoding out";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Problem::new(status, "Unsupported Media Type", why)
        }
        None => return None,
    };
    let mut response = problem.at(request.uri().path()).into_response();
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        // RFC 9110 clause 12.5.3: say which encoding is accepted.
        let plain = HeaderValue::from_static("identity");
        response.headers_mut().insert(header::ACCEPT_ENCODING, plain);
    }
    Some(response)
}

/// Reports whether the head already announces a body longer than `len_max` bytes. A client that waits for `100
/// Continue` then gets the error instead and sends no body (RFC 9110 clause 10.1.1): the 100 is sent when the body is
/// first read.
pub fn is_too_long(body: &impl HttpBody, len_max: usize) -> bool {
    usize::try_from(body.size_hint().lower()).is_ok_and(|len| len > len_max)
}

/// Returns the fault of a malformed head or target; None when they are well-formed.
fn fault<B>(request: &http::Request<B>) -> Option<&'static str> {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    if hosts > 1 {
        return Some("the header Host stands more than once");
    }
    // RFC 9112 clause 3.2: Host is required, but not in HTTP/1.0.
    if hosts == 0 && request.version() == Version::HTTP_11 {
        return Some("the header Host is missing");
    }
    let differs = |authority: &Authority| {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        hosts.any(|host| !host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes()))
    };
    // RFC 9113 clause 8.3.1. In HTTP/1.1 the target counts, whatever Host says (RFC 9112 clause 3.2.2).
    if request.version() == Version::HTTP_2 && request.uri().authority().is_some_and(differs) {
        return Some("the header Host is not the :authority of the request");
    }
    // RFC 9110 clause 14.5: the body is a part of a value, and would be stored as the whole.
    if request.method() == Method::PUT && request.headers().contains_key(header::CONTENT_RANGE) {
        return Some("a PUT writes the whole, and this one has the header Content-Range");
    }
    let target = request.uri();
    let is_escaped = [target.path(), target.query().unwrap_or_default()].iter().all(is_escaped);
    let why = "a % in the URL is not followed by two hexadecimal digits: write %25 for it";
    (!is_escaped).then_some(why)
}

/// Reports whether every % begins an escape.
fn is_escaped(text: &&str) -> bool {
    let is_hex = |text: &str| text.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    text.split('%').skip(1).all(is_hex)
}

/// Reports whether the body has a transfer coding other than chunked (RFC 9112 clause 6.1). The HTTP library decodes
/// chunks and leaves other codings as they are.
fn is_transfer_coded<B>(request: &http::Request<B>) -> bool {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    codings.next().is_some_and(|coding| !is_chunked(coding)) || codings.next().is_some()
}

/// Reports whether the body is encoded, such as compressed.
fn is_coded<B>(request: &http::Request<B>) -> bool {
    let codings = request.headers().get_all(header::CONTENT_ENCODING);
    codings.iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_begins_an_escape_or_is_wrong() {
        for right in ["", "a", "%00", "%fFx%25", "a%2Fb"] {
            assert!(is_escaped(&right), "{right}");
        }
        for wrong in ["%", "%z", "%zz", "%2", "%2%35", "%%", "a%2", "%+1", "%\u{e9}"] {
            assert!(!is_escaped(&wrong), "{wrong}");
        }
    }
}
