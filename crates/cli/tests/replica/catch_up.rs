//! Logs that are shortened, and nodes that receive a snapshot because the log no longer reaches back far enough for
//! them.

use crate::nodes::{self, Client, Nodes};
use nix::sys::signal::Signal;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Makes the leader write a snapshot and waits for it.
pub(crate) fn snapshot(nodes: &Nodes) {
    let written = |nodes: &Nodes| {
        let info = nodes.try_execute(&["INFO", "persistence"])?;
        let line = info.lines().find_map(|line| line.strip_prefix("snapshots_written:"))?;
        line.trim().parse::<u64>().ok()
    };
    let before = nodes.until("the leader answers", || written(nodes));
    nodes.execute(&["SCUR.SNAPSHOT"]);
    nodes.until("a snapshot is written", || (written(nodes)? > before).then_some(()));
}

/// Sets this many keys to a value.
fn fill(nodes: &Nodes, count: usize, value: &str) {
    let leader = nodes.leader();
    let mut client = Client::connect(nodes.main_port(leader)).expect("it is there");
    for number in 0..count {
        assert_eq!(client.ask(&["SET", &format!("key-{number}"), value]).expect("a reply"), "+OK");
    }
}

/// Writes keys, and shortens the leader's log beyond them.
pub(crate) fn fill_and_forget(nodes: &Nodes, value: &str) {
    let leader = nodes.leader();
    let before = nodes.until("it says so", || nodes.number(leader, "base"));
    fill(nodes, 200, value);
    // The log is kept from the older of two snapshots on.
    for _ in 0..2 {
        snapshot(nodes);
        nodes.execute(&["SET", "marker", value]);
    }
    nodes.until("the log is made shorter", || {
        (nodes.number(leader, "base")? > before).then_some(())
    });
}

/// Kills a node while it receives a snapshot. Its directory must have no part of an earlier one. Returns false if the
/// snapshot was already complete.
fn kill_in_the_middle(nodes: &Nodes, node: usize) -> bool {
    let dir = nodes.directory_of(node).join("g1/0");
    let has_part = || {
        let names = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.any(|name| name.starts_with("incoming-"))
    };
    nodes.until("a snapshot comes", || {
        // The partial file may exist only for a moment.
        (0..10_000).any(|_| has_part()).then_some(())
    });
    nodes.signal(node, Signal::SIGKILL);
    has_part()
}

#[test]
fn a_node_that_is_killed_while_it_takes_a_snapshot_and_whose_leader_dies_too_joins_all_the_same() {
    let mut nodes = Nodes::start(2, 1);
    let value = "v".repeat(1 << 20);
    let mut was_killed = false;
    for attempt in 0..20 {
        let leader = nodes.leader();
        let mut client = Client::connect(nodes.main_port(leader)).expect("it is there");
        for number in 0..24 {
            let key = format!("long-{number}");
            assert_eq!(client.ask(&["SET", &key, &value]).expect("a reply"), "+OK");
        }
        fill_and_forget(&nodes, "one");
        if attempt == 0 {
            nodes.begin_one_more();
        } else {
            nodes.start_again(2);
        }
        was_killed = kill_in_the_middle(&nodes, 2);
        if was_killed {
            nodes.signal(leader, Signal::SIGKILL);
            nodes.start_again(leader);
            break;
        }
        // The snapshot was already complete: in the next attempt the node lags again.
    }
    assert!(was_killed, "it was killed in the middle");
    nodes.start_again(2);
    nodes.wait_for_all();
    for node in [2, 0, 1] {
        shown(&nodes, node, &[("key-0", "one"), ("marker", "one")]);
        assert_eq!(nodes.execute(&["STRLEN", "long-23"]), format!(":{}", value.len()));
        assert_eq!(nodes.execute(&["DBSIZE"]), ":225");
    }
}

