//! Reads replies in place. A load generator reads millions a second, so it only checks most of a reply for
//! completeness, and picks out the few numbers that an audit needs.

use std::error::Error;
use std::fmt;

/// Reasons why a reply could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The rest has not arrived yet: try again with more bytes.
    Incomplete,
    /// The bytes are not the expected RESP.
    Malformed,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Incomplete => "the reply is incomplete",
            Stop::Malformed => "the reply is not the RESP that was expected",
        })
    }
}

impl Error for Stop {}

/// Fields of a reply to RESERVE, UPDATE or TERMINATE that the audit needs, summed over its items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteReply {
    /// Whether the code is OK, of the answer and of every item.
    pub ok: bool,
    /// Whether this is the stored answer to an earlier request.
    pub replayed: bool,
    /// Version of the session.
    pub version: i64,
    /// Units granted.
    pub granted: i64,
    /// Units used that no bucket could pay.
    pub uncollected: i64,
}

/// Fields of a reply to TOPUP and similar commands that the audit needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmountReply {
    /// Whether the code is OK.
    pub ok: bool,
    /// Whether this is the stored answer to an earlier request.
    pub replayed: bool,
}

/// A position in received bytes.
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    #[inline]
    pub(super) fn kind(&mut self) -> Result<u8, Stop> {
        let kind = *self.bytes.get(self.at).ok_or(Stop::Incomplete)?;
        self.at += 1;
        Ok(kind)
    }

    /// Reads the number up to the end of the line.
    #[inline]
    pub(super) fn number(&mut self) -> Result<i64, Stop> {
        let mut rest = self.bytes.get(self.at..).ok_or(Stop::Incomplete)?.iter();
        let mut value = 0i64;
        let mut negative = false;
        let mut length = 0;
        for &byte in rest.by_ref() {
            length += 1;
            match byte {
                b'0'..=b'9' => {
                    value = value.wrapping_mul(10).wrapping_add(i64::from(byte - b'0'));
                }
                b'-' if length == 1 => negative = true,
                b'\r' => {
                    return match rest.next() {
                        Some(b'\n') => {
                            self.at += length + 1;
                            Ok(if negative { value.wrapping_neg() } else { value })
                        }
                        Some(_) => Err(Stop::Malformed),
                        None => Err(Stop::Incomplete),
                    };
                }
                _ => return Err(Stop::Malformed),
            }
        }
        Err(Stop::Incomplete)
    }

    /// Reads the text up to the end of the line.
    #[inline]
    pub(super) fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = self.bytes.get(self.at..).ok_or(Stop::Incomplete)?;
        let length = rest.iter().position(|&byte| byte == b'\r').ok_or(Stop::Incomplete)?;
        if rest.len() < length + 2 {
            return Err(Stop::Incomplete);
        }
        self.at += length + 2;
        Ok(&rest[..length])
    }

    /// Reads a bulk string whose `$` has been read; `None` if it is nil.
    #[inline]
    pub(super) fn bulk(&mut self) -> Result<Option<&'a [u8]>, Stop> {
        let length = self.number()?;
        let Ok(length) = usize::try_from(length) else { return Ok(None) };
        let end = self.at.checked_add(length).ok_or(Stop::Malformed)?;
        let bytes = self.bytes.get(self.at..end).ok_or(Stop::Incomplete)?;
        match self.bytes.get(end..end + 2) {
            Some(b"\r\n") => {}
            Some(_) => return Err(Stop::Malformed),
            None => return Err(Stop::Incomplete),
        }
        self.at = end + 2;
        Ok(Some(bytes))
    }

    /// Reads a simple or bulk string: some servers cannot send both kinds.
    #[inline]
    fn text(&mut self) -> Result<&'a [u8], Stop> {
        match self.kind()? {
            b'+' => self.line(),
            b'$' => self.bulk()?.ok_or(Stop::Malformed),
            _ => Err(Stop::Malformed),
        }
    }

    #[inline]
    fn expect(&mut self, kind: u8) -> Result<(), Stop> {
        if self.kind()? == kind { Ok(()) } else { Err(Stop::Malformed) }
    }

    #[inline]
    fn integer(&mut self) -> Result<i64, Stop> {
        self.expect(b':')?;
        self.number()
    }

    #[inline]
    pub(super) fn array(&mut self) -> Result<i64, Stop> {
        self.expect(b'*')?;
        self.number()
    }
}

/// Returns the length of the one complete reply at the start of `bytes`.
///
/// # Errors
/// [`Stop`].
pub fn skip(bytes: &[u8]) -> Result<usize, Stop> {
    let mut cursor = Cursor::new(bytes);
    let mut pending = 1i64;
    while pending > 0 {
        pending -= 1;
        match cursor.kind()? {
            b':' => {
                cursor.number()?;
            }
            b'$' | b'=' | b'!' => {
                cursor.bulk()?;
            }
            b'*' | b'~' | b'>' => pending += cursor.number()?.max(0),
            b'%' => pending += 2 * cursor.number()?.max(0),
            b'+' | b'-' | b'_' | b'#' | b',' | b'(' => {
                cursor.line()?;
            }
            _ => return Err(Stop::Malformed),
        }
    }
    Ok(cursor.at)
}

