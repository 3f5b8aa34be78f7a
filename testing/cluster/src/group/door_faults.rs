//! Two doors of a protocol of charging before a group of three, under a steady load of sessions and events and under faults:
//! doors and leaders are killed, links and connections are cut. In the end each account shows what clients were answered,
//! once, and holds nothing.

mod books;
mod connecting;
mod control;
mod diameter;
mod door;
mod faults;
mod gateway;
mod nchf;
mod protocol;
mod report;

pub use report::DoorReport;

use super::disk::Disk;
use super::member::NodeSetup;
use super::same::Known;
use super::{Group, NODES};
use crate::namespaces::{self, Namespace};
use crate::wait;
use anyhow::{Context, Result, anyhow, ensure};
use books::Books;
use control::Control;
use diameter::Diameter;
use door::Door;
use faults::Scene;
use gateway::Gateway;
use nchf::Nchf;
use protocol::Protocol;
use scurry_crash::views;
use scurry_crash::wire::{RequestWords, words};
use scurry_crash::{Binary, SETTINGS};
use scurry_model::Random;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

/// Clients.
const GATEWAYS: usize = 2;
/// Subscribers of each client.
const SUBSCRIBERS: usize = 400;
/// One subscriber in so many has little credit.
const POOR: usize = 10;
const CREDIT: i64 = 1 << 50;
const LITTLE_CREDIT: i64 = 30_000;
/// Number of the first network of a door.
const DOOR_PLACE: usize = 40;
const DOOR_PORT: u16 = 3_868;
/// Time for an answer; after it the request is sent again. A door gives up within less.
const ANSWER_MS: u64 = 5_000;
/// Validity of a grant, s. A session without a request for twice as long ends by itself.
const VALIDITY_S: u64 = 5;
/// Range searched for free ports of doors without networks of their own.
const DOOR_PORTS: std::ops::Range<u16> = 10_000..10_400;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct DoorSettings {
    /// Seed of the load and of the faults.
    pub seed: u64,
    /// How long there are faults.
    pub time: Duration,
    /// Sessions and events that begin in a second.
    pub rate: u32,
    /// Reason why processes cannot have their own networks here. None if they can.
    pub no_network: Option<String>,
    /// Empty directory for nodes and doors.
    pub directory: PathBuf,
    /// True if a client's books are to be wrong by one unit, so that the run must fail.
    pub lies: bool,
    /// Set to end the run early with an error.
    pub interrupted: Arc<AtomicBool>,
}

/// Runs the load and the faults with Diameter doors, and audits everything.
///
/// # Errors
/// What a client was answered, or the store keeps, that must not be.
pub fn diameter_faults(binary: &Binary, settings: &DoorSettings) -> Result<DoorReport> {
    run::<Diameter>(binary, settings)
}

/// Runs the load and the faults with doors of Nchf over HTTP/2, and audits everything. Clients cut connections themselves.
///
/// # Errors
/// What a client was answered, or the store keeps, that must not be.
pub fn nchf_faults(binary: &Binary, settings: &DoorSettings) -> Result<DoorReport> {
    run::<Nchf>(binary, settings)
}