/// Checks that every filled key has this value on a node that has become leader.
fn shown_by(nodes: &Nodes, node: usize, value: &str) {
    shown(nodes, node, &["key-0", "key-77", "key-199", "marker"].map(|key| (key, value)));
    assert_eq!(nodes.execute(&["DBSIZE"]), ":201");
}

/// Checks the values of keys on a node that has become leader.
fn shown(nodes: &Nodes, node: usize, keys: &[(&str, &str)]) {
    let id = nodes.id(node);
    nodes.until("the node leads", || {
        if nodes.leader() == node {
            return Some(());
        }
        nodes.try_execute(&["SCUR.REPLICA", "TRANSFER", &id]);
        None
    });
    for (key, value) in keys {
        assert_eq!(nodes.execute(&["GET", key]), format!("${value}"), "{key}");
    }
}

#[test]
fn nodes_that_join_a_log_without_its_beginning_get_a_snapshot_and_what_follows_it() {
    let nodes = Nodes::start(1, 2);
    fill_and_forget(&nodes, "one");
    let nodes = nodes.and(2);
    shown_by(&nodes, 1, "one");
    nodes.execute(&["SET", "key-0", "two"]);
    nodes.signal(1, Signal::SIGKILL);
    assert_eq!(nodes.execute(&["GET", "key-0"]), "$two");
    assert_eq!(nodes.execute(&["GET", "key-199"]), "$one");
}

#[test]
fn a_node_that_was_away_for_longer_than_the_log_comes_back_and_leads() {
    let mut nodes = Nodes::start(3, 1);
    fill(&nodes, 200, "zero");
    let away = (nodes.leader() + 1) % 3;
    let gone = nodes.stop(away);
    assert!(gone.exists());
    fill_and_forget(&nodes, "one");
    nodes.start_again(away);
    nodes.wait_for_all();
    shown_by(&nodes, away, "one");
    // All nodes recover from their devices, each with a log that begins elsewhere.
    for node in 0..3 {
        nodes.signal(node, Signal::SIGKILL);
    }
    for node in 0..3 {
        nodes.start_again(node);
    }
    nodes.wait_for_all();
    for node in [away, (away + 1) % 3, away] {
        shown_by(&nodes, node, "one");
    }
}

#[test]
fn a_node_that_is_killed_before_its_log_has_grown_enough_writes_a_snapshot_all_the_same() {
    let options = ["--snapshot-log", "1mb"].map(str::to_owned).to_vec();
    let mut nodes = Nodes::start_with(1, 1, options);
    let set = |nodes: &Nodes, life: u32, len: usize| {
        nodes.execute(&["SET", &format!("key-{life}"), &"x".repeat(len)]);
    };
    let has_snapshot = |nodes: &Nodes| {
        let files = std::fs::read_dir(nodes.dir(0).join("g1/0")).expect("it is listed");
        let mut names = files.map(|file| file.expect("a file").file_name());
        names.any(|name| {
            let name = name.to_string_lossy();
            name.starts_with("snapshot-") && !name.ends_with(".new")
        })
    };
    for life in 0..3 {
        set(&nodes, life, 300_000);
        nodes.start_again(0);
        nodes.leader();
    }
    assert!(!has_snapshot(&nodes));
    set(&nodes, 3, 200_000);
    nodes.until("a snapshot is written", || has_snapshot(&nodes).then_some(()));
}

