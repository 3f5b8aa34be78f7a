//! Upgrades a group from an earlier version to this one and back, node by node, under load, with the commands of
//! docs/runbooks.md. `cargo xtask ci upgrade` builds the earlier versions; without them these tests are left out.

use crate::nodes::{Client, Nodes};
use crate::said::{Said, scurry};
use nix::sys::signal::Signal;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Nodes of the group, each with a client.
const NODES: usize = 3;
/// First amount of each client's account.
const CREDIT: u64 = 100_000_000;
/// What an account has less after each round: a debit of 1, and 2 and 3 used in a session.
const ROUND_COST: u64 = 6;
/// Rounds of each client whose plain values are read at the end.
const ROUNDS_READ: usize = 20;
/// How long a client waits for a reply before it asks another node.
const REPLY: Duration = Duration::from_secs(5);
/// Pause of a client between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Attempts of a client for one request: minutes.
const ATTEMPTS_MAX: u32 = 4_000;

/// A client that asks the main ports of all nodes in turn, and repeats what got no answer or an error.
struct RetryingClient {
    ports: Vec<u16>,
    next: usize,
    connection: Option<Client>,
}

impl RetryingClient {
    /// Sends a request once. None without an answer.
    fn ask(&mut self, words: &[&str]) -> Option<String> {
        if self.connection.is_none() {
            self.next += 1;
            let mut client = Client::connect(self.ports[self.next % self.ports.len()])?;
            client.patience(REPLY);
            self.connection = Some(client);
        }
        let reply = self.connection.as_mut()?.ask(words).ok();
        if reply.as_ref().is_none_or(|reply| reply.starts_with('-')) {
            // The node does not lead to a leader now.
            self.connection = None;
        }
        reply
    }

    /// Sends a request until it is answered without an error.
    fn ask_until_done(&mut self, words: &[&str]) {
        let mut last = None;
        for _ in 0..ATTEMPTS_MAX {
            last = self.ask(words);
            if last.as_ref().is_some_and(|reply| !reply.starts_with('-')) {
                return;
            }
            thread::sleep(PAUSE); // tidy: allow (a client has no event for a new leader)
        }
        panic!("{words:?} is not done: {last:?}");
    }
}

/// What a client has done.
#[derive(Default)]
struct Done {
    rounds: AtomicU64,
    /// Increments that were sent, and those that were answered.
    sent: AtomicU64,
    answered: AtomicU64,
}

impl Done {
    fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Acquire)
    }
}

/// Clients that charge until they are told to end.
struct Load {
    is_over: Arc<AtomicBool>,
    done: Vec<Arc<Done>>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(nodes: &Nodes) -> Load {
        let is_over = Arc::new(AtomicBool::new(false));
        let ports: Vec<u16> = (0..NODES).map(|node| nodes.main_port(node)).collect();
        let (mut done, mut threads) = (Vec::new(), Vec::new());
        for number in 0..NODES {
            let own = Arc::new(Done::default());
            done.push(own.clone());
            let mut client =
                RetryingClient { ports: ports.clone(), next: number, connection: None };
            let is_over = is_over.clone();
            threads.push(thread::spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    charge(&mut client, number, &own);
                }
            }));
        }
        Load { is_over, done, threads }
    }

    /// Waits until each client has done more.
    fn goes_on(&self, nodes: &Nodes) {
        let before: Vec<u64> = self.done.iter().map(|done| done.rounds()).collect();
        nodes.until("every client goes on", || {
            let mut done = self.done.iter().zip(&before);
            done.all(|(done, before)| done.rounds() > before + 1).then_some(())
        });
    }

    /// Ends the clients, each after a whole round.
    fn end(&mut self) {
        self.is_over.store(true, Ordering::Release);
        for client in self.threads.drain(..) {
            client.join().expect("a client has done everything");
        }
    }
}

