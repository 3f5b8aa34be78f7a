//! Reads the bytes that a [`FieldWriter`](crate::pen::Pen) wrote, and stops at the first error.

use crate::varint;
use core::fmt;
use scurry_ledger::{Id, NAME_LEN_MAX, Name, Time};

/// A cursor over bytes that are still to be read.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

/// Errors in bytes, none of which any writer produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end inside a field.
    Ends,
    /// A number is too large, or not in its shortest form.
    Number,
    /// A name is empty, longer than 16 bytes, or has bytes that are not printable.
    Name,
    /// An id is empty, longer than 255 bytes, or has bytes that are not printable.
    Id,
    /// A number that selects one of several choices has no meaning.
    Choice,
    /// A time zone is not in the tables of this build.
    Zone,
    /// A stored answer is incomplete.
    Answer,
    /// This many bytes are left over.
    Left(usize),
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    /// Returns the bytes that are still to be read.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Fails if bytes are left over.
    pub(crate) fn finish(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed::Left(self.rest.len())) }
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let (&byte, rest) = self.rest.split_first().ok_or(Malformed::Ends)?;
        self.rest = rest;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(Malformed::Ends)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads the length of bytes that follow later.
    #[inline]
    pub(crate) fn len(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.varint()?).map_err(|_| Malformed::Ends)
    }

    /// Reads bytes with their length before them.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.len()?;
        self.bytes(len)
    }

    #[inline]
    pub(crate) fn name(&mut self) -> Result<Name, Malformed> {
        let len = usize::from(self.byte()?);
        // With 16 bytes left the name can be loaded as two words.
        let name = match self.rest.first_chunk::<NAME_LEN_MAX>() {
            Some(padded) => {
                let mut name = Name::EMPTY;
                name.load(padded, len).then_some(name)
            }
            None => Name::new(self.rest.get(..len).ok_or(Malformed::Ends)?),
        };
        let name = name.ok_or(Malformed::Name)?;
        self.rest = &self.rest[len..];
        Ok(name)
    }

    /// Reads an id that may be empty, which removes an identity.
    pub(crate) fn id_or_empty(&mut self) -> Result<Id, Malformed> {
        match self.string()? {
            [] => Ok(Id::EMPTY),
            id => Id::new(id).ok_or(Malformed::Id),
        }
    }

    pub(crate) fn id(&mut self) -> Result<Id, Malformed> {
        Id::new(self.string()?).ok_or(Malformed::Id)
    }

    /// Reads an LEB128 number. Only the shortest form is accepted, so that each value has one form.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        match *self.rest {
            [first, ref rest @ ..] if first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first))
            }
            [first, second @ 1..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(first & 0x7f) | u64::from(second) << 7)
            }
            _ => {
                let (number, len) = longer_varint(self.rest);
                match self.rest.get(len..).filter(|_| len > 0) {
                    Some(rest) => {
                        self.rest = rest;
                        Ok(number)
                    }
                    None => Err(wrong_varint(self.rest)),
                }
            }
        }
    }

    /// Reads the next `N` bytes if each of them is a whole number; otherwise reads nothing.
    #[inline]
    pub(crate) fn single_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        if bytes.iter().fold(0, |all, byte| all | byte) >= 0x80 {
            return None;
        }
        self.rest = rest;
        Some(*bytes)
    }

    /// Skips a number that is read later. Whether it is in its shortest form is checked then.
    #[inline]
    pub(crate) fn pass_varint(&mut self) -> Result<(), Malformed> {
        match self.rest.first_chunk().and_then(varint::end) {
            Some(len) => self.rest = &self.rest[len..],
            None => {
                self.varint()?;
            }
        }
        Ok(())
    }

    /// Reads a varint into a narrower type.
    #[inline]
    pub(crate) fn narrow<N: TryFrom<u64>>(&mut self) -> Result<N, Malformed> {
        N::try_from(self.varint()?).map_err(|_| Malformed::Number)
    }

    #[inline]
    #[expect(clippy::cast_possible_wrap, reason = "the bits of the number")]
    pub(crate) fn amount(&mut self) -> Result<i64, Malformed> {
        Ok(self.varint()? as i64)
    }

    #[inline]
    #[expect(clippy::cast_possible_wrap, reason = "zigzag: the sign is the lowest bit")]
    pub(crate) fn signed(&mut self) -> Result<i64, Malformed> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    #[inline]
    pub(crate) fn time(&mut self, base: Time) -> Result<Time, Malformed> {
        Ok(Time(self.signed()?.wrapping_add(base.0)))
    }
}

