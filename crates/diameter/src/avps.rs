//! The AVPs of a message or of a group, one after the other. Lengths are checked here and nowhere else.

use crate::attribute::FLAG_VENDOR;
use crate::avp::Avp;
use crate::refusal::{FailedAvp, Refusal};
use crate::result_code::ResultCode;

/// Groups within groups that are read. Charging needs 5; more is an attack on the stack.
pub const GROUP_DEPTH_MAX: u8 = 8;

/// Length of the header of an AVP without vendor, bytes.
const HEAD_LEN: usize = 8;
/// Length of the header of an AVP with vendor, bytes.
const VENDOR_HEAD_LEN: usize = 12;

/// Iterator over AVPs. It ends after its first error.
#[derive(Clone, Copy, Debug)]
pub struct Avps<'a> {
    rest: &'a [u8],
    depth: u8,
}

impl<'a> Avps<'a> {
    /// Returns the AVPs that these bytes consist of; the bytes begin after a message's header.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Avps<'a> {
        Avps { rest: bytes, depth: 0 }
    }

    /// Returns the AVPs within a group.
    ///
    /// # Errors
    /// 5004 when the group is within too many others.
    #[inline]
    pub fn within(group: &Avp<'a>) -> Result<Avps<'a>, Refusal<'a>> {
        if group.depth + 1 >= GROUP_DEPTH_MAX {
            let text = "groups are within too many others";
            return Err(group.refuse(ResultCode::INVALID_AVP_VALUE, text));
        }
        Ok(Avps { rest: group.data, depth: group.depth + 1 })
    }

    /// Returns the number of bytes that are not read yet.
    #[must_use]
    pub fn rest_len(&self) -> usize {
        self.rest.len()
    }

    /// Ends the iteration with the refusal of a length that lies. It shows what can be read of the AVP's header.
    #[cold]
    fn lie(&mut self, text: &'static str) -> Refusal<'a> {
        let word = |at: usize| {
            let part = self.rest.get(at..).and_then(|rest| rest.first_chunk());
            part.map_or(0, |part| u32::from_be_bytes(*part))
        };
        let flags = self.rest.get(4).copied().unwrap_or_default();
        let vendor = if flags & FLAG_VENDOR == 0 { 0 } else { word(8) };
        let failed = Some(FailedAvp::Example { code: word(0), vendor, flags });
        self.rest = &[];
        Refusal { result: ResultCode::INVALID_AVP_LENGTH, failed, text }
    }
}