/// Reads `[code, replayed, version, [[key, code, granted, final, uncollected]...]]`, the reply of all commands that
/// write to a session. Returns its length too. A denied item has a cause as its last element.
///
/// # Errors
/// [`Stop`].
pub fn read_write_reply(bytes: &[u8]) -> Result<(usize, WriteReply), Stop> {
    let mut cursor = Cursor::new(bytes);
    if cursor.array()? != 4 {
        return Err(Stop::Malformed);
    }
    let mut ok = cursor.text()? == b"OK";
    let replayed = cursor.integer()? != 0;
    let version = cursor.integer()?;
    let (mut granted, mut uncollected) = (0i64, 0i64);
    for _ in 0..cursor.array()? {
        let fields = cursor.array()?;
        if !matches!(fields, 5 | 6) {
            return Err(Stop::Malformed);
        }
        cursor.integer()?;
        ok &= cursor.text()? == b"OK";
        granted = granted.saturating_add(cursor.integer()?);
        cursor.integer()?;
        uncollected = uncollected.saturating_add(cursor.integer()?);
        if fields == 6 {
            // The cause of a denial.
            cursor.text()?;
        }
    }
    Ok((cursor.at, WriteReply { ok, replayed, version, granted, uncollected }))
}

/// Reads `[code, replayed, version, amount]`, the reply of the commands that change one amount. Returns its length too.
/// A denial has a cause as its last element.
///
/// # Errors
/// [`Stop`].
pub fn read_amount_reply(bytes: &[u8]) -> Result<(usize, AmountReply), Stop> {
    let mut cursor = Cursor::new(bytes);
    let fields = cursor.array()?;
    if !matches!(fields, 4 | 5) {
        return Err(Stop::Malformed);
    }
    let ok = cursor.text()? == b"OK";
    let replayed = cursor.integer()? != 0;
    cursor.integer()?;
    // Skips the amount, which may not fit an integer, and the cause of a denial.
    for _ in 3..fields {
        cursor.at += skip(&bytes[cursor.at..])?;
    }
    Ok((cursor.at, AmountReply { ok, replayed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLIES: &[&[u8]] = &[
        b"+OK\r\n",
        b"-ERR no\r\n",
        b":-12\r\n",
        b"$-1\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"$0\r\n\r\n",
        b"$5\r\na\r\nbc\r\n",
        b"*2\r\n$6\r\nstatus\r\n*2\r\n*1\r\n:1\r\n$-1\r\n",
        b"%1\r\n+a\r\n_\r\n",
        b"*4\r\n+OK\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:1000\r\n:0\r\n:0\r\n",
    ];

    #[test]
    fn skip_finds_the_end_however_the_bytes_are_split() {
        for reply in REPLIES {
            let mut stream = reply.to_vec();
            stream.extend_from_slice(b"+next\r\n");
            assert_eq!(skip(&stream), Ok(reply.len()), "{}", reply.escape_ascii());
            for split in 0..reply.len() {
                assert_eq!(
                    skip(&reply[..split]),
                    Err(Stop::Incomplete),
                    "{} at {split}",
                    reply.escape_ascii()
                );
            }
        }
    }

    #[test]
    fn skip_refuses_what_is_not_resp() {
        for bytes in [&b"hello"[..], b":1x\r\n", b"$1\r\nabc", b":1\rx", b"*1\r\n?"] {
            assert_eq!(skip(bytes), Err(Stop::Malformed), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_write_reply_gives_what_the_audit_needs_at_every_split() {
        let reply = b"*4\r\n+OK\r\n:1\r\n:7\r\n*2\r\n*5\r\n:1\r\n+OK\r\n:1000\r\n:0\r\n:0\r\n\
            *6\r\n:2\r\n+CREDIT_LIMIT_REACHED\r\n:0\r\n:1\r\n:25\r\n+no_bucket\r\n";
        let expected =
            WriteReply { ok: false, replayed: true, version: 7, granted: 1000, uncollected: 25 };
        assert_eq!(read_write_reply(reply), Ok((reply.len(), expected)));
        for split in 0..reply.len() {
            assert_eq!(read_write_reply(&reply[..split]), Err(Stop::Incomplete), "at {split}");
        }
    }

    #[test]
    fn a_code_may_be_a_bulk_string() {
        let reply =
            b"*4\r\n$2\r\nOK\r\n:0\r\n:7\r\n*1\r\n*5\r\n:1\r\n$2\r\nOK\r\n:9\r\n:0\r\n:0\r\n";
        let (length, found) = read_write_reply(reply).unwrap();
        assert_eq!((length, found.ok, found.granted), (reply.len(), true, 9));
        let nil = b"*4\r\n$-1\r\n:0\r\n:7\r\n*0\r\n";
        assert_eq!(read_write_reply(nil), Err(Stop::Malformed));
    }

    #[test]
    fn an_amount_reply_is_read_at_every_split() {
        let reply = b"*4\r\n+OK\r\n:1\r\n:7\r\n:-15\r\n";
        let expected = AmountReply { ok: true, replayed: true };
        assert_eq!(read_amount_reply(reply), Ok((reply.len(), expected)));
        for split in 0..reply.len() {
            assert_eq!(read_amount_reply(&reply[..split]), Err(Stop::Incomplete), "at {split}");
        }
        assert_eq!(read_amount_reply(b"*3\r\n"), Err(Stop::Malformed));
    }

    #[test]
    fn a_write_reply_of_another_shape_is_refused() {
        assert_eq!(read_write_reply(b"*3\r\n+OK\r\n:1\r\n:7\r\n"), Err(Stop::Malformed));
        assert_eq!(read_write_reply(b"+OK\r\n"), Err(Stop::Malformed));
    }
}
