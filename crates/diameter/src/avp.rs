//! One AVP of a message, borrowed from it, and typed reads of its data: RFC 6733, 4.

use crate::attribute::{Attribute, FLAG_MANDATORY};
use crate::dictionary::find;
use crate::refusal::Refusal;
use crate::result_code::ResultCode;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Seconds from 1900, where times of Diameter begin, to 1970.
const UNIX_EPOCH_S: i64 = 2_208_988_800;

/// An AVP. Its length is right; its data are read by the methods, each of which refuses another length than its type
/// has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avp<'a> {
    /// Its code.
    pub code: u32,
    /// Its vendor; 0 without a vendor field.
    pub vendor: u32,
    /// Its flags.
    pub flags: u8,
    /// Groups that this AVP is within.
    pub(crate) depth: u8,
    /// Header and data, without padding.
    pub bytes: &'a [u8],
    /// Its data, without padding.
    pub data: &'a [u8],
}

impl<'a> Avp<'a> {
    /// Reports whether this is the AVP of that name.
    #[must_use]
    pub fn is(&self, attribute: Attribute) -> bool {
        self.code == attribute.code && self.vendor == attribute.vendor
    }

    /// Reports whether the M flag is set.
    #[must_use]
    pub fn is_mandatory(&self) -> bool {
        self.flags & FLAG_MANDATORY != 0
    }

    /// Returns a refusal that shows this AVP.
    #[must_use]
    #[cold]
    pub fn refuse(&self, result: ResultCode, text: &'static str) -> Refusal<'a> {
        Refusal::received(result, self.bytes, text)
    }

    /// Returns the refusal of a value that is not allowed.
    #[must_use]
    #[cold]
    pub fn invalid(&self) -> Refusal<'a> {
        self.refuse(ResultCode::INVALID_AVP_VALUE, "an AVP has a value that is not allowed")
    }

    /// Passes over an AVP that is not read here.
    ///
    /// # Errors
    /// 5001 when its M flag is set and the dictionary does not have it: RFC 6733, 4.1.
    pub fn pass_over(&self) -> Result<(), Refusal<'a>> {
        if self.is_mandatory() && find(self.vendor, self.code).is_none() {
            let text = "an AVP with the M flag is not known";
            return Err(self.refuse(ResultCode::AVP_UNSUPPORTED, text));
        }
        Ok(())
    }

    fn array<const N: usize>(&self) -> Result<[u8; N], Refusal<'a>> {
        <[u8; N]>::try_from(self.data).map_err(|_| {
            self.refuse(ResultCode::INVALID_AVP_LENGTH, "an AVP has another length than its type")
        })
    }

    /// Reads an Unsigned32, or an Enumerated without negative values.
    ///
    /// # Errors
    /// 5014 when the data have not 4 bytes.
    #[inline]
    pub fn u32(&self) -> Result<u32, Refusal<'a>> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads an Integer32 or an Enumerated.
    ///
    /// # Errors
    /// 5014 when the data have not 4 bytes.
    #[inline]
    pub fn i32(&self) -> Result<i32, Refusal<'a>> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads an Unsigned64.
    ///
    /// # Errors
    /// 5014 when the data have not 8 bytes.
    #[inline]
    pub fn u64(&self) -> Result<u64, Refusal<'a>> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads an Integer64.
    ///
    /// # Errors
    /// 5014 when the data have not 8 bytes.
    #[inline]
    pub fn i64(&self) -> Result<i64, Refusal<'a>> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads a UTF8String.
    ///
    /// # Errors
    /// 5004 when the data are not UTF-8.
    pub fn text(&self) -> Result<&'a str, Refusal<'a>> {
        std::str::from_utf8(self.data).map_err(|_| self.invalid())
    }

    /// Reads a DiameterIdentity: a host or a realm.
    ///
    /// # Errors
    /// 5014 when it is empty, 5004 when it has other characters than printable ASCII.
    pub fn identity(&self) -> Result<&'a str, Refusal<'a>> {
        if self.data.is_empty() {
            return Err(self.refuse(ResultCode::INVALID_AVP_LENGTH, "an identity is empty"));
        }
        let text = self.text()?;
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(text)
        } else {
            Err(self.invalid())
        }
    }

    /// Reads a Time. Returns seconds since 1970; seconds below the year 1968 are those after 2036: RFC 6733, 4.3.1.
    ///
    /// # Errors
    /// 5014 when the data have not 4 bytes.
    pub fn time(&self) -> Result<i64, Refusal<'a>> {
        let seconds = self.u32()?;
        let era = if seconds < 1 << 31 { 1_i64 << 32 } else { 0 };
        Ok(i64::from(seconds) + era - UNIX_EPOCH_S)
    }

    /// Reads an Address of IPv4 or IPv6; `None` for other families.
    ///
    /// # Errors
    /// 5014 when the data have another length than their family.
    pub fn address(&self) -> Result<Option<IpAddr>, Refusal<'a>> {
        let wrong = || self.refuse(ResultCode::INVALID_AVP_LENGTH, "an address has a wrong length");
        let (family, address) = self.data.split_first_chunk::<2>().ok_or_else(wrong)?;
        match u16::from_be_bytes(*family) {
            1 => {
                let octets = <[u8; 4]>::try_from(address).map_err(|_| wrong())?;
                Ok(Some(IpAddr::V4(Ipv4Addr::from(octets))))
            }
            2 => {
                let octets = <[u8; 16]>::try_from(address).map_err(|_| wrong())?;
                Ok(Some(IpAddr::V6(Ipv6Addr::from(octets))))
            }
            _ => Ok(None),
        }
    }
}

