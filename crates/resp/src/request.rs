//! The incremental request parser: finds the arguments of one request in the bytes a
//! connection has received, in place and without going over them twice.

use crate::args::{Args, Span};
use crate::inline;

/// Bounds of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Arguments of one request, the command's name included.
    pub arguments_max: usize,
    /// One argument, bytes.
    pub argument_len_max: usize,
    /// One whole request, bytes; the input buffer of a connection never needs more.
    pub request_len_max: usize,
    /// One inline request, bytes.
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

/// Arguments before AUTH, at most.
const UNAUTHENTICATED_ARGUMENTS_MAX: i64 = 10;
/// Bytes of one argument before AUTH, at most.
const UNAUTHENTICATED_ARGUMENT_LEN_MAX: i64 = 16 * 1024;
/// Bytes of one whole request before AUTH, at most: anybody may make a connection hold as many.
pub const UNAUTHENTICATED_REQUEST_LEN_MAX: usize = 16 * 1024;
/// A count line holds at most this many bytes: no i64 is longer.
const COUNT_LINE_LEN_MAX: usize = 32;
/// Spans kept for the next request; a larger array is given back.
const SPANS_KEPT_MAX: usize = 4096;

/// Why a connection cannot go on: the position of the next request is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The number of arguments is not a number, or too large.
    InvalidMultibulkLength,
    /// More arguments than a client may send before AUTH.
    UnauthenticatedMultibulkLength,
    /// The number of arguments does not end.
    TooBigMultibulkCount,
    /// An argument does not begin with `$`.
    ExpectedDollar(u8),
    /// The length of an argument is not a number, or not where its CRLF is.
    InvalidBulkLength,
    /// An argument that is longer than the bound.
    TooLongArgument {
        /// As the client has announced it, bytes.
        len: usize,
        /// The bound, bytes.
        len_max: u32,
    },
    /// A longer argument than a client may send before AUTH.
    UnauthenticatedBulkLength,
    /// The length of an argument does not end.
    TooBigBulkCount,
    /// A longer request than a client may send before AUTH.
    UnauthenticatedRequestLength,
    /// The arguments together are longer than this many bytes.
    TooBigRequest(u32),
    /// An inline request does not end.
    TooBigInline,
    /// A quote in an inline request does not end, or ends within a word.
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
    /// The request is not complete: at least this many bytes are missing.
    Incomplete(usize),
    /// A request of this many bytes, the last one of the batch; [`Parser::args`] has its
    /// arguments. An empty line and an empty array are requests without arguments, to be passed
    /// over in silence.
    Request(usize),
    /// The connection cannot go on.
    Error(ProtocolError),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Before the first byte of a request.
    #[default]
    Start,
    /// Within an array: this many arguments are to come.
    Arguments(u32),
    /// Within a line.
    Line,
}

/// A request of the batch.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// First byte of the request, counted from the first byte of the batch.
    start: usize,
    /// Behind its last span.
    spans_end: usize,
    /// True where the arguments are in `unquoted`.
    inline: bool,
}

/// Parses the requests of one connection, in batches: requests that have arrived in full and are
/// looked at together before the first one is executed. It keeps its place within a request that
/// has not arrived in full, so that a request costs its length whatever pieces it comes in.
#[derive(Debug, Default)]
pub struct Parser {
    stage: Stage,
    /// Bytes of the request under way that need not be looked at again.
    position: usize,
    /// Of the batch, then of the request under way.
    spans: Vec<Span>,
    found: Vec<Found>,
    /// Bytes of the batch.
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

/// Reads the decimal number of a count line that begins here; `len` includes its CRLF.
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

/// The longest argument that [`short_head`] knows the head of, bytes.
const SHORT_LEN_MAX: usize = 99;

/// The head of an argument of 1 to 99 bytes, where one begins here and eight bytes have arrived: its
/// length, and that of the argument. All of it is compared as one word.
#[inline]
fn short_head(input: &[u8]) -> Option<(usize, usize)> {
    const ONE_DIGIT: u64 = u64::from_le_bytes(*b"$0\r\n\0\0\0\0");
    const TWO_DIGITS: u64 = u64::from_le_bytes(*b"$00\r\n\0\0\0");
    let word = u64::from_le_bytes(*input.first_chunk::<8>()?);
    // What differs, the first digit in front: more than digits where the rest is not as it should be.
    let one = ((word ^ ONE_DIGIT) as u32).rotate_right(8);
    if one.wrapping_sub(1) < 9 {
        return Some((4, one as usize));
    }
    let two = ((word ^ TWO_DIGITS) << 24).rotate_right(32);
    let (tens, ones) = (two & 0xff, two >> 8);
    (tens.wrapping_sub(1) < 9 && ones < 10).then(|| (5, (10 * tens + ones) as usize))
}

/// Before AUTH longer arguments are refused than these, so they need not be asked about it.
const _: () = assert!(UNAUTHENTICATED_ARGUMENT_LEN_MAX > 99);

/// The bound of a request, whose spans are 32 bits wide.
fn bounded(len_max: usize, authenticated: bool) -> usize {
    len_max.min(if authenticated { u32::MAX as usize } else { UNAUTHENTICATED_REQUEST_LEN_MAX })
}

/// A bound as an error shows it: no request is longer than 32 bits can say.
#[cold]
fn narrow(len_max: usize) -> u32 {
    u32::try_from(len_max).unwrap_or(u32::MAX)
}

impl ProtocolError {
    /// True where a setting of the server is what the client is beyond.
    pub fn is_bound(self) -> bool {
        matches!(self, ProtocolError::TooLongArgument { .. } | ProtocolError::TooBigRequest(_))
    }
}

impl Parser {
    /// Goes on with the request whose first byte is `input[0]`, and adds it to the batch when it is
    /// complete. Until it is, each call must see the same bytes again, and more of them.
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
        if let Parsed::Request(len) = outcome {
            self.found.push(Found { start: self.len, spans_end: self.spans.len(), inline });
            self.len += len;
            self.stage = Stage::Start;
            self.position = 0;
        }
        outcome
    }

