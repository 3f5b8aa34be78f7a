//! Requests, and the two ways to send them: by HTTP/1.1, and by valid frames of HTTP/2 in all their forms.

use crate::connection::{Answer, Connection, PATIENCE};
use crate::counts::Counts;
use crate::frame::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, HEADERS, PAYLOAD_MAX, WITH_PRIORITY,
};
use crate::hpack::any_form;
use anyhow::{Context, Result, ensure};
use scurry_model::Random;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;

/// CONTINUATION frames of a head, apart from the last. A door ends the connection after more than a head needs.
const CONTINUATIONS_MAX: usize = 2;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// JSON, or empty.
    pub(crate) body: String,
}

impl Ask {
    pub(crate) fn get(path: &str) -> Ask {
        Ask { method: "GET", path: path.to_owned(), body: String::new() }
    }

    pub(crate) fn post(path: &str, body: String) -> Ask {
        Ask { method: "POST", path: path.to_owned(), body }
    }

    /// Returns the frames of the request in groups: nothing may stand between the frames of one group.
    pub(crate) fn frames(&self, random: &mut Random, stream: u32) -> Vec<Vec<Frame>> {
        let mut fields = vec![
            (":method", self.method.to_owned()),
            (":scheme", "http".to_owned()),
            (":path", self.path.clone()),
            (":authority", "localhost".to_owned()),
        ];
        let shift = random.below(fields.len());
        fields.rotate_left(shift);
        if !self.body.is_empty() {
            fields.push(("content-type", "application/json".to_owned()));
            if random.one_in(2) {
                fields.push(("content-length", self.body.len().to_string()));
            }
        }
        if random.one_in(3) {
            fields.push(("te", "trailers".to_owned()));
        }
        for number in 0..random.below(4) {
            fields.push(("x-more", "y".repeat(number * 300)));
        }
        let block: Vec<u8> =
            fields.iter().flat_map(|(name, value)| any_form(random, name, value)).collect();
        let mut groups = vec![head(random, stream, &block, self.body.is_empty())];
        let mut rest = self.body.as_bytes();
        while !rest.is_empty() {
            let most = random.pick(&[20, 200, PAYLOAD_MAX - 300]);
            let (piece, after) = rest.split_at((1 + random.below(most)).min(rest.len()));
            rest = after;
            let is_last = rest.is_empty();
            let flags = if is_last { END_STREAM } else { 0 };
            groups.push(vec![maybe_padded(random, Frame::new(DATA, flags, stream, piece))]);
        }
        groups
    }
}

fn maybe_padded(random: &mut Random, frame: Frame) -> Frame {
    let len = random.pick(&[0, 1, 255]);
    if random.one_in(3) { frame.padded(len) } else { frame }
}

/// Returns HEADERS, and CONTINUATION if it is split.
fn head(random: &mut Random, stream: u32, block: &[u8], is_last: bool) -> Vec<Frame> {
    let cut = if random.one_in(3) { random.below(block.len()) } else { block.len() };
    let (first, mut rest) = block.split_at(cut);
    let flags = if is_last { END_STREAM } else { 0 };
    let mut begin = Frame::new(HEADERS, flags, stream, first);
    if random.one_in(4) {
        begin.flags |= WITH_PRIORITY;
        begin.payload.splice(0..0, [0, 0, 0, 0, 7]);
    }
    let mut frames = vec![maybe_padded(random, begin)];
    while !rest.is_empty() {
        let is_last = frames.len() > CONTINUATIONS_MAX;
        let len = if is_last { rest.len() } else { random.below(rest.len()) + 1 };
        let (piece, after) = rest.split_at(len);
        frames.push(Frame::new(CONTINUATION, 0, stream, piece));
        rest = after;
    }
    if let Some(last) = frames.last_mut() {
        last.flags |= END_HEADERS;
    }
    frames
}

/// What requests can be sent over.
pub(crate) trait Line {
    /// Sends a request and returns its whole answer.
    fn ask(&mut self, ask: &Ask) -> Result<Answer>;
}

/// A connection of HTTP/1.1 that stays open.
pub(crate) struct Http1(BufReader<TcpStream>);

impl Http1 {
    pub(crate) fn open(port: u16) -> Result<Http1> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("cannot connect")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Http1(BufReader::new(stream)))
    }

    /// Sends a request of any method.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> Result<Answer> {
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let len = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {len}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(request.as_bytes()).context("it is not sent")?;
        let mut answer = Answer::default();
        let mut line = String::new();
        self.0.read_line(&mut line).context("no answer")?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        answer.status = status.with_context(|| format!("not a status line: {line:?}"))?;
        loop {
            line.clear();
            ensure!(self.0.read_line(&mut line)? > 0, "the connection ends within a head");
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            answer.headers.push((name.to_lowercase(), value.to_owned()));
        }
        let len = answer.header("content-length").map_or(Ok(0), str::parse)?;
        answer.body.resize(len, 0);
        self.0.read_exact(&mut answer.body).context("the body of an answer")?;
        answer.is_whole = true;
        Ok(answer)
    }
}

impl Line for Http1 {
    fn ask(&mut self, ask: &Ask) -> Result<Answer> {
        self.send(ask.method, &ask.path, &ask.body)
    }
}

/// A connection of HTTP/2 whose client behaves well.
pub(crate) struct Http2 {
    connection: Connection,
    random: Random,
}

impl Http2 {
    /// Connects. What a good client does is not counted among what hostile ones do.
    pub(crate) fn open(port: u16, seed: u64) -> Result<Http2> {
        let connection = Connection::open(port, &Arc::new(Counts::default()))?;
        Ok(Http2 { connection, random: Random::new(seed) })
    }
}

impl Line for Http2 {
    fn ask(&mut self, ask: &Ask) -> Result<Answer> {
        let Http2 { connection, random } = self;
        let stream = connection.open_stream();
        let frames = ask.frames(random, stream).concat();
        connection.send_frames(&frames);
        let answer = connection.answer(stream);
        if let Some(fault) = &connection.fault {
            anyhow::bail!("{fault}");
        }
        ensure!(answer.is_whole, "no answer: {}", shown(connection, &answer));
        Ok(answer)
    }
}

/// Returns what became of a connection and of an answer.
pub(crate) fn shown(connection: &Connection, answer: &Answer) -> String {
    let Connection { goaway, why, is_closed, .. } = connection;
    let Answer { status, reset, is_whole, .. } = answer;
    let body = String::from_utf8_lossy(&answer.body);
    format!(
        "status {status}, whole: {is_whole}, RST_STREAM {reset:?}, GOAWAY {goaway:?} {why:?}, closed: {is_closed}; {body}"
    )
}
