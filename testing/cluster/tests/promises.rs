//! Promises of the module in a cluster, each in a situation where a breach would show.

use anyhow::{Context, Result, ensure};
use scurry_cluster_client::redis::{Cmd, Value, cmd};
use scurry_cluster_client::{Address, Copies, CopiesOutcome};
use scurry_cluster_test::{Cluster, Module};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

const WAIT_MS: u64 = 500;

/// A cluster of this test. Tests take turns, because two clusters at a time are too much for a small machine.
struct Own {
    cluster: Cluster,
    _directory: TempDir,
    _turn: MutexGuard<'static, ()>,
}

fn own() -> Own {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = TempDir::new().expect("a directory");
    let module = Module::find().expect("a module");
    let cluster = Cluster::start(directory.path(), &module, &Default::default());
    let cluster = cluster.unwrap_or_else(|error| panic!("{error:?}"));
    Own { cluster, _directory: directory, _turn: turn }
}

fn words(line: &str) -> Cmd {
    let mut words = line.split(' ');
    let mut command = cmd(words.next().expect("a name"));
    for word in words {
        command.arg(word);
    }
    command
}

impl Own {
    /// Returns a client without a known topology that waits for all copies.
    fn client(&self) -> Copies {
        Copies::new(&Address::new(&self.cluster.nodes[0].address(), None, None), 2, WAIT_MS)
    }

