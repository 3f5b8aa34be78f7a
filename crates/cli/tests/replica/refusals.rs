//! Requests that `scurry replica` refuses, and its messages.

use crate::nodes::{self, Nodes};
use crate::said::scurry;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().to_str().expect("text");
    std::fs::write(dir.path().join("letters"), "dear").expect("it is written");
    scurry(&["replica", "up", "--dir", path]).refused(&["holds other things"]);
    for action in ["status", "down"] {
        scurry(&["replica", action, "--dir", path])
            .refused(&["holds no group", "scurry replica up --dir"]);
    }
    assert_eq!(std::fs::read(dir.path().join("letters")).expect("it is there"), b"dear");
}

/// Returns the output of a node that is started at the address of node 0 and names no other node.
fn refused_alone(nodes: &Nodes, dir: &Path) -> String {
    let (dir, address) = (dir.to_str().expect("text"), nodes.peer_address(0));
    nodes::refused(&["--dir", dir, "--replicate", &address, "--durability", "fsync"])
}

/// Starts a group whose founding node has lost its directory and is not running. Returns the group, that directory, and
/// the node's id.
fn without_founder() -> (Nodes, PathBuf, String) {
    let mut nodes = Nodes::start(3, 1);
    assert_eq!(nodes.execute(&["SET", "key", "value"]), "+OK");
    nodes.wait_for_all();
    let id = nodes.id(0);
    let lost = nodes.stop(0);
    std::fs::remove_dir_all(&lost).expect("it is removed");
    (nodes, lost, id)
}

/// Sends a signal to the other two nodes. While stopped, they do not contact the first one.
fn signal_others(nodes: &Nodes, signal: Signal) {
    for other in [1, 2] {
        nodes.signal(other, signal);
    }
}

fn is_whole_again(mut nodes: Nodes) {
    nodes.start_anew(0);
    nodes.wait_for_all();
    assert_eq!(nodes.execute(&["GET", "key"]), "$value");
}

#[test]
fn a_founder_that_has_lost_its_directory_begins_no_second_group_while_it_hears_nobody() {
    let (mut nodes, lost, id) = without_founder();
    signal_others(&nodes, Signal::SIGSTOP);
    let said = refused_alone(&nodes, &lost);
    assert!(said.contains(&format!("scurry replica init --dir {}", lost.display())), "{said}");
    // As at every start, with the others named.
    nodes.start_again(0);
    nodes.until("it asks to be admitted", || {
        nodes.log(0).contains("not admitted yet").then_some(())
    });
    assert_eq!(nodes.status(0), None, "it serves nobody");
    signal_others(&nodes, Signal::SIGCONT);
    nodes.until("it is told what to do", || {
        nodes.log(0).contains(&format!("--replaces {id}")).then_some(())
    });
    assert!(!lost.join("MANIFEST").exists(), "it has begun nothing");
    is_whole_again(nodes);
}

#[test]
fn an_empty_directory_at_the_address_of_a_lost_one_begins_no_other_group() {
    let (nodes, lost, id) = without_founder();
    // An operator mistakes the lost node for a new group.
    nodes::begin_in(&lost);
    let said = refused_alone(&nodes, &lost);
    assert!(said.contains(&format!("looks for node {id} here")), "{said}");
    assert!(said.contains(&format!("--replaces {id}")), "{said}");
    is_whole_again(nodes);
}

#[test]
fn a_group_of_one_ends_for_good_when_it_hears_a_member_of_another_group() {
    let (mut nodes, lost, id) = without_founder();
    signal_others(&nodes, Signal::SIGSTOP);
    nodes::begin_in(&lost);
    nodes.start_again(0);
    nodes.until("the second group serves", || nodes.leader_of(&[0]));
    signal_others(&nodes, Signal::SIGCONT);
    nodes.until("it ends", || nodes.log(0).contains("this node stops for good").then_some(()));
    let said = refused_alone(&nodes, &lost);
    assert!(!said.contains("listening"), "it is refused before it serves: {said}");
    assert!(said.contains("RETIRED") && said.contains(&format!("--replaces {id}")), "{said}");
    scurry(&["replica", "init", "--dir", lost.to_str().expect("text")]).refused(&["RETIRED"]);
    is_whole_again(nodes);
}

#[test]
fn a_node_that_waits_to_be_admitted_begins_the_group_when_it_is_told() {
    let mut nodes = Nodes::of(1);
    let nobody = format!("127.0.0.1:{}", nodes::free_ports(1));
    nodes.set_options(vec!["--join".to_owned(), nobody]);
    nodes.begin_one_more();
    nodes.until("it waits", || nodes.log(0).contains("not admitted yet").then_some(()));
    let dir = nodes.dir(0);
    assert!(nodes.log(0).contains(&format!("scurry replica init --dir {}", dir.display())));
    nodes::begin_in(&dir);
    nodes.leader();
    assert!(!dir.join("BEGIN").exists(), "a group is begun once");
    scurry(&["replica", "init", "--dir", dir.to_str().expect("text")])
        .refused(&["is a node of a group already"]);
    nodes.set_options(Vec::new());
    let nodes = nodes.and(2);
    assert_eq!(nodes.execute(&["SET", "key", "value"]), "+OK");
}

/// A process that ends with its test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_node_that_waits_to_be_admitted_says_whom_it_asks_and_why_it_waits() {
    let dir = TempDir::new().expect("a directory");
    let ports = nodes::free_ports(4);
    // The first address refuses connections; the second accepts them and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().expect("an address");
    let asked = format!("127.0.0.1:{ports},{silent}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args([
        "serve",
        "--listen",
        &format!("127.0.0.1:{}", ports + 1),
        "--durability",
        "fsync",
    ]);
    command.args(["--replicate", &format!("127.0.0.1:{}", ports + 3), "--join", &asked, "--dir"]);
    command.arg(dir.path().join("node")).env_remove("SCURRY_REQUIREPASS");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut node = Ends(command.spawn().expect("the binary starts"));
    let mut said =
        BufReader::new(node.0.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    let mut next = |words: &[&str]| {
        let mut before = Vec::new();
        let found = said.by_ref().find(|line| {
            before.push(line.clone());
            words.iter().all(|word| line.contains(word))
        });
        assert!(found.is_some(), "{words:?} was not said: {before:#?}");
    };
    next(&["asks to be admitted to the group of", &format!("127.0.0.1:{ports}, {silent}")]);
    next(&["not admitted yet", "does not answer: Connection refused"]);
    next(&["not admitted yet", "Connection refused", &format!("{silent} does not answer")]);
    next(&["not admitted yet"]);
    // It would wait for ever, and ends on a signal.
    let pid = Pid::from_raw(i32::try_from(node.0.id()).expect("a number"));
    kill(pid, Signal::SIGTERM).expect("it runs");
    let ended = node.0.wait().expect("it ends");
    assert!(ended.success(), "{ended}");
}

#[test]
fn a_node_of_a_group_that_requires_a_later_version_is_left_to_the_newer_scurry() {
    let mut nodes = Nodes::start(1, 1);
    let directory = nodes.stop(0);
    std::fs::write(directory.join("PROTOCOL"), "9\n").expect("it is written");
    nodes.start_again(0);
    nodes.until("it is refused", || {
        let log = nodes.log(0);
        let words = "was written by a newer Scurry, in a group whose nodes speak version 9";
        log.contains(words).then_some(())
    });
    std::fs::write(directory.join("PROTOCOL"), "4\n").expect("it is written");
    nodes.start_again(0);
    nodes.wait_for_all();
}
