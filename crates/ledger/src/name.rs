//! Short and long identifiers. Those of usual lengths are stored inline, so that an account can be copied without heap
//! allocations for them.

use alloc::boxed::Box;
use core::fmt;

/// Longest session id, transaction id and identity value, bytes.
pub const ID_LEN_MAX: usize = 255;
/// Longest unit, bucket, counter and identity kind, bytes.
pub const NAME_LEN_MAX: usize = 16;

/// Reports whether all bytes may be part of ids and names: printable ASCII without space.
#[inline]
pub fn is_printable(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        // The padding bytes are always in range.
        return out_of_range(short_word(bytes)) == 0;
    };
    // The last word overlaps the one before it unless the length is a multiple of 8.
    let (words, _) = bytes.as_chunks::<8>();
    let all = words.iter().chain([last]);
    all.fold(0, |bad, word| bad | out_of_range(u64::from_le_bytes(*word))) == 0
}

/// Returns up to eight bytes as a word, padded by copies of them, or by letters if there are fewer than four.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last));
    }
    let mut word = *b"paddings";
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

/// Returns the highest bit of each byte that is not printable ASCII: above 0x7e, since adding 1 sets it; below 0x21,
/// since adding 0x5f does not set it. No sum of 7-bit bytes carries.
fn out_of_range(word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 255;
    let low = word & (EACH * 0x7f);
    let above = word | (low + EACH);
    let below = !(low + EACH * 0x5f);
    (above | below) & (EACH * 0x80)
}

/// A unit, bucket, counter or identity kind: 1 to 16 bytes of printable ASCII.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name([u8; NAME_LEN_MAX]);

impl Name {
    /// Checks and copies; `None` if the bytes are empty, too long, or not printable ASCII.
    pub fn new(bytes: &[u8]) -> Option<Name> {
        if bytes.is_empty() || bytes.len() > NAME_LEN_MAX || !is_printable(bytes) {
            return None;
        }
        let mut name = [0; NAME_LEN_MAX];
        name[..bytes.len()].copy_from_slice(bytes);
        Some(Name(name))
    }

    /// Makes a name of a program, in a `const`: a text that is no name does not compile.
    ///
    /// # Panics
    /// Outside a `const`, when the text is no name.
    pub const fn literal(text: &str) -> Name {
        let bytes = text.as_bytes();
        assert!(!bytes.is_empty() && bytes.len() <= NAME_LEN_MAX, "a name has 1 to 16 bytes");
        let (mut name, mut at) = ([0; NAME_LEN_MAX], 0);
        while at < bytes.len() {
            assert!(bytes[at].is_ascii_graphic(), "a name is printable ASCII without space");
            name[at] = bytes[at];
            at += 1;
        }
        Name(name)
    }

    /// An empty name, for codecs to fill in.
    pub const EMPTY: Name = Name([0; NAME_LEN_MAX]);

    /// Replaces this name by the first `len` of 16 bytes, checked as in [`Name::new`], for codecs. Returns false and
    /// changes nothing if they are no name. An equal name is not checked again.
    #[inline]
    pub fn load(&mut self, padded: &[u8; NAME_LEN_MAX], len: usize) -> bool {
        if len == 0 || len > NAME_LEN_MAX {
            return false;
        }
        let ([low, high], [low_mask, high_mask]) = (halves(*padded), halves(MASKS[len]));
        let (low, high) = (low & low_mask, high & high_mask);
        let [own_low, own_high] = halves(self.0);
        // Equal words mean equal names only if the last byte is not padding: then the lengths are the same.
        if (low ^ own_low) | (high ^ own_high) == 0 && padded[len - 1] != 0 {
            return true;
        }
        if (out_of_range(low) & low_mask) | (out_of_range(high) & high_mask) != 0 {
            return false;
        }
        self.0 = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
        true
    }

    /// Returns the bytes without padding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0[..self.byte_len()]
    }

    /// Returns the number of bytes: 1 to 16.
    #[inline]
    pub fn byte_len(&self) -> usize {
        let zeros = u128::from_le_bytes(self.0).leading_zeros() as usize;
        NAME_LEN_MAX - zeros / 8
    }

    /// Returns the bytes with their padding of zeros, for codecs.
    #[inline]
    pub fn padded(&self) -> &[u8; NAME_LEN_MAX] {
        &self.0
    }

    /// Returns the text; names are ASCII.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }

    /// Returns the two halves of the padded bytes, for digests.
    pub(crate) fn words(&self) -> [u64; 2] {
        halves(self.0)
    }
}

/// Masks of the bytes that a name has, by its length.
static MASKS: [[u8; NAME_LEN_MAX]; NAME_LEN_MAX + 1] = {
    let mut masks = [[0; NAME_LEN_MAX]; NAME_LEN_MAX + 1];
    let mut len = 1;
    while len <= NAME_LEN_MAX {
        masks[len] = (u128::MAX >> (8 * (NAME_LEN_MAX - len))).to_le_bytes();
        len += 1;
    }
    masks
};

