//! Sessions of real client libraries through the death of a leader. A client does whatever its library does by default.
//! The application around it repeats a debit that ended in an error, with its id. Each session prints what the
//! application saw; no time is checked.

mod redis_rs;

use crate::libraries;
use crate::nodes::{Client, Nodes};
use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const BALANCE: u32 = 100_000;

/// How a client finds the leader.
struct Mode {
    name: &'static str,
    /// Returns the addresses given to the client, from these nodes, of which the first leads.
    addresses: fn(&Nodes, [usize; 3]) -> Vec<u16>,
}

const CLUSTER: Mode = Mode { name: "cluster", addresses: threads };
const PLAIN: Mode = Mode { name: "plain", addresses: one_that_does_not_lead };
const SENTINEL: Mode = Mode { name: "sentinel", addresses: first_threads };

/// Returns the port of one thread of each node.
fn threads(nodes: &Nodes, order: [usize; 3]) -> Vec<u16> {
    let [leader, one, other] = order.map(|node| nodes.thread_port(node));
    vec![one + 1, other, leader]
}

fn one_that_does_not_lead(nodes: &Nodes, [_, one, _]: [usize; 3]) -> Vec<u16> {
    vec![nodes.main_port(one)]
}

/// Ports where a connection stays on its node and is redirected to another leader.
fn first_threads(nodes: &Nodes, order: [usize; 3]) -> Vec<u16> {
    order.map(|node| nodes.thread_port(node)).to_vec()
}

/// For each mode, makes a client debit an account, kills the leader meanwhile, and checks each debit.
///
/// `session` gets the mode, the addresses separated by commas, and a function to call in the middle. It debits
/// `purse-MODE` by the transactions txn-0, txn-1, ... and returns their number.
fn through_failovers(modes: &[Mode], mut session: impl FnMut(&str, &str, &mut dyn FnMut()) -> u32) {
    let mut nodes = Nodes::start(3, 2);
    for Mode { name, addresses } in modes {
        let account = format!("purse-{name}");
        let balance = BALANCE.to_string();
        nodes.execute(&["SCUR.CREATE", &account, "BUCKET", "main", "cent", &balance]);
        let leader = nodes.leader();
        let ports = addresses(&nodes, [leader, (leader + 1) % 3, (leader + 2) % 3]);
        let places: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let debits =
            session(name, &places.join(","), &mut || nodes.signal(leader, Signal::SIGKILL));
        nodes.start_again(leader);
        nodes.wait_for_all();
        assert_eq!(left(&nodes, &account), BALANCE - debits, "{name}: {debits} debits");
        // Each debit was executed and gets its stored answer.
        repeat(&nodes, &account, debits);
        assert_eq!(left(&nodes, &account), BALANCE - debits, "{name}");
    }
}

fn left(nodes: &Nodes, account: &str) -> u32 {
    let shown = nodes.execute(&["SCUR.GET", account]);
    let after = shown.split_once("cent").expect("its unit").1;
    let amount = after.split_whitespace().next().expect("an amount");
    amount.trim_start_matches(':').parse().expect("a number")
}

/// Repeats every debit.
fn repeat(nodes: &Nodes, account: &str, debits: u32) {
    let mut client = None;
    for number in 0..debits {
        let id = format!("txn-{number}");
        let reply = nodes.until("a debit is answered", || {
            let mut open = client.take().or_else(|| Client::connect(nodes.any_port()))?;
            let reply = open.ask(&["SCUR.DEBIT", account, &id, "cent", "1"]).ok()?;
            // Repeats while there is no leader.
            (!reply.starts_with('-')).then(|| {
                client = Some(open);
                reply
            })
        });
        assert!(reply.starts_with("+OK\n:1\n"), "{account} {id} was lost: {reply}");
    }
}

/// Runs a program of testing/clients, whose README describes the protocol.
fn program(words: &[String], mode: &str, addresses: &str, middle: &mut dyn FnMut()) -> u32 {
    let mut command = Command::new("timeout");
    command.arg("400").args(words).args([mode, addresses]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("timeout runs");
    let mut input = child.stdin.take().expect("it is piped");
    let mut debits = None;
    for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
        let line = line.expect("text");
        println!("{line}");
        if line == "half" {
            middle();
            writeln!(input, "killed").expect("it reads");
        } else if let Some(rest) = line.strip_prefix("debits=") {
            debits = rest.split(' ').next().and_then(|number| number.parse().ok());
        }
    }
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{words:?} {mode}: {status}");
    debits.expect("it says how many")
}

fn programs_through_failovers(words: &[String]) {
    let modes = [CLUSTER, PLAIN, SENTINEL];
    through_failovers(&modes, |mode, addresses, middle| program(words, mode, addresses, middle));
}

#[test]
fn redis_rs_goes_on() {
    through_failovers(&[CLUSTER, PLAIN], redis_rs::session);
}

#[test]
fn redis_py_goes_on() {
    programs_through_failovers(&libraries::python("venv", "redis", "failover.py"));
}

/// A client that reads from replicas gets the followers listed, which answer its reads.
fn reads_from_replicas(words: &[String]) {
    let nodes = Nodes::start(3, 2);
    let leader = nodes.leader();
    let follower = nodes.thread_port((leader + 1) % 3);
    let mut command = Command::new("timeout");
    let address = format!("127.0.0.1:{follower}");
    let output = command.arg("300").args(words).arg(&address).output().expect("timeout runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}{why}");
    println!("{said}");
}

#[test]
fn redis_py_reads_from_replicas() {
    reads_from_replicas(&libraries::python("venv", "redis", "replica_reads.py"));
}

#[test]
fn ioredis_reads_from_replicas() {
    reads_from_replicas(&libraries::node("replica_reads.js"));
}

#[test]
fn go_redis_goes_on() {
    programs_through_failovers(&libraries::go("./failover", "go-failover"));
}

#[test]
fn ioredis_goes_on() {
    programs_through_failovers(&libraries::node("failover.js"));
}

#[test]
fn lettuce_goes_on() {
    programs_through_failovers(&libraries::java("Failover", "java-failover"));
}
