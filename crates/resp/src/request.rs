//! The incremental request parser: finds the arguments of one request in the bytes that a connection has received, in
//! place and in one pass.

use crate::args::{Args, ArgumentSpan};
use crate::inline;

/// Bounds of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Most arguments of one request, the command's name included.
    pub arguments_max: usize,
    /// Longest argument, bytes.
    pub argument_len_max: usize,
    /// Longest request, bytes; the input buffer of a connection never needs more.
    pub request_len_max: usize,
    /// Longest inline request, bytes.
    pub inline_len_max: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        RequestLimits {
            arguments_max: 1024 * 1024,
            argument_len_max: 8 * 1024 * 1024,
            request_len_max: 16 * 1024 * 1024,
            inline_len_max: 64 * 1024,
        }
    }
}

/// Most arguments before AUTH.
const UNAUTHENTICATED_ARGUMENTS_MAX: i64 = 10;
/// Longest argument before AUTH, bytes.
const UNAUTHENTICATED_ARGUMENT_LEN_MAX: i64 = 16 * 1024;
/// Longest request before AUTH, bytes: any client can make a connection buffer this many.
pub const UNAUTHENTICATED_REQUEST_LEN_MAX: usize = 16 * 1024;
/// Longest count line, bytes: no i64 is longer.
const COUNT_LINE_LEN_MAX: usize = 32;
/// Spans kept for the next request; a larger array is freed.
const SPANS_KEPT_MAX: usize = 4096;

/// Protocol errors, after which the connection must close: the position of the next request is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The number of arguments is not a number, or too large.
    InvalidMultibulkLength,
    /// More arguments than allowed before AUTH.
    UnauthenticatedMultibulkLength,
    /// The line with the number of arguments is too long.
    TooBigMultibulkCount,
    /// An argument does not begin with `$`.
    ExpectedDollar(u8),
    /// The length of an argument is not a number.
    InvalidBulkLength,
    /// After an argument of the announced length stands no CRLF.
    InvalidCrlf,
    /// An argument longer than the bound.
    TooLongArgument {
        /// Length that the client has announced, bytes.
        len: usize,
        /// The bound, bytes.
        len_max: u32,
    },
    /// An argument longer than allowed before AUTH.
    UnauthenticatedBulkLength,
    /// The line with the length of an argument is too long.
    TooBigBulkCount,
    /// A request longer than allowed before AUTH.
    UnauthenticatedRequestLength,
    /// The whole request is longer than this many bytes.
    TooBigRequest(u32),
    /// An inline request is too long.
    TooBigInline,
    /// A quote in an inline request is not closed, or is closed inside a word.
    UnbalancedQuotes,
}

impl std::fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Protocol error: ")?;
        match self {
            ProtocolError::InvalidMultibulkLength => f.write_str("invalid multibulk length"),
            ProtocolError::UnauthenticatedMultibulkLength => {
                f.write_str("unauthenticated multibulk length")
            }
            ProtocolError::TooBigMultibulkCount => f.write_str("too big mbulk count string"),
            ProtocolError::ExpectedDollar(got) => {
                write!(f, "expected '$', got '{}'", got.escape_ascii())
            }
            ProtocolError::InvalidBulkLength => f.write_str("invalid bulk length"),
            ProtocolError::InvalidCrlf => f.write_str("invalid CRLF in request"),
            ProtocolError::TooLongArgument { len, len_max } => write!(
                f,
                "invalid bulk length: an argument of {len} bytes is longer than {len_max} (--max-argument)"
            ),
            ProtocolError::UnauthenticatedBulkLength => f.write_str("unauthenticated bulk length"),
            ProtocolError::TooBigBulkCount => f.write_str("too big bulk count string"),
            ProtocolError::UnauthenticatedRequestLength => {
                f.write_str("too big request before AUTH")
            }
            ProtocolError::TooBigRequest(len_max) => {
                write!(f, "too big request: longer than {len_max} bytes (--max-request)")
            }
            ProtocolError::TooBigInline => f.write_str("too big inline request"),
            ProtocolError::UnbalancedQuotes => f.write_str("unbalanced quotes in request"),
        }
    }
}

