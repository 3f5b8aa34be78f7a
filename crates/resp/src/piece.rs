//! Formed replies, taken apart again: for a host whose own server writes to the sockets and has
//! to be told what to write.

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
    /// Nothing.
    Null,
    /// Nothing, where an array might have been (RESP2).
    NullArray,
    /// So many replies follow.
    Array(usize),
    /// So many pairs of replies follow.
    Map(usize),
}

/// Goes through replies that [`crate::Reply`] has formed with what [`Piece`] has; other bytes end
/// it early.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    rest: &'a [u8],
}

impl<'a> Pieces<'a> {
    /// From the first reply on.
    pub fn new(formed: &'a [u8]) -> Pieces<'a> {
        Pieces { rest: formed }
    }

    fn line(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == b'\r')?;
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 2..)?;
        Some(line)
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let (&kind, rest) = self.rest.split_first()?;
        self.rest = rest;
        let line = self.line()?;
        Some(match kind {
            b'+' => Piece::Simple(line),
            b'-' => Piece::Error(line),
            b'(' => Piece::Big(line),
            b'_' => Piece::Null,
            b':' => crate::parse_integer(line).map_or(Piece::Big(line), Piece::Integer),
            b'$' | b'*' | b'%' => match (kind, usize::try_from(crate::parse_integer(line)?)) {
                (b'$', Ok(len)) => {
                    let bytes = self.rest.get(..len)?;
                    self.rest = self.rest.get(len + 2..)?;
                    Piece::Bulk(bytes)
                }
                (b'$', Err(_)) => Piece::Null,
                (b'*', Ok(len)) => Piece::Array(len),
                (b'*', Err(_)) => Piece::NullArray,
                (_, Ok(pairs)) => Piece::Map(pairs),
                (_, Err(_)) => return None,
            },
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