fn halves(bytes: [u8; NAME_LEN_MAX]) -> [u64; 2] {
    let value = u128::from_le_bytes(bytes);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of 128 bits")]
    let halves = [value as u64, (value >> 64) as u64];
    halves
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A session id, a transaction id or an identity value: 0 to 255 bytes of printable ASCII. Only the value of a removed
/// identity is empty. An id of up to 62 bytes is stored inline, a longer one on the heap.
#[derive(Clone)]
pub struct Id(IdBytes);

#[derive(Clone)]
enum IdBytes {
    /// Bytes after `len` have no meaning.
    Inline {
        len: u8,
        bytes: [u8; INLINE_LEN_MAX],
    },
    Heap(Box<[u8]>),
}

/// Longest id that is stored inline, bytes: with it an id takes 64 bytes, and neither a session nor a fact grows by
/// the ids on the heap.
const INLINE_LEN_MAX: usize = 62;

const _: () = assert!(size_of::<Id>() == 64);

impl Id {
    /// Checks and copies; `None` if the bytes are empty, too long, or not printable ASCII.
    pub fn new(bytes: &[u8]) -> Option<Id> {
        let mut id = Id::EMPTY;
        id.load(bytes).then_some(id)
    }

    /// Reports whether the bytes are a valid id, so that [`Id::new`] would copy them.
    pub fn is_id(bytes: &[u8]) -> bool {
        !bytes.is_empty() && bytes.len() <= ID_LEN_MAX && is_printable(bytes)
    }

    /// Replaces this id, checked as in [`Id::new`], for codecs. Returns false and changes nothing if the bytes are no
    /// id.
    pub fn load(&mut self, bytes: &[u8]) -> bool {
        if !Id::is_id(bytes) {
            return false;
        }
        match &mut self.0 {
            IdBytes::Inline { len, bytes: own } if bytes.len() <= INLINE_LEN_MAX => {
                own[..bytes.len()].copy_from_slice(bytes);
                *len = bytes.len() as u8;
            }
            IdBytes::Heap(own) if own.len() == bytes.len() => own.copy_from_slice(bytes),
            own => *own = IdBytes::new(bytes),
        }
        true
    }

    /// The empty id.
    pub const EMPTY: Id = Id(IdBytes::Inline { len: 0, bytes: [0; INLINE_LEN_MAX] });

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            IdBytes::Inline { len, bytes } => &bytes[..usize::from(*len)],
            IdBytes::Heap(bytes) => bytes,
        }
    }

    /// Reports whether the id owns heap memory.
    #[inline]
    pub(crate) fn is_on_heap(&self) -> bool {
        matches!(self.0, IdBytes::Heap(_))
    }
}

impl IdBytes {
    #[cold]
    fn new(bytes: &[u8]) -> IdBytes {
        let mut inline = [0; INLINE_LEN_MAX];
        let Some(room) = inline.get_mut(..bytes.len()) else {
            return IdBytes::Heap(bytes.into());
        };
        room.copy_from_slice(bytes);
        IdBytes::Inline { len: bytes.len() as u8, bytes: inline }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_loaded_where_it_could_be_made_whatever_was_there() {
        for bytes in
            [&b"ab"[..], b"ab\0", b"a\0b", b"", b"\0", b"a b", b"a\x7f", b"sixteen-letters!"]
        {
            let mut padded = [b'x'; NAME_LEN_MAX];
            padded[..bytes.len()].copy_from_slice(bytes);
            for before in [Name::EMPTY, Name(*b"ab\0\0\0\0\0\0\0\0\0\0\0\0\0\0")] {
                let mut name = before;
                assert_eq!(name.load(&padded, bytes.len()), Name::new(bytes).is_some());
                assert_eq!(name, Name::new(bytes).unwrap_or(before));
            }
        }
        assert!(!{ Name::EMPTY }.load(&[b'x'; NAME_LEN_MAX], NAME_LEN_MAX + 1));
    }

    #[test]
    fn every_byte_of_an_id_is_checked() {
        for len in 1..=20 {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    let mut bytes = [b'~'; 20];
                    bytes[at] = byte;
                    let is_id = Id::new(&bytes[..len]).is_some();
                    assert_eq!(is_id, (0x21..=0x7e).contains(&byte), "{byte} at {at} of {len}");
                }
            }
        }
    }

    #[test]
    fn an_id_is_loaded_over_any_other() {
        let text = [b'x'; ID_LEN_MAX];
        let lens = [1, 61, 62, 63, 64, 65, 254, 255];
        for before in lens {
            for after in lens {
                let mut id = Id::new(&text[..before]).expect("an id");
                assert!(id.load(&text[..after]));
                assert_eq!(id.as_bytes(), &text[..after]);
                assert_eq!(id.clone(), id);
            }
        }
        assert!(Id::new(&[b'x'; ID_LEN_MAX + 1]).is_none());
    }
}
