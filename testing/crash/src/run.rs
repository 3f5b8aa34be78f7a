//! Runs rounds of load, kill, restart and check. A `u64` seed determines every random choice; only the timing of the
//! system varies.

use crate::binary::Binary;
use crate::clock::ns;
use crate::linear;
use crate::load::Client;
use crate::plan::{Plan, ServerStart};
use crate::report::Report;
use crate::server::Server;
use crate::shared::Shared;
use crate::subject::{
    Account, Allowance, Chained, Counts, Entity, ExpiringValue, Lease, PlainValue, Subject,
};
use crate::verify::verify;
use crate::wire::{Wire, text, words};
use anyhow::{Context, Result, ensure};
use scurry_conformance::Value;
use scurry_model::Random;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const CLIENTS: usize = 5;
/// Accounts of each client.
const ACCOUNTS: usize = 40;
const VALUES: usize = 20;
const ENTITIES: usize = 10;
const FLEETING: usize = 8;
const LEASES: usize = 3;
/// Hash slots of each client, with several accounts each.
const CHAINED: usize = 12;
const ALLOWANCES: usize = 3;
/// Rounds after which new shared keys replace the old ones, to bound the histories.
const EPOCH_ROUNDS: u64 = 5;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Kills under load.
    pub rounds: u64,
    /// Load before a kill at most, ms.
    pub load_ms_max: i64,
    /// Directory of stores and histories, which are kept after a failure.
    pub directory: PathBuf,
}

/// State kept through all rounds.
struct Run<'r> {
    binary: &'r Binary,
    settings: &'r Settings,
    random: Random,
    clients: Vec<Client>,
    shared: Shared,
    /// Accounts seen on the server.
    known: BTreeSet<String>,
    threads: u16,
}

/// Runs all rounds, and checks the histories at the end. Calls `tell` with a line for each round.
pub fn run(binary: &Binary, settings: &Settings, tell: &mut dyn FnMut(&str)) -> Result<Report> {
    let histories = settings.directory.join("histories");
    std::fs::create_dir_all(&histories).context("no place for the histories")?;
    let mut run = Run {
        binary,
        settings,
        random: Random::new(settings.seed),
        clients: (0..CLIENTS).map(client).collect(),
        shared: Shared::new(0),
        known: BTreeSet::new(),
        threads: 0,
    };
    let mut report = Report::default();
    for round in 0..settings.rounds {
        let is_first = round % EPOCH_ROUNDS == 0;
        let plan = Plan::new(&mut run.random, settings.load_ms_max);
        let outcome = run.round(&plan, is_first);
        let shown = outcome.with_context(|| {
            format!(
                "round {round} of seed {} ({plan:?}); the store is kept in {}",
                settings.seed,
                settings.directory.display()
            )
        })?;
        report.add(&shown);
        if (round + 1) % EPOCH_ROUNDS == 0 || round + 1 == settings.rounds {
            let epoch = round / EPOCH_ROUNDS;
            let shared = std::mem::replace(&mut run.shared, Shared::new(epoch + 1));
            report.calls += linear::write(&histories, epoch, shared)?;
        }
        tell(&format!("round {}: {shown:?}", round + 1));
    }
    linear::check(&histories)?;
    Ok(report)
}

fn client(number: usize) -> Client {
    let mut subjects: Vec<Box<dyn Subject>> = Vec::new();
    // Accounts are the most frequent kind.
    subjects.extend((0..ACCOUNTS).map(|at| Box::new(Account::new(format!("a{number}:{at}"))) as _));
    subjects
        .extend((0..VALUES).map(|at| Box::new(PlainValue::new(format!("v{number}:{at}"))) as _));
    subjects.extend(
        (0..ENTITIES).map(|at| Box::new(Entity::new(format!("e{number}:{at}"), at % 3 > 0)) as _),
    );
    subjects.extend(
        (0..FLEETING).map(|at| Box::new(ExpiringValue::new(format!("f{number}:{at}"))) as _),
    );
    subjects.extend((0..LEASES).map(|at| Box::new(Lease::new(format!("l{number}:{at}"))) as _));
    subjects.extend((0..CHAINED).map(|at| Box::new(Chained::new(format!("c{number}:{at}"))) as _));
    subjects
        .extend((0..ALLOWANCES).map(|at| Box::new(Allowance::new(format!("w{number}:{at}"))) as _));
    Client::new(number, subjects)
}

