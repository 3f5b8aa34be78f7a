//! The request parser: an input gives the same requests and the same error however it is cut
//! into pieces; positions stay within what arrived; nothing exceeds its bound; and what was
//! read, written again, is read the same.

use crate::Random;
use scurry_resp::{Parsed, Parser, RequestLimits};

/// Bounds that small inputs reach.
const NARROW: RequestLimits = RequestLimits {
    arguments_max: 12,
    argument_len_max: 40,
    request_len_max: 120,
    inline_len_max: 60,
};

/// Longest piece in which an input arrives, bytes, in the inputs that are cut finely.
const PIECE_LEN_MAX: usize = 7;

/// One request: its length and its arguments.
type Request = (usize, Vec<Vec<u8>>);

/// How a connection ended: the requests, and what stands behind the last.
type Read = (Vec<Request>, Parsed);

/// How the input arrives and what it is held against.
struct Setting {
    limits: RequestLimits,
    authenticated: bool,
    /// Memory is given back between requests.
    shrinks: bool,
    /// One byte at a time, or pieces of any length.
    fine: bool,
}

/// The first byte chooses the setting, the second the pieces, the rest arrives.
pub fn check(data: &[u8]) {
    let [choices, seed, input @ ..] = data else { return };
    let setting = Setting {
        limits: if choices & 1 == 0 { NARROW } else { RequestLimits::default() },
        authenticated: choices & 2 == 0,
        shrinks: choices & 4 != 0,
        fine: choices & 8 != 0,
    };
    let whole = at_once(&setting, input);
    let pieces = in_pieces(&setting, input, Random::new(u64::from(*seed)));
    assert_eq!(whole, pieces, "the pieces change what is read");
    let mut consumed = 0;
    for (len, arguments) in &whole.0 {
        consumed += len;
        bounded(&setting, *len, arguments);
        same_again(arguments);
    }
    assert!(consumed <= input.len(), "more was consumed than came");
}

fn at_once(setting: &Setting, input: &[u8]) -> Read {
    let (mut parser, mut requests, mut start) = (Parser::default(), Vec::new(), 0);
    loop {
        let rest = &input[start..];
        match step(setting, &mut parser, rest) {
            (Parsed::Request(len), request) => {
                requests.extend(request);
                start += len;
            }
            (end, _) => return (requests, end),
        }
    }
}

/// As a connection does it: what arrives goes behind what is there.
fn in_pieces(setting: &Setting, input: &[u8], mut random: Random) -> Read {
    let (mut parser, mut requests) = (Parser::default(), Vec::new());
    let (mut start, mut arrived, mut least) = (0, 0, 0);
    loop {
        match step(setting, &mut parser, &input[start..arrived]) {
            (Parsed::Request(len), request) => {
                assert!(start + len >= least, "complete although bytes were said to be missing");
                requests.extend(request);
                start += len;
            }
            (Parsed::Incomplete(missing), _) => {
                least = arrived + missing;
                if arrived == input.len() {
                    return (requests, Parsed::Incomplete(missing));
                }
                let piece_max = if setting.fine { PIECE_LEN_MAX } else { input.len() };
                arrived = input.len().min(arrived + 1 + random.below(piece_max));
            }
            (end, _) => return (requests, end),
        }
    }
}

fn step(setting: &Setting, parser: &mut Parser, input: &[u8]) -> (Parsed, Option<Request>) {
    let parsed = parser.parse(input, &setting.limits, setting.authenticated);
    match parsed {
        Parsed::Request(len) => {
            assert!((1..=input.len()).contains(&len), "a request of {len} bytes");
            let args = parser.args(input);
            let arguments: Vec<Vec<u8>> = args.iter_from(0).map(<[u8]>::to_vec).collect();
            assert_eq!(arguments.len(), args.len(), "an argument lies outside the request");
            assert!(parser.is_at_start(), "a request is over");
            if setting.shrinks {
                parser.shrink();
            }
            (parsed, Some((len, arguments)))
        }
        Parsed::Incomplete(missing) => {
            let bound = setting.limits.request_len_max.max(1);
            assert!((1..=bound).contains(&missing), "{missing} bytes are missing");
            (parsed, None)
        }
        Parsed::Error(error) => {
            let shown = error.to_string();
            assert!(shown.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{shown:?}");
            (parsed, None)
        }
    }
}

fn bounded(setting: &Setting, len: usize, arguments: &[Vec<u8>]) {
    let limits = &setting.limits;
    // An inline request has a bound of its own.
    assert!(len <= limits.request_len_max.max(limits.inline_len_max + 1), "{len} bytes");
    assert!(arguments.len() <= limits.arguments_max.max(limits.inline_len_max / 2 + 1));
    let longest = arguments.iter().map(Vec::len).max().unwrap_or_default();
    assert!(longest <= limits.argument_len_max.max(limits.inline_len_max), "{longest} bytes");
    assert!(arguments.iter().map(Vec::len).sum::<usize>() <= len, "longer than what was sent");
}

/// Written as an array, the arguments come back.
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
    let again: Vec<Vec<u8>> = parser.args(&bytes).iter_from(0).map(<[u8]>::to_vec).collect();
    assert_eq!(again, arguments, "written and read again it differs");
}
