//! An incremental parser of RESP2 replies.

use redis::Value;
use scurry_resp::parse_integer;
use thiserror::Error;

/// Maximum length of a simple string, a number or an error, bytes.
const LINE_LEN_MAX: usize = 64 * 1024;
/// Maximum length of a bulk string, bytes: the longest argument that a node accepts.
const STRING_LEN_MAX: usize = 512 << 20;
/// Maximum number of elements of an array.
const ELEMENTS_MAX: usize = 1 << 20;
/// Maximum depth of nested arrays.
const DEPTH_MAX: usize = 8;

/// The bytes are not a reply, so nothing that follows them can be parsed.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("what came is no reply of RESP2")]
pub(crate) struct NotResp;

/// Parses the reply at the start of the bytes. Returns it and its length, or None when it is incomplete.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<(Value, usize)>, NotResp> {
    let mut reader = ReplyReader { bytes, at: 0 };
    match reader.value(0) {
        Ok(value) => Ok(Some((value, reader.at))),
        Err(Stop::Part) => Ok(None),
        Err(Stop::Wrong) => Err(NotResp),
    }
}

/// Why no value was parsed: it is incomplete, or not RESP2.
enum Stop {
    Part,
    Wrong,
}

struct ReplyReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ReplyReader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        let begin = self.at;
        let line = self.line()?;
        let (&kind, rest) = line.split_first().ok_or(Stop::Wrong)?;
        match kind {
            b':' => Ok(Value::Int(parse_integer(rest).ok_or(Stop::Wrong)?)),
            b'$' => match length(rest, STRING_LEN_MAX)? {
                None => Ok(Value::Nil),
                Some(length) => Ok(Value::BulkString(self.string(length)?.to_vec())),
            },
            b'*' => match length(rest, ELEMENTS_MAX)? {
                None => Ok(Value::Nil),
                Some(_) if depth == DEPTH_MAX => Err(Stop::Wrong),
                // The announced length is not trusted: memory grows with the elements that are there.
                Some(length) => {
                    let values = (0..length).map(|_| self.value(depth + 1));
                    values.collect::<Result<_, _>>().map(Value::Array)
                }
            },
            b'+' if rest == b"OK" => Ok(Value::Okay),
            b'+' => {
                let text = std::str::from_utf8(rest).map_err(|_| Stop::Wrong)?;
                Ok(Value::SimpleString(text.to_owned()))
            }
            // The client library knows the kinds of errors.
            b'-' => redis::parse_redis_value(&self.bytes[begin..self.at]).map_err(|_| Stop::Wrong),
            _ => Err(Stop::Wrong),
        }
    }

    fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let searched = &rest[..rest.len().min(LINE_LEN_MAX)];
        let end = searched.iter().position(|&byte| byte == b'\r');
        let end =
            end.ok_or(if searched.len() < LINE_LEN_MAX { Stop::Part } else { Stop::Wrong })?;
        match rest.get(end + 1) {
            None => Err(Stop::Part),
            Some(b'\n') => {
                self.at += end + 2;
                Ok(&rest[..end])
            }
            Some(_) => Err(Stop::Wrong),
        }
    }

    fn string(&mut self, length: usize) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let ended = rest.get(..length + 2).ok_or(Stop::Part)?;
        let string = ended.strip_suffix(b"\r\n").ok_or(Stop::Wrong)?;
        self.at += ended.len();
        Ok(string)
    }
}

/// Parses a length; None for -1, which stands for nil.
fn length(digits: &[u8], most: usize) -> Result<Option<usize>, Stop> {
    match parse_integer(digits) {
        Some(-1) => Ok(None),
        Some(length) => match usize::try_from(length) {
            Ok(length) if length <= most => Ok(Some(length)),
            _ => Err(Stop::Wrong),
        },
        None => Err(Stop::Wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &[&[u8]] = &[
        b":-7\r\n",
        b"$-1\r\n",
        b"*-1\r\n",
        b"$0\r\n\r\n",
        b"$4\r\na\r\nb\r\n",
        b"+OK\r\n",
        b"+PONG\r\n",
        b"*0\r\n",
        b"*3\r\n:9\r\n$4\r\nblue\r\n:-1\r\n",
        b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$0\r\n\r\n",
        b"-ERR unknown command\r\n",
        b"-WRONGTYPE Operation against a key\r\n",
    ];

    #[test]
    fn every_reply_is_read_as_the_kept_client_reads_it() {
        for bytes in WHOLE {
            let expected = redis::parse_redis_value(bytes).expect("a reply");
            assert_eq!(read(bytes), Ok(Some((expected.clone(), bytes.len()))));
            let two = [bytes, &b":1\r\n"[..]].concat();
            assert_eq!(read(&two), Ok(Some((expected, bytes.len()))));
        }
    }

    #[test]
    fn a_part_of_a_reply_is_none_yet() {
        for bytes in WHOLE {
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Ok(None), "{:?}", &bytes[..end]);
            }
        }
    }

    #[test]
    fn what_is_no_reply_is_not_waited_for() {
        let deep = b"*1\r\n".repeat(DEPTH_MAX + 1);
        let long = [b"+", &b"x".repeat(LINE_LEN_MAX)[..]].concat();
        for bytes in [
            &b"!!\r\n"[..],
            b"\r\n",
            b":x\r\n",
            b":1\rx",
            b"$-2\r\n",
            b"$9999999999\r\n",
            b"*9999999999\r\n",
            b"$1\r\nabc",
            b"+\xff\r\n",
            b"HTTP/1.1 200 OK\r\n",
            &deep,
            &long,
        ] {
            assert_eq!(read(bytes), Err(NotResp), "{bytes:?}");
        }
    }
}
