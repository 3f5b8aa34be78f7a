//! Short and long identifiers, held in place so that an account can be copied without a heap.

use crate::limits::{ID_LEN_MAX, NAME_LEN_MAX};
use core::fmt;

/// True for what an id may be made of: printable ASCII without space.
fn printable(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| (0x21..=0x7e).contains(b))
}

/// A unit, bucket, counter or identity kind: 1 to 16 bytes of printable ASCII.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name([u8; NAME_LEN_MAX]);

impl Name {
    /// Checks and copies; none when it is empty, too long, or not printable ASCII.
    pub fn new(bytes: &[u8]) -> Option<Name> {
        if bytes.is_empty() || bytes.len() > NAME_LEN_MAX || !printable(bytes) {
            return None;
        }
        let mut name = [0; NAME_LEN_MAX];
        name[..bytes.len()].copy_from_slice(bytes);
        Some(Name(name))
    }

    /// The same from the first `len` of 16 bytes, for codecs: no loop and no call.
    #[inline]
    pub fn from_padded(bytes: [u8; NAME_LEN_MAX], len: usize) -> Option<Name> {
        if len == 0 || len > NAME_LEN_MAX {
            return None;
        }
        let mask = u128::MAX >> (8 * (NAME_LEN_MAX - len));
        let value = u128::from_le_bytes(bytes) & mask;
        // In each byte of the name the highest bit shows whether it is out of range: above 0x7e
        // after adding 1, below 0x21 unless adding 0x5f sets it. No sum of 7-bit bytes carries.
        const EACH: u128 = u128::MAX / 255;
        let low = value & (EACH * 0x7f);
        let above = value | (low + EACH);
        let below = !(low + EACH * 0x5f);
        if (above | below) & (EACH * 0x80) & mask != 0 {
            return None;
        }
        Some(Name(value.to_le_bytes()))
    }

    /// The bytes, without padding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0[..self.byte_len()]
    }

    /// How many bytes: 1 to 16.
    #[inline]
    pub fn byte_len(&self) -> usize {
        let zeros = u128::from_le_bytes(self.0).leading_zeros() as usize;
        NAME_LEN_MAX - zeros / 8
    }

    /// The bytes with their padding of zeros, for codecs.
    #[inline]
    pub fn padded(&self) -> &[u8; NAME_LEN_MAX] {
        &self.0
    }

    /// The text; ids are ASCII.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }

    /// The two halves of the padded bytes, for digests.
    pub(crate) fn words(&self) -> [u64; 2] {
        let value = u128::from_le_bytes(self.0);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of 128 bits")]
        let words = [value as u64, (value >> 64) as u64];
        words
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A session id, a transaction id or an identity value: 0 to 64 bytes of printable ASCII.
/// Only the value of a removed identity is empty.
#[derive(Clone, Copy)]
pub struct Id {
    len: u8,
    bytes: [u8; ID_LEN_MAX],
}

impl Id {
    /// Checks and copies; none when it is empty, too long, or not printable ASCII.
    pub fn new(bytes: &[u8]) -> Option<Id> {
        if bytes.is_empty() || bytes.len() > ID_LEN_MAX || !printable(bytes) {
            return None;
        }
        let mut id = Id::EMPTY;
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        id.len = u8::try_from(bytes.len()).ok()?;
        Some(id)
    }

    /// No bytes.
    pub const EMPTY: Id = Id { len: 0, bytes: [0; ID_LEN_MAX] };

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Id {}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(self.as_bytes()).unwrap_or(""))
    }
}
