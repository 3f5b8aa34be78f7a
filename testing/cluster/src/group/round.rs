//! One round: creates accounts, loads the group, injects a fault, waits until the group has recovered, and audits
//! everything.

use super::client::{ClientAddress, FailoverConnection, PATIENCE, Persistent};
use super::debit_account::DebitAccount;
use super::events::{EventReader, ShownEvents};
use super::fault::{Fault, FaultContext};
use super::http::HttpRoute;
use super::member::Member;
use super::probe;
use super::report::Row;
use super::same::Known;
use super::shared::Sharing;
use super::transfers::Transfers;
use super::{Group, NODES, THREADS};
use crate::client::{Account, Chained, Client, Lease, ModelledAccount};
use crate::route::{Ask, Signals};
use anyhow::{Context, Result, anyhow, ensure};
use scurry_conformance::Value;
use scurry_crash::Shared;
use scurry_crash::clock::{ns, wall_ms};
use scurry_model::Random;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// A kind of client.
struct RoundKind {
    clients: usize,
    /// Accounts of each client.
    accounts: usize,
    make: fn(String) -> Box<dyn Account>,
    /// True if it asks over HTTP.
    by_http: bool,
}

impl RoundKind {
    const fn resp(
        clients: usize,
        accounts: usize,
        make: fn(String) -> Box<dyn Account>,
    ) -> RoundKind {
        RoundKind { clients, accounts, make, by_http: false }
    }
}

const KINDS: [RoundKind; 6] = [
    RoundKind::resp(2, 4, |id| Box::new(DebitAccount::new(id))),
    RoundKind::resp(2, 6, |id| Box::new(ModelledAccount::new(id))),
    RoundKind::resp(1, 6, |id| Box::new(Lease::new(id))),
    RoundKind::resp(1, 4, |id| Box::new(Chained::new(id))),
    RoundKind::resp(1, 1, |id| Box::new(Transfers::new(id))),
    RoundKind { by_http: true, ..RoundKind::resp(1, 2, |id| Box::new(DebitAccount::new(id))) },
];

/// Everybody who puts load on the group in a round.
struct RoundLoad {
    clients: Vec<Client>,
    sharing: Vec<Sharing>,
    readers: Vec<EventReader>,
}
/// Clients of the shared keys.
const SHARING: usize = 4;
/// Number in the histories of the client that makes the final reads.
const LAST: usize = 1_000;

/// Wait after the last deadline, ms. Clients and nodes share one clock.
const SLACK_MS: i64 = 200;

/// Runs a round. The names of its accounts begin with `stem`.
pub(crate) fn round(
    fault: Fault,
    stem: &str,
    group: &mut Group,
    known: &mut Known,
    shared: &Shared,
    random: &mut Random,
) -> Result<Row> {
    let signals = Signals::of_clients_behind(fault.ahead_ms());
    let ways = |random: &mut Random, patient: usize| {
        let nodes = group.nodes.iter().map(|node| node.main()).collect();
        FailoverConnection::new(nodes, random.below(NODES), PATIENCE[patient % PATIENCE.len()])
    };
    let doors: Vec<ClientAddress> = group.nodes.iter().map(Member::door).collect();
    let clients = clients(stem, random, &ways, &doors);
    let sharing = (0..SHARING)
        .map(|number| Sharing::new(number, ways(random, number), Random::new(random.next_u64())))
        .collect();
    let readers = (0..THREADS)
        .map(|thread| {
            let (way, own) = (ways(random, thread.into()), Random::new(random.next_u64()));
            EventReader::start(thread, way, own, &signals)
        })
        .collect::<Result<_>>()?;
    let mut all = RoundLoad { clients, sharing, readers };
    let mut first = Persistent::new(ways(random, 0));
    for client in &mut all.clients {
        client.create(&mut first, &signals)?;
        let ids = client.accounts.iter().flat_map(|account| account.ids());
        known.accounts.extend(ids.map(str::to_owned));
    }
    for reply in group.by_leader(|wire| wire.ask_all(&shared.creates()))? {
        ensure!(matches!(reply, Value::Array(_)), "a shared account: {reply}");
    }
    known.accounts.extend(shared.accounts().map(str::to_owned));
    known.values.extend(shared.values().map(str::to_owned));
    let mut row = Row { rounds: 1, ..Row::new(fault) };
    load(fault, group, &mut all, shared, &signals, random, &mut row)?;
    row.gap_ms = u64::try_from(signals.gap_ns.load(Ordering::Relaxed) / 1_000_000)?;
    let RoundLoad { mut clients, sharing, mut readers } = all;
    readers.iter_mut().try_for_each(|reader| reader.finish(&signals))?;
    audit_events(&ShownEvents::new(&readers), &clients, group, &mut row)?;

    let settled = clients.iter().flat_map(|client| &client.accounts);
    let ended_at_ms = settled.map(|account| account.ended_at_ms()).max().unwrap_or(0);
    // Sessions begun while the time was ahead end later by that much once it is right again.
    let slack_ms = SLACK_MS + signals.ahead_ms;
    let left_ms = u64::try_from(ended_at_ms + slack_ms - wall_ms()).unwrap_or(0);
    group.pass(Duration::from_millis(left_ms))?;
    known.sums_agree(group)?;

    for (pending, words) in shared.reads(LAST) {
        shared.returned(pending, &group.by_leader(|wire| wire.ask(&words))?)?;
    }
    for client in &mut clients {
        for account in &mut client.accounts {
            let id = account.id().to_owned();
            row.found += group.by_leader(|wire| account.audit(wire)).with_context(|| id)?;
        }
        client.again(&signals)?;
    }
    let seen = clients.iter_mut().map(|client| *client.route.seen());
    for seen in seen.chain(sharing.iter().map(|client| client.seen)) {
        row.acknowledged += seen.acknowledged;
        row.resent += seen.resent;
        row.replayed += seen.replayed;
        row.client_gap_ms = row.client_gap_ms.max(u64::try_from(seen.gap_ns / 1_000_000)?);
    }
    known.sums_agree(group)?;
    known.same_everywhere(group)?;
    Ok(row)
}