impl Run<'_> {
    /// Runs the load on a server until its kill, and checks the data on the next server.
    fn round(&mut self, plan: &Plan, is_first: bool) -> Result<Report> {
        let home = self.settings.directory.clone();
        let mut report = Report { rounds: 1, ..Report::default() };
        let before = self.counts();
        let mut server = Server::spawn(self.binary, &home, plan.start)?;
        let port = server.port()?;
        report.divided += self.divided(plan.start);
        if is_first {
            for reply in Wire::connect(port)?.ask_all(&self.shared.creates())? {
                ensure!(matches!(reply, Value::Array(_)), "a shared account: {reply}");
            }
        }
        let since = ns();
        report.acknowledged = self.load(server, port, plan, &mut report)?;
        for (start, after) in &plan.cut_short {
            let server = Server::spawn(self.binary, &home, *start)?;
            thread::sleep(*after); // tidy: allow (the seed says when it is killed)
            server.kill()?;
            report.cut_short += 1;
            // A killed start may or may not have divided the store.
            self.threads = 0;
        }
        let mut server = Server::spawn(self.binary, &home, plan.check)?;
        let port = server.port()?;
        report.divided += self.divided(plan.check);
        report.cuts += server.said().matches("cut off at byte").count() as u64;
        let shown =
            verify(port, &mut self.clients, &self.shared, &mut self.known, since, &mut self.random);
        report.add(&shown.with_context(|| server.said())?);
        server.kill()?;
        let after = self.counts();
        report.chains = after.chains - before.chains;
        report.refills = after.refills - before.refills;
        Ok(report)
    }

    /// Returns the sums over all subjects.
    fn counts(&self) -> Counts {
        let subjects = self.clients.iter().flat_map(|client| &client.subjects);
        subjects.fold(Counts::default(), |sum, subject| sum.plus(subject.counts()))
    }

    /// Returns 1 if this start divides the store among another number of threads.
    fn divided(&mut self, start: ServerStart) -> u64 {
        let before = std::mem::replace(&mut self.threads, start.threads);
        u64::from(before > 0 && before != start.threads)
    }

    /// Runs the load until the kill. Returns how many replies were received.
    fn load(&mut self, server: Server, port: u16, plan: &Plan, report: &mut Report) -> Result<u64> {
        let before: u64 = self.clients.iter().map(|client| client.acknowledged).sum();
        let shared = &self.shared;
        let seeds: Vec<u64> = self.clients.iter().map(|_| self.random.next_u64()).collect();
        thread::scope(|scope| {
            let threads: Vec<_> = self
                .clients
                .iter_mut()
                .zip(seeds)
                .map(|(client, seed)| {
                    scope.spawn(move || client.load(port, shared, &mut Random::new(seed)))
                })
                .collect();
            report.snapshots += pass(port, plan)?;
            server.kill()?;
            for thread in threads {
                thread.join().map_err(|_| anyhow::anyhow!("a client has panicked"))??;
            }
            Ok::<(), anyhow::Error>(())
        })?;
        self.clients.iter_mut().for_each(|client| client.give_up(shared));
        Ok(self.clients.iter().map(|client| client.acknowledged).sum::<u64>() - before)
    }
}

/// Waits for the moment of the kill and requests snapshots meanwhile. Returns how many were completed.
fn pass(port: u16, plan: &Plan) -> Result<u64> {
    let mut wire = Wire::connect(port)?;
    let mut passed = Duration::ZERO;
    for at in &plan.snapshots {
        thread::sleep(at.saturating_sub(passed)); // tidy: allow (the seed says when)
        passed = *at;
        // An error means that a snapshot is already being written.
        wire.ask(&words("SCUR.SNAPSHOT"))?;
    }
    thread::sleep(plan.load.saturating_sub(passed)); // tidy: allow (the seed says when)
    let info = text(&wire.ask(&words("INFO persistence"))?)?;
    let written = info.lines().find_map(|line| line.strip_prefix("snapshots_written:"));
    Ok(written.and_then(|written| written.trim().parse().ok()).unwrap_or(0))
}
