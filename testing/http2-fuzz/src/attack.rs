//! One hostile connection, drawn from a seed. As long as it has kept the rules, or broken them in a way that RFC 9113
//! confines to a stream, its requests have to be answered as on a connection of a good client.

use crate::ask::{Ask, shown};
use crate::books::Books;
use crate::connection::{Connection, PATIENCE};
use crate::counts::Counts;
use crate::flood::flood;
use crate::frame::{Frame, HEADER_TABLE_SIZE, PING, PREFACE, SETTINGS, UNKNOWN};
use crate::rules::{Expected, Rule, follow, rules, serves};
use crate::wild;
use anyhow::{Context, Result, ensure};
use scurry_model::Random;
use std::sync::Arc;
use std::time::Duration;

/// Most steps of a connection.
const STEPS_MAX: usize = 12;
/// How long to look for the end of the connection after wild frames.
const LOOK: Duration = Duration::from_millis(30);

/// The server, and what attacks have in common.
pub(crate) struct Attacker {
    pub(crate) port: u16,
    pub(crate) counts: Arc<Counts>,
    pub(crate) rules: Vec<&'static Rule>,
}

impl Attacker {
    pub(crate) fn new(port: u16, counts: &Arc<Counts>) -> Attacker {
        Attacker { port, counts: Arc::clone(counts), rules: rules().collect() }
    }

    /// Makes one connection, and returns an error if the server has not kept the rules.
    pub(crate) fn attack(&self, seed: u64, books: &mut Books) -> Result<()> {
        let random = &mut Random::new(seed);
        let mut connection = match random.below(10) {
            0 => self.garbage(random)?,
            1 | 2 => self.mutated(random)?,
            3 => {
                let mut connection = Connection::open(self.port, &self.counts)?;
                self.counts.step(flood(random, &mut connection)?);
                connection
            }
            _ => self.converse(random, books)?,
        };
        connection.wait(LOOK, |seen| seen.goaway.is_some() || seen.is_closed);
        self.counts.end(match (connection.goaway, connection.is_closed) {
            (Some(_), _) => "GOAWAY",
            (None, true) => "closed by the server",
            (None, false) => "left by the client",
        });
        Ok(())
    }

    /// Sends a beginning that is none.
    fn garbage(&self, random: &mut Random) -> Result<Connection> {
        self.counts.step("a bad preface");
        let mut connection = Connection::connect(self.port, &self.counts)?;
        let mut bytes = PREFACE.to_vec();
        match random.below(4) {
            0 => bytes.truncate(random.below(PREFACE.len())),
            1 => bytes[random.below(PREFACE.len())] ^= 1 << random.below(8),
            2 => bytes.extend(wild::frame(random, 1).bytes()),
            _ => bytes.extend((0..500).map(|_| random.next_u64() as u8)),
        }
        connection.send_in_pieces(random, &bytes);
        Ok(connection)
    }

    fn mutated(&self, random: &mut Random) -> Result<Connection> {
        self.counts.step("a changed exchange");
        let mut connection = Connection::connect(self.port, &self.counts)?;
        let asks: Vec<Ask> = (0..1 + random.below(4)).map(|_| wild_ask(random)).collect();
        let bytes = wild::mutated(random, &asks);
        connection.send_in_pieces(random, &bytes);
        Ok(connection)
    }

    /// Begins as a good client does, and ends at the first step that a door need not survive.
    fn converse(&self, random: &mut Random, books: &mut Books) -> Result<Connection> {
        let mut connection = Connection::connect(self.port, &self.counts)?;
        let begin = [
            PREFACE,
            &Frame::settings(&[(HEADER_TABLE_SIZE, random.pick(&[0, 100, 4_096]))]).bytes(),
            &Frame::window_update(0, 1 << 30).bytes(),
        ]
        .concat();
        connection.send_in_pieces(random, &begin);
        let skipped = 2 * random.below(3) as u32;
        connection.skip_to(1 + skipped);
        for _ in 0..random.below(STEPS_MAX) {
            let goes_on = self.step(random, books, &mut connection)?;
            if let Some(fault) = &connection.fault
                && goes_on
            {
                anyhow::bail!("{fault}");
            }
            if !goes_on {
                return Ok(connection);
            }
        }
        serves(&mut connection).context("at its end")?;
        Ok(connection)
    }