/// Compares the events of the round with what clients were told.
fn audit_events(
    shown: &ShownEvents<'_>,
    clients: &[Client],
    group: &mut Group,
    row: &mut Row,
) -> Result<()> {
    row.events += shown.add_up()?;
    if shown.missed() > 0 {
        row.remarks.push(format!("a reader of events was too late {} times", shown.missed()));
    }
    for account in clients.iter().flat_map(|client| &client.accounts) {
        let (id, acknowledged) = (account.id(), account.acknowledged());
        if let Some(acknowledged) = acknowledged {
            shown.audit(id, &acknowledged).with_context(|| format!("the events of {id}"))?;
            let compared = group.by_leader(|wire| shown.compare_statement(id, wire));
            compared.with_context(|| format!("the statement of {id}"))?;
        }
    }
    Ok(())
}

fn clients(
    stem: &str,
    random: &mut Random,
    connect: &dyn Fn(&mut Random, usize) -> FailoverConnection,
    doors: &[ClientAddress],
) -> Vec<Client> {
    let mut clients = Vec::new();
    for (number, kind) in KINDS.iter().enumerate() {
        for client in 0..kind.clients {
            let route: Box<dyn Ask> = if kind.by_http {
                Box::new(HttpRoute::new(doors.to_vec(), random.below(NODES), PATIENCE[1]))
            } else {
                Box::new(Persistent::new(connect(random, client)))
            };
            let id = |at| (kind.make)(format!("{stem}:{number}:{client}:{at}"));
            let accounts = (0..kind.accounts).map(id).collect();
            clients.push(Client::new(route, accounts, Random::new(random.next_u64()), true));
        }
    }
    clients
}

/// Runs the load from before the fault until the group has recovered.
fn load(
    fault: Fault,
    group: &mut Group,
    all: &mut RoundLoad,
    shared: &Shared,
    signals: &Signals,
    random: &mut Random,
    row: &mut Row,
) -> Result<()> {
    thread::scope(|scope| {
        let own = all.clients.iter_mut().map(|client| scope.spawn(|| client.load(signals)));
        let own: Vec<_> = own.collect();
        let common =
            all.sharing.iter_mut().map(|client| scope.spawn(|| client.load(shared, signals)));
        let common: Vec<_> = common.collect();
        let readers = all.readers.iter_mut().map(|reader| scope.spawn(|| reader.load(signals)));
        let readers: Vec<_> = readers.collect();
        for node in group.nodes.iter().map(|node| node.main()) {
            scope.spawn(|| probe::ask(node, signals));
        }
        let outcome = pass(fault, group, random, signals, row);
        signals.give_up.store(outcome.is_err(), Ordering::Relaxed);
        signals.stop();
        let mut ends = Vec::new();
        for thread in own.into_iter().chain(common).chain(readers) {
            ends.push(thread.join().map_err(|_| anyhow!("a client has panicked")).flatten());
        }
        // The error of the fault is the cause of the clients' errors, so it is returned first.
        outcome?;
        ends.into_iter().collect()
    })
}

fn pass(
    fault: Fault,
    group: &mut Group,
    random: &mut Random,
    signals: &Signals,
    row: &mut Row,
) -> Result<()> {
    let mut scene =
        FaultContext { group, random, signals, remarks: &mut row.remarks, spared: None };
    scene.pass_ms(400, 1_000)?;
    fault.inflict(&mut scene)?;
    let healed_ns = ns();
    scene.group.until_whole()?;
    row.whole_ms = u64::try_from((ns() - healed_ns) / 1_000_000)?;
    scene.pass_ms(200, 500)
}
