//! Proof that each checker sees a fault: three stores that know nothing of each other pose as the nodes of one group.
//! What one of them has acknowledged the others lack, and each checker must say so. Beside it stands the same check
//! of one store alone, which must find nothing.

use super::client::{FailoverConnection, PATIENCE, Persistent, Sent};
use super::debit_account::DebitAccount;
use super::disk::Disk;
use super::events::{EventReader, ShownEvents};
use super::http::HttpRoute;
use super::member::{Member, NodeSetup};
use super::old_reads::OldReads;
use super::same::Known;
use super::soak::acknowledged::{Acknowledged, CREDIT};
use super::soak::audit::audit;
use super::transfers::Transfers;
use super::{FREE_PORTS, Group, NODES, PORTS, THREADS};
use crate::audit::sums_agree;
use crate::client::{Account, Chained, Lease, ModelledAccount};
use crate::route::{Ask, Signals};
use crate::wait;
use anyhow::{Result, ensure};
use scurry_conformance::Value;
use scurry_crash::clock::wall_ms;
use scurry_crash::wire::{Wire, words};
use scurry_crash::{Binary, Shared, linear, views, words_of};
use scurry_model::{Op, Random};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// Requests of a client.
const STEPS: usize = 20;
/// Calls of shared keys.
const CALLS: usize = 400;
/// Wait after the last deadline of an account, ms.
const SLACK_MS: i64 = 200;

