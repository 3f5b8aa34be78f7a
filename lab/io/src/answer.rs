//! What every candidate does with the bytes it receives: find the requests, look at the first
//! argument, append a reply. It is cheap and the same for all, so that what differs is the I/O.

use rustix::time::{ClockId, clock_gettime};

/// Bytes of the value that GET answers.
const VALUE_LEN: usize = 100;
/// Digits of a count or a length; more are malformed.
const DIGITS_MAX: usize = 9;
/// Arguments of one request.
const ARGUMENTS_MAX: usize = 1_024;
/// Bytes of one argument.
const ARGUMENT_LEN_MAX: usize = 1 << 20;

/// What came is no array of bulk strings within the bounds: the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Answers requests and counts what that took.
#[derive(Debug)]
pub(crate) struct Responder {
    value: Vec<u8>,
    requests: u64,
    turns: u64,
    system_calls: u64,
}

impl Default for Responder {
    fn default() -> Responder {
        let mut value = format!("${VALUE_LEN}\r\n").into_bytes();
        value.resize(value.len() + VALUE_LEN, b'x');
        value.extend_from_slice(b"\r\n");
        Responder { value, requests: 0, turns: 0, system_calls: 0 }
    }
}

impl Responder {
    /// Answers every complete request at the start of `input`; returns their length in bytes.
    pub(crate) fn answer(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<usize, Malformed> {
        let mut done = 0;
        while let Some(request) = next_request(&input[done..])? {
            done += request.length;
            self.requests += 1;
            match request.name {
                b"GET" => output.extend_from_slice(&self.value),
                b"SET" => output.extend_from_slice(b"+OK\r\n"),
                b"PING" => output.extend_from_slice(b"+PONG\r\n"),
                b"USAGE" => self.usage(output),
                _ => output.extend_from_slice(b"-ERR unknown command\r\n"),
            }
        }
        Ok(done)
    }

    /// One wait for events has ended.
    pub(crate) fn count_turn(&mut self) {
        self.turns += 1;
    }

    /// System calls were made.
    pub(crate) fn count_system_calls(&mut self, calls: u64) {
        self.system_calls += calls;
    }

    /// A bulk string of four numbers: CPU time of the process in nanoseconds (its kernel
    /// threads included), requests, turns, system calls.
    fn usage(&self, output: &mut Vec<u8>) {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let nanos = time.tv_sec * 1_000_000_000 + time.tv_nsec;
        let text = format!("{nanos} {} {} {}", self.requests, self.turns, self.system_calls);
        output.extend_from_slice(format!("${}\r\n{text}\r\n", text.len()).as_bytes());
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    name: &'a [u8],
    length: usize,
}

/// The request at the start; none while it is incomplete.
fn next_request(bytes: &[u8]) -> Result<Option<Request<'_>>, Malformed> {
    let Some((count, mut at)) = header(bytes, 0, b'*')? else { return Ok(None) };
    if count == 0 || count > ARGUMENTS_MAX {
        return Err(Malformed);
    }
    let mut name: &[u8] = b"";
    for index in 0..count {
        let Some((length, start)) = header(bytes, at, b'$')? else { return Ok(None) };
        if length > ARGUMENT_LEN_MAX {
            return Err(Malformed);
        }
        let end = start + length;
        if bytes.len() < end + 2 {
            return Ok(None);
        }
        if index == 0 {
            name = &bytes[start..end];
        }
        at = end + 2;
    }
    Ok(Some(Request { name, length: at }))
}

/// The number in the line at `at`, and where the next line begins.
fn header(bytes: &[u8], at: usize, kind: u8) -> Result<Option<(usize, usize)>, Malformed> {
    let Some((first, rest)) = bytes.get(at..).and_then(<[u8]>::split_first) else {
        return Ok(None);
    };
    if *first != kind {
        return Err(Malformed);
    }
    let mut value = 0;
    for (index, byte) in rest.iter().enumerate() {
        match byte {
            b'0'..=b'9' if index < DIGITS_MAX => value = value * 10 + usize::from(byte - b'0'),
            b'\r' if index > 0 => {
                return Ok((rest.len() > index + 1).then_some((value, at + index + 3)));
            }
            _ => return Err(Malformed),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &[u8] = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nvv\r\n";
    const GET: &[u8] = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";

    #[test]
    fn whole_requests_are_answered_and_the_rest_is_left() {
        let both = [SET, GET].concat();
        for split in 0..both.len() {
            let (mut responder, mut output) = (Responder::default(), Vec::new());
            let done = responder.answer(&both[..split], &mut output).unwrap();
            assert_eq!(done, if split < SET.len() { 0 } else { SET.len() }, "at {split}");
            assert_eq!(output, if done == 0 { &b""[..] } else { b"+OK\r\n" }, "at {split}");
            assert_eq!(responder.answer(&both[done..], &mut output), Ok(both.len() - done));
            assert_eq!(output.len(), 5 + 6 + VALUE_LEN + 2);
        }
    }

    #[test]
    fn what_is_no_request_is_malformed() {
        for bytes in [
            &b"PING\r\n"[..],
            b"*0\r\n",
            b"*\r\n",
            b"*1\r\n:3\r\n",
            b"*1234567890\r\n",
            b"*1\r\n$1048577\r\n",
        ] {
            let answer = Responder::default().answer(bytes, &mut Vec::new());
            assert_eq!(answer, Err(Malformed), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn usage_tells_what_was_counted() {
        let (mut responder, mut output) = (Responder::default(), Vec::new());
        responder.count_turn();
        responder.count_system_calls(3);
        responder.answer(GET, &mut Vec::new()).unwrap();
        responder.answer(b"*1\r\n$5\r\nUSAGE\r\n", &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        assert!(text.ends_with(" 2 1 3\r\n"), "{text}");
    }
}
