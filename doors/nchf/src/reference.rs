//! ChargingDataRef: the name of a charging data resource in its URI. It contains all that is needed to find the
//! session again and to number its requests, so that the door stores nothing.

use crate::session_name::SessionName;
use crate::units::UnitKind;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are percent-encoded in a path segment: all but the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A charging data resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) account: String,
    pub(crate) session: SessionName,
    /// Reports that could be read as several kinds are read as this one.
    pub(crate) kind: UnitKind,
    /// invocationSequenceNumber of the Create.
    pub(crate) number: u32,
}

impl Reference {
    /// Returns the reference as a percent-encoded path segment, `account.session.kind.number`.
    pub(crate) fn segment(&self) -> String {
        let account = utf8_percent_encode(&self.account, ESCAPED);
        format!("{account}.{}.{}.{}", self.session.id(), self.kind.letter(), self.number)
    }

    /// Parses a path segment that is already percent-decoded. Returns None if this door cannot have issued it.
    pub(crate) fn read(text: &str) -> Option<Reference> {
        // From the end, because an account id may contain dots.
        let mut parts = text.rsplitn(4, '.');
        let number = parts.next()?.parse().ok()?;
        let kind = UnitKind::of_letter(parts.next()?)?;
        let session = SessionName::read(parts.next()?)?;
        let account = parts.next().filter(|account| !account.is_empty())?.to_owned();
        Some(Reference { account, session, kind, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        let id = format!("nchf-{:032x}-19b76e2f400", 7);
        for account in ["imsi-001010000000001", "nai-a.b@c.d", "a/b%2F?#"] {
            let session = SessionName::read(&id).expect("a name");
            let (account, kind) = (account.to_owned(), UnitKind::Time);
            let reference = Reference { account, session, kind, number: 7 };
            let segment = reference.segment();
            assert!(!segment.contains(['/', '?', '#']), "{segment}");
            let plain = percent_encoding::percent_decode_str(&segment).decode_utf8_lossy();
            assert_eq!(Reference::read(&plain), Some(reference));
        }
        for wrong in ["", "x", "a.nchf-7-0.v.0", ".x.v.0"] {
            assert_eq!(Reference::read(wrong), None, "{wrong}");
        }
        for wrong in [".{}.v.0", "a.{}.x.0", "a.{}.v.-1", "a.{}.v", "a.{}0g.v.0", "a.+{}.v.0"] {
            assert_eq!(Reference::read(&wrong.replace("{}", &id)), None, "{wrong}");
        }
    }
}