/// Returns a number of several bytes and its length; 0 for both if it is not valid. The result fits into registers, so
/// that the cursor need not be stored in memory for the call.
#[inline(never)]
fn longer_varint(bytes: &[u8]) -> (u64, usize) {
    // Durations in milliseconds usually take three bytes.
    if let [first, second, third @ 1..0x80, ..] = *bytes
        && first & second >= 0x80
    {
        let low = u64::from(first & 0x7f) | u64::from(second & 0x7f) << 7;
        return (low | u64::from(third) << 14, 3);
    }
    let Some((number, len)) = bytes.first_chunk().and_then(varint::gather) else {
        return looped_varint(bytes)
            .map_or((0, 0), |(number, rest)| (number, bytes.len() - rest.len()));
    };
    // The shortest form does not end in a zero byte.
    if number >> (7 * (len - 1)) == 0 { (0, 0) } else { (number, len) }
}

/// Returns the reason why there is no valid number.
#[cold]
fn wrong_varint(bytes: &[u8]) -> Malformed {
    looped_varint(bytes).err().unwrap_or(Malformed::Number)
}

/// Reads a number byte by byte: also one of more than eight bytes, or near the end. Returns it with the bytes that
/// follow.
fn looped_varint(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let mut number = 0;
    for (shift, &byte) in (0..64).step_by(7).zip(bytes) {
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            // The shortest form does not end in a zero byte, and the tenth byte has room for one bit only.
            let fits = (byte != 0 || shift == 0) && (shift < 63 || byte == 1);
            return if fits {
                Ok((number, &bytes[shift / 7 + 1..]))
            } else {
                Err(Malformed::Number)
            };
        }
    }
    Err(if bytes.len() < 10 { Malformed::Ends } else { Malformed::Number })
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Ends => "the bytes end inside of something",
            Malformed::Number => "a number is too large or longer than it must be",
            Malformed::Name => "a name is not 1 to 16 printable bytes",
            Malformed::Id => "an id is not 1 to 255 printable bytes",
            Malformed::Choice => "a number stands for nothing that is known",
            Malformed::Zone => {
                "it has a time zone that this version does not know: use a newer version"
            }
            Malformed::Answer => "a stored answer is not whole",
            Malformed::Left(left) => return write!(f, "{left} bytes are left over"),
        })
    }
}

impl core::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Reads a varint followed by `follow` bytes. Returns the number and how many bytes are left.
    fn read(varint: &[u8], follow: usize) -> Result<(u64, usize), Malformed> {
        let mut bytes = Vec::from(varint);
        bytes.resize(varint.len() + follow, 0xff);
        let mut cursor = Cursor::new(&bytes);
        let number = cursor.varint()?;
        Ok((number, cursor.rest.len()))
    }

    #[test]
    fn a_varint_is_the_same_whatever_follows() {
        for follow in 0..12 {
            for bits in 1..=64 {
                let number = u64::MAX >> (64 - bits);
                let mut bytes = Vec::new();
                let mut left = number;
                while left >= 0x80 {
                    bytes.push((left & 0x7f) as u8 | 0x80);
                    left >>= 7;
                }
                bytes.push(left as u8);
                assert_eq!(read(&bytes, follow), Ok((number, follow)));
                // The same number in a longer form.
                if let Some(last) = bytes.last_mut() {
                    *last |= 0x80;
                }
                bytes.push(0);
                assert_eq!(read(&bytes, follow), Err(Malformed::Number), "{number:x}");
            }
            let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
            assert_eq!(read(&beyond, follow), Err(Malformed::Number));
        }
        assert_eq!(read(&[0x80; 4], 0), Err(Malformed::Ends));
    }
}
