//! Writes messages at the end of a caller's buffer, without a tree: lengths of the message and of groups are filled in
//! when they end. AVPs get the flags of their specification.

use crate::attribute::{Attribute, FLAG_VENDOR};
use crate::avp::time_of_unix;
use crate::frame::MESSAGE_LEN_MAX;
use crate::header::{HEADER_LEN, Header};
use std::net::IpAddr;

/// A message that is being written. [`MessageWriter::finish`] ends it.
#[derive(Debug)]
#[must_use = "a message needs its length: call finish"]
pub struct MessageWriter<'w> {
    out: &'w mut Vec<u8>,
    start: usize,
    header: Header,
}

impl<'w> MessageWriter<'w> {
    /// Begins a message.
    pub fn begin(out: &'w mut Vec<u8>, header: Header) -> MessageWriter<'w> {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_LEN]);
        MessageWriter { out, start, header }
    }

    /// Ends the message. Returns its length, bytes.
    ///
    /// # Panics
    /// If the message is longer than its header can say: 16 MiB.
    pub fn finish(self) -> usize {
        let len = self.out.len() - self.start;
        assert!(len.is_multiple_of(4) && len <= MESSAGE_LEN_MAX, "a message of {len} bytes");
        let head = self.header.encode(u32::try_from(len).expect("24 bits"));
        self.out[self.start..self.start + HEADER_LEN].copy_from_slice(&head);
        len
    }

    /// Writes the header of an AVP with this many bytes of data.
    fn head(&mut self, attribute: Attribute, data_len: usize) {
        self.head_with_flags(attribute.code, attribute.vendor, attribute.flags(), data_len);
    }

    fn head_with_flags(&mut self, code: u32, vendor: u32, flags: u8, data_len: usize) {
        let head_len = if flags & FLAG_VENDOR == 0 { 8 } else { 12 };
        let len = length_field(head_len + data_len);
        let mut head = [0; 12];
        head[..4].copy_from_slice(&code.to_be_bytes());
        head[4..8].copy_from_slice(&len);
        head[4] = flags;
        head[8..].copy_from_slice(&vendor.to_be_bytes());
        self.out.extend_from_slice(&head[..head_len]);
    }

    fn number<const N: usize>(&mut self, attribute: Attribute, data: [u8; N]) {
        self.head(attribute, N);
        self.out.extend_from_slice(&data);
    }

    /// Writes an Unsigned32 or an Enumerated.
    pub fn u32(&mut self, attribute: Attribute, value: u32) {
        self.number(attribute, value.to_be_bytes());
    }

    /// Writes an Integer32.
    pub fn i32(&mut self, attribute: Attribute, value: i32) {
        self.number(attribute, value.to_be_bytes());
    }

    /// Writes an Unsigned64.
    pub fn u64(&mut self, attribute: Attribute, value: u64) {
        self.number(attribute, value.to_be_bytes());
    }

    /// Writes an Integer64.
    pub fn i64(&mut self, attribute: Attribute, value: i64) {
        self.number(attribute, value.to_be_bytes());
    }

    /// Writes an OctetString, a UTF8String or a DiameterIdentity.
    pub fn bytes(&mut self, attribute: Attribute, data: &[u8]) {
        self.head(attribute, data.len());
        self.out.extend_from_slice(data);
        self.pad();
    }

    /// Writes a Time from seconds since 1970.
    pub fn time(&mut self, attribute: Attribute, seconds: i64) {
        self.u32(attribute, time_of_unix(seconds));
    }

    /// Writes an Address.
    pub fn address(&mut self, attribute: Attribute, address: IpAddr) {
        let mut data = [0; 18];
        let len = match address {
            IpAddr::V4(address) => {
                data[1] = 1;
                data[2..6].copy_from_slice(&address.octets());
                6
            }
            IpAddr::V6(address) => {
                data[1] = 2;
                data[2..].copy_from_slice(&address.octets());
                18
            }
        };
        self.bytes(attribute, &data[..len]);
    }

    /// Writes a group; `write` writes the AVPs within it.
    ///
    /// # Panics
    /// If the group is longer than its header can say: 16 MiB.
    pub fn group(&mut self, attribute: Attribute, write: impl FnOnce(&mut Self)) {
        let start = self.out.len();
        self.head(attribute, 0);
        write(self);
        let len = self.out.len() - start;
        assert!(len.is_multiple_of(4), "a group of {len} bytes");
        self.out[start + 5..start + 8].copy_from_slice(&length_field(len)[1..]);
    }

    /// Writes an AVP that was received, from its bytes without padding.
    pub fn copy(&mut self, avp: &[u8]) {
        self.out.extend_from_slice(avp);
        self.pad();
    }

    /// Writes AVPs that are already encoded and padded.
    pub(crate) fn encoded(&mut self, avps: &[u8]) {
        self.out.extend_from_slice(avps);
    }

    /// Writes an AVP of any code and flags with data of zeros.
    pub(crate) fn zeros(&mut self, code: u32, vendor: u32, flags: u8, data_len: usize) {
        self.head_with_flags(code, vendor, flags, data_len);
        self.out.resize(self.out.len() + data_len, 0);
        self.pad();
    }

    fn pad(&mut self) {
        let len = self.out.len() - self.start;
        self.out.extend_from_slice(&[0; 3][..len.next_multiple_of(4) - len]);
    }
}