fn run<P: Protocol>(binary: &Binary, settings: &DoorSettings) -> Result<DoorReport> {
    let directory = &settings.directory;
    let setup = NodeSetup {
        disk: Disk::Plain,
        clock: None,
        settings: SETTINGS,
        snapshot_log: "64mb".to_owned(),
        keep_log: None,
        tls: false,
    };
    let mut group = Group::start(directory, binary, &setup, 0, &settings.interrupted)?;
    let store: Vec<String> = group.nodes.iter().map(|node| node.name()).collect();
    let first_port = wait::free_ports(DOOR_PORTS, 2)?;
    let mut doors = Vec::new();
    for number in 0..2 {
        let place = DOOR_PLACE + number;
        let (host, port, network) = if namespaces::inside() {
            (Namespace::address(place), DOOR_PORT, Some(Namespace::new(place)?))
        } else {
            ("127.0.0.1".to_owned(), first_port + u16::try_from(number)?, None)
        };
        let home = directory.join(format!("door-{number}"));
        let mut door =
            Door::new((P::DOOR, number), format!("{host}:{port}"), home, network, &store);
        door.start(binary)?;
        doors.push(door);
    }
    let addresses: Vec<SocketAddr> =
        doors.iter().map(|door| Ok(door.address.parse()?)).collect::<Result<_>>()?;
    let addresses = [addresses[0], addresses[1]];

    let mut random = Random::new(settings.seed);
    let mut gateways = Vec::new();
    for number in 0..GATEWAYS {
        let imsis = (0..SUBSCRIBERS).map(|at| format!("0010100{number}{at:07}")).collect();
        let rate = f64::from(settings.rate) / GATEWAYS as f64;
        let random = Random::new(random.next_u64());
        gateways.push(Gateway::<P>::new(number, addresses, imsis, rate, random)?);
    }
    if settings.lies {
        gateways[0].lie();
    }
    let accounts: Vec<String> = gateways.iter().flat_map(Gateway::<P>::accounts).collect();
    create(&mut group, &accounts)?;

    let control = Control::default();
    let mut report = DoorReport::default();
    let books = thread::scope(|scope| {
        let loads: Vec<_> =
            gateways.into_iter().map(|gateway| scope.spawn(|| gateway.run(&control))).collect();
        let mut scene = Scene {
            group: &mut group,
            doors: &mut doors,
            binary,
            random: &mut random,
            control: &control,
            has_networks: settings.no_network.is_none(),
        };
        let done = scene.run(settings.time, &mut report);
        control.end();
        if done.is_err() {
            control.fail();
        }
        let mut books = Books::default();
        let mut outcome = done;
        for load in loads {
            match load.join().map_err(|_| anyhow!("a client has panicked")).flatten() {
                Ok(own) => books.add(own),
                // What a client found explains more than a fault that was ended by it.
                Err(error) => outcome = Err(error),
            }
        }
        outcome.map(|()| books)
    })?;
    report.load = books.counts.clone();
    audit(&mut group, &accounts, &books, &mut report).with_context(|| report.to_string())?;
    Ok(report)
}

fn credit(at: usize) -> i64 {
    if at.is_multiple_of(POOR) { LITTLE_CREDIT } else { CREDIT }
}

/// Creates the accounts. Each CREATE has a transaction id, so it may be repeated.
fn create(group: &mut Group, accounts: &[String]) -> Result<()> {
    let creates = accounts.iter().enumerate().map(|(at, account)| {
        let credit = credit(at);
        words(&format!("SCUR.CREATE {account} TXN create BUCKET main octet {credit}"))
    });
    let creates: Vec<RequestWords> = creates.collect();
    for reply in group.by_leader(|wire| wire.ask_all(&creates))? {
        ensure!(matches!(reply, scurry_conformance::Value::Array(_)), "CREATE: {reply}");
    }
    Ok(())
}

/// Compares the accounts with what clients were answered, on each node as it leads.
fn audit(
    group: &mut Group,
    accounts: &[String],
    books: &Books,
    report: &mut DoorReport,
) -> Result<()> {
    // By then sessions that were forgotten have ended.
    group.pass(Duration::from_secs(2 * VALIDITY_S + 3))?;
    group.until_whole()?;
    let requests: Vec<RequestWords> = accounts.iter().map(|id| views::audit(id)).collect();
    for node in 0..NODES {
        let replies = group.asked_of(node, &requests)?;
        report.consumed = 0;
        for (at, (account, reply)) in accounts.iter().zip(&replies).enumerate() {
            let view = views::audit_of(reply).with_context(|| account.clone())?;
            let expected = books.account(account);
            let compared = expected.compare(&view, credit(at));
            compared.with_context(|| format!("{account} on node {node}"))?;
            report.consumed += view.buckets.iter().map(|it| i128::from(it.consumed)).sum::<i128>();
        }
        report.audits += replies.len() as u64;
    }
    let known = Known { accounts: accounts.to_vec(), values: Vec::new() };
    known.sums_agree(group)?;
    known.same_everywhere(group)
}
