//! Names of the headers, in small letters as HTTP/2 sends them (RFC 9113 section 8.2).

use http::HeaderName;

/// TS 29.500 clause 5.2.3.2.2.
pub const MESSAGE_PRIORITY: HeaderName = HeaderName::from_static("3gpp-sbi-message-priority");

/// TS 29.500 clause 5.2.3.2.3.
pub const CALLBACK: HeaderName = HeaderName::from_static("3gpp-sbi-callback");

/// TS 29.500 clause 5.2.3.3.2.
pub const SENDER_TIMESTAMP: HeaderName = HeaderName::from_static("3gpp-sbi-sender-timestamp");

/// TS 29.500 clause 5.2.3.3.3.
pub const MAX_RSP_TIME: HeaderName = HeaderName::from_static("3gpp-sbi-max-rsp-time");

/// TS 29.500 clause 5.2.3.3.4.
pub const CORRELATION_INFO: HeaderName = HeaderName::from_static("3gpp-sbi-correlation-info");
