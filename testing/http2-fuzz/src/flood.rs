//! Clients that ask for more than their share: more frames, streams, headers or bodies than a connection may have
//! (docs/http.md has the bounds).

use crate::ask::Ask;
use crate::connection::{Connection, PATIENCE};
use crate::frame::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, HEADERS, INITIAL_WINDOW_SIZE, PING,
    PRIORITY, SETTINGS, UNKNOWN,
};
use crate::hpack::{plain, plain_block};
use crate::wild;
use anyhow::{Result, ensure};
use scurry_model::Random;
use std::time::Duration;

/// Bytes beside requests that end a connection, wherever a request before them begins and its answer is taken.
const BESIDE_REQUESTS: usize = (3 << 20) + (64 << 10);
/// How long to look for an end that is not owed.
const LOOK: Duration = Duration::from_millis(300);

/// A kind of flood: its name, whether the door has to end the connection, and what is sent.
type Flood = (&'static str, bool, fn(&mut Random, &mut Connection));

const FLOODS: &[Flood] = &[
    ("flood: PING", true, |_, to| repeat(to, &Frame::new(PING, 0, 0, &[1; 8]))),
    ("flood: SETTINGS", true, |random, to| {
        let values = (random.pick(&[3, 6, 0xf0]), 7);
        repeat(to, &Frame::settings(&vec![values; 1 + random.below(100)]));
    }),
    ("flood: empty SETTINGS", true, |_, to| repeat(to, &Frame::new(SETTINGS, 0, 0, b""))),
    ("flood: PRIORITY", true, |_, to| repeat(to, &Frame::new(PRIORITY, 0, 9, &[0, 0, 0, 1, 7]))),
    ("flood: unknown frames", true, |random, to| {
        let len = random.below(1_000);
        repeat(to, &Frame::new(UNKNOWN, 0, 0, &vec![0; len]));
    }),
    ("flood: WINDOW_UPDATE", true, |_, to| repeat(to, &Frame::window_update(0, 1))),
    ("flood: CONTINUATION without end", true, |random, to| {
        let stream = to.open_stream();
        let len = random.pick(&[0, 1, 100, 10_000]);
        let field = plain("x", &"y".repeat(len));
        let piece = if len == 0 { vec![] } else { field };
        to.send_frames(&[Frame::new(HEADERS, 0, stream, b"")]);
        repeat(to, &Frame::new(CONTINUATION, 0, stream, &piece));
    }),
    ("flood: a long head", true, |_, to| {
        let stream = to.open_stream();
        let field = plain("x", &"y".repeat(15_000));
        let mut frames = vec![Frame::new(HEADERS, END_STREAM, stream, &field)];
        frames.extend(vec![Frame::new(CONTINUATION, 0, stream, &field); 30]);
        to.send_frames(&frames);
    }),
    ("flood: streams that break the protocol", true, |_, to| {
        for _ in 0..1_200 {
            let stream = to.open_stream();
            let block = plain_block(&[(":method", "GET")]);
            to.send_frames(&[Frame::new(HEADERS, END_HEADERS | END_STREAM, stream, &block)]);
        }
    }),
    ("flood: requests that are reset at once", false, |random, to| {
        for _ in 0..random.below(600) {
            let stream = to.open_stream();
            let mut frames = Ask::get("/v1/accounts/wild").frames(random, stream).concat();
            frames.push(Frame::reset(stream, 8));
            to.send_frames(&frames);
        }
    }),
    ("flood: streams that go on", false, |random, to| {
        for _ in 0..random.below(300) {
            let stream = to.open_stream();
            let mut ask = Ask::post("/v1/accounts/wild/debits", "x".repeat(3_000));
            ask.method = random.pick(&["POST", "PUT"]);
            let mut frames = ask.frames(random, stream).concat();
            frames.pop();
            to.send_frames(&frames);
        }
    }),
    ("flood: long bodies", false, |random, to| {
        for _ in 0..1 + random.below(8) {
            let stream = to.open_stream();
            let ask = Ask::post("/v1/accounts/wild/debits", "x".repeat(200_000));
            to.send_frames(&ask.frames(random, stream).concat());
        }
    }),
    ("flood: empty DATA", true, |random, to| {
        let stream = to.open_stream();
        let mut frames =
            Ask::post("/v1/accounts/wild/debits", "{}".to_owned()).frames(random, stream);
        frames.truncate(1);
        to.send_frames(&frames.concat());
        repeat(to, &Frame::new(DATA, 0, stream, b""));
    }),
    ("flood: bodies in single bytes", false, |random, to| {
        let stream = to.open_stream();
        let mut frames =
            Ask::post("/v1/accounts/wild/debits", "{}".to_owned()).frames(random, stream);
        frames.truncate(1);
        to.send_frames(&frames.concat());
        repeat(to, &Frame::new(DATA, 0, stream, b" "));
    }),
    ("flood: answers that are not taken", false, |random, to| {
        to.send_frames(&[Frame::settings(&[(INITIAL_WINDOW_SIZE, random.pick(&[0, 1, 1_000]))])]);
        for _ in 0..random.below(200) {
            let stream = to.open_stream();
            to.send_frames(&Ask::get("/v1/openapi.json").frames(random, stream).concat());
        }
    }),
    ("flood: SETTINGS that change all windows", false, |random, to| {
        for _ in 0..20 {
            let stream = to.open_stream();
            to.send_frames(&Ask::get("/v1/openapi.json").frames(random, stream).concat());
        }
        for _ in 0..random.below(2_000) {
            to.send_frames(&[wild::settings(random)]);
        }
    }),
];

/// Sends a frame again and again, until that is more than a connection may send beside its requests.
fn repeat(to: &mut Connection, frame: &Frame) {
    let len = frame.payload.len() + 9;
    let many = vec![frame.clone(); 64_000 / len];
    for _ in 0..=BESIDE_REQUESTS / (many.len() * len) {
        to.send_frames(&many);
        if to.is_closed {
            return;
        }
    }
}

/// Floods a connection in one of these ways.
pub(crate) fn flood(random: &mut Random, port: &mut Connection) -> Result<&'static str> {
    let (name, has_to_end, send) = random.pick(FLOODS);
    if random.one_in(2) {
        let stream = port.open_stream();
        port.send_frames(&Ask::get("/healthz").frames(random, stream).concat());
    }
    send(random, port);
    let patience = if has_to_end { PATIENCE } else { LOOK };
    let has_ended = port.wait(patience, |seen| seen.goaway.is_some() || seen.is_closed);
    ensure!(has_ended || !has_to_end, "{name}: the connection goes on");
    Ok(name)
}