/// Does one round: a debit, a session, a plain value, and an increment, which is not repeated because it has no id.
fn charge(client: &mut RetryingClient, number: usize, done: &Done) {
    let round = done.rounds();
    let (account, id) = (format!("purse-{number}"), format!("round-{round}"));
    client.ask_until_done(&["SCUR.DEBIT", &account, &id, "cent", "1"]);
    let item = "ITEM 1 cent";
    for line in [
        format!("SCUR.RESERVE {account} {id} 0 {item} REQUESTED 5"),
        format!("SCUR.UPDATE {account} {id} 1 {item} USED 2 REQUESTED 5"),
        format!("SCUR.TERMINATE {account} {id} 2 {item} USED 3"),
    ] {
        client.ask_until_done(&line.split(' ').collect::<Vec<_>>());
    }
    // Each round has a key of its own: a request that was given up may still be executed, after later ones.
    client.ask_until_done(&["SET", &format!("key-{number}-{round}"), &id]);
    done.sent.fetch_add(1, Ordering::Relaxed);
    if client.ask(&["INCR", &format!("count-{number}")]).is_some_and(|reply| reply.starts_with(':'))
    {
        done.answered.fetch_add(1, Ordering::Relaxed);
    }
    done.rounds.store(round + 1, Ordering::Release);
}

/// Returns the section of the runbook.
fn runbook() -> &'static str {
    let page = include_str!("../../../../docs/runbooks.md");
    let (_, from) = page.split_once("\n## Upgrade and roll back\n").expect("the section");
    from.split_once("\n## ").map_or(from, |(section, _)| section)
}

/// A group under load that is upgraded.
struct Upgrade {
    nodes: Nodes,
    before: PathBuf,
    load: Load,
}

impl Upgrade {
    /// Starts a group of an earlier version, and its clients.
    fn start(before: PathBuf) -> Upgrade {
        let nodes = Nodes::start_of(before.clone(), NODES, 1);
        for number in 0..NODES {
            let account = format!("purse-{number}");
            let credit = CREDIT.to_string();
            nodes.execute(&["SCUR.CREATE", &account, "BUCKET", "main", "cent", &credit]);
        }
        let load = Load::start(&nodes);
        Upgrade { nodes, before, load }
    }

