//! Replies of a server, as far as a tool shows them: RESP2, read from a socket.

use std::io::{self, BufRead, ErrorKind};

/// No reply to a tool is longer, bytes or elements.
const LEN_MAX: usize = 1 << 20;
/// Arrays in arrays.
const DEPTH_MAX: usize = 8;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Text(String),
    Error(String),
    /// No command of a tool is answered with one: its parts are passed over.
    Array,
    Null,
}

impl Reply {
    pub(super) fn read(from: &mut impl BufRead) -> io::Result<Reply> {
        read(from, DEPTH_MAX)
    }
}

fn read(from: &mut impl BufRead, depth: usize) -> io::Result<Reply> {
    let line = line(from)?;
    let (kind, rest) = line.split_at_checked(1).ok_or_else(foreign)?;
    match kind {
        "+" | ":" => Ok(Reply::Text(rest.to_owned())),
        "-" => Ok(Reply::Error(rest.to_owned())),
        "$" | "*" if rest == "-1" => Ok(Reply::Null),
        "$" => {
            let mut bytes = vec![0; len(rest)? + 2];
            from.read_exact(&mut bytes)?;
            bytes.truncate(bytes.len() - 2);
            Ok(Reply::Text(String::from_utf8_lossy(&bytes).into_owned()))
        }
        "*" if depth > 0 => {
            for _ in 0..len(rest)? {
                read(from, depth - 1)?;
            }
            Ok(Reply::Array)
        }
        _ => Err(foreign()),
    }
}

/// A line without its end.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    io::Read::take(&mut *from, LEN_MAX as u64).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection was closed"));
    }
    let text = line.strip_suffix(b"\r\n").ok_or_else(foreign)?;
    String::from_utf8(text.to_vec()).map_err(|_| foreign())
}

fn len(digits: &str) -> io::Result<usize> {
    digits.parse().ok().filter(|&len| len <= LEN_MAX).ok_or_else(foreign)
}

fn foreign() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "what answers is no scurry")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> Result<Reply, ErrorKind> {
        Reply::read(&mut bytes).map_err(|error| error.kind())
    }

    #[test]
    fn replies_are_read() {
        assert_eq!(read(b"+OK\r\n"), Ok(Reply::Text("OK".to_owned())));
        assert_eq!(read(b"-ERR no\r\n"), Ok(Reply::Error("ERR no".to_owned())));
        assert_eq!(read(b"$-1\r\n"), Ok(Reply::Null));
        assert_eq!(read(b"$3\r\na\n:\r\n"), Ok(Reply::Text("a\n:".to_owned())));
        let mut bytes = &b"*2\r\n$2\r\na\n\r\n*1\r\n:7\r\n+next\r\n"[..];
        assert_eq!(Reply::read(&mut bytes).ok(), Some(Reply::Array));
        assert_eq!(bytes, b"+next\r\n");
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        assert_eq!(read(b""), Err(ErrorKind::UnexpectedEof));
        assert_eq!(read(b"$5\r\nab"), Err(ErrorKind::UnexpectedEof));
        for foreign in [&b"HTTP/1.1 400\r\n"[..], b"+OK", b"$9999999\r\n", b"\x15\x03\r\n", b"\r\n"]
        {
            assert_eq!(read(foreign), Err(ErrorKind::InvalidData), "{foreign:?}");
        }
        let deep = b"*1\r\n".repeat(20);
        assert_eq!(read(&deep), Err(ErrorKind::InvalidData));
    }
}
