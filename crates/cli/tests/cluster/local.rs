//! One local cluster, from its start to its end.

use crate::moving::{add_short_lived, close, fill, verify_with, wait_for_short_lived};
use crate::said::scurry;
use crate::support::{Cluster, Server, ask, module, processes_in, runs, shown, store, words};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use scurry_cluster_client::redis::{Value, cmd};
use scurry_cluster_client::{Address, Copies, CopiesOutcome};
use std::process::Stdio;

const ACCOUNTS: usize = 60;
/// Timeout of WAIT, ms.
const PATIENCE_MS: u64 = 700;

fn signal(process: i32, signal: Signal) {
    kill(Pid::from_raw(process), signal).expect("it runs");
}

/// Returns a key that the primary with this number owns.
fn key_of(primary: usize) -> String {
    let key = |number: usize| format!("k{number}");
    let slots = [0..=5_460, 5_461..=10_921, 10_922..=16_383];
    let owned = |key: &String| slots[primary].contains(&scurry_resp::slot(key.as_bytes()));
    (0..).map(key).find(owned).expect("a key")
}

#[test]
fn a_server_moves_into_a_cluster_which_keeps_its_promises_and_back() {
    let server = Server::start("2");
    fill(&mut store(&server.address()), ACCOUNTS);
    let cluster = Cluster::up();
    let address = cluster.address();
    let status = scurry(&["cluster", "status", "--dir", cluster.path()]).well();
    assert_eq!(status.matches("primary").count(), 3, "{status}");
    assert_eq!(status.matches("replica of 127.0.0.1:").count(), 3, "{status}");
    assert!(status.contains("10922-16383"), "{status}");

    let mut old = store(&server.address());
    add_short_lived(&mut old);
    close(&mut old, "before");
    let file = cluster.dir.path().join("all.scurexp");
    let file = file.to_str().expect("text");
    scurry(&["export", "--from", &server.address(), "--out", file]).well();
    let said = scurry(&["export", "--from", &server.address(), "--to", &address]).well();
    assert!(said.contains("the totals agree"), "{said}");
    let mut door = store(&address);
    assert!(door.is_cluster());
    verify_with(&mut door, ACCOUNTS, "before");
    // Imports again from a file, after most of its keys with an expiry have expired.
    wait_for_short_lived(&mut old);
    let again = scurry(&["import", "--to", &address, "--in", file, "--replace"]).well();
    assert!(again.contains("the totals agree"), "{again}");
    verify_with(&mut door, ACCOUNTS, "before");
    let load = ask(&mut door, "SCUR.LOAD a0 nonsense REPLACE");
    assert!(load.contains("INVALID"), "{load}");
    let load = ask(&mut door, "SCUR.LOAD a0 nonsense");
    assert!(load.contains("BUSYKEY"), "{load}");

    copies_are_those_of_the_owner(&cluster);
    a_failed_primary_is_followed(&cluster);

    // Stops the cluster and starts it again on its files. Other processes keep running.
    close(&mut store(&address), "within");
    let processes = cluster.processes();
    let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
    cluster.down().well();
    assert_eq!(other.try_wait().expect("its state"), None);
    other.kill().and_then(|()| other.wait()).expect("it ends");
    assert_eq!(processes.iter().filter(|&&process| runs(process)).count(), 0);
    let status = scurry(&["cluster", "status", "--dir", cluster.path()]).well();
    assert_eq!(status.matches("down").count(), 6, "{status}");
    cluster.up_again().well();
    cluster.up_again().refused(&["holds a cluster that runs"]);
    let mut door = store(&address);
    verify_with(&mut door, ACCOUNTS, "within");

    // Copies back, with the changes made meanwhile.
    let topup = ask(&mut door, "SCUR.TOPUP a1 t2 main 5");
    assert!(topup.starts_with("[OK 0 "), "{topup}");
    for number in 0..20 {
        assert_eq!(ask(&mut door, &format!("ENTITY.PUT f{number} red VERSION 5")), "[1 5]");
        assert_eq!(ask(&mut door, &format!("ENTITY.DEL f{number} VERSION 9")), "[1 9]");
    }
    let back = Server::start("1");
    let said = scurry(&["import", "--to", &back.address(), "--from", &address]).well();
    assert!(said.contains("the totals agree"), "{said}");
    assert!(said.contains("deletions that are remembered: 21"), "{said}");
    let mut door = store(&back.address());
    verify_with(&mut door, ACCOUNTS, "within");
    for number in 0..20 {
        let late = ask(&mut door, &format!("ENTITY.PUT f{number} late VERSION 8"));
        assert_eq!(late, "[0 9]", "older than a deletion that came along");
        assert_eq!(ask(&mut door, &format!("ENTITY.GET f{number}")), "nil");
    }
    let topup = ask(&mut door, "SCUR.TOPUP a1 t2 main 5");
    assert!(topup.starts_with("[OK 1 "), "{topup}");
}