/// Result of [`Parser::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The request is incomplete: at least this many bytes are missing.
    Incomplete(usize),
    /// A request of this many bytes, the last one of the batch; [`Parser::args`] returns its arguments. An empty line
    /// and an empty array are requests without arguments, which the caller skips without a reply.
    Request(usize),
    /// The connection must close.
    Error(ProtocolError),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Before the first byte of a request.
    #[default]
    Start,
    /// Within an array: this many arguments are missing.
    Arguments(u32),
    /// Within an inline request.
    Line,
}

/// A request of the batch.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Offset of the first byte of the request in the batch.
    start: usize,
    /// End of its spans in `spans`.
    spans_end: usize,
    /// Whether the arguments are in `unquoted`.
    inline: bool,
}

/// Parses the requests of one connection in batches: requests that have arrived completely and are parsed together
/// before the first one is executed. It remembers its position within an incomplete request, so that a request costs
/// time in proportion to its length, in however many pieces it arrives.
#[derive(Debug, Default)]
pub struct Parser {
    stage: Stage,
    /// Bytes of the incomplete request that are already parsed.
    position: usize,
    /// Spans of the batch, then of the incomplete request.
    spans: Vec<ArgumentSpan>,
    found: Vec<Found>,
    /// Length of the batch, bytes.
    len: usize,
    /// Arguments of the batch's inline request, without their quotes.
    unquoted: Vec<u8>,
}

enum Count {
    Value { value: i64, len: usize },
    Incomplete,
    Invalid,
    TooBig,
}

/// Reads the decimal number of a count line at the start of `line`; the returned `len` includes its CRLF.
#[inline]
fn count(line: &[u8]) -> Count {
    // The common case: one to nine digits.
    let mut value = 0i64;
    for (index, &byte) in line.iter().take(10).enumerate() {
        match byte {
            b'0'..=b'9' => value = value * 10 + i64::from(byte - b'0'),
            b'\r' if index == 1 || (index > 1 && line[0] != b'0') => {
                return match line.get(index + 1) {
                    Some(b'\n') => Count::Value { value, len: index + 2 },
                    Some(_) => Count::Invalid,
                    None => Count::Incomplete,
                };
            }
            _ => break,
        }
    }
    let end = line.iter().take(COUNT_LINE_LEN_MAX).position(|&byte| byte == b'\r');
    match end {
        Some(end) => match (crate::parse_integer(&line[..end]), line.get(end + 1)) {
            (Some(value), Some(b'\n')) => Count::Value { value, len: end + 2 },
            (Some(_), None) => Count::Incomplete,
            _ => Count::Invalid,
        },
        None if line.len() >= COUNT_LINE_LEN_MAX => Count::TooBig,
        None => Count::Incomplete,
    }
}

/// Longest argument whose head [`short_head`] parses, bytes.
const SHORT_LEN_MAX: usize = 99;

/// Parses the head of an argument of 1 to 99 bytes, if eight bytes have arrived. Returns the lengths of the head and of
/// the argument. The whole head is compared as one word.
#[inline]
fn short_head(input: &[u8]) -> Option<(usize, usize)> {
    const ONE_DIGIT: u64 = u64::from_le_bytes(*b"$0\r\n\0\0\0\0");
    const TWO_DIGITS: u64 = u64::from_le_bytes(*b"$00\r\n\0\0\0");
    let word = u64::from_le_bytes(*input.first_chunk::<8>()?);
    // The difference from the pattern, with the first digit rotated to the low byte. If any other byte differs, the
    // result is above 9.
    let one = ((word ^ ONE_DIGIT) as u32).rotate_right(8);
    if one.wrapping_sub(1) < 9 {
        return Some((4, one as usize));
    }
    let two = ((word ^ TWO_DIGITS) << 24).rotate_right(32);
    let (tens, ones) = (two & 0xff, two >> 8);
    (tens.wrapping_sub(1) < 9 && ones < 10).then(|| (5, (10 * tens + ones) as usize))
}

/// `short_head` skips the bound of arguments before AUTH, since that bound is greater than its own.
const _: () = assert!(UNAUTHENTICATED_ARGUMENT_LEN_MAX > 99);

/// Returns the bound of a request, at most 32 bits, which is the width of spans.
fn bounded(len_max: usize, authenticated: bool) -> usize {
    len_max.min(if authenticated { u32::MAX as usize } else { UNAUTHENTICATED_REQUEST_LEN_MAX })
}