#[test]
fn a_store_of_one_machine_begins_a_group_with_all_it_has() {
    let above = tempfile::tempdir().expect("a directory");
    let store = above.path().join("store");
    let single = Nodes::single(&store, "write");
    single.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "100"]);
    let debit = ["SCUR.DEBIT", "purse", "txn-1", "cent", "7"];
    let answer = single.execute(&debit);
    single.execute(&["SET", "key", "value"]);
    // With `write`, the file beside the log notes its end only later.
    single.signal(0, Signal::SIGKILL);
    drop(single);
    let peer = format!("127.0.0.1:{}", nodes::free_ports(1));
    let dir = store.to_str().expect("text");
    // Without an order to found a group the start is refused, and --join is not such an order.
    for join in [&[][..], &["--join", "127.0.0.1:1"]] {
        let said = nodes::refused(&[&["--dir", dir, "--replicate", &peer][..], join].concat());
        assert!(said.contains(&format!("scurry replica init --dir {dir}")), "{said}");
    }
    let mut nodes = Nodes::start_from(&store, 1, 2).and(2);
    assert_eq!(nodes.execute(&["GET", "key"]), "$value");
    let first = nodes.leader();
    nodes.signal(first, Signal::SIGKILL);
    let again = nodes.execute(&debit);
    assert_eq!(again.lines().next(), answer.lines().next(), "{again}");
    let shown = nodes.execute(&["SCUR.GET", "purse"]);
    assert!(shown.contains(":93"), "once: {shown}");
    nodes.start_again(first);
    nodes.wait_for_all();
    assert_eq!(nodes.execute(&["GET", "key"]), "$value");
}

/// Returns the offset of these bytes in the first file of a node's log, and whether a mark follows them.
fn needle(node: &Path, needle: &[u8]) -> Option<(usize, bool)> {
    let bytes = std::fs::read(node.join("g1/0/log-00000000000000000001")).ok()?;
    let at = bytes.windows(needle.len()).position(|window| window == needle)?;
    Some((at, bytes[at + needle.len()..].iter().any(|byte| *byte != 0)))
}

#[test]
fn a_byte_that_changes_in_the_last_entry_is_damage_and_not_the_end_of_the_log() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "a needle"]);
    nodes.wait_for_all();
    let follower = (nodes.leader() + 1) % 3;
    let path = nodes.directory_of(follower);
    // When no entry follows, a mark says that the last one is on the device.
    nodes.until("a mark is written", || needle(&path, b"a needle").filter(|(_, marked)| *marked));
    nodes.stop(follower);
    let (at, _) = needle(&path, b"a needle").expect("it is there");
    let file = File::options().write(true).open(path.join("g1/0/log-00000000000000000001"));
    file.expect("a file").write_at(b"A", at as u64).expect("it is written");
    let (dir, address) = (path.to_str().expect("text"), nodes.peer_address(follower));
    let said = nodes::refused(&["--dir", dir, "--replicate", &address, "--durability", "fsync"]);
    assert!(said.contains("is damaged at byte"), "{said}");
    nodes.start_anew(follower);
    nodes.wait_for_all();
    shown(&nodes, follower, &[("key", "a needle")]);
}

#[test]
fn an_end_that_is_gone_with_its_mark_is_missed() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "a needle"]);
    nodes.wait_for_all();
    let follower = (nodes.leader() + 1) % 3;
    let path = nodes.directory_of(follower);
    // With the mark, the file beside the log notes how far the log reaches.
    let before = std::fs::read(path.join("reach-g1")).expect("a file");
    nodes.execute(&["SET", "key", "another needle"]);
    nodes.until("it is noted", || {
        let now = std::fs::read(path.join("reach-g1")).ok()?;
        let is_marked = needle(&path, b"another needle").is_some_and(|(_, marked)| marked);
        (is_marked && now != before).then_some(())
    });
    nodes.signal(follower, Signal::SIGKILL);
    let (at, _) = needle(&path, b"another needle").expect("it is there");
    let file = File::options().write(true).open(path.join("g1/0/log-00000000000000000001"));
    file.expect("a file").set_len(at as u64).expect("it is cut off");
    let (dir, address) = (path.to_str().expect("text"), nodes.peer_address(follower));
    let said = nodes::refused(&["--dir", dir, "--replicate", &address, "--durability", "fsync"]);
    assert!(said.contains("damaged") || said.contains("missing"), "{said}");
    nodes.start_anew(follower);
    nodes.wait_for_all();
    shown(&nodes, follower, &[("key", "another needle")]);
}
