//! Cases that end the connection.

use super::Expected::ConnectionError;
use super::State::{Closed, Idle, Open};
use super::{GET, Rule, get};
use crate::frame::{
    ACK, CONTINUATION, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS,
    INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, PADDED, PAYLOAD_MAX, PING, PRIORITY, PUSH_PROMISE,
    RST_STREAM, SETTINGS, UNKNOWN, WINDOW_UPDATE,
};
use crate::hpack::{integer, plain, plain_block};
use crate::huffman;

const fn rule(
    name: &'static str,
    clause: &'static str,
    state: super::State,
    frames: fn(u32) -> Vec<Frame>,
) -> Rule {
    Rule { name, clause, state, expected: ConnectionError, frames }
}

/// Returns a GET whose block ends with these bytes.
fn block_with(stream: u32, more: &[u8]) -> Vec<Frame> {
    let block = [&plain_block(&GET)[..], more].concat();
    vec![Frame::new(HEADERS, END_HEADERS | END_STREAM, stream, &block)]
}

/// Returns HEADERS without END_HEADERS.
fn begun(stream: u32) -> Frame {
    Frame::new(HEADERS, END_STREAM, stream, &plain_block(&GET))
}

fn one(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<Frame> {
    vec![Frame::new(kind, flags, stream, payload)]
}

/// A literal whose value is in the Huffman code.
fn coded(value: &[u8]) -> Vec<u8> {
    [&[0, 1, b'x'][..], &integer(0x80, 7, value.len() as u64), value].concat()
}

pub(super) const RULES: &[Rule] = &[
    rule("DATA on stream 0", "6.1", Idle, |_| one(DATA, 0, 0, b"x")),
    rule("DATA on an idle stream", "5.1", Idle, |at| one(DATA, 0, at, b"x")),
    rule("DATA with more padding than payload", "6.1", Open, |at| one(DATA, PADDED, at, b"\x05ab")),
    rule("DATA with padding and no length of it", "4.2", Open, |at| one(DATA, PADDED, at, b"")),
    rule("HEADERS on stream 0", "6.2", Idle, |_| vec![get(0)]),
    rule("HEADERS on an even stream", "5.1.1", Idle, |at| vec![get(at + 1)]),
    rule("HEADERS on a lower stream than before", "5.1.1", Idle, |at| vec![get(at + 2), get(at)]),
    rule("HEADERS with more padding than payload", "6.2", Idle, |at| {
        one(HEADERS, PADDED | END_HEADERS | END_STREAM, at, b"\x09\x82")
    }),
    rule("HEADERS with a priority of 4 bytes", "4.2", Idle, |at| {
        one(HEADERS, 0x20 | END_HEADERS | END_STREAM, at, b"\0\0\0\0")
    }),
    rule("PRIORITY on stream 0", "6.3", Idle, |_| one(PRIORITY, 0, 0, b"\0\0\0\0\x07")),
    rule("RST_STREAM on stream 0", "6.4", Idle, |_| one(RST_STREAM, 0, 0, b"\0\0\0\x08")),
    rule("RST_STREAM on an idle stream", "6.4", Idle, |at| one(RST_STREAM, 0, at, b"\0\0\0\x08")),
    rule("RST_STREAM of 3 bytes", "6.4", Open, |at| one(RST_STREAM, 0, at, b"\0\0\x08")),
    rule("RST_STREAM of 5 bytes", "6.4", Open, |at| one(RST_STREAM, 0, at, b"\0\0\0\x08\0")),
    rule("SETTINGS of 5 bytes", "6.5", Idle, |_| one(SETTINGS, 0, 0, b"\0\x01\0\0\0")),
    rule("SETTINGS that acknowledges and has values", "6.5", Idle, |_| {
        one(SETTINGS, ACK, 0, b"\0\x01\0\0\0\0")
    }),
    rule("ENABLE_PUSH of 2", "6.5.2", Idle, |_| vec![Frame::settings(&[(ENABLE_PUSH, 2)])]),
    rule("INITIAL_WINDOW_SIZE of 2^31", "6.5.2", Idle, |_| {
        vec![Frame::settings(&[(INITIAL_WINDOW_SIZE, 1 << 31)])]
    }),
    rule("MAX_FRAME_SIZE of 16,383", "6.5.2", Idle, |_| {
        vec![Frame::settings(&[(MAX_FRAME_SIZE, 16_383)])]
    }),
    rule("MAX_FRAME_SIZE of 2^24", "6.5.2", Idle, |_| {
        vec![Frame::settings(&[(MAX_FRAME_SIZE, 1 << 24)])]
    }),
    rule("a window of a stream beyond 2^31 by INITIAL_WINDOW_SIZE", "6.9.2", Open, |at| {
        let most = (1 << 31) - 1;
        vec![Frame::window_update(at, 1 << 20), Frame::settings(&[(INITIAL_WINDOW_SIZE, most)])]
    }),
    rule("PUSH_PROMISE", "8.4", Open, |at| {
        let promise = [&(at + 1).to_be_bytes()[..], &plain_block(&GET)].concat();
        one(PUSH_PROMISE, END_HEADERS, at, &promise)
    }),
    rule("PUSH_PROMISE on stream 0", "8.4", Idle, |_| {
        one(PUSH_PROMISE, END_HEADERS, 0, b"\0\0\0\x02")
    }),
    rule("PING of 7 bytes", "6.7", Idle, |_| one(PING, 0, 0, &[0; 7])),
    rule("PING of 9 bytes", "6.7", Idle, |_| one(PING, 0, 0, &[0; 9])),
    rule("PING on a stream", "6.7", Open, |at| one(PING, 0, at, &[0; 8])),
    rule("GOAWAY on a stream", "6.8", Open, |at| one(GOAWAY, 0, at, &[0; 8])),
    rule("GOAWAY of 7 bytes", "6.8", Idle, |_| one(GOAWAY, 0, 0, &[0; 7])),
    rule("WINDOW_UPDATE of 3 bytes", "6.9", Idle, |_| one(WINDOW_UPDATE, 0, 0, &[1; 3])),
    rule("WINDOW_UPDATE by 0", "6.9", Idle, |_| vec![Frame::window_update(0, 0)]),
    rule("WINDOW_UPDATE beyond 2^31", "6.9.1", Idle, |_| {
        vec![Frame::window_update(0, (1 << 31) - 1)]
    }),
    rule("WINDOW_UPDATE on an idle stream", "5.1", Idle, |at| vec![Frame::window_update(at, 1)]),
    rule("CONTINUATION alone", "6.10", Idle, |at| one(CONTINUATION, END_HEADERS, at, b"")),
    rule("CONTINUATION after END_HEADERS", "6.10", Open, |at| {
        one(CONTINUATION, END_HEADERS, at, b"")
    }),
    rule("CONTINUATION on stream 0", "6.10", Idle, |at| {
        [vec![begun(at)], one(CONTINUATION, END_HEADERS, 0, b"")].concat()
    }),
    rule("CONTINUATION of another stream", "6.10", Open, |at| {
        [vec![begun(at + 2)], one(CONTINUATION, END_HEADERS, at, b"")].concat()
    }),
    rule("PING within a header block", "6.10", Idle, |at| {
        [vec![begun(at)], one(PING, 0, 0, &[0; 8])].concat()
    }),
    rule("an unknown frame within a header block", "5.5", Idle, |at| {
        [vec![begun(at)], one(UNKNOWN, 0, at, b"")].concat()
    }),
    rule("HEADERS of another stream within a header block", "6.10", Idle, |at| {
        vec![begun(at), get(at + 2)]
    }),
    rule("HEADERS longer than MAX_FRAME_SIZE", "4.2", Idle, |at| {
        block_with(at, &plain("x", &"y".repeat(PAYLOAD_MAX)))
    }),
    rule("SETTINGS longer than MAX_FRAME_SIZE", "4.2", Idle, |_| {
        one(SETTINGS, 0, 0, &[0x77; 6 * 2_731])
    }),
    rule("HEADERS on a closed stream", "5.1", Closed, |at| vec![get(at)]),
    rule("a field of index 0", "H6.1", Idle, |at| block_with(at, b"\x80")),
    rule("a field of an index beyond the tables", "H2.3.3", Idle, |at| {
        block_with(at, &integer(0x80, 7, 5_000))
    }),
    rule("a name of an index beyond the tables", "H2.3.3", Idle, |at| {
        block_with(at, &[integer(0x40, 6, 5_000), vec![1, b'y']].concat())
    }),
    rule("an index without end", "H5.1", Idle, |at| block_with(at, &[0xff; 200])),
    rule("an index of 2^70", "H5.1", Idle, |at| {
        block_with(at, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
    }),
    rule("a length of 2^40", "H5.2", Idle, |at| {
        block_with(at, &[vec![0], integer(0, 7, 1 << 40), vec![b'x']].concat())
    }),
    rule("a block that ends in a value", "H5.2", Idle, |at| block_with(at, b"\0\x01x\x05ab")),
    rule("EOS in a Huffman text", "H5.2", Idle, |at| {
        block_with(at, &coded(&huffman::encode([usize::from(b'a'), huffman::EOS].into_iter())))
    }),
    rule("8 bits of padding in a Huffman text", "H5.2", Idle, |at| block_with(at, &coded(b"\xff"))),
    rule("zeros as padding of a Huffman text", "H5.2", Idle, |at| block_with(at, &coded(b"\x18"))),
    rule("a table larger than SETTINGS allow", "H6.3", Idle, |at| {
        let block = [integer(0x20, 5, 5_000), plain_block(&GET)].concat();
        one(HEADERS, END_HEADERS | END_STREAM, at, &block)
    }),
    rule("a new size of the table after a field", "H4.2", Idle, |at| {
        block_with(at, &integer(0x20, 5, 100))
    }),
];
