//! The body of an answer over HTTP/2. The library asks for a part when the client has room for the part before, so parts
//! that are small show whether the client still reads.

use super::activity::RunningRequest;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Maximum length of a part, bytes: a DATA frame of any client may have as many.
pub(super) const PART_LEN_MAX: usize = 16 * 1024;

/// A body that is handed over in parts.
pub(super) struct AnswerBody {
    body: Body,
    /// What is left of the last piece of the body.
    rest: Bytes,
    request: RunningRequest,
}

impl AnswerBody {
    pub(super) fn new(body: Body, request: RunningRequest) -> AnswerBody {
        AnswerBody { body, rest: Bytes::new(), request }
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.request.set_waiting(false);
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let len = self.rest.len().min(PART_LEN_MAX);
        let part = self.rest.split_to(len);
        self.request.set_waiting(true);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, hint) = (self.rest.len() as u64, self.body.size_hint());
        let mut whole = SizeHint::new();
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper.saturating_add(rest));
        }
        whole.set_lower(hint.lower().saturating_add(rest));
        whole
    }
}