    /// Runs a command on the key that is its first argument.
    fn run(&self, client: &mut Copies, line: &str) -> CopiesOutcome {
        let key = line.split(' ').nth(1).expect("a key");
        client.run(key.as_bytes(), &words(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Runs a command and waits until it is on all copies.
    fn keep(&mut self, line: &str) -> Value {
        match self.run(&mut self.client(), line) {
            CopiesOutcome::Enough { reply, .. } => reply,
            CopiesOutcome::NotEnough { reply, .. } => {
                self.cluster.until_even().unwrap_or_else(|error| panic!("{line}: {error:?}"));
                reply
            }
            CopiesOutcome::Refused(reply) => panic!("{line}: {reply:?}"),
        }
    }

    /// Returns the owner of a key and its replica.
    fn pair_of(&self, key: &str) -> (usize, usize) {
        let slot = scurry_resp::slot(key.as_bytes());
        let owns = |&(primary, _): &(usize, usize)| self.cluster.owns(primary, slot);
        let pairs = self.cluster.pairs().expect("pairs");
        pairs.into_iter().find(owns).expect("somebody owns it")
    }

    /// Waits until a node's totals begin with this many accounts and sessions.
    fn until_totals(&mut self, node: usize, accounts: u32, sessions: u32) {
        let wanted = format!("{{accounts: {accounts}, sessions: {sessions},");
        let outcome = self.cluster.until("totals", |cluster| {
            let totals = totals(cluster, node)?;
            ensure!(totals.starts_with(&wanted), "node {node}: {totals}, not {wanted}");
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{error:?}"));
    }
}

/// Returns the totals of a node as text.
fn totals(cluster: &Cluster, node: usize) -> Result<String> {
    Ok(cluster.nodes[node].ask("SCUR.TOTALS")?.to_string())
}

fn amount(replayed: i64, version: i64, amount: i64) -> Value {
    Value::Array(vec![Value::Okay, Value::Int(replayed), Value::Int(version), Value::Int(amount)])
}

#[test]
fn a_duplicate_is_on_all_copies_only_when_its_original_is() {
    let mut own = own();
    own.keep("SCUR.CREATE alice BUCKET main cent 100");
    let (primary, replica) = own.pair_of("alice");
    own.cluster.nodes[replica].pause().expect("it stops");
    let debit = "SCUR.DEBIT alice d cent 30";
    let (copies, wanted) = (1, 2);
    let kept = own.run(&mut own.client(), debit);
    assert_eq!(kept, CopiesOutcome::NotEnough { reply: amount(0, 2, 30), copies, wanted });
    // On a new connection, which has not written anything.
    let kept = own.run(&mut own.client(), debit);
    assert_eq!(kept, CopiesOutcome::NotEnough { reply: amount(1, 2, 30), copies, wanted });
    own.cluster.nodes[replica].resume().expect("it goes on");
    own.cluster.until_whole().expect("it is whole");
    assert_eq!(own.keep(debit), amount(1, 2, 30));
    // So it survives the loss of the primary, which the replica replaces.
    own.cluster.nodes[primary].kill().expect("it is killed");
    let outcome = own.cluster.until("the replica takes over", |cluster| {
        let asked = cluster.nodes[replica].ask(debit).context("it does not serve yet")?;
        let asked = asked.to_string();
        ensure!(asked == "[OK, 1, 2, 30]", "it answers {asked}");
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error:?}"));
}

#[test]
fn what_ends_by_itself_has_ended_on_the_replica_that_takes_over() {
    let mut own = own();
    own.keep("SCUR.CREATE alice BUCKET main cent 100");
    own.keep("SCUR.RESERVE alice short 0 TCC 300ms ITEM 1 cent REQUESTED 10");
    own.keep("SCUR.RESERVE alice late 0 TCC 10000 ITEM 1 cent REQUESTED 20");
    own.keep("SCUR.RESERVE alice long 0 TCC 800000 ITEM 1 cent REQUESTED 30");
    let (primary, replica) = own.pair_of("alice");
    // The old primary ends the first session, and the replica receives that.
    own.until_totals(primary, 1, 2);
    own.until_totals(replica, 1, 2);
    // The new primary ends the second session, without any request to it.
    own.cluster.nodes[primary].kill().expect("it is killed");
    own.until_totals(replica, 1, 1);
    own.cluster.nodes[primary].start().expect("it starts");
    own.cluster.until_whole().expect("it is whole");
    own.until_totals(primary, 1, 1);
    let account = own.cluster.nodes[replica].ask("SCUR.GET alice").expect("it answers");
    assert!(account.to_string().contains("[main, cent, 70, 30, "), "{account}");
}

#[test]
fn a_primary_that_has_become_a_replica_ends_nothing() {
    let mut own = own();
    own.keep("SCUR.CREATE alice BUCKET main cent 100");
    let (old, new) = own.pair_of("alice");
    for setting in ["cluster-replica-no-failover", "cluster-allow-reads-when-down"] {
        own.cluster.nodes[old].ask(&format!("CONFIG SET {setting} yes")).expect("it is set");
    }
    own.keep("SCUR.RESERVE alice s 0 TCC 10000 ITEM 1 cent REQUESTED 10");
    own.cluster.nodes[new].ask("CLUSTER FAILOVER").expect("it is asked to take over");
    let outcome = own.cluster.until("they change places", |cluster| {
        ensure!(cluster.is_primary(new) && !cluster.is_primary(old), "not yet");
        Ok(())
    });
    outcome.expect("they do");
    own.cluster.until_whole().expect("it is whole");
    // The new primary would end the session, but it is paused.
    assert!(totals(&own.cluster, old).expect("totals").contains("sessions: 1"));
    own.cluster.nodes[new].pause().expect("it stops");
    let outcome = own.cluster.until("its time is over", |cluster| {
        let account = cluster.nodes[old].read("alice")?;
        ensure!(account.contains("[main, cent, 100, 0, "), "{account}");
        Ok(())
    });
    outcome.expect("reads show it so");
    let shown = totals(&own.cluster, old).expect("totals");
    assert!(shown.contains("sessions: 1"), "the replica has ended it: {shown}");
    own.cluster.nodes[new].resume().expect("it goes on");
    own.until_totals(new, 1, 0);
    own.until_totals(old, 1, 0);
}

#[test]
fn a_slot_that_moves_takes_sessions_totals_and_ends_along() {
    let mut own = own();
    own.keep("SCUR.CREATE alice BUCKET main cent 100");
    own.keep("SCUR.RESERVE alice short 0 TCC 4000 ITEM 1 cent REQUESTED 10");
    own.keep("SCUR.RESERVE alice long 0 TCC 800000 ITEM 1 cent REQUESTED 30");
    let (from, _) = own.pair_of("alice");
    let pairs = own.cluster.pairs().expect("pairs");
    let (to, copy) = *pairs.iter().find(|(primary, _)| *primary != from).expect("another");
    let slot = scurry_resp::slot(b"alice");
    let mut client = own.client();
    own.cluster
        .move_slot(slot, from, to, &mut || {
            // The key is no longer here, and on the target only for clients that send ASKING.
            let used = "SCUR.UPDATE alice long 1 ITEM 1 cent USED 5 REQUESTED 30";
            let kept = client.run(b"alice", &words(used))?;
            ensure!(!matches!(kept, CopiesOutcome::Refused(_)), "{kept:?}");
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error:?}"));
    own.until_totals(from, 0, 0);
    // The short session ends on the new owner, without any request to it, and on its replica.
    own.until_totals(to, 1, 1);
    own.until_totals(copy, 1, 1);
    let again = own.keep("SCUR.UPDATE alice long 1 ITEM 1 cent USED 5 REQUESTED 30");
    let is_replay = matches!(&again, Value::Array(parts) if parts.get(1) == Some(&Value::Int(1)));
    assert!(is_replay, "{again:?}");
    let shown = totals(&own.cluster, to).expect("totals");
    assert!(shown.contains("[cent, 65, 30, 100, "), "{shown}");
}
