//! A parser of RESP2 replies, and what finds the end of a reply that arrives in many parts.

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

/// How far a reply that is incomplete was looked through. Each byte is looked at once, in however many parts the reply
/// arrives: to parse a long one again from its begin with each part costs the square of its length.
#[derive(Debug, Default)]
pub(crate) struct ReplyScan {
    /// Bytes before this are whole values, or lines that begin arrays.
    at: usize,
    /// For each array that is open, how many of its elements are still to come.
    open: Vec<usize>,
}

impl ReplyScan {
    /// Looks on, and reports whether the reply at the start of the bytes is complete. The bytes are those of the last call
    /// and more.
    pub(crate) fn completes(&mut self, bytes: &[u8]) -> Result<bool, NotResp> {
        let mut reader = ReplyReader { bytes, at: self.at };
        loop {
            let elements = match reader.skip_value() {
                Ok(elements) => elements,
                Err(Stop::Part) => return Ok(false),
                Err(Stop::Wrong) => return Err(NotResp),
            };
            self.at = reader.at;
            if elements > 0 {
                if self.open.len() == DEPTH_MAX {
                    return Err(NotResp);
                }
                self.open.push(elements);
                continue;
            }
            // The value ends, and so does each array of which it is the last.
            loop {
                let Some(left) = self.open.last_mut() else { return Ok(true) };
                *left -= 1;
                if *left > 0 {
                    break;
                }
                self.open.pop();
            }
        }
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

    /// Goes past a value, or past the begin of an array, and returns the number of elements that follow.
    fn skip_value(&mut self) -> Result<usize, Stop> {
        let line = self.line()?;
        let (&kind, rest) = line.split_first().ok_or(Stop::Wrong)?;
        match kind {
            b'$' => {
                if let Some(length) = length(rest, STRING_LEN_MAX)? {
                    self.string(length)?;
                }
                Ok(0)
            }
            b'*' => Ok(length(rest, ELEMENTS_MAX)?.unwrap_or(0)),
            b':' | b'+' | b'-' => Ok(0),
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
    fn a_scan_finds_the_end_of_a_reply_in_parts_of_any_length() {
        for bytes in WHOLE {
            let more = [bytes, &b":1\r\n"[..]].concat();
            for step in 1..=more.len() {
                let mut scan = ReplyScan::default();
                let mut ends = (1..).map(|part| (part * step).min(more.len()));
                let end = ends.find(|&end| scan.completes(&more[..end]) == Ok(true));
                let first = bytes.len().next_multiple_of(step).min(more.len());
                assert_eq!(end, Some(first), "{:?} by {step}", bytes.escape_ascii());
                assert_eq!(scan.at, bytes.len());
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
            // The value of a line is for the parser, which sees it when the reply is complete.
            let scanned = ReplyScan::default().completes(bytes);
            assert!(scanned != Ok(false), "{bytes:?}");
        }
    }
}
