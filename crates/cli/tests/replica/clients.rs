//! Sessions of real clients through the death of a leader. A client does what its library does by itself; the
//! application around it sends a debit that has ended in an error again, with its id. Each session
//! prints what the application has seen of it; nothing here asks for a time.

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
    /// Addresses that it is given, of these nodes, the first of which leads.
    addresses: fn(&Nodes, [usize; 3]) -> Vec<u16>,
}

const CLUSTER: Mode = Mode { name: "cluster", addresses: threads };
const PLAIN: Mode = Mode { name: "plain", addresses: one_that_does_not_lead };
const SENTINEL: Mode = Mode { name: "sentinel", addresses: first_threads };

/// A thread of each node.
fn threads(nodes: &Nodes, order: [usize; 3]) -> Vec<u16> {
    let [leader, one, other] = order.map(|node| nodes.thread_port(node));
    vec![one + 1, other, leader]
}

fn one_that_does_not_lead(nodes: &Nodes, [_, one, _]: [usize; 3]) -> Vec<u16> {
    vec![nodes.main_port(one)]
}

/// Where a connection stays on its node, and hears of another leader.
fn first_threads(nodes: &Nodes, order: [usize; 3]) -> Vec<u16> {
    order.map(|node| nodes.thread_port(node)).to_vec()
}

/// Has a client debit an account of each mode, kills the leader in the middle, and looks for each debit.
///
/// `session` gets the mode, the addresses with commas between them, and what it calls in the middle; it debits
/// `purse-MODE` by the transactions txn-0, txn-1, ... and gives their number.
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
        // Each was done: it has its answer.
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

/// Sends every debit once more.
fn repeat(nodes: &Nodes, account: &str, debits: u32) {
    let mut client = None;
    for number in 0..debits {
        let id = format!("txn-{number}");
        let reply = nodes.until("a debit is answered", || {
            let mut open = client.take().or_else(|| Client::connect(nodes.any_port()))?;
            let reply = open.ask(&["SCUR.DEBIT", account, &id, "cent", "1"]).ok()?;
            // Without a leader it is asked again.
            (!reply.starts_with('-')).then(|| {
                client = Some(open);
                reply
            })
        });
        assert!(reply.starts_with("+OK\n:1\n"), "{account} {id} was lost: {reply}");
    }
}

/// Runs a program of testing/clients, whose protocol is in its README.
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

/// A client that reads from replicas is listed the followers, which send its reads to the leader.
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