/// Returns the length of an AVP as four bytes, the first of which is 0.
///
/// # Panics
/// If it needs more than 24 bits.
fn length_field(len: usize) -> [u8; 4] {
    assert!(len <= MESSAGE_LEN_MAX, "an AVP of {len} bytes");
    u32::try_from(len).expect("24 bits").to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::{
        HOST_IP_ADDRESS, MULTIPLE_SERVICES_CREDIT_CONTROL, PRODUCT_NAME, RATING_GROUP, TRIGGER,
        TRIGGER_TYPE,
    };
    use crate::header::{Flags, application, command};
    use std::net::Ipv4Addr;

    const HEADER: Header = Header {
        flags: Flags::PROXIABLE_REQUEST,
        command: command::CREDIT_CONTROL,
        application: application::CREDIT_CONTROL,
        hop_by_hop: 1,
        end_to_end: 2,
    };

    #[test]
    fn messages_have_the_bytes_of_the_standard() {
        let mut out = vec![9];
        let mut writer = MessageWriter::begin(&mut out, HEADER);
        writer.bytes(PRODUCT_NAME, b"Scurry");
        writer.address(HOST_IP_ADDRESS, IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
        writer.group(MULTIPLE_SERVICES_CREDIT_CONTROL, |writer| {
            writer.u32(RATING_GROUP, 7);
            writer.group(TRIGGER, |writer| writer.i32(TRIGGER_TYPE, -1));
        });
        writer.copy(&[0, 0, 0, 1, 0x40, 0, 0, 9, b'x']);
        writer.zeros(418, 9, FLAG_VENDOR, 2);
        assert_eq!(writer.finish(), out.len() - 1);
        #[rustfmt::skip]
        let expected = [
            9,
            1, 0, 0, 128, 0xc0, 0, 1, 0x10, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2,
            0, 0, 1, 13, 0, 0, 0, 14, b'S', b'c', b'u', b'r', b'r', b'y', 0, 0,
            0, 0, 1, 1, 0x40, 0, 0, 14, 0, 1, 10, 0, 0, 1, 0, 0,
            0, 0, 1, 0xc8, 0x40, 0, 0, 48,
                0, 0, 1, 0xb0, 0x40, 0, 0, 12, 0, 0, 0, 7,
                0, 0, 4, 0xf0, 0xc0, 0, 0, 28, 0, 0, 0x28, 0xaf,
                    0, 0, 3, 0x66, 0xc0, 0, 0, 16, 0, 0, 0x28, 0xaf, 0xff, 0xff, 0xff, 0xff,
            0, 0, 0, 1, 0x40, 0, 0, 9, b'x', 0, 0, 0,
            0, 0, 1, 0xa2, 0x80, 0, 0, 14, 0, 0, 0, 9, 0, 0, 0, 0,
        ];
        assert_eq!(out, expected);
    }
}
