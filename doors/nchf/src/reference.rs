//! ChargingDataRef: the name of a charging data resource in its URI. It contains all that is needed to find the
//! session again, so that the door stores nothing.

use crate::units::UnitKind;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are percent-encoded in a path segment: all but the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The account, the session, and the preferred kind of unit: reports that could be read as several kinds are read as
/// this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) account: String,
    pub(crate) session: String,
    pub(crate) kind: UnitKind,
}

impl Reference {
    /// Returns the reference as a percent-encoded path segment, `account.session.kind`.
    pub(crate) fn segment(&self) -> String {
        let account = utf8_percent_encode(&self.account, ESCAPED);
        format!("{account}.{}.{}", self.session, self.kind.letter())
    }

    /// Parses a path segment that is already percent-decoded. Returns None if this door cannot have issued it.
    pub(crate) fn read(text: &str) -> Option<Reference> {
        // From the end, because an account id may contain dots.
        let mut parts = text.rsplitn(3, '.');
        let kind = UnitKind::of_letter(parts.next()?)?;
        let (session, account) = (parts.next()?, parts.next()?);
        let digits = session.strip_prefix("nchf-")?;
        let is_whole = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        (is_whole && !account.is_empty()).then(|| Reference {
            account: account.to_owned(),
            session: session.to_owned(),
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        for account in ["imsi-001010000000001", "nai-a.b@c.d", "a/b%2F?#"] {
            let session = format!("nchf-{:032x}", 7);
            let reference =
                Reference { account: account.to_owned(), session, kind: UnitKind::Time };
            let segment = reference.segment();
            assert!(!segment.contains(['/', '?', '#']), "{segment}");
            let plain = percent_encoding::percent_decode_str(&segment).decode_utf8_lossy();
            assert_eq!(Reference::read(&plain), Some(reference));
        }
        for wrong in ["", "x", "a.nchf-7.v", "a.nchf-00000000000000000000000000000007.x", "..v"] {
            assert_eq!(Reference::read(wrong), None, "{wrong}");
        }
    }
}
