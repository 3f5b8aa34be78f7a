//! One round: creates accounts, loads the cluster, injects a fault, waits until the cluster has recovered, and audits
//! everything.

use crate::audit::{Accounts, Owners};
use crate::client::{Account, Chained, Client, Lease, ModelledAccount, PrimaryOnlyAccount};
use crate::cluster::Cluster;
use crate::fault::{Fault, FaultContext};
use crate::report::Row;
use crate::route::{PATIENCE, Route, Signals};
use anyhow::{Context, Result, anyhow};
use scurry_crash::clock::wall_ms;
use scurry_model::Random;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// A kind of client.
struct RoundKind {
    clients: usize,
    /// Accounts of each client.
    accounts: usize,
    all_copies: bool,
    make: fn(String) -> Box<dyn Account>,
}

const KINDS: [RoundKind; 4] = [
    RoundKind {
        clients: 3,
        accounts: 12,
        all_copies: true,
        make: |id| Box::new(ModelledAccount::new(id)),
    },
    RoundKind { clients: 1, accounts: 12, all_copies: true, make: |id| Box::new(Lease::new(id)) },
    RoundKind {
        clients: 2,
        accounts: 12,
        all_copies: false,
        make: |id| Box::new(PrimaryOnlyAccount::new(id)),
    },
    RoundKind { clients: 1, accounts: 6, all_copies: true, make: |id| Box::new(Chained::new(id)) },
];

/// Wait after the last deadline, ms. Clients and nodes share one clock.
const SLACK_MS: i64 = 200;

/// Runs a round. The names of its accounts begin with `stem`.
pub(crate) fn round(
    fault: Fault,
    stem: &str,
    cluster: &mut Cluster,
    accounts: &mut Accounts,
    random: &mut Random,
) -> Result<Row> {
    let signals = Signals::default();
    let mut clients = clients(stem, cluster, random);
    let address = cluster.nodes[random.below(cluster.nodes.len())].address();
    for client in &mut clients {
        client.create(&mut Route::all(&address, PATIENCE[0]), &signals)?;
        let ids = client.accounts.iter().flat_map(|account| account.ids());
        ids.for_each(|id| accounts.add(id));
    }
    let all = clients.iter().flat_map(|client| &client.accounts);
    let keys: Vec<String> = all.flat_map(|account| account.ids()).map(str::to_owned).collect();
    load(fault, cluster, &keys, &mut clients, &signals, random)?;

    // Waits until all deadlines have passed, so that no timer changes the accounts during the audit.
    let settled = clients.iter().flat_map(|client| &client.accounts);
    let ended_at_ms = settled.map(|account| account.ended_at_ms()).max().unwrap_or(0);
    let left_ms = u64::try_from(ended_at_ms + SLACK_MS - wall_ms()).unwrap_or(0);
    cluster.pass(Duration::from_millis(left_ms))?;
    accounts.audit(cluster)?;

    let mut row = Row { rounds: 1, ..Row::new(fault) };
    let mut owners = Owners::of(cluster)?;
    for client in &mut clients {
        for account in &mut client.accounts {
            let id = account.id().to_owned();
            let lost = account.audit(owners.wire(&id)?).with_context(|| id)?;
            *(if client.all_copies { &mut row.lost_all } else { &mut row.lost_one }) += lost;
        }
        client.again(&signals)?;
        let seen = *client.route.seen();
        let acknowledged =
            if client.all_copies { &mut row.acknowledged_all } else { &mut row.acknowledged_one };
        *acknowledged += seen.acknowledged;
        row.resent += seen.resent;
        row.replayed += seen.replayed;
        row.gap_ms = row.gap_ms.max(u64::try_from(seen.gap_ns / 1_000_000)?);
    }
    accounts.audit(cluster)?;
    accounts.replicas(cluster)?;
    accounts.keep(cluster)?;
    Ok(row)
}

fn clients(stem: &str, cluster: &Cluster, random: &mut Random) -> Vec<Client> {
    let mut clients = Vec::new();
    for (number, kind) in KINDS.iter().enumerate() {
        for client in 0..kind.clients {
            // Any node can be the first contact.
            let address = cluster.nodes[random.below(cluster.nodes.len())].address();
            let patience = PATIENCE[client % PATIENCE.len()];
            let route = if kind.all_copies { Route::all } else { Route::one };
            let route = route(&address, patience);
            // The hash tag makes accounts of several clients share a slot.
            let id = |at| (kind.make)(format!("{{{stem}:{at}}}:{number}:{client}"));
            let accounts = (0..kind.accounts).map(id).collect();
            let own = Random::new(random.next_u64());
            clients.push(Client::new(Box::new(route), accounts, own, kind.all_copies));
        }
    }
    clients
}

/// Runs the load from before the fault until the cluster has recovered.
fn load(
    fault: Fault,
    cluster: &mut Cluster,
    keys: &[String],
    clients: &mut [Client],
    signals: &Signals,
    random: &mut Random,
) -> Result<()> {
    thread::scope(|scope| {
        let threads: Vec<_> =
            clients.iter_mut().map(|client| scope.spawn(|| client.load(signals))).collect();
        let outcome = pass(fault, cluster, keys, random);
        signals.give_up.store(outcome.is_err(), Ordering::Relaxed);
        signals.stop();
        let mut ends = Vec::new();
        for thread in threads {
            ends.push(thread.join().map_err(|_| anyhow!("a client has panicked")).flatten());
        }
        // The error of the fault is the cause of the clients' errors, so it is returned first.
        outcome?;
        ends.into_iter().collect()
    })
}

fn pass(fault: Fault, cluster: &mut Cluster, keys: &[String], random: &mut Random) -> Result<()> {
    let mut scene = FaultContext { cluster, random, keys };
    scene.pass_ms(500, 1_500)?;
    fault.inflict(&mut scene)?;
    scene.cluster.until_whole()?;
    scene.pass_ms(200, 700)
}
