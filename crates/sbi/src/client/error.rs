//! Calls that fail, in words.

use super::targets::TargetRefusal;
use super::uri::UriError;
use rustls::CertificateError;
use scurry_tls::tls_words;
use std::error::Error;
use std::io;

/// A call without an answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The URI cannot be called.
    #[error(transparent)]
    Uri(#[from] UriError),
    /// The target may not be called.
    #[error(transparent)]
    Refused(#[from] TargetRefusal),
    /// As many connections as there may be are in use.
    #[error("{0} connections are in use, and there may be no more: call again later")]
    Busy(usize),
    /// The name of the host has no address.
    #[error(
        "the name {host} has no address: {source}. Check the name, and the name servers of this machine"
    )]
    Resolve {
        /// The name.
        host: String,
        /// The system's error.
        source: io::Error,
    },
    /// No connection could be made.
    #[error("{target} cannot be reached: {source}")]
    Connect {
        /// Host and port.
        target: String,
        /// The system's error.
        source: io::Error,
    },
    /// The handshake of TLS failed.
    #[error("no TLS with {target}: {words}")]
    Tls {
        /// Host and port.
        target: String,
        /// What went wrong.
        words: String,
    },
    /// A connection took too long to be made.
    #[error("{target} did not take a connection within {ms} ms")]
    ConnectTimeout {
        /// Host and port.
        target: String,
        /// The limit.
        ms: u64,
    },
    /// The answer took too long.
    #[error("{target} did not answer within {ms} ms")]
    Timeout {
        /// Host and port.
        target: String,
        /// The limit.
        ms: u64,
    },
    /// The connection ended, or what came over it was no HTTP.
    #[error("{target} gave no answer: {words}")]
    Exchange {
        /// Host and port.
        target: String,
        /// What went wrong.
        words: String,
    },
    /// The body of the answer is too long.
    #[error("{target} answered {status} with more than {len_max} bytes")]
    TooLong {
        /// Host and port.
        target: String,
        /// Status of the answer.
        status: http::StatusCode,
        /// The limit.
        len_max: usize,
    },
}

impl CallError {
    /// Returns the kind of error, for labels of metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            CallError::Uri(_) => "uri",
            CallError::Refused(_) => "refused",
            CallError::Busy(_) => "busy",
            CallError::Resolve { .. } => "resolve",
            CallError::Connect { .. } | CallError::ConnectTimeout { .. } => "connect",
            CallError::Tls { .. } => "tls",
            CallError::Timeout { .. } => "timeout",
            CallError::Exchange { .. } => "exchange",
            CallError::TooLong { .. } => "too_long",
        }
    }

    /// Reports whether the same call can succeed later, without a change of settings or URI.
    pub const fn may_pass(&self) -> bool {
        !matches!(self, CallError::Uri(_) | CallError::Refused(_))
    }
}

/// Describes the error of a handshake.
pub(crate) fn handshake_words(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidMessage(_)) => {
            "the peer does not speak TLS: check scheme and port".to_owned()
        }
        // A bad signature is that of a CA with the name of a known one, and another key.
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => "its certificate is of an unknown CA: add the CA's to the CA file of this client"
            .to_owned(),
        Some(error) => tls_words(error),
        None => error.to_string(),
    }
}

/// Describes the error of an exchange.
pub(crate) fn exchange_words(error: &hyper::Error) -> String {
    let cause = causes(error).last().map(ToString::to_string).unwrap_or_default();
    let is_broken = |error: &h2::Error| error.is_library() && error.is_go_away();
    if causes(error).filter_map(|cause| cause.downcast_ref()).any(is_broken) {
        return format!("what it sent is no HTTP/2 ({cause})");
    }
    let words = error.to_string();
    if words == cause { words } else { format!("{words}: {cause}") }
}

/// Returns an error and its causes, the first cause last.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Reports whether the peer has surely not processed a request: RFC 9113, 8.7.
pub(crate) fn is_unprocessed(error: &hyper::Error) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref()).any(|error: &h2::Error| {
        // A graceful end fails only streams that are above the last one that the peer has taken.
        let is_end = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
        let is_refusal = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (is_end || is_refusal)
    })
}
