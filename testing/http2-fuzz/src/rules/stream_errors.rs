//! Cases that end a stream, and no other.

use super::Expected::{AnyError, StreamError};
use super::State::{Closed, HalfClosed, Idle, Open, Reset};
use super::{GET, POST, Rule, get, get_with, post};
use crate::frame::{DATA, END_HEADERS, END_STREAM, Frame, HEADERS, PAYLOAD_MAX, PRIORITY};
use crate::hpack::plain_block;

/// A request that is malformed (RFC 9113 clause 8.1.1).
const fn malformed(
    name: &'static str,
    clause: &'static str,
    frames: fn(u32) -> Vec<Frame>,
) -> Rule {
    Rule { name, clause, state: Idle, expected: StreamError, frames }
}

/// A field that the library finds wrong while it decodes a block: it ends the connection, as clause 5.4.1 allows.
const fn undecoded(
    name: &'static str,
    clause: &'static str,
    frames: fn(u32) -> Vec<Frame>,
) -> Rule {
    Rule { name, clause, state: Idle, expected: AnyError, frames }
}

const fn rule(
    name: &'static str,
    clause: &'static str,
    state: super::State,
    frames: fn(u32) -> Vec<Frame>,
) -> Rule {
    Rule { name, clause, state, expected: StreamError, frames }
}

const fn any(
    name: &'static str,
    clause: &'static str,
    state: super::State,
    frames: fn(u32) -> Vec<Frame>,
) -> Rule {
    Rule { name, clause, state, expected: AnyError, frames }
}

fn head(stream: u32, fields: &[(&str, &str)]) -> Vec<Frame> {
    vec![Frame::new(HEADERS, END_HEADERS | END_STREAM, stream, &plain_block(fields))]
}

/// Returns a POST that announces this length, and its body.
fn announced(stream: u32, length: &str, body: &[u8]) -> Vec<Frame> {
    let block = [plain_block(&POST), plain_block(&[("content-length", length)])].concat();
    vec![
        Frame::new(HEADERS, END_HEADERS, stream, &block),
        Frame::new(DATA, END_STREAM, stream, body),
    ]
}

/// Returns trailers.
fn trailers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<Frame> {
    vec![Frame::new(HEADERS, END_HEADERS | flags, stream, &plain_block(fields))]
}

pub(super) const RULES: &[Rule] = &[
    undecoded("a name in upper case", "8.2.1", |at| vec![get_with(at, &[("X-Up", "1")])]),
    undecoded("a name with a space", "8.2.1", |at| vec![get_with(at, &[("x y", "1")])]),
    undecoded("a name with a colon in the middle", "8.2.1", |at| {
        vec![get_with(at, &[("x:y", "1")])]
    }),
    undecoded("an empty name", "8.2.1", |at| vec![get_with(at, &[("", "1")])]),
    undecoded("a value with NUL", "8.2.1", |at| vec![get_with(at, &[("x", "a\0b")])]),
    undecoded("a value with a line feed", "8.2.1", |at| vec![get_with(at, &[("x", "a\nb")])]),
    undecoded("a value with CR", "8.2.1", |at| vec![get_with(at, &[("x", "a\rb")])]),
    malformed(":method twice", "8.3", |at| {
        head(at, &[GET[0], (":method", "POST"), GET[1], GET[2], GET[3]])
    }),
    malformed(":path twice", "8.3", |at| head(at, &[GET[0], GET[1], GET[2], GET[2], GET[3]])),
    malformed(":authority twice", "8.3", |at| head(at, &[GET[0], GET[1], GET[2], GET[3], GET[3]])),
    malformed("no :method", "8.3.1", |at| head(at, &[GET[1], GET[2], GET[3]])),
    malformed("no :scheme", "8.3.1", |at| head(at, &[GET[0], GET[2], GET[3]])),
    malformed("no :path", "8.3.1", |at| head(at, &[GET[0], GET[1], GET[3]])),
    malformed("an empty :path", "8.3.1", |at| head(at, &[GET[0], GET[1], (":path", ""), GET[3]])),
    malformed("an empty block", "8.3.1", |at| head(at, &[])),
    malformed("a pseudo header after others", "8.3", |at| {
        head(at, &[GET[0], GET[1], GET[3], ("x", "1"), GET[2]])
    }),
    undecoded("an unknown pseudo header", "8.3", |at| {
        head(at, &[GET[0], GET[1], GET[2], GET[3], (":x", "1")])
    }),
    malformed("a pseudo header of answers", "8.3", |at| {
        head(at, &[GET[0], GET[1], GET[2], GET[3], (":status", "200")])
    }),
    malformed("connection", "8.2.2", |at| vec![get_with(at, &[("connection", "close")])]),
    malformed("keep-alive", "8.2.2", |at| vec![get_with(at, &[("keep-alive", "1")])]),
    malformed("proxy-connection", "8.2.2", |at| vec![get_with(at, &[("proxy-connection", "x")])]),
    malformed("transfer-encoding", "8.2.2", |at| {
        vec![get_with(at, &[("transfer-encoding", "chunked")])]
    }),
    malformed("upgrade", "8.2.2", |at| vec![get_with(at, &[("upgrade", "h2c")])]),
    malformed("te that is not trailers", "8.2.2", |at| vec![get_with(at, &[("te", "gzip")])]),
    malformed("CONNECT with a path", "8.5", |at| {
        head(at, &[(":method", "CONNECT"), GET[1], GET[2], GET[3]])
    }),
    malformed("content-length of more than comes", "8.1.1", |at| announced(at, "9", b"[]")),
    malformed("content-length of less than comes", "8.1.1", |at| announced(at, "1", b"[]")),
    malformed("content-length that is no number", "8.1.1", |at| announced(at, "two", b"[]")),
    malformed("content-length and no body", "8.1.1", |at| {
        let fields = [&POST[..], &[("content-length", "2")]].concat();
        head(at, &fields)
    }),
    rule("a second head that ends nothing", "8.1", Open, |at| trailers(at, 0, &[("x", "1")])),
    any("WINDOW_UPDATE by 0 on a stream", "6.9", Open, |at| vec![Frame::window_update(at, 0)]),
    rule("WINDOW_UPDATE beyond 2^31 on a stream", "6.9.1", Open, |at| {
        vec![Frame::window_update(at, (1 << 31) - 1)]
    }),
    any("PRIORITY of 4 bytes", "6.3", Open, |at| vec![Frame::new(PRIORITY, 0, at, &[0; 4])]),
    any("DATA beyond the window of the stream", "6.9.1", Open, |at| {
        vec![Frame::new(DATA, 0, at, &[b' '; PAYLOAD_MAX]); 17]
    }),
    any("DATA longer than MAX_FRAME_SIZE", "4.2", Open, |at| {
        vec![Frame::new(DATA, 0, at, &[b' '; PAYLOAD_MAX + 1])]
    }),
    any("DATA after END_STREAM", "5.1", HalfClosed, |at| vec![Frame::new(DATA, 0, at, b"x")]),
    any("HEADERS after END_STREAM", "5.1", HalfClosed, |at| vec![get(at)]),
    any("DATA on a closed stream", "5.1", Closed, |at| vec![Frame::new(DATA, 0, at, b"x")]),
    any("HEADERS on a stream that was reset", "5.1", Reset, |at| vec![post(at)]),
    any("DATA on a stream that was reset", "5.1", Reset, |at| vec![Frame::new(DATA, 0, at, b"x")]),
];
