//! Keys of items within their session: a number, like Rating-Group, or a text.

use crate::is_printable;
use core::fmt;

/// Longest key of an item, bytes.
pub const ITEM_KEY_LEN_MAX: usize = 32;

/// Key of an item (RFC 8506 section 8.29): 1 to 32 bytes of printable ASCII. Digits that are a number of 32 bits
/// without a leading zero become that number, which takes less room.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKey {
    /// Number of 32 bits.
    Number(u32),
    /// Any other key.
    Id(ItemId),
}

/// The bytes of a key that is not a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId {
    /// Bytes, padded with zeros.
    bytes: [u8; ITEM_KEY_LEN_MAX],
    len: u8,
}

impl ItemKey {
    /// Parses a key; `None` if the bytes are empty, too long, or not printable ASCII.
    pub fn new(bytes: &[u8]) -> Option<ItemKey> {
        number(bytes).map(ItemKey::Number).or_else(|| ItemId::new(bytes).map(ItemKey::Id))
    }
}

impl ItemId {
    /// Does the same as [`ItemKey::new`], but returns `None` for a number: each key has exactly one form.
    pub fn new(bytes: &[u8]) -> Option<ItemId> {
        if bytes.is_empty()
            || bytes.len() > ITEM_KEY_LEN_MAX
            || !is_printable(bytes)
            || number(bytes).is_some()
        {
            return None;
        }
        let mut id = ItemId { bytes: [0; ITEM_KEY_LEN_MAX], len: u8::try_from(bytes.len()).ok()? };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(id)
    }

    /// Returns the bytes without padding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Returns the text; keys are ASCII.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }
}

/// Parses a number of 32 bits without a sign or a leading zero.
fn number(bytes: &[u8]) -> Option<u32> {
    let (&first, rest) = bytes.split_first()?;
    if !first.is_ascii_digit() || (first == b'0' && !rest.is_empty()) {
        return None;
    }
    bytes.iter().try_fold(0_u32, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u32::from(digit))
    })
}

impl From<u32> for ItemKey {
    fn from(number: u32) -> ItemKey {
        ItemKey::Number(number)
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemKey::Number(number) => fmt::Display::fmt(number, f),
            ItemKey::Id(id) => f.write_str(id.as_str()),
        }
    }
}

impl fmt::Debug for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn one_way_to_write_a_number_is_the_number() {
        for number in [0, 1, 9, 10, 99, 4_294_967_294, u32::MAX] {
            let text = number.to_string();
            assert_eq!(ItemKey::new(text.as_bytes()), Some(ItemKey::Number(number)));
            assert_eq!(ItemId::new(text.as_bytes()), None);
            assert_eq!(ItemKey::Number(number).to_string(), text);
        }
        let ids = [
            "00",
            "07",
            "+7",
            "-7",
            "7.0",
            "4294967296",
            "99999999999999999999",
            "-",
            "10.4711",
            "gpt-x",
        ];
        for id in ids {
            let Some(ItemKey::Id(key)) = ItemKey::new(id.as_bytes()) else { panic!("{id}") };
            assert_eq!((key.as_str(), ItemKey::Id(key).to_string().as_str()), (id, id));
        }
    }

    #[test]
    fn a_key_is_1_to_32_printable_bytes() {
        let longest = [b'~'; ITEM_KEY_LEN_MAX];
        assert!(ItemKey::new(&longest).is_some());
        for wrong in
            [&b""[..], b" ", b"a b", b"a\0", b"\x7f", b"\xc3\xa9", &[b'x'; 33], &[b'1'; 33]]
        {
            assert_eq!(ItemKey::new(wrong), None, "{wrong:?}");
        }
    }
}
