//! Cases that change nothing.

use super::Expected::Ignored;
use super::State::{Closed, HalfClosed, Idle, Open, Reset};
use super::{GET, Rule};
use crate::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, HEADER_TABLE_SIZE, HEADERS,
    MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE, PING, PRIORITY, SETTINGS,
    UNKNOWN, WINDOW_UPDATE,
};
use crate::hpack::plain_block;

const fn rule(
    name: &'static str,
    clause: &'static str,
    state: super::State,
    frames: fn(u32) -> Vec<Frame>,
) -> Rule {
    Rule { name, clause, state, expected: Ignored, frames }
}

fn one(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<Frame> {
    vec![Frame::new(kind, flags, stream, payload)]
}

/// The bit before the number of a stream or of an increment (RFC 9113 clauses 4.1 and 6.9).
const RESERVED: u32 = 1 << 31;

pub(super) const RULES: &[Rule] = &[
    rule("an unknown frame", "5.5", Idle, |_| one(UNKNOWN, 0xff, 0, b"abc")),
    rule("an unknown frame on an idle stream", "5.5", Idle, |at| one(UNKNOWN, 0xff, at, b"abc")),
    rule("an unknown frame on an open stream", "5.5", Open, |at| one(UNKNOWN, 1, at, b"abc")),
    rule("an unknown frame on a closed stream", "5.5", Closed, |at| one(UNKNOWN, 1, at, b"abc")),
    rule("empty SETTINGS", "6.5", Idle, |_| one(SETTINGS, 0, 0, b"")),
    rule("SETTINGS with unknown flags", "4.1", Idle, |_| one(SETTINGS, 0xfe, 0, b"")),
    rule("SETTINGS of unknown ids", "6.5.2", Idle, |_| {
        vec![Frame::settings(&[(0, 1), (0xffff, u32::MAX), (8, 0)])]
    }),
    rule("SETTINGS at their bounds", "6.5.2", Idle, |_| {
        let most = (1 << 24) - 1;
        vec![Frame::settings(&[(MAX_FRAME_SIZE, most), (MAX_FRAME_SIZE, 16_384)])]
    }),
    rule("the table of answers off and on", "6.5.2", Idle, |_| {
        vec![
            Frame::settings(&[(HEADER_TABLE_SIZE, 0)]),
            Frame::settings(&[(HEADER_TABLE_SIZE, 4_096)]),
        ]
    }),
    rule("a table of answers of 4 GiB", "6.5.2", Idle, |_| {
        vec![
            Frame::settings(&[(HEADER_TABLE_SIZE, u32::MAX)]),
            Frame::settings(&[(HEADER_TABLE_SIZE, 4_096)]),
        ]
    }),
    rule("no streams of the server allowed", "6.5.2", Idle, |_| {
        vec![Frame::settings(&[(MAX_CONCURRENT_STREAMS, 0), (MAX_HEADER_LIST_SIZE, 1 << 16)])]
    }),
    rule("an answer to a PING that was not sent", "6.7", Idle, |_| one(PING, ACK, 0, &[7; 8])),
    rule("PING with unknown flags", "4.1", Idle, |_| one(PING, 0xfe, 0, &[7; 8])),
    rule("WINDOW_UPDATE with the reserved bit", "6.9", Idle, |_| {
        one(WINDOW_UPDATE, 0, 0, &(RESERVED | 1).to_be_bytes())
    }),
    rule("WINDOW_UPDATE with the reserved bit of the stream", "4.1", Idle, |_| {
        vec![Frame::window_update(RESERVED, 1)]
    }),
    rule("WINDOW_UPDATE on a stream whose answer waits", "6.9", HalfClosed, |at| {
        vec![Frame::window_update(at, 1)]
    }),
    rule("WINDOW_UPDATE on a closed stream", "6.9", Closed, |at| vec![Frame::window_update(at, 1)]),
    rule("WINDOW_UPDATE on a stream that was reset", "5.1", Reset, |at| {
        vec![Frame::window_update(at, 1)]
    }),
    rule("RST_STREAM on a closed stream", "5.1", Closed, |at| vec![Frame::reset(at, 8)]),
    rule("RST_STREAM twice", "5.1", Reset, |at| vec![Frame::reset(at, 8)]),
    rule("RST_STREAM of an unknown code", "7", Reset, |at| vec![Frame::reset(at, u32::MAX)]),
    rule("PRIORITY on an idle stream", "5.1", Idle, |at| one(PRIORITY, 0, at, &[0, 0, 0, 0, 7])),
    rule("PRIORITY on an open stream", "6.3", Open, |at| one(PRIORITY, 0, at, &[0x80, 0, 0, 0, 7])),
    rule("PRIORITY on a closed stream", "5.1", Closed, |at| one(PRIORITY, 0, at, &[0, 0, 0, 0, 9])),
    rule("PRIORITY of a stream after the next", "5.1", Idle, |at| {
        one(PRIORITY, 0, at + 1_000, &[0, 0, 0, 0, 7])
    }),
    rule("empty DATA", "6.1", Open, |at| one(DATA, 0, at, b"")),
    rule("DATA of padding alone", "6.1", Open, |at| vec![Frame::new(DATA, 0, at, b"").padded(255)]),
    rule("DATA with unknown flags", "4.1", Open, |at| one(DATA, 0xf6, at, b" ")),
    rule("a head in parts, some of them empty", "6.10", Idle, |at| {
        let block = plain_block(&GET);
        let (first, rest) = block.split_at(3);
        [
            one(HEADERS, END_STREAM, at, b""),
            one(CONTINUATION, 0, at, first),
            one(CONTINUATION, 0, at, b""),
            one(CONTINUATION, END_HEADERS, at, rest),
        ]
        .concat()
    }),
    rule("trailers", "8.1", Closed, |at| {
        let body = Frame::new(DATA, 0, at + 2, b"");
        let head = Frame::new(HEADERS, END_HEADERS, at + 2, &plain_block(&GET));
        let last =
            Frame::new(HEADERS, END_HEADERS | END_STREAM, at + 2, &plain_block(&[("x", "1")]));
        vec![head, body, last]
    }),
];
