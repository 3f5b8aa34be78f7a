//! What RFC 9113 and RFC 7541 say of single frames, where they are definite: a table of cases, and the check of one at a
//! server.

mod connection_errors;
mod ignored;
mod stream_errors;

use crate::ask::{Ask, shown};
use crate::connection::{Answer, Connection, PATIENCE};
use crate::counts::Counts;
use crate::frame::{DATA, END_HEADERS, END_STREAM, Frame, HEADERS, INITIAL_WINDOW_SIZE, code_name};
use crate::hpack::plain_block;
use crate::server::Server;
use anyhow::{Context, Result, bail, ensure};
use scurry_model::Random;
use std::sync::Arc;
use std::time::Duration;

/// The state of the stream that a case is about (RFC 9113 clause 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not used yet.
    Idle,
    /// A request whose body goes on.
    Open,
    /// A request that has ended, and an answer that waits for the client's window.
    HalfClosed,
    /// Answered.
    Closed,
    /// Reset by the client.
    Reset,
}

/// What a server has to make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The connection ends, by GOAWAY or at once (clause 5.4.1).
    ConnectionError,
    /// The stream is reset, or the request answered by 4xx, and the connection goes on (clauses 5.4.2 and 8.1.1).
    StreamError,
    /// Either of these: clause 5.4.2 allows to treat a stream error as one of the connection, and clause 5.1 to have
    /// forgotten a closed stream.
    AnyError,
    /// Nothing happens.
    Ignored,
}

/// A case.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What is sent.
    pub name: &'static str,
    /// Clause of RFC 9113, or of RFC 7541 where it begins with H.
    pub clause: &'static str,
    /// State of the stream before.
    pub state: State,
    /// What has to come of it.
    pub expected: Expected,
    /// Returns the frames for the stream of this number. It may use the next one too.
    frames: fn(u32) -> Vec<Frame>,
}

/// A request with an end that has an answer of some bytes.
const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":path", "/healthz"), (":authority", "localhost")];
/// A request whose body is read before it is answered.
const POST: [(&str, &str); 5] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/nchf-convergedcharging/v3/chargingdata"),
    (":authority", "localhost"),
    ("content-type", "application/json"),
];
/// Window of a stream at its beginning (clause 6.9.2).
const WINDOW: u32 = 65_535;

fn get(stream: u32) -> Frame {
    Frame::new(HEADERS, END_HEADERS | END_STREAM, stream, &plain_block(&GET))
}

fn post(stream: u32) -> Frame {
    Frame::new(HEADERS, END_HEADERS, stream, &plain_block(&POST))
}

/// Returns a GET with these fields after those that it needs.
fn get_with(stream: u32, more: &[(&str, &str)]) -> Frame {
    let block = [plain_block(&GET), plain_block(more)].concat();
    Frame::new(HEADERS, END_HEADERS | END_STREAM, stream, &block)
}

/// Returns all cases.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [connection_errors::RULES, stream_errors::RULES, ignored::RULES].into_iter().flatten()
}

/// Checks a case on a connection of its own. `patience` is how long to wait for an error that the case expects.
pub fn check(server: &Server, rule: &Rule, patience: Duration) -> Result<()> {
    let mut connection = Connection::open(server.port, &Arc::new(Counts::default()))?;
    follow(&mut connection, rule, patience)
}

