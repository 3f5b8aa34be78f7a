//! A run: hostile connections, good clients beside them, and a watch on the server.

use crate::ask::{Ask, Http1, Http2, Line};
use crate::attack::Attacker;
use crate::books::Books;
use crate::counts::Counts;
use crate::report::Report;
use crate::server::{Sample, Server};
use anyhow::{Context, Error, Result, bail, ensure};
use scurry_crash::clock;
use scurry_model::Random;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the server is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the server is looked at until its connections are closed.
const CLOSE_LOOKS_MAX: u32 = 900;
/// Connections that charge one account. Sessions that a cut has left open must not become too many.
const CONNECTIONS_PER_ACCOUNT: u64 = 100;
/// Pause of a good client between two requests.
const PAUSE: Duration = Duration::from_millis(5);
/// The first accounts of good clients and of hostile ones.
const GOOD: u64 = 1_000_000;
const HOSTILE: u64 = 2_000_000;

/// What a run does, and what it allows.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Of everything that is drawn.
    pub seed: u64,
    /// How long hostile clients go on.
    pub time: Duration,
    /// Hostile clients at a time.
    pub workers: u64,
    /// Most that the server may have.
    pub most: Sample,
    /// Units that each answer has to grant: [`crate::GRANT`].
    pub grant: u64,
    /// Only the hostile connection of this seed, once.
    pub only: Option<u64>,
}

/// What all threads of a run share.
struct Shared {
    counts: Arc<Counts>,
    stop: AtomicBool,
    until_ns: i64,
    failure: Mutex<Option<Error>>,
    good_answers: AtomicU64,
    longest_ns: AtomicI64,
}

