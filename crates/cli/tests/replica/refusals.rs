//! What `scurry replica` does not do, and the words for it.

use crate::nodes::{self, Nodes};
use crate::said::scurry;
use std::io::{BufRead, BufReader};
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

#[test]
fn an_empty_directory_at_the_address_of_a_lost_one_begins_no_other_group() {
    let mut nodes = Nodes::start(3, 1);
    assert_eq!(nodes.execute(&["SET", "key", "value"]), "+OK");
    let id = nodes.id(0);
    let lost = nodes.stop(0);
    std::fs::remove_dir_all(&lost).expect("it is removed");
    // As it was started at first, when it began the group.
    let (dir, address) = (lost.to_str().expect("text"), nodes.peer_address(0));
    let said = nodes::refused(&["--dir", dir, "--replicate", &address, "--durability", "fsync"]);
    assert!(said.contains(&format!("looks for node {id} here")), "{said}");
    assert!(said.contains(&format!("--replaces {id}")), "{said}");
    nodes.start_anew(0);
    nodes.wait_for_all();
    assert_eq!(nodes.execute(&["GET", "key"]), "$value");
}

/// A process that ends with its test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // It may have ended already; either way it is gone afterwards.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_node_that_waits_to_be_admitted_says_whom_it_asks_and_why_it_waits() {
    let dir = TempDir::new().expect("a directory");
    let ports = nodes::free_ports(4);
    // Nobody listens at the first; at the second somebody takes connections and says nothing.
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
}
