//! A log of client errors that cannot flood: the first error of a kind is logged, after that at most one line a minute,
//! with the number of errors that were not logged.

use axum::http::StatusCode;
use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an error of a kind is not logged again.
const QUIET: Duration = Duration::from_secs(60);

/// A kind of client error. There are few kinds, so the memory for them is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientFault {
    /// A request that was answered with this status.
    Refused(StatusCode),
    /// The bytes are not a request of HTTP/1.1.
    NotHttp,
    /// The client broke the rules of HTTP/2.
    BreaksHttp2,
    /// The client sent frames of HTTP/2 again and again, and no requests.
    Floods,
    /// The client cancelled requests of HTTP/2 again and again.
    CancelsTooOften,
    /// The head has too many headers or too many bytes.
    HeadTooLarge,
    /// The client disconnected before its request was complete or answered.
    WentAway,
    /// The TLS handshake failed.
    NoTls,
}

impl ClientFault {
    /// Returns the client error that an answer shows; None when the client did nothing wrong. `is_lost`: the path is
    /// unknown.
    pub(crate) fn of_answer(status: StatusCode, is_lost: bool) -> Option<ClientFault> {
        let is_wrong = matches!(
            status,
            StatusCode::BAD_REQUEST
                | StatusCode::UNAUTHORIZED
                | StatusCode::METHOD_NOT_ALLOWED
                | StatusCode::MISDIRECTED_REQUEST
                | StatusCode::REQUEST_TIMEOUT
                | StatusCode::PAYLOAD_TOO_LARGE
                | StatusCode::UNSUPPORTED_MEDIA_TYPE
        );
        (is_wrong || is_lost && status == StatusCode::NOT_FOUND)
            .then_some(ClientFault::Refused(status))
    }

    /// Returns the client error that ended a connection; None when it is not worth a line. A timeout is not one: the
    /// client may just have been idle.
    pub(crate) fn of_end(error: &(dyn Error + 'static)) -> Option<ClientFault> {
        let error = error.downcast_ref::<hyper::Error>()?;
        if error.is_parse_too_large() {
            Some(ClientFault::HeadTooLarge)
        } else if error.is_parse() {
            Some(ClientFault::NotHttp)
        } else if error.is_incomplete_message() {
            Some(ClientFault::WentAway)
        } else {
            None
        }
    }

    /// Returns the text of the log line.
    fn text(self) -> &'static str {
        match self {
            ClientFault::Refused(_) => "a request was refused",
            ClientFault::NotHttp => "a client does not speak HTTP/1.1",
            ClientFault::BreaksHttp2 => "a client broke the rules of HTTP/2",
            ClientFault::Floods => "a client of HTTP/2 sent too much that is no request",
            ClientFault::CancelsTooOften => "a client of HTTP/2 cancelled too many requests",
            ClientFault::HeadTooLarge => "the head of a request is too large",
            ClientFault::WentAway => "a client went away in the middle of a request",
            ClientFault::NoTls => "a client did not agree on TLS",
        }
    }
}

/// When each kind was logged last, and how often it has happened since.
#[derive(Default)]
pub(crate) struct ClientFaultLog(Mutex<BTreeMap<ClientFault, ClientLog>>);

struct ClientLog {
    at: Instant,
    since: u64,
}

impl ClientFaultLog {
    /// Logs the error, or counts it.
    #[expect(clippy::disallowed_methods, reason = "how often something is logged decides nothing")]
    pub(crate) fn tell(&self, misdeed: ClientFault, client: Option<SocketAddr>) {
        let Some(untold) = self.note(misdeed, Instant::now()) else { return };
        let status = match misdeed {
            ClientFault::Refused(status) => Some(status.as_u16()),
            _ => None,
        };
        let client = client.map(tracing::field::display);
        tracing::info!(status, client, untold, "{}", misdeed.text());
    }

    /// Returns how many were not logged since the last line; None when this one is not to be logged either.
    fn note(&self, misdeed: ClientFault, now: Instant) -> Option<u64> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match told.get_mut(&misdeed) {
            Some(last) if now.duration_since(last.at) < QUIET => {
                last.since += 1;
                None
            }
            last => {
                let untold = last.map_or(0, |last| last.since);
                told.insert(misdeed, ClientLog { at: now, since: 0 });
                Some(untold)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a beginning, from which the test counts")]
    fn a_kind_is_told_when_it_begins_and_once_a_minute_then() {
        let misdeeds = ClientFaultLog::default();
        let begin = Instant::now();
        assert_eq!(misdeeds.note(ClientFault::NotHttp, begin), Some(0));
        for ms in 1..1_000 {
            let now = begin + Duration::from_millis(ms);
            assert_eq!(misdeeds.note(ClientFault::NotHttp, now), None);
        }
        let other = ClientFault::Refused(StatusCode::BAD_REQUEST);
        assert_eq!(misdeeds.note(other, begin), Some(0), "each kind has its own time");
        assert_eq!(misdeeds.note(ClientFault::NotHttp, begin + QUIET), Some(999));
        assert_eq!(misdeeds.note(ClientFault::NotHttp, begin + QUIET), None);
        assert_eq!(misdeeds.note(ClientFault::NotHttp, begin + 2 * QUIET), Some(1));
    }

    #[test]
    fn what_a_store_or_a_balance_refuses_is_no_misdeed() {
        for (status, is_lost, is_told) in [
            (200, false, false),
            (400, false, true),
            (402, false, false),
            (404, false, false),
            (404, true, true),
            (409, false, false),
            (413, false, true),
            (503, false, false),
            (504, false, false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(ClientFault::of_answer(status, is_lost).is_some(), is_told, "{status}");
        }
    }
}