/// Returns a bound for an error text: no request is longer than 32 bits can express.
#[cold]
fn narrow(len_max: usize) -> u32 {
    u32::try_from(len_max).unwrap_or(u32::MAX)
}

impl ProtocolError {
    /// Reports whether the client exceeds a bound that a setting of the server can raise.
    pub fn is_bound(self) -> bool {
        matches!(self, ProtocolError::TooLongArgument { .. } | ProtocolError::TooBigRequest(_))
    }
}

impl Parser {
    /// Continues with the request whose first byte is `input[0]`, and adds it to the batch when it is complete. Until
    /// then, each call must pass the same bytes again and more of them.
    pub fn parse(&mut self, input: &[u8], limits: &RequestLimits, authenticated: bool) -> Parsed {
        let mut inline = false;
        let outcome = match self.stage {
            Stage::Arguments(remaining) => self.arguments(input, remaining, limits, authenticated),
            Stage::Start if input.is_empty() => return Parsed::Incomplete(1),
            Stage::Start if input[0] == b'*' => self.header(input, limits, authenticated),
            Stage::Start | Stage::Line => {
                inline = true;
                self.line(input, limits, authenticated)
            }
        };
        // The next request of the batch begins at `self.len`, with a fresh position.
        if let Parsed::Request(len) = outcome {
            self.found.push(Found { start: self.len, spans_end: self.spans.len(), inline });
            self.len += len;
            self.stage = Stage::Start;
            self.position = 0;
        }
        outcome
    }

    /// Returns the number of requests in the batch.
    pub fn found(&self) -> usize {
        self.found.len()
    }

    /// Reports whether no more requests may be added to the batch: the buffer for inline arguments holds those of one
    /// request.
    pub fn is_full(&self) -> bool {
        self.ends_inline()
    }

    /// Reports whether the last request of the batch is inline, as people and browsers send it, and not an array.
    pub fn ends_inline(&self) -> bool {
        self.found.last().is_some_and(|last| last.inline)
    }

    /// Returns the arguments of a request of the batch; `input` must begin with the batch.
    pub fn args<'a>(&'a self, input: &'a [u8], index: usize) -> Args<'a> {
        let Some(found) = self.found.get(index) else { return Args::default() };
        let first = index.checked_sub(1).map_or(0, |before| self.found[before].spans_end);
        let bytes = if found.inline { &self.unquoted } else { &input[found.start..] };
        Args { bytes, spans: &self.spans[first..found.spans_end] }
    }

    /// Returns the end of this request: the bytes of the batch up to and including it.
    pub fn end(&self, index: usize) -> usize {
        self.found.get(index + 1).map_or(self.len, |next| next.start)
    }

    /// Forgets the batch; the incomplete request stays.
    pub fn forget(&mut self) {
        if let Some(last) = self.found.last() {
            self.spans.drain(..last.spans_end);
        }
        self.found.clear();
        self.len = 0;
    }

    /// Forgets the batch and the incomplete request: the caller chooses where parsing begins again.
    pub fn restart(&mut self) {
        self.spans.clear();
        self.found.clear();
        self.len = 0;
        self.stage = Stage::Start;
        self.position = 0;
    }

