//! 3gpp-Sbi-Correlation-Info: whom a message is about, for tools that follow a subscriber through the network.

use http::HeaderValue;

/// Bytes of the header at most; a longer one is not given back.
pub const CORRELATION_INFO_LEN_MAX: usize = 512;

/// The header as it was received (TS 29.500 clauses 5.2.3.3.4 and 6.13.2): `imsi-001010000000001; msisdn-491701234567`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorrelationInfo(HeaderValue);

impl CorrelationInfo {
    /// Returns the header as it is given back.
    pub fn value(&self) -> &HeaderValue {
        &self.0
    }

    /// Reads the header. A type may have dashes itself, so only the form is checked: parts of a type, a dash and a
    /// value, with semicolons between.
    pub(crate) fn read(text: &[u8]) -> Result<CorrelationInfo, &'static str> {
        if text.len() > CORRELATION_INFO_LEN_MAX {
            return Err("it has more than 512 bytes");
        }
        let is_part = |part: &[u8]| {
            let dash = part.iter().position(|byte| *byte == b'-');
            let has_both = dash.is_some_and(|dash| dash > 0 && dash + 1 < part.len());
            has_both && part.iter().all(|byte| is_value(*byte))
        };
        // Spaces are allowed after a semicolon, not before it.
        if !text.split(|byte| *byte == b';').all(|part| is_part(part.trim_ascii_start())) {
            return Err("its parts are not each a type, a dash and a value");
        }
        HeaderValue::from_bytes(text).map(CorrelationInfo).map_err(|_| "it is no header value")
    }
}

/// Reports whether a value may have this byte: those of a token (RFC 9110 section 5.6.2), and `@`.
fn is_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~@".contains(&byte)
}