    /// How many requests the batch has.
    pub fn found(&self) -> usize {
        self.found.len()
    }

    /// True when no more should be added to the batch: the room for the arguments of an inline
    /// request holds one.
    pub fn is_full(&self) -> bool {
        self.ends_inline()
    }

    /// True when the last request of the batch is a line, as people and browsers send it, and not
    /// an array.
    pub fn ends_inline(&self) -> bool {
        self.found.last().is_some_and(|last| last.inline)
    }

    /// The arguments of a request of the batch; `input` is what the batch begins.
    pub fn args<'a>(&'a self, input: &'a [u8], index: usize) -> Args<'a> {
        let Some(found) = self.found.get(index) else { return Args::default() };
        let first = index.checked_sub(1).map_or(0, |before| self.found[before].spans_end);
        let bytes = if found.inline { &self.unquoted } else { &input[found.start..] };
        Args { bytes, spans: &self.spans[first..found.spans_end] }
    }

    /// Bytes of this request of the batch and of those before it.
    pub fn end(&self, index: usize) -> usize {
        self.found.get(index + 1).map_or(self.len, |next| next.start)
    }

    /// Forgets the batch; the request under way stays.
    pub fn forget(&mut self) {
        if let Some(last) = self.found.last() {
            self.spans.drain(..last.spans_end);
        }
        self.found.clear();
        self.len = 0;
    }

    /// Forgets the batch and the request under way: parsing begins anew where the caller says.
    pub fn restart(&mut self) {
        self.spans.clear();
        self.found.clear();
        self.len = 0;
        self.stage = Stage::Start;
        self.position = 0;
    }

    /// True when the batch is empty and no request is under way.
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Start && self.found.is_empty()
    }

    /// Room for what it has found, bytes.
    pub fn room(&self) -> usize {
        size_of::<Span>() * self.spans.capacity()
            + size_of::<Found>() * self.found.capacity()
            + self.unquoted.capacity()
    }

    /// Gives back what an unusually large request needed. To be called when the parser is idle.
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
        // Where short arguments are within the bounds.
        let near = match limits.argument_len_max {
            ..SHORT_LEN_MAX => &[],
            _ => &input[..input.len().min(request_len_max)],
        };
        let missing = loop {
            if remaining == 0 {
                return Parsed::Request(position);
            }
            // The common case: a short argument that has arrived in full.
            if let Some((head, len)) = near.get(position..).and_then(short_head)
                && let start = position + head
                && let end = start + len
                && near.get(end..end + 2) == Some(b"\r\n")
            {
                self.spans.push(Span::new(start, len));
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
            if end + 2 > request_len_max {
                return Parsed::Error(match authenticated {
                    true => ProtocolError::TooBigRequest(narrow(request_len_max)),
                    false => ProtocolError::UnauthenticatedRequestLength,
                });
            }
            match input.get(end..end + 2) {
                Some(b"\r\n") => {}
                Some(_) => return Parsed::Error(ProtocolError::InvalidBulkLength),
                None => break end + 2 - input.len(),
            }
            self.spans.push(Span::new(start, length));
            position = end + 2;
            remaining -= 1;
        };
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
