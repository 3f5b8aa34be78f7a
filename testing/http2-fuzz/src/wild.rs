//! Frames and header blocks that keep some rules of HTTP/2 and break others, drawn from a seed.

use crate::ask::Ask;
use crate::frame::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS, PADDED, PAYLOAD_MAX, PING,
    PREFACE, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, WITH_PRIORITY,
};
use crate::hpack::{any_form, coded_text, integer, plain, text};
use scurry_model::Random;

/// Numbers at the edges of their types.
const EDGES: [u32; 14] = [
    0,
    1,
    2,
    100,
    16_383,
    16_384,
    65_535,
    65_536,
    (1 << 24) - 1,
    1 << 24,
    (1 << 31) - 1,
    1 << 31,
    u32::MAX - 1,
    u32::MAX,
];

fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.next_u64() as u8).collect()
}

/// Returns the number of a stream: one that was used, the next, one between, or an odd one out.
fn stream(random: &mut Random, next: u32) -> u32 {
    match random.below(10) {
        0 => 0,
        1 => random.pick(&[2, next + 1, 1 << 30]),
        2 => (1 << 31) | next,
        3 => random.pick(&[(1 << 31) - 1, next + 1_000]),
        4 | 5 => next,
        _ => (random.below(1 + next as usize / 2) as u32) * 2 + 1,
    }
}

/// Returns a frame of any type.
pub(crate) fn frame(random: &mut Random, next: u32) -> Frame {
    let kind = random.pick(&[
        DATA,
        DATA,
        HEADERS,
        HEADERS,
        HEADERS,
        PRIORITY,
        RST_STREAM,
        SETTINGS,
        PUSH_PROMISE,
        PING,
        GOAWAY,
        WINDOW_UPDATE,
        CONTINUATION,
        0x0a,
        0x0c,
        0xff,
    ]);
    let mut payload = match kind {
        DATA => {
            let len = random.pick(&[0, 1, 100, 5_000, PAYLOAD_MAX, PAYLOAD_MAX + 1]);
            bytes(random, len)
        }
        HEADERS | CONTINUATION => block(random),
        PRIORITY => [&random.pick(&EDGES).to_be_bytes()[..], &[7]].concat(),
        RST_STREAM => random.pick(&EDGES).to_be_bytes().to_vec(),
        SETTINGS => settings(random).payload,
        PUSH_PROMISE => [&random.pick(&EDGES).to_be_bytes()[..], &block(random)].concat(),
        PING => bytes(random, 8),
        GOAWAY => [&random.pick(&EDGES).to_be_bytes()[..], &[0, 0, 0, 1], b"why"].concat(),
        WINDOW_UPDATE => random.pick(&EDGES).to_be_bytes().to_vec(),
        _ => bytes(random, 20),
    };
    if random.one_in(10) {
        let len = random.below(payload.len() + 3);
        payload.resize(len, 0);
    }
    let usual = match kind {
        HEADERS => random.pick(&[END_HEADERS, END_HEADERS | END_STREAM, END_STREAM, 0]),
        CONTINUATION => END_HEADERS,
        DATA => random.pick(&[0, END_STREAM]),
        _ => 0,
    };
    let flags = match random.below(6) {
        0 => random.next_u64() as u8,
        1 => usual | random.pick(&[PADDED, WITH_PRIORITY, PADDED | WITH_PRIORITY]),
        _ => usual,
    };
    let stream = match kind {
        SETTINGS | PING | GOAWAY if !random.one_in(8) => 0,
        HEADERS if random.one_in(2) => next,
        _ => stream(random, next),
    };
    Frame { kind, flags, stream, payload }
}

/// Returns SETTINGS of any ids with edge values.
pub(crate) fn settings(random: &mut Random) -> Frame {
    let values: Vec<(u16, u32)> = (0..random.below(8))
        .map(|_| (random.pick(&[0, 1, 2, 3, 4, 5, 6, 8, 9, 0xffff]), random.pick(&EDGES)))
        .collect();
    Frame::settings(&values)
}