    /// Types a command of the runbook, for a node of this group.
    fn type_command(&self, command: &str, node: usize, id: &str) -> Said {
        let line = runbook().lines().find(|line| line.trim_start().starts_with(command));
        let line = line.unwrap_or_else(|| panic!("the runbook has no command {command:?}"));
        let (port, dir) = (self.nodes.main_port(node).to_string(), self.nodes.dir(node));
        let dir = dir.to_str().expect("text");
        let line = line.trim().replace("10.0.0.2", "127.0.0.1").replace("6389", &port);
        let line = line.replace("24d05ce49e5c27a3", id).replace("/var/lib/scurry", dir);
        let line = line.replace("/backup/", &format!("{dir}-"));
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("scurry"));
        // The machine from which it is typed gets the new version last.
        let Output { status, stdout, stderr } =
            Command::new(&self.before).args(words).output().expect("the binary starts");
        let all = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        Said { all, well: status.success() }
    }

    fn status(&self, node: usize) -> String {
        self.type_command("scurry cli -3 -h 10.0.0.2 -p 6389 SCUR.REPLICA STATUS", node, "").all
    }

    /// Waits, as the runbook says, until a node may be stopped.
    fn wait_until_one_may_stop(&self) {
        self.nodes.until("can_lose_a_node is yes", || {
            self.status(self.nodes.leader()).contains("can_lose_a_node:yes").then_some(())
        });
    }

    /// Stops a node and starts another version on its directory, while clients go on.
    fn restart(&mut self, node: usize, binary: &Path) {
        self.wait_until_one_may_stop();
        self.nodes.stop(node);
        self.load.goes_on(&self.nodes);
        self.nodes.binary = binary.to_owned();
        self.nodes.start_again(node);
        self.settle();
    }

    /// Kills a node and starts the same version again, while clients go on.
    fn kill(&mut self, node: usize, binary: &Path) {
        self.wait_until_one_may_stop();
        self.nodes.signal(node, Signal::SIGKILL);
        self.load.goes_on(&self.nodes);
        self.nodes.binary = binary.to_owned();
        self.nodes.start_again(node);
        self.settle();
    }

    /// Waits until all nodes have a vote, have what was committed, and clients go on.
    fn settle(&self) {
        self.nodes.until("all nodes vote and have all", || {
            let leader = self.nodes.leader_of(&[0, 1, 2])?;
            let said = self.nodes.status(leader)?;
            let votes = |line: &&str| line.contains("votes=yes") && line.contains("connected=yes");
            let committed = self.nodes.number(leader, "committed")?;
            let have =
                |node| self.nodes.number(node, "applied").is_some_and(|has| has >= committed);
            let all = said.lines().filter(votes).count() == NODES && (0..NODES).all(have);
            all.then_some(())
        });
        self.load.goes_on(&self.nodes);
    }

    /// Makes a node the leader.
    fn lead(&self, node: usize) {
        self.wait_until_one_may_stop();
        let id = self.nodes.id(node);
        self.nodes.until("the node leads", || {
            if self.nodes.leader() == node {
                return Some(());
            }
            let transfer = "scurry cli -3 -h 10.0.0.2 -p 6389 SCUR.REPLICA TRANSFER";
            // Another change may be under way: it is asked again.
            self.type_command(transfer, self.nodes.leader(), &id);
            None
        });
        self.load.goes_on(&self.nodes);
    }

    /// Gives a node an empty directory: it gets a snapshot of the leader, because the log no longer has its beginning.
    fn replace(&mut self, node: usize, binary: &Path) {
        self.wait_until_one_may_stop();
        let base = |nodes: &Nodes| nodes.number(nodes.leader(), "base");
        let before = self.nodes.until("the leader says its base", || base(&self.nodes));
        self.nodes.until("the log is made shorter", || {
            // The log is kept from the older of two snapshots on.
            self.nodes.try_execute(&["SCUR.SNAPSHOT"]);
            (base(&self.nodes)? > before).then_some(())
        });
        self.nodes.stop(node);
        self.nodes.binary = binary.to_owned();
        self.nodes.start_anew(node);
        self.settle();
        assert!(self.nodes.number(node, "base") > Some(0), "it got a snapshot");
    }

    /// Ends the clients, and checks that everything was done once, that each node shows the same, and that their files
    /// have the same.
    fn check(mut self) {
        self.load.end();
        let mut shown = Vec::new();
        for node in 0..NODES {
            self.nodes.until("the node leads", || {
                if self.nodes.leader() == node {
                    return Some(());
                }
                self.nodes.try_execute(&["SCUR.REPLICA", "TRANSFER", &self.nodes.id(node)]);
                None
            });
            shown.push(self.shown());
        }
        assert!(shown.iter().all(|all| *all == shown[0]), "{shown:#?}");
        let count = self.nodes.count();
        let stopped: Vec<PathBuf> = (0..count).map(|node| self.nodes.stop(node)).collect();
        let paths = stopped.iter().map(|path| path.to_str().expect("text"));
        let words: Vec<&str> = ["replica", "verify"].into_iter().chain(paths).collect();
        println!("{}", scurry(&words).well());
        let rounds: Vec<u64> = self.load.done.iter().map(|done| done.rounds()).collect();
        println!("rounds of each client: {rounds:?}");
    }

    /// Returns what the leader shows, after comparing it with what the clients have done.
    fn shown(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (number, done) in self.load.done.iter().enumerate() {
            let account = format!("purse-{number}");
            let left = CREDIT - ROUND_COST * done.rounds();
            let holds = self.nodes.execute(&["SCUR.HOLDS", &account]);
            assert!(holds.contains(&format!("\nmain\ncent\n:{left}\n:0\n")), "{left}: {holds}");
            let audit = self.nodes.execute(&["SCUR.AUDIT", &account]);
            assert!(audit.contains("ok\n:1\n"), "{audit}");
            for round in (0..done.rounds()).rev().take(ROUNDS_READ) {
                let value = self.nodes.execute(&["GET", &format!("key-{number}-{round}")]);
                assert_eq!(value, format!("$round-{round}"));
            }
            let count = self.nodes.execute(&["GET", &format!("count-{number}")]);
            let counted: u64 = count.trim_start_matches('$').parse().expect("a number");
            let (sent, answered) = (&done.sent, &done.answered);
            let (sent, answered) = (sent.load(Ordering::Relaxed), answered.load(Ordering::Relaxed));
            assert!((answered..=sent).contains(&counted), "{answered} {counted} {sent}");
            all.extend([self.nodes.execute(&["SCUR.GET", &account]), audit, count]);
        }
        all
    }

    /// Returns what the leader says of the protocol between nodes.
    fn protocol(&self) -> Option<String> {
        let status = self.status(self.nodes.leader());
        status.lines().find_map(|line| Some(line.strip_prefix("protocol:")?.trim().to_owned()))
    }
}

