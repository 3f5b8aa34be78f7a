//! Why a request is refused, with enough to write the answer: the Result-Code, and the AVP that is at fault.

use crate::attribute::Attribute;
use crate::dictionary::find;
use crate::result_code::ResultCode;
use std::fmt;

/// The AVP that a Failed-AVP shows: RFC 6733, 7.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedAvp<'a> {
    /// The AVP as it was received: its bytes without padding.
    Received(&'a [u8]),
    /// An example with data of zeros, of the least length of its type: the AVP is missing, or its length lies.
    Example {
        /// Its code.
        code: u32,
        /// Its vendor.
        vendor: u32,
        /// Its flags.
        flags: u8,
    },
}

impl FailedAvp<'_> {
    /// Returns code and vendor.
    #[must_use]
    pub fn code_and_vendor(&self) -> (u32, u32) {
        match *self {
            FailedAvp::Example { code, vendor, .. } => (code, vendor),
            FailedAvp::Received(bytes) => {
                let word = |at: usize| {
                    let part = bytes.get(at..).and_then(|rest| rest.first_chunk());
                    part.map_or(0, |part| u32::from_be_bytes(*part))
                };
                let has_vendor = bytes.get(4).is_some_and(|flags| flags & 0x80 != 0);
                (word(0), if has_vendor { word(8) } else { 0 })
            }
        }
    }
}

/// A request that is refused. It is a value: the sender gets an answer that is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// The Result-Code of the answer.
    pub result: ResultCode,
    /// The AVP at fault.
    pub failed: Option<FailedAvp<'a>>,
    /// What happened, for Error-Message.
    pub text: &'static str,
}

impl<'a> Refusal<'a> {
    /// Creates a refusal that concerns no AVP.
    #[must_use]
    pub const fn new(result: ResultCode, text: &'static str) -> Refusal<'static> {
        Refusal { result, failed: None, text }
    }

    /// Creates a refusal that shows an AVP as it was received, from its bytes.
    #[must_use]
    pub const fn received(result: ResultCode, avp: &'a [u8], text: &'static str) -> Refusal<'a> {
        Refusal { result, failed: Some(FailedAvp::Received(avp)), text }
    }

    /// Creates the refusal for an AVP that is missing.
    #[must_use]
    pub const fn missing(attribute: Attribute) -> Refusal<'static> {
        Refusal::about(ResultCode::MISSING_AVP, attribute, "an AVP is missing")
    }

    /// Creates a refusal that shows an example of an AVP, without its value.
    #[must_use]
    pub const fn about(
        result: ResultCode,
        attribute: Attribute,
        text: &'static str,
    ) -> Refusal<'static> {
        let (Attribute { code, vendor, .. }, flags) = (attribute, attribute.flags());
        Refusal { result, failed: Some(FailedAvp::Example { code, vendor, flags }), text }
    }
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.result.0)?;
        let Some(failed) = self.failed else { return Ok(()) };
        let (code, vendor) = failed.code_and_vendor();
        match find(vendor, code) {
            Some(known) => write!(f, ": {}", known.name),
            None if vendor == 0 => write!(f, ": AVP {code}"),
            None => write!(f, ": AVP {code} of vendor {vendor}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::{SERVICE_CONTEXT_ID, TRIGGER};

    #[test]
    fn refusals_say_what_and_which_avp() {
        let plain = Refusal::new(ResultCode::COMMAND_UNSUPPORTED, "the command is not known");
        assert_eq!(plain.to_string(), "the command is not known (3001)");
        let missing = Refusal::missing(SERVICE_CONTEXT_ID);
        assert_eq!(missing.to_string(), "an AVP is missing (5005): Service-Context-Id");
        let example = FailedAvp::Example { code: 461, vendor: 0, flags: 0x40 };
        assert_eq!(missing.failed, Some(example));
        assert_eq!(Refusal::missing(TRIGGER).to_string(), "an AVP is missing (5005): Trigger");
        let cisco = [0, 0, 0, 131, 0xc0, 0, 0, 12, 0, 0, 0, 9];
        let unknown = Refusal::received(ResultCode::AVP_UNSUPPORTED, &cisco, "an AVP is unknown");
        assert_eq!(unknown.to_string(), "an AVP is unknown (5001): AVP 131 of vendor 9");
        let short = Refusal::received(ResultCode::INVALID_AVP_LENGTH, &[0, 0], "cut");
        assert_eq!(short.to_string(), "cut (5014): AVP 0");
    }
}