/// The three stores. Tests take turns, because they look for free ports.
struct SplitGroup {
    group: Group,
    directory: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl SplitGroup {
    fn start() -> SplitGroup {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = TempDir::new().expect("a directory");
        let group = start(&directory).unwrap_or_else(|error| panic!("{error:?}"));
        SplitGroup { group, directory, _turn: turn }
    }

    /// Returns a client of one store.
    fn client(&self, node: usize) -> Persistent {
        Persistent::new(self.connection(node))
    }

    fn connection(&self, node: usize) -> FailoverConnection {
        FailoverConnection::new(vec![self.group.nodes[node].main()], 0, PATIENCE[0])
    }

    fn set(&mut self, node: usize, line: &str) {
        self.group.execute(&[node], line).unwrap_or_else(|error| panic!("{line}: {error:?}"));
    }
}

/// Starts three groups of one node each.
fn start(directory: &TempDir) -> Result<Group> {
    let binary = Binary::find()?;
    let first = wait::free_ports(FREE_PORTS, PORTS * u16::try_from(NODES)?)?;
    let setup = NodeSetup::of_round(Disk::Plain, None);
    let mut group = Group::empty(directory.path(), &binary, &setup, 0, &Default::default());
    for index in 0..NODES {
        let host = ("127.0.0.1".to_owned(), first + u16::try_from(index)? * PORTS);
        let home = directory.path().join(format!("node-{index}"));
        let mut node = Member::new(host, home, None, &binary, setup.clone())?;
        node.begin_group()?;
        node.start(Vec::new(), None)?;
        group.nodes.push(node);
        group.until_leader(&[index])?;
    }
    Ok(group)
}

/// Returns the text of the error that a checker must give.
fn fault<T: std::fmt::Debug>(outcome: Result<T>) -> String {
    format!("{:#}", outcome.expect_err("the checker sees nothing"))
}

#[test]
fn a_read_of_a_store_that_lacks_a_write_is_old() {
    let mut split = SplitGroup::start();
    let judge = |split: &mut SplitGroup, by: usize| {
        let mut old = OldReads::open(&mut split.group, 0).expect("connections");
        old.overwrite(&mut split.group, by, "new").expect("a write");
        old.ask();
        old.judge()
    };
    assert!(judge(&mut split, 0).expect("the newest value") > 0);
    let said = fault(judge(&mut split, 1));
    assert!(said.contains("an old connection shows old, not new"), "{said}");
}

#[test]
fn each_audit_finds_that_acknowledged_requests_are_lost() {
    let split = SplitGroup::start();
    let make: [fn(String) -> Box<dyn Account>; 5] = [
        |id| Box::new(DebitAccount::new(id)),
        |id| Box::new(ModelledAccount::new(id)),
        |id| Box::new(Lease::new(id)),
        |id| Box::new(Chained::new(id)),
        |id| Box::new(Transfers::new(id)),
    ];
    let (signals, mut random) = (Signals::of_clients_behind(0), Random::new(1));
    let (mut own, mut other) = (split.client(0), split.client(1));
    for (number, make) in make.into_iter().enumerate() {
        let mut account = make(format!("account{number}"));
        // The other store has the account, and none of the requests.
        make(account.id().to_owned()).create(&mut other, &signals).expect("an account");
        account.create(&mut own, &signals).expect("an account");
        for _ in 0..STEPS {
            account.step(&mut own, &signals, &mut random).expect("a right answer");
        }
        let left_ms = account.ended_at_ms() + SLACK_MS - wall_ms();
        let left = Duration::from_millis(u64::try_from(left_ms).unwrap_or(0));
        split.group.pass(left).expect("time passes");
        let wires = [0, 1].map(|node| split.group.nodes[node].wire().expect("a connection"));
        let [mut right, mut wrong] = wires;
        let audit = account.audit(&mut right);
        audit.unwrap_or_else(|error| panic!("nothing is lost: {error:?}"));
        let said = fault(account.audit(&mut wrong));
        println!("{}: {said}", account.id());
    }
}

#[test]
fn an_audit_counts_debits_that_are_lost_and_those_done_twice() {
    let split = SplitGroup::start();
    let signals = Signals::of_clients_behind(0);
    let (mut own, mut other, mut random) = (split.client(0), split.client(1), Random::new(1));
    let mut account = DebitAccount::new("account".to_owned());
    account.create(&mut other, &signals).expect("an account");
    account.create(&mut own, &signals).expect("an account");
    for _ in 0..STEPS {
        account.step(&mut own, &signals, &mut random).expect("a debit");
    }
    let said = fault(account.audit(&mut split.group.nodes[1].wire().expect("a connection")));
    assert!(said.contains("Found { lost: 20, twice: 0 }"), "{said}");
    // A debit that no client asked for is what one that was executed twice leaves.
    let mut wire = split.group.nodes[0].wire().expect("a connection");
    wire.ask(&words_of("account", &Op::debit("again", "cent", 1))).expect("a debit");
    let said = fault(account.audit(&mut wire));
    assert!(said.contains("Found { lost: 0, twice: 1 }"), "{said}");
}

/// A debit account on the first two stores, whose client has charged the first one by this route. The first answer to
/// the audit is that of the first store, the second that of the other one.
fn charged(
    split: &SplitGroup,
    account: &mut DebitAccount,
    route: &mut dyn Ask,
) -> [Result<u64>; 2] {
    let (signals, mut random) = (Signals::of_clients_behind(0), Random::new(1));
    for node in [0, 1] {
        account.create(&mut split.client(node), &signals).expect("an account");
    }
    for _ in 0..STEPS {
        account.step(route, &signals, &mut random).expect("a debit");
    }
    [0, 1].map(|node| account.audit(&mut split.group.nodes[node].wire().expect("a connection")))
}

#[test]
fn debits_over_http_that_another_store_lacks_are_lost() {
    let split = SplitGroup::start();
    let mut route = HttpRoute::new(vec![split.group.nodes[0].door()], 0, PATIENCE[0]);
    let mut account = DebitAccount::new("account".to_owned());
    let [own, other] = charged(&split, &mut account, &mut route);
    assert_eq!(own.expect("nothing is lost"), STEPS as u64);
    let said = fault(other);
    assert!(said.contains("Found { lost: 20, twice: 0 }"), "{said}");
}

#[test]
fn money_that_comes_from_nowhere_is_no_transfer() {
    let split = SplitGroup::start();
    let (signals, mut own, mut random) =
        (Signals::of_clients_behind(0), split.client(0), Random::new(1));
    let mut accounts = Transfers::new("account".to_owned());
    accounts.create(&mut own, &signals).expect("accounts");
    for _ in 0..STEPS {
        accounts.step(&mut own, &signals, &mut random).expect("a transfer");
    }
    let mut wire = split.group.nodes[0].wire().expect("a connection");
    assert_eq!(accounts.audit(&mut wire).expect("nothing is lost"), STEPS as u64);
    // A transfer that no client asked for is what one that was executed twice leaves.
    let more = "SCUR.TRANSFER account:0 more cent 1 account:1 main";
    wire.ask(&words(more)).expect("a transfer");
    let arrived = |wire: &mut Wire| wire.ask(&words(more)).expect("an answer").to_string();
    while !arrived(&mut wire).contains("arrived") {}
    let said = fault(accounts.audit(&mut wire));
    assert!(said.contains("and should have"), "{said}");
    wire.ask(&words("SCUR.TOPUP account:2 gift main 7")).expect("a top-up");
    let said = fault(accounts.audit(&mut wire));
    assert!(said.contains("the accounts have 5000007 together"), "{said}");
}

/// Reads the events of a store's threads from the beginning of a test to its end.
fn watch(split: &SplitGroup, node: usize) -> Vec<EventReader> {
    let signals = Signals::of_clients_behind(0);
    let reader = |thread| {
        EventReader::start(thread, split.connection(node), Random::new(1), &signals)
            .expect("a position")
    };
    (0..THREADS).map(reader).collect()
}

#[test]
fn events_of_another_store_lack_what_was_acknowledged() {
    let split = SplitGroup::start();
    let (signals, mut random) = (Signals::of_clients_behind(0), Random::new(1));
    let mut readers = [0, 1].map(|node| watch(&split, node));
    let mut account = DebitAccount::new("account".to_owned());
    for node in [1, 0] {
        account.create(&mut split.client(node), &signals).expect("an account");
    }
    let mut own = split.client(0);
    for _ in 0..STEPS {
        account.step(&mut own, &signals, &mut random).expect("a debit");
    }
    for reader in readers.iter_mut().flatten() {
        reader.finish(&signals).expect("the end");
    }
    let (id, known) = (account.id(), account.acknowledged().expect("ids"));
    let [right, wrong] = &readers;
    let (right, wrong) = (ShownEvents::new(right), ShownEvents::new(wrong));
    right.audit(id, &known).unwrap_or_else(|error| panic!("all are shown: {error:?}"));
    assert!(right.add_up().expect("they add up") > STEPS as u64);
    let said = fault(wrong.audit(id, &known));
    assert!(said.contains("20 debits were acknowledged and 0 shown; from number 0"), "{said}");
    // An event of something that no client was told.
    let said = fault(right.audit(id, &known[..STEPS - 1]));
    assert!(said.contains("19 debits were acknowledged and 20 shown; from number 19"), "{said}");
    let mut swapped = known;
    swapped.swap(3, 4);
    let said = fault(right.audit(id, &swapped));
    assert!(said.contains("from number 3 on"), "{said}");
    let wires = [0, 1].map(|node| split.group.nodes[node].wire().expect("a connection"));
    let [mut same, mut other] = wires;
    right.compare_statement(id, &mut same).unwrap_or_else(|error| panic!("{error:?}"));
    let said = fault(right.compare_statement(id, &mut other));
    assert!(said.contains("a complete statement lacks 20 events"), "{said}");
}

#[test]
fn the_audit_of_a_soak_finds_a_charge_that_is_lost_and_one_that_was_made_twice() {
    let mut split = SplitGroup::start();
    let mut told = Acknowledged::new(3);
    for account in 0..3 {
        split.set(0, &format!("SCUR.CREATE a{account} BUCKET main cent {CREDIT}"));
    }
    let judge = |split: &SplitGroup, told: &Acknowledged| audit(&split.group.nodes[0], told);
    split.set(0, "SCUR.DEBIT a1 first cent 7");
    told.add(1, 7).expect("it fits");
    let found = judge(&split, &told).unwrap_or_else(|error| panic!("nothing is lost: {error:?}"));
    assert_eq!((found.accounts, found.lost, found.twice), (3, 0, 0));
    told.add(2, 5).expect("it fits");
    let said = fault(judge(&split, &told));
    assert!(said.contains("units lost 5, charged twice 0; a2 shows 0"), "{said}");
    split.set(0, "SCUR.DEBIT a2 second cent 5");
    judge(&split, &told).unwrap_or_else(|error| panic!("nothing is lost: {error:?}"));
    split.set(0, "SCUR.DEBIT a2 third cent 9");
    let said = fault(judge(&split, &told));
    assert!(said.contains("units lost 0, charged twice 9; a2 shows 14"), "{said}");
    // An account that no load made is seen in the totals alone.
    split.set(1, &format!("SCUR.CREATE a0 BUCKET main cent {CREDIT}"));
    split.set(1, &format!("SCUR.CREATE unknown BUCKET main cent {CREDIT}"));
    let said = fault(audit(&split.group.nodes[1], &Acknowledged::new(1)));
    assert!(said.contains("totals count 2 accounts"), "{said}");
}

#[test]
fn calls_on_two_stores_are_not_linearizable() {
    let split = SplitGroup::start();
    let check = |epoch: u64, nodes: &[usize]| {
        let shared = Shared::new(epoch);
        let mut random = Random::new(epoch);
        let mut connections: Vec<_> = nodes.iter().map(|node| split.connection(*node)).collect();
        for connection in &mut connections {
            for create in shared.creates() {
                assert!(matches!(connection.send(&create), Sent::Clear(Value::Array(_))));
            }
        }
        for number in 0..CALLS {
            let at = number % nodes.len();
            let key = random.below(shared.len());
            let (pending, words) = shared.call(key, at, &mut random);
            let Sent::Clear(reply) = connections[at].send(&words) else { panic!("no answer") };
            shared.returned(pending, &reply).expect("an outcome");
        }
        let histories = split.directory.path().join(format!("histories-{epoch}"));
        std::fs::create_dir(&histories).expect("a directory");
        linear::write(&histories, epoch, shared).expect("written");
        linear::check(&histories)
    };
    check(1, &[0]).unwrap_or_else(|error| panic!("one store is linearizable: {error:?}"));
    let said = fault(check(2, &[1, 2]));
    assert!(said.contains("of register2:") && said.contains("Illegal"), "{said}");
    assert!(said.contains("of shared2:"), "{said}");
}

#[test]
fn stores_with_other_keys_are_not_the_same() {
    let mut split = SplitGroup::start();
    for node in 0..NODES {
        split.set(node, "SET everywhere written");
    }
    let known = Known { accounts: Vec::new(), values: vec!["everywhere".to_owned()] };
    split.set(2, "SET only written");
    let said = fault(known.same_everywhere(&mut split.group));
    assert!(said.contains("DBSIZE: node 0 says 1, and node 2 2"), "{said}");
}

#[test]
fn totals_of_an_account_that_is_missing_are_not_the_sum() {
    let mut split = SplitGroup::start();
    split.set(0, "SCUR.CREATE one BUCKET main cent 100");
    let compare = |split: &SplitGroup| {
        let mut wire = split.group.nodes[0].wire()?;
        let audit = wire.ask(&views::audit("one"))?;
        ensure!(matches!(audit, Value::Map(_) | Value::Array(_)), "{audit}");
        sums_agree(&[wire.ask(&words("SCUR.TOTALS"))?], &[("one".to_owned(), audit)])
    };
    compare(&split).unwrap_or_else(|error| panic!("all accounts are known: {error:?}"));
    split.set(0, "SCUR.CREATE lost BUCKET main cent 5");
    fault(compare(&split));
}