/// Returns a header block: a request, with some of what HPACK and HTTP forbid.
pub(crate) fn block(random: &mut Random) -> Vec<u8> {
    let mut fields = vec![
        (
            ":method".to_owned(),
            random.pick(&["GET", "POST", "PUT", "OPTIONS", "BREW", ""]).to_owned(),
        ),
        (":scheme".to_owned(), random.pick(&["http", "https", "x", ""]).to_owned()),
        (":path".to_owned(), random.pick(&PATHS).to_owned()),
        (
            ":authority".to_owned(),
            random.pick(&["localhost", "evil.example", "a@b", "[::1]", ""]).to_owned(),
        ),
    ];
    for _ in 0..random.below(4) {
        let (name, value) = random.pick(&ODD);
        fields.push((name.to_owned(), value.to_owned()));
    }
    match random.below(12) {
        0 => fields.extend((0..random.below(3_000)).map(|at| (format!("x-{at}"), "y".to_owned()))),
        1 => fields.push(("x-long".to_owned(), "y".repeat(random.below(15_000)))),
        2 => fields.reverse(),
        3 => drop(fields.remove(random.below(3))),
        4 => fields.push(fields[random.below(fields.len())].clone()),
        _ => {}
    }
    let mut block: Vec<u8> =
        fields.iter().flat_map(|(name, value)| any_form(random, name, value)).collect();
    if random.one_in(3) {
        let at = random.below(block.len());
        block.splice(at..at, odd_bytes(random));
    }
    if random.one_in(12) {
        let len = random.below(block.len());
        block.truncate(len);
    }
    block
}

const PATHS: [&str; 10] = [
    "/healthz",
    "/metrics",
    "/v1/accounts/wild",
    "/v1/accounts/imsi-000000000000001",
    "/nchf-convergedcharging/v3/chargingdata",
    "/v1/openapi.json",
    "*",
    "",
    "/%zz",
    "/../../etc",
];

/// Fields that are forbidden, or of weight.
const ODD: [(&str, &str); 20] = [
    ("content-length", "2"),
    ("content-length", "99999999999999999999"),
    ("content-length", "-1"),
    ("connection", "close"),
    ("te", "gzip"),
    ("te", "trailers"),
    ("transfer-encoding", "chunked"),
    ("expect", "100-continue"),
    ("X-Upper", "1"),
    (":status", "200"),
    (":protocol", "websocket"),
    (":unknown", "1"),
    ("host", "evil.example"),
    ("host", "localhost"),
    ("origin", "http://evil.example"),
    ("authorization", "Bearer x"),
    ("cookie", "a=b"),
    ("content-type", "application/json"),
    ("x\0y", "1"),
    ("3gpp-sbi-max-rsp-time", "0"),
];

/// Returns bytes that a reader of HPACK may stumble over.
fn odd_bytes(random: &mut Random) -> Vec<u8> {
    match random.below(10) {
        0 => vec![0x80],
        1 => integer(0x80, 7, u64::from(random.pick(&EDGES))),
        2 => vec![0xff; 1 + random.below(40)],
        3 => integer(0x20, 5, u64::from(random.pick(&EDGES))),
        4 => integer(0x20, 5, 0).repeat(1 + random.below(2_000)),
        5 => [&[0, 0x81][..], &bytes(random, 1), &text(b"v")].concat(),
        6 => [vec![0x40], integer(0, 7, 1 << random.below(60))].concat(),
        7 => plain("x", &"z".repeat(random.below(5_000))),
        // Fields of the table of this connection, if it has any.
        8 => (62..62 + random.below(70) as u64).flat_map(|at| integer(0x80, 7, at)).collect(),
        _ => [vec![0x40], coded_text(b"x-kept"), coded_text(&bytes(random, 30))].concat(),
    }
}

/// Returns the bytes of a valid exchange, and then changes some: bits, bytes, and whole ranges that are left out, doubled or
/// exchanged.
pub(crate) fn mutated(random: &mut Random, asks: &[Ask]) -> Vec<u8> {
    let mut frames = vec![Frame::settings(&[]), Frame::window_update(0, 1 << 20)];
    for (ask, number) in asks.iter().zip(0..) {
        frames.extend(ask.frames(random, 2 * number + 1).concat());
    }
    for _ in 0..random.below(4) {
        let (one, other) = (random.below(frames.len()), random.below(frames.len()));
        match random.below(3) {
            0 => frames.swap(one, other),
            1 => frames.insert(one, frames[other].clone()),
            _ => drop(frames.remove(one)),
        }
    }
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frames.iter().flat_map(Frame::bytes));
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len());
        let until = (at + random.below(30)).min(bytes.len());
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next_u64() as u8,
            2 => drop(bytes.drain(at..until)),
            _ => {
                let again = bytes[at..until].to_vec();
                bytes.splice(at..at, again);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}