/// Returns the binary that a variable names.
fn version(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        println!("left out: {variable} names no earlier version (cargo xtask ci upgrade)");
    }
    found
}

/// Upgrades a group of an earlier version as far as one node, and takes that back. In between both versions lead, are
/// killed, and get snapshots of each other. Returns the group, with the earlier version on all nodes, and the leader.
fn upgrade_and_take_back(before: PathBuf) -> (Upgrade, usize) {
    let now = Path::new(env!("CARGO_BIN_EXE_scurry"));
    let mut group = Upgrade::start(before.clone());
    let last = group.nodes.leader();
    let (first, second) = ((last + 1) % NODES, (last + 2) % NODES);
    group.type_command("scurry backup", last, "").well();
    group.restart(first, now);
    // The earlier version leads.
    group.lead(last);
    group.replace(first, now);
    group.kill(first, now);
    // This version leads.
    group.lead(first);
    group.replace(second, &before);
    group.kill(second, &before);
    group.kill(first, now);
    group.restart(second, now);
    group.lead(second);
    if let Some(protocol) = group.protocol() {
        println!("with one node of the earlier version: protocol {protocol}");
    }
    // One node is left of the earlier version, so the others can go back.
    group.restart(first, &before);
    group.lead(last);
    group.restart(second, &before);
    (group, last)
}

/// Upgrades all nodes.
fn upgrade(group: &mut Upgrade, last: usize) {
    let now = Path::new(env!("CARGO_BIN_EXE_scurry"));
    let (first, second) = ((last + 1) % NODES, (last + 2) % NODES);
    group.restart(first, now);
    group.restart(second, now);
    group.lead(first);
    group.restart(last, now);
}

/// Waits until every node has found its memory to be that of the leader.
fn wait_until_compared(group: &Upgrade) {
    group.nodes.until("the nodes compare their memory", || {
        let compared = |node| group.nodes.number(node, "compared").is_some_and(|at| at > 0);
        (0..NODES).all(compared).then_some(())
    });
}

#[test]
fn an_upgrade_to_the_same_formats_is_taken_back_at_any_time() {
    let Some(before) = version("SCURRY_BEFORE") else { return };
    let (mut group, last) = upgrade_and_take_back(before.clone());
    upgrade(&mut group, last);
    wait_until_compared(&group);
    // Back in the same order: the followers, the transfer, the last one.
    let leader = group.nodes.leader();
    for node in (0..NODES).filter(|node| *node != leader) {
        group.restart(node, &before);
    }
    group.lead((leader + 1) % NODES);
    group.restart(leader, &before);
    group.check();
}
