//! Why a request is refused for what its headers say.

use super::correlation::CorrelationInfo;
use http::StatusCode;
use thiserror::Error;

/// A reason to refuse a request. The headers are all optional, so one that cannot be read never is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderFault {
    /// Its sender waits no more (TS 29.500 clause 6.11.2).
    #[error(
        "the sender of the request stopped waiting {late_ms} ms ago by its \
         3gpp-Sbi-Sender-Timestamp and 3gpp-Sbi-Max-Rsp-Time: send it again, and if it was in \
         time, synchronize the clocks"
    )]
    TimedOut {
        /// How long ago the sender stopped waiting, ms.
        late_ms: u64,
        /// The header that the answer gives back.
        correlation_info: Option<CorrelationInfo>,
    },
}

impl HeaderFault {
    /// Returns the status of the answer (TS 29.500 table 5.2.7.2-1).
    pub fn status(&self) -> StatusCode {
        match self {
            HeaderFault::TimedOut { .. } => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Returns the `cause` of the answer's ProblemDetails (TS 29.500 table 5.2.7.2-1).
    pub fn cause(&self) -> &'static str {
        match self {
            HeaderFault::TimedOut { .. } => "TIMED_OUT_REQUEST",
        }
    }
}
