//! Shippers of events before a group of three, under a load of charging and under faults: shippers, the broker and the leader
//! are killed, links are cut, the disk is full. In the end files and streams have each event once and in order, balances
//! rebuilt from them are those of the accounts, and usage records sum up to what was consumed.

mod check;
mod event;
mod faults;
mod load;
mod process;
mod report;
mod scene;
mod tight_disk;

pub use report::ShipReport;

use super::client::{FailoverConnection, PATIENCE};
use super::disk::Disk;
use super::member::NodeSetup;
use super::same::Known;
use super::{Group, NODES, THREADS};
use anyhow::{Context, Result, anyhow, ensure};
use check::Books;
use event::ShippedEvent;
use load::{Control, Load};
use scene::{KINDS, Scene};
use scurry_crash::wire::{RequestWords, words};
use scurry_crash::{Binary, SETTINGS, clock, views};
use scurry_model::Random;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Clients.
const CLIENTS: usize = 4;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct ShipSettings {
    /// Seed of the load and of the faults.
    pub seed: u64,
    /// Rounds of each fault.
    pub rounds: u64,
    /// Reason why processes cannot have their own networks here. None if they can.
    pub no_network: Option<String>,
    /// Empty directory for nodes, shippers and the broker.
    pub directory: PathBuf,
    /// Set to end the run early with an error.
    pub interrupted: Arc<AtomicBool>,
}

/// Runs the load and the faults, and compares what was shipped with what the group tells.
///
/// # Errors
/// What was shipped, or not shipped, that must not be.
pub fn ship_faults(binary: &Binary, settings: &ShipSettings) -> Result<ShipReport> {
    let setup = NodeSetup {
        disk: Disk::Plain,
        clock: None,
        settings: SETTINGS,
        snapshot_log: "4mb".to_owned(),
        keep_log: Some("64gb"),
        tls: false,
    };
    let group = Group::start(&settings.directory, binary, &setup, 0, &settings.interrupted)?;
    let mut random = Random::new(settings.seed);
    let control = Control::default();
    let nodes: Vec<_> = group.nodes.iter().map(|node| node.main()).collect();
    let mut loads = Vec::new();
    for number in 0..CLIENTS {
        let patience = PATIENCE[number % PATIENCE.len()];
        let connection = FailoverConnection::new(nodes.clone(), number % NODES, patience);
        loads.push(Load::new(number, connection, Random::new(random.next_u64()), &control));
    }
    let mut report = ShipReport { left_out: settings.no_network.clone(), ..ShipReport::default() };
    let mut scene = Scene::start(group, binary, &settings.directory)?;
    let begin_ns = clock::ns();
    thread::scope(|scope| {
        let loads: Vec<_> = loads.into_iter().map(|load| scope.spawn(|| load.run())).collect();
        let outcome = rounds(&mut scene, settings, (&mut random, &control), &mut report);
        control.is_over.store(true, Ordering::Relaxed);
        if outcome.is_err() {
            control.has_failed.store(true, Ordering::Relaxed);
        }
        let joined = loads
            .into_iter()
            .map(|load| load.join().map_err(|_| anyhow!("a client has panicked")).flatten());
        // What a client found explains more than a fault that was ended by it.
        let first = joined.filter_map(Result::err).find(|error| error.to_string() != "given up");
        first.map_or(outcome, Err)
    })?;
    report.answers = [&control.answers, &control.refusals].map(|of| of.load(Ordering::Relaxed));
    report.seconds[0] = (clock::ns() - begin_ns) / 1_000_000_000;
    let begin_ns = clock::ns();
    finish(&mut scene)?;
    audit(&mut scene, &mut report).with_context(|| report.to_string())?;
    report.seconds[1] = (clock::ns() - begin_ns) / 1_000_000_000;
    Ok(report)
}

fn rounds(
    scene: &mut Scene,
    settings: &ShipSettings,
    (random, control): (&mut Random, &Control),
    report: &mut ShipReport,
) -> Result<()> {
    scene.until_shipped(control)?;
    let apart: &[_] = if settings.no_network.is_none() { &faults::APART } else { &[] };
    for number in 0..settings.rounds {
        for &fault in faults::LOCAL.iter().chain(apart) {
            scene.round(fault, number, (random, control), report).with_context(|| {
                format!("round {} of {}, seed {}", number + 1, fault.name(), settings.seed)
            })?;
        }
        let answers = control.answers.load(Ordering::Relaxed);
        eprintln!("{} rounds of each fault, {answers} answers", number + 1);
    }
    Ok(())
}