    /// Takes a step. Returns false when it need not go on.
    fn step(
        &self,
        random: &mut Random,
        books: &mut Books,
        connection: &mut Connection,
    ) -> Result<bool> {
        match random.below(16) {
            0..=4 => {
                self.counts.step("requests");
                requests(random, books, connection)?;
            }
            5..=8 => {
                let rule = random.pick(&self.rules);
                self.counts.step(match rule.expected {
                    Expected::ConnectionError => "a rule: connection error",
                    Expected::StreamError => "a rule: stream error",
                    Expected::AnyError => "a rule: any error",
                    Expected::Ignored => "a rule: ignored",
                });
                follow(connection, rule, PATIENCE)?;
                return Ok(connection.goaway.is_none() && !connection.is_closed);
            }
            9..=11 => {
                self.counts.step("frames beside requests");
                let frames: Vec<Frame> = (0..random.below(20)).map(|_| beside(random)).collect();
                connection.send_frames(&frames);
                ensure!(connection.ping(), "a PING is not answered");
            }
            12 => {
                self.counts.step("a cut");
                let mut frames =
                    books.next(random).frames(random, connection.open_stream()).concat();
                let bytes = frames.drain(..).flat_map(|frame| frame.bytes()).collect::<Vec<u8>>();
                let len = random.below(bytes.len() + 1);
                connection.send_in_pieces(random, &bytes[..len]);
                return Ok(false);
            }
            _ => {
                self.counts.step("wild frames");
                for _ in 0..1 + random.below(30) {
                    let frame = wild::frame(random, connection.next_stream());
                    connection.send_in_pieces(random, &frame.bytes());
                    self.counts.sent(&[frame]);
                }
                connection.wait(LOOK, |seen| seen.goaway.is_some() || seen.is_closed);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Sends requests of a good client at the same time, their frames mixed, and checks all answers.
fn requests(random: &mut Random, books: &mut Books, connection: &mut Connection) -> Result<()> {
    let charged = books.next(random);
    let mut asks = vec![(charged, 0)];
    for _ in 0..random.below(8) {
        let (path, status) =
            random.pick(&[("/healthz", 200), ("/nowhere", 404), ("/v1/accounts/%zz", 400)]);
        asks.push((Ask::get(path), status));
    }
    let charged = random.below(asks.len());
    asks.swap(0, charged);
    let mut waiting = Vec::new();
    let mut streams = Vec::new();
    for (ask, status) in asks {
        let stream = connection.open_stream();
        streams.push((stream, status));
        waiting.push(
            ask.frames(random, stream).into_iter().collect::<std::collections::VecDeque<_>>(),
        );
    }
    // Streams open in the order of their numbers.
    let mut opened = 0;
    let mut bytes = Vec::new();
    while waiting.iter().any(|groups| !groups.is_empty()) {
        let at = random.below((opened + 1).min(waiting.len()));
        let Some(group) = waiting[at].pop_front() else {
            opened = opened.max(at + 1);
            continue;
        };
        opened = opened.max(at + 1);
        bytes.extend(group.iter().flat_map(Frame::bytes));
        if random.one_in(4) {
            bytes.extend(beside(random).bytes());
        }
    }
    connection.send_in_pieces(random, &bytes);
    for (stream, status) in streams {
        let answer = connection.answer(stream);
        ensure!(answer.is_whole, "no answer: {}", shown(connection, &answer));
        if status == 0 {
            books.take(&answer)?;
        } else {
            ensure!(
                answer.status == status,
                "{status} is expected: {}",
                shown(connection, &answer)
            );
        }
    }
    Ok(())
}

/// Returns a frame that may stand beside requests and changes nothing.
fn beside(random: &mut Random) -> Frame {
    match random.below(4) {
        0 => Frame::new(PING, 0, 0, &random.next_u64().to_be_bytes()),
        1 => Frame::new(SETTINGS, 0, 0, b""),
        2 => Frame::window_update(0, 1),
        _ => Frame::new(UNKNOWN, random.next_u64() as u8, 0, &vec![1; random.below(100)]),
    }
}

/// Returns a request for the account that only hostile clients use.
fn wild_ask(random: &mut Random) -> Ask {
    let id = random.below(50);
    let create = format!(
        r#"{{"subscriberIdentifier":"wild","nfConsumerIdentification":{{"nodeFunctionality":"SMF","nFName":"w"}},
        "invocationTimeStamp":"2026-01-01T12:00:00Z","invocationSequenceNumber":0,"chargingId":{id},
        "multipleUnitUsage":[{{"ratingGroup":10,"requestedUnit":{{"totalVolume":10}},
        "usedUnitContainer":[{{"localSequenceNumber":1,"totalVolume":3}}]}}]}}"#
    );
    match random.below(4) {
        0 => Ask::get("/v1/accounts/wild"),
        1 => Ask::get("/metrics"),
        _ => Ask::post("/nchf-convergedcharging/v3/chargingdata", create),
    }
}