    /// Reports whether the batch is empty and no request is incomplete.
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Start && self.found.is_empty()
    }

    /// Returns the memory held for spans and unquoted arguments, bytes.
    pub fn room(&self) -> usize {
        size_of::<ArgumentSpan>() * self.spans.capacity()
            + size_of::<Found>() * self.found.capacity()
            + self.unquoted.capacity()
    }

    /// Frees the memory that an unusually large request needed. Call it when the parser is idle.
    pub fn shrink(&mut self) {
        if self.spans.capacity() > SPANS_KEPT_MAX {
            self.spans = Vec::new();
        }
        if self.unquoted.capacity() > SPANS_KEPT_MAX {
            self.unquoted = Vec::new();
        }
    }

    fn header(&mut self, input: &[u8], limits: &RequestLimits, authenticated: bool) -> Parsed {
        let (value, len) = match count(&input[1..]) {
            Count::Value { value, len } => (value, len),
            Count::Incomplete => return Parsed::Incomplete(1),
            Count::Invalid => return Parsed::Error(ProtocolError::InvalidMultibulkLength),
            Count::TooBig => return Parsed::Error(ProtocolError::TooBigMultibulkCount),
        };
        // A negative count is an empty request, as in Redis.
        let remaining = match u32::try_from(value.max(0)) {
            Ok(remaining) if remaining as usize <= limits.arguments_max => remaining,
            _ => return Parsed::Error(ProtocolError::InvalidMultibulkLength),
        };
        if !authenticated && value > UNAUTHENTICATED_ARGUMENTS_MAX {
            return Parsed::Error(ProtocolError::UnauthenticatedMultibulkLength);
        }
        self.position = 1 + len;
        self.arguments(input, remaining, limits, authenticated)
    }

    fn arguments(
        &mut self,
        input: &[u8],
        mut remaining: u32,
        limits: &RequestLimits,
        authenticated: bool,
    ) -> Parsed {
        let request_len_max = bounded(limits.request_len_max, authenticated);
        let mut position = self.position;
        // Empty if the bound on arguments is too small for the fast path.
        let near = match limits.argument_len_max {
            ..SHORT_LEN_MAX => &[],
            _ => &input[..input.len().min(request_len_max)],
        };
        let missing = loop {
            if remaining == 0 {
                return Parsed::Request(position);
            }
            // The common case: a short argument that has arrived completely.
            if let Some((head, len)) = near.get(position..).and_then(short_head)
                && let start = position + head
                && let end = start + len
                && near.get(end..end + 2) == Some(b"\r\n")
            {
                self.spans.push(ArgumentSpan::new(start, len));
                position = end + 2;
                remaining -= 1;
                continue;
            }
            match input.get(position) {
                Some(b'$') => {}
                Some(&other) => return Parsed::Error(ProtocolError::ExpectedDollar(other)),
                None => break 1,
            }
            let (value, len) = match count(&input[position + 1..]) {
                Count::Value { value, len } => (value, len),
                Count::Incomplete => break 1,
                Count::Invalid => return Parsed::Error(ProtocolError::InvalidBulkLength),
                Count::TooBig => return Parsed::Error(ProtocolError::TooBigBulkCount),
            };
            let Ok(length) = usize::try_from(value) else {
                return Parsed::Error(ProtocolError::InvalidBulkLength);
            };
            if !authenticated && value > UNAUTHENTICATED_ARGUMENT_LEN_MAX {
                return Parsed::Error(ProtocolError::UnauthenticatedBulkLength);
            }
            if length > limits.argument_len_max {
                let len_max = narrow(limits.argument_len_max);
                return Parsed::Error(ProtocolError::TooLongArgument { len: length, len_max });
            }
            let start = position + 1 + len;
            let end = start + length;
            // The CRLF counts too: a connection's input buffer never needs more than `request_len_max`.
            if end + 2 > request_len_max {
                return Parsed::Error(match authenticated {
                    true => ProtocolError::TooBigRequest(narrow(request_len_max)),
                    false => ProtocolError::UnauthenticatedRequestLength,
                });
            }
            match input.get(end..end + 2) {
                Some(b"\r\n") => {}
                Some(_) => return Parsed::Error(ProtocolError::InvalidCrlf),
                None => break end + 2 - input.len(),
            }
            self.spans.push(ArgumentSpan::new(start, length));
            position = end + 2;
            remaining -= 1;
        };
        // Complete arguments are kept, so the next call continues after them.
        self.stage = Stage::Arguments(remaining);
        self.position = position;
        Parsed::Incomplete(missing)
    }

    fn line(&mut self, input: &[u8], limits: &RequestLimits, authenticated: bool) -> Parsed {
        let inline_len_max = bounded(limits.inline_len_max, authenticated);
        let Some(more) = input[self.position..].iter().position(|&byte| byte == b'\n') else {
            if input.len() > inline_len_max {
                return Parsed::Error(ProtocolError::TooBigInline);
            }
            self.stage = Stage::Line;
            self.position = input.len();
            return Parsed::Incomplete(1);
        };
        let end = self.position + more;
        if end > inline_len_max {
            return Parsed::Error(ProtocolError::TooBigInline);
        }
        self.unquoted.clear();
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        match inline::split(line, &mut self.unquoted, &mut self.spans) {
            Some(()) => Parsed::Request(end + 1),
            None => Parsed::Error(ProtocolError::UnbalancedQuotes),
        }
    }
}