impl Shared {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && clock::ns() < self.until_ns
    }

    /// Keeps the first error, and ends the run.
    fn note(&self, outcome: Result<()>) {
        if let Err(error) = outcome {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs hostile and good clients against a server. An error says what the server did wrong, and the seed of the hostile
/// connection.
pub fn run(
    server: &mut Server,
    settings: &Settings,
    looked: &mut dyn FnMut(&mut Server, &Report),
) -> Result<Report> {
    let counts = Arc::new(Counts::default());
    let time = i64::try_from(settings.time.as_nanos()).unwrap_or(i64::MAX);
    let shared = Shared {
        counts: Arc::clone(&counts),
        stop: AtomicBool::new(false),
        until_ns: clock::ns().saturating_add(time),
        failure: Mutex::new(None),
        good_answers: AtomicU64::new(0),
        longest_ns: AtomicI64::new(0),
    };
    let port = server.port;
    let wild = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":1000000000}]}"#;
    Http1::open(port)?.send("PUT", "/v1/accounts/wild", wild)?;
    let mut report = Report::new(settings.seed, server.sample()?);
    let (sender, done) = channel::<()>();
    std::thread::scope(|scope| {
        let (shared, settings) = (&shared, &settings);
        for worker in 0..settings.workers {
            let sender = sender.clone();
            scope.spawn(move || leave(sender, shared, attack(port, shared, settings, worker)));
        }
        for (number, is_http2) in [(0, true), (1, true), (2, false)] {
            let sender = sender.clone();
            scope.spawn(move || {
                leave(sender, shared, be_good(port, shared, settings, number, is_http2))
            });
        }
        drop(sender);
        watch(server, shared, settings, &done, &mut report, looked);
    });
    if let Some(error) = shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    totals(port)?;
    report.last = settled(server)?;
    report.finish(&shared.counts, &shared.good_answers, &shared.longest_ns);
    Ok(report)
}

fn leave(sender: Sender<()>, shared: &Shared, outcome: Result<()>) {
    shared.note(outcome);
    drop(sender);
}

/// Looks at the server until all clients have left.
fn watch(
    server: &mut Server,
    shared: &Shared,
    settings: &Settings,
    done: &Receiver<()>,
    report: &mut Report,
    looked: &mut dyn FnMut(&mut Server, &Report),
) {
    while done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let sample = server.sample().and_then(|sample| {
            let most = settings.most;
            ensure!(sample.memory <= most.memory, "{} bytes of memory are in use", sample.memory);
            ensure!(
                sample.connections <= most.connections,
                "{} connections are open",
                sample.connections
            );
            ensure!(sample.threads <= most.threads, "{} threads run", sample.threads);
            Ok(sample)
        });
        match sample {
            Ok(sample) => {
                report.take(sample);
                report.finish(&shared.counts, &shared.good_answers, &shared.longest_ns);
                looked(server, report);
            }
            Err(error) => shared.note(Err(error)),
        }
    }
}

/// Waits until the server has closed all connections, and returns what it has then.
fn settled(server: &mut Server) -> Result<Sample> {
    let (_keep, pause) = channel::<()>();
    let mut last = server.sample()?;
    for _ in 0..CLOSE_LOOKS_MAX {
        if last.connections == 0 {
            return Ok(last);
        }
        let _ = pause.recv_timeout(LOOK_EVERY);
        last = server.sample()?;
    }
    bail!("{} connections are open after all clients have left", last.connections)
}

/// Makes hostile connections, one after the other.
fn attack(port: u16, shared: &Shared, settings: &Settings, worker: u64) -> Result<()> {
    let attacker = Attacker::new(port, &shared.counts);
    let mut account = HOSTILE + worker * 100_000;
    let mut books = Books::open(port, account, settings.grant)?;
    let mut seeds = Random::new(settings.seed ^ worker << 48);
    let random = &mut Random::new(settings.seed);
    if let Some(seed) = settings.only {
        attacker.attack(seed, &mut books).with_context(|| format!("connection {seed}"))?;
        return books.settle(port, random);
    }
    let mut made = 0;
    while shared.goes_on() {
        let seed = seeds.next_u64();
        attacker.attack(seed, &mut books).with_context(|| format!("connection {seed}"))?;
        made += 1;
        if made % CONNECTIONS_PER_ACCOUNT == 0 {
            books.settle(port, random)?;
            account += 1;
            books = Books::open(port, account, settings.grant)?;
        }
    }
    books.settle(port, random)
}

/// Is a good client on one connection. Each answer has to be right, and the connection has to last.
fn be_good(
    port: u16,
    shared: &Shared,
    settings: &Settings,
    number: u64,
    is_http2: bool,
) -> Result<()> {
    let version = if is_http2 { "HTTP/2" } else { "HTTP/1.1" };
    let said = || format!("a good client of {version}");
    let mut line: Box<dyn Line> =
        if is_http2 { Box::new(Http2::open(port, number)?) } else { Box::new(Http1::open(port)?) };
    let mut books = Books::open(port, GOOD + number, settings.grant)?;
    let random = &mut Random::new(settings.seed ^ number);
    // Nothing is ever sent: it is a pause that the end of the run need not wait for.
    let (_keep, pause) = channel::<()>();
    while shared.goes_on() {
        let ask = books.next(random);
        let began = clock::ns();
        let answer = line.ask(&ask).with_context(said)?;
        shared.longest_ns.fetch_max(clock::ns() - began, Ordering::Relaxed);
        books.take(&answer).with_context(said)?;
        let health = line.ask(&Ask::get("/healthz")).with_context(said)?;
        ensure!(health.status == 200 && health.body == b"ok\n", "{}: {}", said(), health.status);
        shared.good_answers.fetch_add(2, Ordering::Relaxed);
        let _ = pause.recv_timeout(PAUSE);
    }
    books.settle(port, random).with_context(said)
}

/// Checks that the totals of the store add up.
fn totals(port: u16) -> Result<()> {
    let answer = Http1::open(port)?.ask(&Ask::get("/v1/totals"))?;
    let totals: Value = serde_json::from_slice(&answer.body).context("not JSON")?;
    ensure!(totals["ok"] == true, "the totals do not add up: {totals}");
    let audit = Http1::open(port)?.ask(&Ask::get("/v1/accounts/wild/audit"))?;
    let audit: Value = serde_json::from_slice(&audit.body).context("not JSON")?;
    ensure!(audit["ok"] == true, "the audit of the hostile account: {audit}");
    Ok(())
}