/// WAIT covers the node that received the write. Generic clients ask all primaries and take the worst answer.
fn copies_are_those_of_the_owner(cluster: &Cluster) {
    let seed = Address::new(&cluster.address(), None, None);
    let mut copies = Copies::new(&seed, 2, PATIENCE_MS);
    let (own, others) = (key_of(0), key_of(1));
    let set = |key: &str| words(&format!("SET {key} 1"));
    let kept = copies.run(own.as_bytes(), &set(&own)).expect("it is done");
    assert_eq!(kept, CopiesOutcome::Enough { reply: Value::Okay, copies: 2 });
    let kept = copies.run(others.as_bytes(), &set(&others)).expect("it is done elsewhere");
    assert_eq!(kept, CopiesOutcome::Enough { reply: Value::Okay, copies: 2 });

    // The replica of the other primary is stopped: the fourth node follows the first.
    let replica = cluster.processes()[4];
    signal(replica, Signal::SIGSTOP);
    let kept = copies.run(own.as_bytes(), &set(&own)).expect("it is done");
    assert_eq!(
        kept,
        CopiesOutcome::Enough { reply: Value::Okay, copies: 2 },
        "it is another's replica"
    );
    let kept = copies.run(others.as_bytes(), &set(&others)).expect("it is done");
    assert_eq!(kept, CopiesOutcome::NotEnough { reply: Value::Okay, copies: 1, wanted: 2 });
    signal(replica, Signal::SIGCONT);

    // A refusal is on neither copy, and a repeated request is on both.
    let refused = copies.run(own.as_bytes(), &words(&format!("INCR {own} 1")));
    assert!(matches!(refused, Ok(CopiesOutcome::Refused(_))), "{refused:?}");
    let kept = copies.run(others.as_bytes(), &set(&others)).expect("it is done");
    assert_eq!(kept, CopiesOutcome::Enough { reply: Value::Okay, copies: 2 });
}

/// Kills a primary: writes on both copies survive, and the same client continues.
fn a_failed_primary_is_followed(cluster: &Cluster) {
    for index in 0..6 {
        let timeout = words("CONFIG SET cluster-node-timeout 1000");
        cluster.node(index).ask(&timeout).expect("it is set");
    }
    let seed = Address::new(&cluster.address(), None, None);
    let mut copies = Copies::new(&seed, 2, PATIENCE_MS);
    let mut door = store(&cluster.address());
    let account = key_of(2);
    let create = words(&format!("SCUR.CREATE {account} BUCKET main cent 100"));
    let created = copies.run(account.as_bytes(), &create).expect("it is done");
    assert!(matches!(created, CopiesOutcome::Enough { copies: 2, .. }), "{created:?}");
    let debit = words(&format!("SCUR.DEBIT {account} d1 cent 40"));
    let debited = copies.run(account.as_bytes(), &debit).expect("it is done");
    let CopiesOutcome::Enough { reply, .. } = debited else { panic!("{debited:?}") };
    assert_eq!(shown(&reply), "[OK 0 2 40]");

    signal(cluster.processes()[2], Signal::SIGKILL);
    // The client waits for the new primary by itself; the duplicate gets the stored answer.
    assert_eq!(shown(&door.ask(&debit).expect("after the failover")), "[OK 1 2 40]");
    let again = copies.run(account.as_bytes(), &debit);
    let again = again.or_else(|_| copies.run(account.as_bytes(), &debit)).expect("it is done");
    let CopiesOutcome::NotEnough { reply, copies: 1, wanted: 2 } = again else {
        panic!("{again:?}")
    };
    assert_eq!(shown(&reply), "[OK 1 2 40]", "one copy is left, and it is said");
    let role = cluster.node(5).text("INFO", cmd("INFO").arg("replication")).expect("it answers");
    assert!(role.contains("role:master"), "{role}");
}

#[test]
fn an_interrupted_start_stops_what_it_has_started() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let up = std::process::Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["cluster", "up", "--dir"])
        .arg(dir.path())
        .arg("--module")
        .arg(module())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let started = loop {
        let started = processes_in(dir.path());
        if started.len() >= 2 {
            break started;
        }
        std::thread::yield_now();
    };
    signal(i32::try_from(up.id()).expect("a number"), Signal::SIGINT);
    let output = up.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("interrupted"), "{said}");
    assert_eq!(started.iter().filter(|&&process| runs(process)).count(), 0);
    assert_eq!(std::fs::read_dir(dir.path()).expect("it is there").count(), 0, "nothing is left");
}