/// Waits until no session is open, and ships what is left.
fn finish(scene: &mut Scene) -> Result<()> {
    scene.group.until_whole()?;
    scene.group.until("all sessions end by their time", |group| {
        let leader = group.leader_of(&[0, 1, 2]).context("no node leads")?;
        let totals = group.nodes[leader].wire()?.ask(&words("SCUR.TOTALS"))?;
        let open = views::totals_of(&totals)?.sessions;
        ensure!(open == 0, "{open} are open");
        Ok(())
    })?;
    scene.check()?;
    for (number, kind) in KINDS.into_iter().enumerate() {
        scene.shippers[number].kill()?;
        scene.shippers[number].run(&["--once"]).with_context(|| format!("ship {kind} --once"))?;
    }
    Ok(())
}

fn audit(scene: &mut Scene, report: &mut ShipReport) -> Result<()> {
    let told = scene.told_by(0, THREADS)?;
    for node in 1..NODES {
        same(&told, &scene.told_by(node, THREADS)?)
            .with_context(|| format!("node 0 and node {node} tell other events"))?;
    }
    let files = scene.events_of_files(THREADS)?;
    same(&told, &files).context("files")?;
    let streams = scene.events_of_streams(THREADS)?;
    same(&told, &streams).context("streams")?;

    let rebuilt = check::rebuilt(&files).context("files")?;
    let accounts: Vec<String> = rebuilt.versions.keys().cloned().collect();
    let books = books(&mut scene.group, &accounts)?;
    check::same_balances(&rebuilt, &books).context("files")?;
    check::same_balances(&check::rebuilt(&streams)?, &books).context("streams")?;
    let records = scene.records()?;
    check::same_usage(&told, &records, &books).context("usage records")?;

    let known = Known { accounts, values: Vec::new() };
    known.sums_agree(&mut scene.group)?;
    known.same_everywhere(&mut scene.group)?;
    let all = || told.iter().flatten();
    let created = all().filter(|event| event.event == "created");
    let created: BTreeSet<&String> = created.map(|event| &event.account).collect();
    report.accounts = known.accounts.len() as u64;
    report.deleted = created.len() as u64 - report.accounts;
    report.events = all().count() as u64;
    report.records = records.len() as u64;
    report.files = scene.files()?;
    report.starts = scene.shippers.iter().chain([&scene.broker]).map(|it| it.starts).sum();
    report.consumed = books.consumed.values().sum();
    Ok(())
}

fn same(told: &[Vec<ShippedEvent>], shipped: &[Vec<ShippedEvent>]) -> Result<()> {
    ensure!(told.iter().all(|events| !events.is_empty()), "a thread without events");
    for (thread, (told, shipped)) in told.iter().zip(shipped).enumerate() {
        check::same_events(told, shipped).with_context(|| format!("thread {thread}"))?;
    }
    Ok(())
}

/// Returns what the accounts show.
fn books(group: &mut Group, accounts: &[String]) -> Result<Books> {
    let gets: Vec<RequestWords> = accounts.iter().map(|id| views::get(id)).collect();
    let audits: Vec<RequestWords> = accounts.iter().map(|id| views::audit(id)).collect();
    let (gets, audits) =
        group.by_leader(|wire| Ok((wire.ask_all(&gets)?, wire.ask_all(&audits)?)))?;
    let mut books = Books::default();
    for ((account, get), audit) in accounts.iter().zip(&gets).zip(&audits) {
        let view = views::account_of(get).with_context(|| account.clone())?;
        books.versions.insert(account.clone(), view.version.into());
        for bucket in view.buckets {
            let key = (account.clone(), bucket.id.as_str().to_owned());
            books.balances.insert(key, [bucket.available.into(), bucket.held.into()]);
        }
        let view = views::audit_of(audit).with_context(|| account.clone())?;
        for bucket in view.buckets {
            let key = (account.clone(), bucket.id.as_str().to_owned());
            books.consumed.insert(key, bucket.consumed.into());
        }
    }
    Ok(books)
}