/// Checks a case on a connection that serves, and that goes on to serve if the rules say so.
pub(crate) fn follow(connection: &mut Connection, rule: &Rule, patience: Duration) -> Result<()> {
    let said = || format!("{} ({}, {:?})", rule.name, rule.clause, rule.state);
    let stream = connection.open_stream();
    prepare(connection, rule.state, stream).with_context(said)?;
    connection.open_stream();
    connection.send_frames(&(rule.frames)(stream));
    if rule.expected == Expected::ConnectionError {
        let ends = connection.wait(patience, |seen| seen.goaway.is_some() || seen.is_closed);
        ensure!(ends, "{}: the connection goes on", said());
        ensure!(connection.goaway != Some(0), "{}: GOAWAY with NO_ERROR", said());
        return Ok(());
    }
    let goes_on = serves(connection);
    if rule.expected != Expected::Ignored && goes_on.is_ok() {
        connection.wait(patience, |seen| seen.answers.get(&stream).is_some_and(Answer::has_ended));
    }
    let answer = connection.answers.get(&stream).cloned().unwrap_or_default();
    let is_refused = answer.reset.is_some_and(|code| code != 0)
        || answer.is_whole && (400..500).contains(&answer.status);
    let found = match (&goes_on, is_refused) {
        (Err(_), _) => Expected::ConnectionError,
        (Ok(()), true) => Expected::StreamError,
        (Ok(()), false) => Expected::Ignored,
    };
    let is_right = match rule.expected {
        Expected::AnyError => found != Expected::Ignored,
        expected => found == expected,
    };
    ensure!(
        is_right,
        "{}: {:?} is expected, and not {found:?}: {}",
        said(),
        rule.expected,
        shown(connection, &answer)
    );
    if found == Expected::ConnectionError {
        return Ok(());
    }
    if rule.expected == Expected::Ignored && rule.state == State::Open {
        finish(connection, stream).with_context(said)?;
    }
    if rule.state == State::HalfClosed {
        connection.send_frames(&[Frame::settings(&[(INITIAL_WINDOW_SIZE, WINDOW)])]);
        if rule.expected == Expected::Ignored {
            let answer = connection.answer(stream);
            ensure!(answer.is_whole, "{}: {}", said(), shown(connection, &answer));
        }
    }
    Ok(())
}

/// Brings a stream into a state.
fn prepare(connection: &mut Connection, state: State, stream: u32) -> Result<()> {
    match state {
        State::Idle => {}
        State::Open => connection.send_frames(&[post(stream)]),
        State::HalfClosed => {
            connection.send_frames(&[Frame::settings(&[(INITIAL_WINDOW_SIZE, 0)]), get(stream)]);
            let is_there = connection.wait(PATIENCE, |seen| {
                seen.answers.get(&stream).is_some_and(|answer| answer.status == 200)
            });
            ensure!(is_there, "the head of the answer has not come");
        }
        State::Closed => {
            connection.send_frames(&[get(stream)]);
            let is_answered = connection
                .wait(PATIENCE, |seen| seen.answers.get(&stream).is_some_and(Answer::has_ended));
            ensure!(is_answered, "a GET is not answered");
            // What the rule makes of the stream is to be seen alone.
            connection.answers.insert(stream, Default::default());
        }
        State::Reset => {
            connection.send_frames(&[post(stream), Frame::reset(stream, 8)]);
            ensure!(connection.ping(), "a PING is not answered");
        }
    }
    Ok(())
}

/// Ends the body of a POST, and expects that it is refused as a request.
fn finish(connection: &mut Connection, stream: u32) -> Result<()> {
    connection.send_frames(&[Frame::new(DATA, END_STREAM, stream, b"[]")]);
    let answer = connection.answer(stream);
    ensure!(answer.status == 400, "the request goes on: {}", shown(connection, &answer));
    Ok(())
}

/// Makes a request, which has to be answered as on a new connection.
pub(crate) fn serves(connection: &mut Connection) -> Result<()> {
    // A HEAD has no body, so a window of 0 does not hold it.
    let stream = connection.open_stream();
    let ask = Ask { method: "HEAD", ..Ask::get("/healthz") };
    let frames = ask.frames(&mut Random::new(u64::from(stream)), stream).concat();
    connection.send_frames(&frames);
    let answer = connection.answer(stream);
    if answer.status != 200 || !answer.is_whole {
        let why = connection.goaway.map_or("it was closed", code_name);
        bail!("the connection does not go on: {why}; {}", shown(connection, &answer));
    }
    Ok(())
}
