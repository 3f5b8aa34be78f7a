//! The request parser: an input gives the same requests and the same error however it is cut into pieces and batches;
//! positions stay within what arrived; nothing exceeds its bound; and a parsed request, written again, parses the same.

use crate::Random;
use scurry_resp::{Parsed, Parser, RequestLimits, Requests};

/// Bounds that small inputs reach.
const NARROW: RequestLimits = RequestLimits {
    arguments_max: 12,
    argument_len_max: 40,
    request_len_max: 120,
    inline_len_max: 60,
};

/// Maximum length in bytes of a piece in which an input arrives, when it is split finely.
const PIECE_LEN_MAX: usize = 7;

/// Maximum number of requests in one batch.
const BATCH_MAX: usize = 8;

/// One request: its length and its arguments.
type Request = (usize, Vec<Vec<u8>>);

/// The requests of a connection, and the result after the last one.
type Read = (Vec<Request>, Parsed);

/// The bounds that apply, and how the input arrives.
struct Setting {
    limits: RequestLimits,
    authenticated: bool,
    /// True to release memory between requests.
    shrinks: bool,
    /// True for short pieces, false for pieces of any length.
    fine: bool,
    /// True to parse a batch again sometimes.
    restarts: bool,
}

/// Runs the input: the first byte selects the setting, the second seeds the pieces, and the rest is sent.
pub fn check(data: &[u8]) {
    let [choices, seed, input @ ..] = data else { return };
    let setting = Setting {
        limits: if choices & 1 == 0 { NARROW } else { RequestLimits::default() },
        authenticated: choices & 2 == 0,
        shrinks: choices & 4 != 0,
        fine: choices & 8 != 0,
        restarts: choices & 16 != 0,
    };
    let whole = Connection::new(&setting, input).read(input.len(), None);
    let random = Random::new(u64::from(*seed));
    let pieces = Connection::new(&setting, input).read(0, Some(random));
    assert_eq!(whole, pieces, "the pieces change what is read");
    let mut consumed = 0;
    for (len, arguments) in &whole.0 {
        consumed += len;
        bounded(&setting, *len, arguments);
        same_again(arguments);
    }
    assert!(consumed <= input.len(), "more was consumed than came");
    handed_over(&whole.0);
}

/// A connection as its parser sees it.
struct Connection<'a> {
    setting: &'a Setting,
    input: &'a [u8],
    parser: Parser,
    /// Offset at which the batch begins.
    start: usize,
    /// Length of the batch, bytes.
    len: usize,
    requests: Vec<Request>,
}

impl<'a> Connection<'a> {
    fn new(setting: &'a Setting, input: &'a [u8]) -> Connection<'a> {
        let parser = Parser::default();
        Connection { setting, input, parser, start: 0, len: 0, requests: Vec::new() }
    }

    /// Reads to the end. `arrived` bytes are available at once; the random choices determine the pieces of the rest and
    /// the lengths of batches. Without choices a batch is one request.
    fn read(mut self, mut arrived: usize, mut random: Option<Random>) -> Read {
        let mut below = |end: usize| random.as_mut().map_or(0, |random| random.below(end));
        let mut least = 0;
        loop {
            let at = self.start + self.len;
            let Setting { limits, authenticated, .. } = self.setting;
            let parsed = self.parser.parse(&self.input[at..arrived], limits, *authenticated);
            match parsed {
                Parsed::Request(len) => {
                    assert!((1..=arrived - at).contains(&len), "a request of {len} bytes");
                    assert!(at + len >= least, "complete although bytes were missing");
                    self.len += len;
                    if self.setting.restarts && below(4) == 3 {
                        self.parser.restart();
                        self.len = 0;
                    } else if self.parser.is_full() || self.parser.found() > below(BATCH_MAX) {
                        self.execute_batch(arrived);
                    }
                }
                Parsed::Incomplete(missing) => {
                    let missing_max = limits.request_len_max.max(1);
                    assert!((1..=missing_max).contains(&missing), "{missing} bytes are missing");
                    self.execute_batch(arrived);
                    if arrived == self.input.len() {
                        return (self.requests, parsed);
                    }
                    least = arrived + missing;
                    let piece_max =
                        if self.setting.fine { PIECE_LEN_MAX } else { self.input.len() };
                    arrived = self.input.len().min(arrived + 1 + below(piece_max));
                }
                Parsed::Error(error) => {
                    let shown = error.to_string();
                    assert!(shown.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{shown:?}");
                    self.execute_batch(arrived);
                    return (self.requests, parsed);
                }
            }
        }
    }

    /// Executes the batch.
    fn execute_batch(&mut self, arrived: usize) {
        let (batch, mut begin) = (&self.input[self.start..arrived], 0);
        for index in 0..self.parser.found() {
            let args = self.parser.args(batch, index);
            let arguments: Vec<Vec<u8>> = args.iter_from(0).map(<[u8]>::to_vec).collect();
            let end = self.parser.end(index);
            assert!((begin + 1..=self.len).contains(&end), "a request ends at {end}");
            self.requests.push((end - begin, arguments));
            begin = end;
        }
        assert_eq!(begin, self.len, "the batch is its requests");
        assert!(self.parser.args(batch, self.parser.found()).is_empty(), "behind the last");
        self.parser.forget();
        (self.start, self.len) = (self.start + self.len, 0);
        if self.setting.shrinks && self.parser.is_idle() {
            self.parser.shrink();
        }
    }
}

/// Checks that requests handed to another core stay the same.
fn handed_over(requests: &[Request]) {
    let mut handed = Requests::default();
    for (_, arguments) in requests {
        handed.push(arguments.iter().map(Vec::as_slice));
    }
    assert_eq!(handed.len(), requests.len());
    for (index, (_, arguments)) in requests.iter().enumerate() {
        let again: Vec<&[u8]> = handed.get(index).iter_from(0).collect();
        assert_eq!(&again, arguments, "handed over it differs");
    }
}

fn bounded(setting: &Setting, len: usize, arguments: &[Vec<u8>]) {
    let limits = &setting.limits;
    // An inline request has its own bound.
    assert!(len <= limits.request_len_max.max(limits.inline_len_max + 1), "{len} bytes");
    assert!(arguments.len() <= limits.arguments_max.max(limits.inline_len_max / 2 + 1));
    let longest = arguments.iter().map(Vec::len).max().unwrap_or_default();
    assert!(longest <= limits.argument_len_max.max(limits.inline_len_max), "{longest} bytes");
    assert!(arguments.iter().map(Vec::len).sum::<usize>() <= len, "longer than what was sent");
}

/// Checks that the arguments, written as an array, parse to the same.
fn same_again(arguments: &[Vec<u8>]) {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    let mut parser = Parser::default();
    let parsed = parser.parse(&bytes, &RequestLimits::default(), true);
    assert_eq!(parsed, Parsed::Request(bytes.len()), "its own words are not read");
    let again: Vec<Vec<u8>> = parser.args(&bytes, 0).iter_from(0).map(<[u8]>::to_vec).collect();
    assert_eq!(again, arguments, "written and read again it differs");
}