impl<'a> Iterator for Avps<'a> {
    type Item = Result<Avp<'a>, Refusal<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(head) = self.rest.first_chunk::<HEAD_LEN>() else {
            return Some(Err(self.lie("the bytes end within the header of an AVP")));
        };
        let code = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let flags = head[4];
        let len = u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize;
        let has_vendor = flags & FLAG_VENDOR != 0;
        let head_len = if has_vendor { VENDOR_HEAD_LEN } else { HEAD_LEN };
        if len < head_len {
            return Some(Err(self.lie("an AVP is shorter than its header")));
        }
        let Some((bytes, _)) = self.rest.split_at_checked(len) else {
            return Some(Err(self.lie("an AVP ends after its message or group")));
        };
        let vendor = match bytes.get(8..VENDOR_HEAD_LEN) {
            Some(vendor) if has_vendor => {
                u32::from_be_bytes([vendor[0], vendor[1], vendor[2], vendor[3]])
            }
            _ => 0,
        };
        // Some senders leave out the padding of the last AVP of a group.
        self.rest = self.rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        let data = bytes.get(head_len..).unwrap_or_default();
        Some(Ok(Avp { code, vendor, flags, depth: self.depth, bytes, data }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a Session-Id "ab;1" and a 3GPP Trigger-Type of 3.
    const TWO: [u8; 28] = [
        0, 0, 1, 7, 0x40, 0, 0, 12, b'a', b'b', b';', b'1', 0, 0, 3, 0x66, 0xc0, 0, 0, 16, 0, 0,
        0x28, 0xaf, 0, 0, 0, 3,
    ];

    fn codes(bytes: &[u8]) -> Result<Vec<(u32, u32, usize)>, Refusal<'_>> {
        let fields = |avp: Avp<'_>| (avp.code, avp.vendor, avp.data.len());
        Avps::new(bytes).map(|avp| avp.map(fields)).collect()
    }

    /// Returns the AVP that the refusal shows.
    fn shown(bytes: &[u8]) -> (u32, u32, u8) {
        let refusal = codes(bytes).expect_err("a length lies");
        assert_eq!(refusal.result, ResultCode::INVALID_AVP_LENGTH);
        match refusal.failed {
            Some(FailedAvp::Example { code, vendor, flags }) => (code, vendor, flags),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn avps_have_codes_vendors_and_data() {
        assert_eq!(codes(&TWO).as_deref(), Ok(&[(263, 0, 4), (870, 10_415, 4)][..]));
        let first = Avps::new(&TWO).next().expect("one").expect("no lie");
        assert_eq!((first.text(), first.bytes, first.flags), (Ok("ab;1"), &TWO[..12], 0x40));
        assert!(codes(&[]).expect("nothing").is_empty());
    }

    #[test]
    fn every_prefix_that_ends_within_an_avp_is_refused() {
        for len in 0..TWO.len() {
            assert_eq!(codes(&TWO[..len]).is_ok(), len == 0 || len == 12, "{len}");
        }
    }

    #[test]
    fn padding_is_passed_over_and_may_be_missing_at_the_end() {
        let padded = [0, 0, 0, 1, 0x40, 0, 0, 9, b'x', 9, 9, 9, 0, 0, 0, 2, 0, 0, 0, 8];
        assert_eq!(codes(&padded).as_deref(), Ok(&[(1, 0, 1), (2, 0, 0)][..]));
        for len in 9..=12 {
            assert_eq!(codes(&padded[..len]).as_deref(), Ok(&[(1, 0, 1)][..]), "{len}");
        }
    }

    #[test]
    fn lengths_that_lie_are_refused_with_what_can_be_read() {
        for (bytes, expected) in [
            (&[0, 0, 1][..], (0, 0, 0)),
            (&[0, 0, 1, 7][..], (263, 0, 0)),
            (&[0, 0, 1, 7, 0x40, 0, 0, 7][..], (263, 0, 0x40)),
            (&[0, 0, 1, 7, 0x40, 0, 0, 0][..], (263, 0, 0x40)),
            (&[0, 0, 1, 7, 0x40, 0, 0, 9][..], (263, 0, 0x40)),
            (&[0, 0, 1, 7, 0x40, 0xff, 0xff, 0xff][..], (263, 0, 0x40)),
            // Bytes after the header are no vendor without a V flag.
            (&[0, 0, 1, 7, 0x40, 0, 0, 99, 0, 0, 0x28, 0xaf][..], (263, 0, 0x40)),
            (&[0, 0, 1, 7, 0xc0, 0, 0, 99, 0, 0, 0x28, 0xaf][..], (263, 10_415, 0xc0)),
            // A V flag, and no room for a vendor.
            (&[0, 0, 3, 0x66, 0xc0, 0, 0, 8][..], (870, 0, 0xc0)),
            (&[0, 0, 3, 0x66, 0xc0, 0, 0, 12, 0, 0, 0x28][..], (870, 0, 0xc0)),
            (&[0, 0, 3, 0x66, 0xc0, 0, 0, 11, 0, 0, 0x28, 0xaf][..], (870, 10_415, 0xc0)),
        ] {
            assert_eq!(shown(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn an_error_ends_the_iteration() {
        let mut avps = Avps::new(&[0; 20]);
        assert!(avps.next().expect("a lie").is_err());
        assert!(avps.next().is_none() && avps.rest_len() == 0);
    }

    #[test]
    fn groups_are_read_to_a_bounded_depth() {
        let mut bytes = Vec::new();
        for depth in (1..=100_usize).rev() {
            bytes.extend_from_slice(&456_u32.to_be_bytes());
            bytes.extend_from_slice(&u32::try_from(8 * depth).expect("short").to_be_bytes());
        }
        let mut group = Avps::new(&bytes).next().expect("a group").expect("no lie");
        let mut depth = 1;
        let refusal = loop {
            match Avps::within(&group) {
                Ok(mut inner) => group = inner.next().expect("a group").expect("no lie"),
                Err(refusal) => break refusal,
            }
            depth += 1;
        };
        assert_eq!((depth, refusal.result), (8, ResultCode::INVALID_AVP_VALUE));
        assert_eq!(refusal.failed.map(|failed| failed.code_and_vendor()), Some((456, 0)));
    }

    #[test]
    fn a_group_ends_inside_an_avp() {
        let group = [0, 0, 1, 0xc8, 0x40, 0, 0, 18, 0, 0, 1, 0xb0, 0x40, 0, 0, 12, 0, 0, 0, 7];
        let group = Avps::new(&group).next().expect("a group").expect("no lie");
        let refusal = Avps::within(&group).expect("not deep").next().expect("an AVP");
        let failed = refusal.expect_err("it is cut").failed;
        assert_eq!(failed, Some(FailedAvp::Example { code: 432, vendor: 0, flags: 0x40 }));
    }
}