/// Returns the number that a Time has for seconds since 1970: the low 32 bits of seconds since 1900.
#[must_use]
pub fn time_of_unix(seconds: i64) -> u32 {
    let low = (seconds.wrapping_add(UNIX_EPOCH_S)).to_be_bytes();
    u32::from_be_bytes([low[4], low[5], low[6], low[7]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avps::Avps;

    fn with(data: &[u8], check: impl FnOnce(&Avp<'_>)) {
        let mut bytes = vec![0, 0, 1, 7, 0x40, 0, 0, u8::try_from(8 + data.len()).expect("short")];
        bytes.extend_from_slice(data);
        check(&Avps::new(&bytes).next().expect("an AVP").expect("no lie"));
    }

    fn code<T>(read: Result<T, Refusal<'_>>) -> Option<u32> {
        read.err().map(|refusal| refusal.result.0)
    }

    #[test]
    fn numbers_have_the_length_of_their_type() {
        for len in 0..=17_usize {
            with(&vec![0xff; len], |avp| {
                let (four, eight) = ((len != 4).then_some(5014), (len != 8).then_some(5014));
                assert_eq!([code(avp.u32()), code(avp.i32()), code(avp.time())], [four; 3]);
                assert_eq!([code(avp.u64()), code(avp.i64())], [eight; 2]);
            });
        }
        with(&[0xff, 0xff, 0xff, 0xfe], |avp| {
            assert_eq!((avp.u32(), avp.i32()), (Ok(0xffff_fffe), Ok(-2)));
        });
        with(&[0x80, 0, 0, 0, 0, 0, 0, 1], |avp| {
            assert_eq!((avp.u64(), avp.i64()), (Ok((1 << 63) + 1), Ok(i64::MIN + 1)));
        });
    }

    #[test]
    fn texts_are_utf8_and_identities_are_ascii() {
        for (data, text, identity) in [
            (&b"gw.example"[..], None, None),
            (b"", None, Some(5014)),
            (b"a b", None, Some(5004)),
            ("\u{e9}".as_bytes(), None, Some(5004)),
            (b"\xff", Some(5004), Some(5004)),
        ] {
            with(data, |avp| {
                assert_eq!((code(avp.text()), code(avp.identity())), (text, identity), "{data:?}");
            });
        }
    }

    #[test]
    fn times_wrap_in_2036() {
        for (data, seconds) in [
            ([0xdb, 0xba, 0x4c, 0x9a], 1_477_430_810),
            ([0x83, 0xaa, 0x7e, 0x80], 0),
            ([0xff, 0xff, 0xff, 0xff], 2_085_978_495),
            ([0, 0, 0, 0], 2_085_978_496),
            ([0x80, 0, 0, 0], -61_505_152),
            ([0x7f, 0xff, 0xff, 0xff], 4_233_462_143),
        ] {
            with(&data, |avp| assert_eq!(avp.time(), Ok(seconds)));
            assert_eq!(time_of_unix(seconds).to_be_bytes(), data);
        }
    }

    #[test]
    fn addresses_have_the_length_of_their_family() {
        for (data, expected) in [
            (&[0, 1, 10, 0, 0, 1][..], Ok(Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))))),
            (
                &[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
                Ok(Some(IpAddr::V6(Ipv6Addr::LOCALHOST))),
            ),
            (&[0, 8, b'1', b'5'], Ok(None)),
            (&[0, 1, 10, 0, 0], Err(5014)),
            (&[0, 2, 10, 0, 0, 1], Err(5014)),
            (&[0], Err(5014)),
        ] {
            with(data, |avp| {
                assert_eq!(avp.address().map_err(|refusal| refusal.result.0), expected);
            });
        }
    }

    #[test]
    fn unknown_avps_are_refused_only_with_the_m_flag() {
        let mut bytes = [0, 0, 0, 131, 0xc0, 0, 0, 12, 0, 0, 0, 9];
        for (flags, vendor, expected) in
            [(0xc0, 9, Some(5001)), (0x80, 9, None), (0xc0, 193, Some(5001)), (0xa0, 193, None)]
        {
            (bytes[4], bytes[11]) = (flags, vendor);
            let avp = Avps::new(&bytes).next().expect("an AVP").expect("no lie");
            assert_eq!(code(avp.pass_over()), expected);
        }
    }
}
