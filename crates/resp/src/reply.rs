//! Writes replies, in RESP2 or RESP3, at the end of a byte vector.

use crate::decimal;
use scurry_ledger::{NAME_LEN_MAX, Name};
use std::fmt;
use std::io::Write;

/// Protocol that a connection has chosen with HELLO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2: maps, sets and similar types become arrays.
    #[default]
    Resp2,
    /// RESP3: with maps, sets and similar types.
    Resp3,
}

impl Protocol {
    /// Returns the number for HELLO: 2 or 3.
    pub const fn number(self) -> i64 {
        match self {
            Protocol::Resp2 => 2,
            Protocol::Resp3 => 3,
        }
    }
}

/// A writer that appends replies to `out`.
#[derive(Debug)]
pub struct Reply<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
}

impl<'a> Reply<'a> {
    /// Returns a writer of this protocol.
    pub fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Reply<'a> {
        Reply { out, protocol }
    }

    /// Sets the protocol of the next replies (HELLO answers in the new one).
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Reports whether maps and sets are written as such.
    pub fn is_resp3(&self) -> bool {
        self.protocol == Protocol::Resp3
    }

    /// Returns the length of `out` in bytes, earlier replies included.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Reports whether `out` is empty.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Removes everything that was appended after [`Reply::len`] was `len`.
    pub fn truncate(&mut self, len: usize) {
        self.out.truncate(len);
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }

    fn header(&mut self, kind: u8, count: usize) {
        if count < 10 {
            #[expect(clippy::cast_possible_truncation, reason = "one digit")]
            let digit = b'0' + count as u8;
            self.out.extend_from_slice(&[kind, digit, b'\r', b'\n']);
        } else {
            self.longer_header(kind, count);
        }
    }

    #[inline(never)]
    fn longer_header(&mut self, kind: u8, count: usize) {
        if count < 100 {
            #[expect(clippy::cast_possible_truncation, reason = "two digits")]
            let (tens, ones) = (b'0' + (count / 10) as u8, b'0' + (count % 10) as u8);
            self.out.extend_from_slice(&[kind, tens, ones, b'\r', b'\n']);
        } else {
            self.number(kind, i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    fn number(&mut self, kind: u8, value: i64) {
        if !decimal::append_line(self.out, kind, value) {
            self.line(kind, itoa::Buffer::new().format(value).as_bytes());
        }
    }

    /// Appends `+OK`.
    pub fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    /// Appends a simple string; the text must have no line break.
    pub fn simple(&mut self, text: &str) {
        debug_assert!(!text.contains(['\r', '\n']), "a simple string is one line");
        self.line(b'+', text.as_bytes());
    }

    /// Appends an error. Line breaks become spaces.
    pub fn error(&mut self, text: impl fmt::Display) {
        self.out.push(b'-');
        let start = self.out.len();
        // Writing to a vector cannot fail.
        let _ = write!(self.out, "{text}");
        for byte in &mut self.out[start..] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// Appends an error that quotes a client's bytes as Redis does: unchanged up to the first zero byte, line breaks as
    /// spaces. The caller bounds their length.
    pub fn error_quoting(&mut self, before: &str, quoted: &[u8], after: &str) {
        let end = quoted.iter().position(|&byte| byte == 0).unwrap_or(quoted.len());
        self.out.push(b'-');
        let start = self.out.len();
        for part in [before.as_bytes(), &quoted[..end], after.as_bytes()] {
            self.out.extend_from_slice(part);
        }
        for byte in &mut self.out[start..] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// Appends an integer.
    pub fn integer(&mut self, value: i64) {
        match u8::try_from(value) {
            Ok(digit @ 0..=9) => self.out.extend_from_slice(&[b':', b'0' + digit, b'\r', b'\n']),
            _ => self.number(b':', value),
        }
    }

    /// Appends up to eight consecutive integers.
    #[expect(clippy::inline_always, reason = "numbers that a caller has in registers stay there")]
    #[inline(always)]
    pub fn integers<const N: usize>(&mut self, values: [i64; N]) {
        if !decimal::append_lines(self.out, b':', values) {
            for value in values {
                self.integer(value);
            }
        }
    }

    /// Appends a version or a count.
    pub fn unsigned(&mut self, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.integer(value),
            Err(_) => self.line(b':', itoa::Buffer::new().format(value).as_bytes()),
        }
    }

    /// Appends a total: an integer if it fits 64 bits, else a big number (RESP2: its digits).
    pub fn big(&mut self, value: i128) {
        match i64::try_from(value) {
            Ok(value) => self.integer(value),
            Err(_) if self.is_resp3() => {
                self.line(b'(', itoa::Buffer::new().format(value).as_bytes());
            }
            Err(_) => self.bulk(itoa::Buffer::new().format(value).as_bytes()),
        }
    }

    /// Appends a bulk string.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.header(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Appends a name as a bulk string.
    pub fn name(&mut self, name: &Name) {
        let len = name.byte_len();
        let digits = if len < 10 { 1 } else { 2 };
        decimal::append(self.out, |piece: &mut [u8; 3 + 2 + NAME_LEN_MAX + 2]| {
            #[expect(clippy::cast_possible_truncation, reason = "two digits: a name is short")]
            let ones = b'0' + (len % 10) as u8;
            (piece[0], piece[1], piece[digits]) = (b'$', b'1', ones);
            piece[digits + 1..digits + 3].copy_from_slice(b"\r\n");
            piece[digits + 3..digits + 3 + NAME_LEN_MAX].copy_from_slice(name.padded());
            let end = digits + 3 + len.min(NAME_LEN_MAX);
            piece[end..end + 2].copy_from_slice(b"\r\n");
            end + 2
        });
    }

    /// Appends a text as a bulk string.
    pub fn text(&mut self, text: &str) {
        self.bulk(text.as_bytes());
    }

    /// Appends a text for people: a verbatim string in RESP3.
    pub fn verbatim(&mut self, text: &str) {
        if self.is_resp3() {
            self.header(b'=', text.len() + 4);
            self.out.extend_from_slice(b"txt:");
            self.out.extend_from_slice(text.as_bytes());
            self.out.extend_from_slice(b"\r\n");
        } else {
            self.text(text);
        }
    }

    /// Appends whole replies that were formed elsewhere, in the same protocol.
    pub fn formed(&mut self, replies: &[u8]) {
        self.out.extend_from_slice(replies);
    }

    /// Appends the null reply.
    pub fn null(&mut self) {
        // Constant lengths need no call to copy the bytes.
        if self.is_resp3() {
            self.out.extend_from_slice(b"_\r\n");
        } else {
            self.out.extend_from_slice(b"$-1\r\n");
        }
    }

    /// Appends the null reply in place of an array.
    pub fn null_array(&mut self) {
        self.out.extend_from_slice(if self.is_resp3() { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// Appends the head of an array: this many replies follow.
    pub fn array(&mut self, len: usize) {
        self.header(b'*', len);
    }

    /// Appends a piece that ends with the head of an empty array, changed to the head of an array of `len` replies.
    #[inline]
    pub(crate) fn list<const N: usize>(&mut self, formed: &[u8; N], len: usize) {
        if let Ok(len @ 0..10) = u8::try_from(len) {
            self.out.extend_from_slice(formed);
            if let [.., digit, _, _] = self.out.as_mut_slice() {
                *digit = b'0' + len;
            }
        } else {
            self.formed(&formed[..N - 4]);
            self.array(len);
        }
    }

    /// Appends the head of a map: this many pairs of replies follow.
    pub fn map(&mut self, pairs: usize) {
        if self.is_resp3() {
            self.header(b'%', pairs);
        } else {
            self.header(b'*', 2 * pairs);
        }
    }

    /// Appends the head of a set: this many replies follow.
    pub fn set(&mut self, len: usize) {
        self.header(if self.is_resp3() { b'~' } else { b'*' }, len);
    }

    /// Appends the head of a push, which answers no request: this many replies follow. RESP3 only.
    pub fn push(&mut self, len: usize) {
        debug_assert!(self.is_resp3(), "a push has no place among replies of RESP2");
        self.header(b'>', len);
    }

    /// Appends a boolean; 1 or 0 in RESP2.
    pub fn boolean(&mut self, value: bool) {
        if self.is_resp3() {
            self.out.extend_from_slice(if value { b"#t\r\n" } else { b"#f\r\n" });
        } else {
            self.integer(i64::from(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, write: impl FnOnce(&mut Reply<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Reply::new(&mut out, protocol));
        String::from_utf8(out).expect("ASCII was written")
    }

    #[test]
    fn names_are_bulk_strings() {
        for len in 1..=NAME_LEN_MAX {
            let text = &b"sixteen-letters!"[..len];
            let name = Name::new(text).expect("a name");
            let bulk = written(Protocol::Resp2, |reply| reply.bulk(text));
            assert_eq!(written(Protocol::Resp2, |reply| reply.name(&name)), bulk);
        }
    }

    #[test]
    fn both_protocols() {
        fn everything(reply: &mut Reply<'_>) {
            reply.map(1);
            reply.set(10);
            reply.boolean(true);
            reply.null();
            reply.null_array();
            reply.verbatim("x");
            reply.big(i128::from(i64::MAX) + 1);
            reply.big(-12);
            reply.integer(i64::MIN);
            reply.unsigned(u64::MAX);
            reply.bulk(b"");
            reply.text("0123456789");
            reply.error("ERR two\r\nlines");
        }
        let same = ":-12\r\n:-9223372036854775808\r\n:18446744073709551615\r\n$0\r\n\r\n\
                    $10\r\n0123456789\r\n-ERR two  lines\r\n";
        assert_eq!(
            written(Protocol::Resp2, everything),
            "*2\r\n*10\r\n:1\r\n$-1\r\n*-1\r\n$1\r\nx\r\n$19\r\n9223372036854775808\r\n".to_owned()
                + same
        );
        assert_eq!(
            written(Protocol::Resp3, everything),
            "%1\r\n~10\r\n#t\r\n_\r\n_\r\n=5\r\ntxt:x\r\n(9223372036854775808\r\n".to_owned()
                + same
        );
    }
}
