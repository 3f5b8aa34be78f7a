//! Splits formed replies into their pieces again, for a host such as the Valkey module: there the host's server writes
//! to the sockets, and must be called for each piece.

/// One piece of a reply. The pieces of an array or a map follow its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A simple string.
    Simple(&'a [u8]),
    /// An error, without `-`.
    Error(&'a [u8]),
    /// An integer.
    Integer(i64),
    /// A bulk string.
    Bulk(&'a [u8]),
    /// The digits of an integer that does not fit 64 bits.
    Big(&'a [u8]),
    /// The null reply.
    Null,
    /// The null reply in place of an array (RESP2).
    NullArray,
    /// Head of an array: this many replies follow.
    Array(usize),
    /// Head of a map: this many pairs of replies follow.
    Map(usize),
}

/// Iterator over the pieces of replies that [`crate::Reply`] has formed from what [`Piece`] can express. Other bytes
/// end it early.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    rest: &'a [u8],
}

impl<'a> Pieces<'a> {
    /// Returns an iterator that begins at the first reply.
    pub fn new(formed: &'a [u8]) -> Pieces<'a> {
        Pieces { rest: formed }
    }

    /// Returns the bytes of all pieces not returned yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn line(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == b'\r')?;
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 2..)?;
        Some(line)
    }

    /// Reads a line that holds a number of a few digits and nothing else, as most lines do. Returns `None`, and reads
    /// nothing, for any other line.
    fn small_number(&mut self) -> Option<i64> {
        let mut value = 0;
        for (at, &byte) in self.rest.iter().enumerate().take(SMALL_DIGITS_MAX + 1) {
            match byte {
                b'0'..=b'9' => value = 10 * value + i64::from(byte - b'0'),
                b'\r' if at > 0 => {
                    self.rest = self.rest.get(at + 2..)?;
                    return Some(value);
                }
                _ => return None,
            }
        }
        None
    }
}

/// Most digits of a number that cannot overflow.
const SMALL_DIGITS_MAX: usize = 18;

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let (&kind, rest) = self.rest.split_first()?;
        self.rest = rest;
        let number = match kind {
            b':' | b'$' | b'*' | b'%' => self.small_number(),
            _ => None,
        };
        if let Some(number) = number {
            let len = usize::try_from(number).ok()?;
            return Some(match kind {
                b':' => Piece::Integer(number),
                b'*' => Piece::Array(len),
                b'%' => Piece::Map(len),
                _ => {
                    let bytes = self.rest.get(..len)?;
                    self.rest = self.rest.get(len + 2..)?;
                    Piece::Bulk(bytes)
                }
            });
        }
        let line = self.line()?;
        Some(match kind {
            b'+' => Piece::Simple(line),
            b'-' => Piece::Error(line),
            b'(' => Piece::Big(line),
            b'_' => Piece::Null,
            b':' => crate::parse_integer(line).map_or(Piece::Big(line), Piece::Integer),
            // Strings and arrays with a length were handled above.
            b'$' if line == b"-1" => Piece::Null,
            b'*' if line == b"-1" => Piece::NullArray,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Protocol, Reply};

    fn formed(protocol: Protocol) -> Vec<u8> {
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, protocol);
        reply.map(1);
        reply.array(12);
        reply.ok();
        reply.error("ERR why");
        reply.integer(i64::MIN);
        reply.unsigned(u64::MAX);
        reply.bulk(b"a\r\n");
        reply.bulk(b"");
        reply.big(i128::from(i64::MAX) + 1);
        reply.null();
        reply.null_array();
        out
    }

    #[test]
    fn pieces_are_what_was_written() {
        let beyond = b"9223372036854775808".as_slice();
        let same = [
            Piece::Array(12),
            Piece::Simple(b"OK"),
            Piece::Error(b"ERR why"),
            Piece::Integer(i64::MIN),
            Piece::Big(b"18446744073709551615"),
            Piece::Bulk(b"a\r\n"),
            Piece::Bulk(b""),
        ];
        let two: Vec<Piece<'static>> = [Piece::Array(2)]
            .into_iter()
            .chain(same)
            .chain([Piece::Bulk(beyond), Piece::Null, Piece::NullArray])
            .collect();
        let three: Vec<Piece<'static>> = [Piece::Map(1)]
            .into_iter()
            .chain(same)
            .chain([Piece::Big(beyond), Piece::Null, Piece::Null])
            .collect();
        assert_eq!(Pieces::new(&formed(Protocol::Resp2)).collect::<Vec<_>>(), two);
        assert_eq!(Pieces::new(&formed(Protocol::Resp3)).collect::<Vec<_>>(), three);
    }

    #[test]
    fn bytes_that_end_early_end_the_pieces() {
        let whole = formed(Protocol::Resp3);
        let all = Pieces::new(&whole).count();
        for len in 0..whole.len() {
            assert!(Pieces::new(&whole[..len]).count() <= all, "{len} bytes");
        }
    }
}
