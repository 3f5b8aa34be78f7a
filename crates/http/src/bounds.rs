//! Bounds and names that both versions of HTTP share.

use std::time::Duration;

/// Timeout of reading the head of a request, also of an idle connection of HTTP/1.1.
pub(crate) const HEAD_PATIENCE: Duration = Duration::from_secs(60);
/// Timeout of a client that reads nothing of its answer.
pub(crate) const TAKE_PATIENCE: Duration = Duration::from_secs(30);
/// Maximum length of the head of a request of HTTP/1.1, bytes.
pub(crate) const HEAD_LEN_MAX: usize = 128 * 1024;
/// Maximum number of headers of a request.
pub(crate) const HEADERS_MAX: usize = 64;
/// How long running requests may take after the door was stopped.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);

/// The protocol in the list of TLS (RFC 7301) that stands for HTTP/2.
pub(crate) const ALPN_HTTP2: &[u8] = b"h2";
/// The protocol in the list of TLS that stands for HTTP/1.1.
pub(crate) const ALPN_HTTP1: &[u8] = b"http/1.1";
