//! Copies of a node's data, and stores of one machine made from them.

use crate::catch_up::{fill_and_forget, snapshot};
use crate::nodes::{self, Nodes};
use crate::said::scurry;
use nix::sys::signal::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

const DEBIT: [&str; 5] = ["SCUR.DEBIT", "purse", "txn-1", "cent", "7"];

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("it is there").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Restores a directory with these options. Returns the new directory next to it.
#[track_caller]
fn restore(from: &Path, name: &str, options: &[&str]) -> PathBuf {
    let to = from.with_file_name(name);
    let words = [&["restore", text(from), "--to", text(&to)], options].concat();
    let said = scurry(&words).well();
    assert!(said.contains("it is a store of one machine"), "{said}");
    assert!(names(&to).iter().all(|name| name != "GROUP" && !name.starts_with("ballot")));
    let said = scurry(&["inspect", text(&to)]).well();
    assert!(!said.contains("committed:") && said.contains("every checksum holds"), "{said}");
    to
}

/// Starts a group of one node, sets `key` to each of these values, and kills it.
fn killed_behind(values: &[&str]) -> (Nodes, PathBuf) {
    let nodes = Nodes::start(1, 1);
    for value in values {
        assert_eq!(nodes.execute(&["SET", "key", value]), "+OK");
    }
    nodes.signal(0, Signal::SIGKILL);
    let dir = nodes.dir(0);
    (nodes, dir)
}

#[test]
fn a_copy_of_any_node_that_runs_becomes_a_store_of_one_machine_with_all_that_is_committed() {
    let nodes = Nodes::start(3, 2);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "100"]);
    let answer = nodes.execute(&DEBIT);
    for number in 0..100 {
        nodes.execute(&["SET", &format!("key-{number}"), "value"]);
    }
    // Later entries record, on each thread's log, that the earlier ones are committed.
    for number in 0..20 {
        nodes.execute(&["SET", &format!("later-{number}"), "value"]);
    }
    nodes.wait_for_all();
    for node in 0..3 {
        let dir = nodes.dir(node);
        let said = scurry(&["inspect", text(&dir)]).well();
        assert!(said.contains(&format!("node {} of a group", nodes.id(node))), "{said}");
        assert!(said.contains("votes, reached at 127.0.0.1:"), "{said}");
        assert!(said.contains("committed: entry "), "{said}");
        let copy = dir.with_file_name(format!("copy-{node}"));
        let said = scurry(&["backup", text(&dir), "--to", text(&copy)]).well();
        assert!(said.contains("a copy of what a node of a group has"), "{said}");
        assert!(names(&copy).iter().all(|name| name != "GROUP" && !name.starts_with("ballot")));
        let said = nodes::refused(&["--dir", text(&copy)]);
        assert!(said.contains("`scurry restore` makes a store of one machine"), "{said}");
        // Also if an order to found a group lies there.
        let peer = format!("127.0.0.1:{}", nodes::free_ports(1));
        nodes::begin_in(&copy);
        let said = nodes::refused(&["--dir", text(&copy), "--threads", "2", "--replicate", &peer]);
        assert!(said.contains("`scurry restore` makes a store of one machine"), "{said}");
        fs::remove_file(copy.join("BEGIN")).expect("it is there");

        let single = Nodes::single(&restore(&copy, &format!("restored-{node}"), &[]), "fsync");
        let again = single.execute(&DEBIT);
        assert_eq!(again.lines().next(), answer.lines().next(), "{again}");
        assert!(single.execute(&["SCUR.GET", "purse"]).contains(":93"), "once");
        for key in ["key-0", "key-42", "key-99"] {
            assert_eq!(single.execute(&["GET", key]), "$value", "{key}");
        }
    }
}

#[test]
fn what_is_not_known_to_be_committed_is_left_out_unless_somebody_asks_for_it() {
    let (_nodes, dir) = killed_behind(&["one", "two"]);
    let said = scurry(&["inspect", text(&dir)]).well();
    assert!(said.contains("of 1 record behind it that is not known"), "{said}");
    let last = said.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("committed: entry ")?.split_once("sequence ")?.1;
        rest.split(';').next()?.parse::<u64>().ok()
    });
    let last = last.expect(&said) + 1;
    let shown = |options: &[&str], name: &str| {
        Nodes::single(&restore(&dir, name, options), "fsync").execute(&["GET", "key"])
    };
    assert_eq!(shown(&[], "sure"), "$one");
    assert_eq!(shown(&["--uncommitted"], "all"), "$two");
    let too_late = last.to_string();
    let to = dir.with_file_name("too-late");
    scurry(&["restore", text(&dir), "--to", text(&to), "--sequence", &too_late])
        .refused(&["is not known to be committed"]);
    let too_early = (last - 2).to_string();
    assert_eq!(shown(&["--sequence", &too_early], "before"), "$-1");
}

#[test]
fn one_node_of_three_that_is_left_becomes_another_group_with_all_that_was_answered() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "100"]);
    let answer = nodes.execute(&DEBIT);
    nodes.wait_for_all();
    let left = (nodes.leader() + 1) % 3;
    for node in (0..3).filter(|node| *node != left) {
        nodes.signal(node, Signal::SIGKILL);
    }
    nodes.until("it says that it cannot serve alone", || {
        let said = nodes.ask_node(left, &["SCUR.GET", "purse"])?;
        said.contains("this node reaches 1 of the 3 nodes").then_some(())
    });
    let dir = nodes.stop(left);
    let restored = restore(&dir, "restored", &["--uncommitted"]);
    let group = Nodes::start_from(&restored, 1, 1).and(2);
    let again = group.execute(&DEBIT);
    assert_eq!(again.lines().next(), answer.lines().next(), "{again}");
    group.signal(group.leader(), Signal::SIGKILL);
    assert!(group.execute(&["SCUR.GET", "purse"]).contains(":93"), "once");
}

#[test]
fn a_snapshot_tells_that_everything_is_committed() {
    let nodes = Nodes::start(1, 1);
    nodes.execute(&["SET", "key", "value"]);
    snapshot(&nodes);
    let copy = nodes.dir(0).with_file_name("copy");
    scurry(&["backup", text(&nodes.dir(0)), "--to", text(&copy)]).well();
    let single = Nodes::single(&restore(&copy, "restored", &[]), "fsync");
    assert_eq!(single.execute(&["GET", "key"]), "$value");
}

#[test]
fn a_copy_of_a_log_without_its_beginning_begins_another_group() {
    let nodes = Nodes::start(1, 1);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "100"]);
    let answer = nodes.execute(&DEBIT);
    fill_and_forget(&nodes, "one");
    fill_and_forget(&nodes, "two");
    let dir = nodes.dir(0);
    let said = scurry(&["inspect", text(&dir)]).well();
    assert!(said.contains("base: the log begins behind entry "), "{said}");
    let copy = dir.with_file_name("copy");
    scurry(&["backup", text(&dir), "--to", text(&copy)]).well();
    let said = scurry(&["inspect", text(&copy)]).well();
    assert!(said.contains("base: the log begins behind entry "), "{said}");
    let restored = restore(&copy, "restored", &[]);
    nodes.signal(0, Signal::SIGKILL);
    let mut group = Nodes::start_from(&restored, 1, 1).and(2);
    assert_eq!(group.execute(&["GET", "key-199"]), "$two");
    let first = group.leader();
    group.signal(first, Signal::SIGKILL);
    let again = group.execute(&DEBIT);
    assert_eq!(again.lines().next(), answer.lines().next(), "{again}");
    group.start_again(first);
    group.wait_for_all();
}

#[test]
fn what_was_answered_before_a_copy_was_begun_is_in_it() {
    /// Bound of writes if the test has failed.
    const WRITES_MAX: u64 = 60_000;
    let nodes = Nodes::start(3, 1);
    let (written, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..WRITES_MAX {
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
                nodes.execute(&["SET", "counter", &format!("{number:08}")]);
                written.store(number, Ordering::Relaxed);
            }
        });
        let read = || written.load(Ordering::Relaxed);
        for name in ["first", "second", "third"] {
            let leader = nodes.leader();
            let term = nodes.number(leader, "term");
            // The next entry records that those before it are committed.
            let before = read();
            nodes.until("more is written", || (read() > before + 1).then_some(()));
            for node in [leader, (leader + 1) % 3] {
                let copy = nodes.dir(node).with_file_name(format!("{name}-{node}"));
                scurry(&["backup", text(&nodes.dir(node)), "--to", text(&copy)]).well();
                // On a stalled machine another node may lead by now, and this one lacks the later writes.
                let leads = nodes.leader() == leader && nodes.number(leader, "term") == term;
                let restored = restore(&copy, &format!("restored-{name}-{node}"), &[]);
                let shown = Nodes::single(&restored, "fsync").execute(&["GET", "counter"]);
                let shown: u64 = shown.trim_start_matches('$').parse().unwrap_or(0);
                assert!(node != leader || !leads || shown > before, "{shown} of {before}");
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

/// Returns the numbers that SCUR.TOTALS shows of the only unit: what is available is the first, what is held the second,
/// what is in transit the last.
fn totals(nodes: &Nodes) -> Vec<i64> {
    let said = nodes.execute(&["SCUR.TOTALS"]);
    let lines = said.lines().skip_while(|line| !line.ends_with("cent")).skip(1);
    lines.map_while(|line| line.strip_prefix(':')?.parse().ok()).collect()
}

#[test]
fn a_copy_of_a_leader_has_no_half_of_a_transfer_between_threads() {
    /// First credit of each account.
    const CREDIT: i64 = 1_000_000;
    /// Bound of transfers if the test has failed.
    const TRANSFERS_MAX: usize = 10_000;
    let nodes = Nodes::start(3, 2);
    let accounts = ["{bar}0", "{bar}1", "{foo}0", "{foo}1"];
    for account in accounts {
        let credit = CREDIT.to_string();
        nodes.execute(&["SCUR.CREATE", account, "BUCKET", "main", "cent", &credit]);
    }
    let value = "x".repeat(1 << 20);
    for number in 0..16 {
        nodes.execute(&["SET", &format!("{{bar}}value-{number}"), &value]);
    }
    let (sent, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut copies = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..TRANSFERS_MAX {
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
                let (id, payer, payee) = (format!("t{number}"), number % 2, 2 + number / 2 % 2);
                let words = ["SCUR.TRANSFER", accounts[payer], &id, "cent", "1", accounts[payee]];
                // Whether it is executed or not: nothing may be half.
                nodes.try_execute(&[&words[..], &["main"]].concat());
                sent.fetch_add(1, Ordering::Relaxed);
            }
        });
        for round in 0..3 {
            let before = sent.load(Ordering::Relaxed);
            nodes.until("more is sent", || {
                (sent.load(Ordering::Relaxed) > before + 64).then_some(())
            });
            let leader = nodes.leader();
            let term = nodes.number(leader, "term");
            let dir = nodes.dir(leader);
            let copy = dir.with_file_name(format!("copy-{round}"));
            let said = scurry(&["backup", text(&dir), "--to", text(&copy)]).well();
            // On a stalled machine another node may lead by now, and this one lags.
            if nodes.leader() == leader && nodes.number(leader, "term") == term {
                copies.push((copy, said));
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    for (round, (copy, said)) in copies.iter().enumerate() {
        let restored = restore(copy, &format!("restored-{round}"), &[]);
        let single = Nodes::single(&restored, "fsync");
        let found = single.until("nothing is in transit", || {
            let found = totals(&single);
            (found.last() == Some(&0)).then_some(found)
        });
        assert_eq!(found[..2], [4 * CREDIT, 0], "{round}");
        assert!(!said.contains("not known"), "all of it is committed: {said}");
    }
}

#[test]
fn damage_of_what_makes_it_a_node_is_told_and_takes_no_data_away() {
    let (_nodes, dir) = killed_behind(&["one", "two"]);
    let is_in = |words: &[&str]| scurry(&["inspect", text(&dir)]).refused(words);
    let flip = |name: &str, at: usize| {
        let mut bytes = fs::read(dir.join(name)).expect("it is there");
        bytes[at] ^= 1;
        fs::write(dir.join(name), bytes).expect("it is written");
    };
    flip("ballot-g1", 30);
    flip("ballot-g1", 542);
    is_in(&["WRONG", "ballot-g1", "what it says of core 0 is damaged", "join again"]);
    flip("GROUP", 40);
    is_in(&["WRONG", "GROUP is damaged", "join again"]);
    fs::remove_file(dir.join("GROUP")).expect("it is removed");
    is_in(&["has ballot-g1 but no GROUP"]);
    let copy = dir.with_file_name("copy");
    scurry(&["backup", text(&dir), "--to", text(&copy)]).well();
    let single = Nodes::single(&restore(&copy, "restored", &[]), "fsync");
    assert_eq!(single.execute(&["GET", "key"]), "$one");
}

#[test]
fn a_node_that_has_got_nothing_yet_is_no_source() {
    let (_nodes, dir) = killed_behind(&["one"]);
    for name in names(&dir.join("g1/0")) {
        fs::remove_file(dir.join("g1/0").join(name)).expect("it is removed");
    }
    for command in ["backup", "restore"] {
        let to = dir.with_file_name(command);
        scurry(&[command, text(&dir), "--to", text(&to)])
            .refused(&["this node has got nothing of its group yet"]);
        assert!(!to.exists(), "nothing is begun");
    }
}

#[test]
fn a_group_is_exported_and_imported_by_the_port_of_any_node() {
    let nodes = Nodes::start(3, 2);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "100"]);
    let answer = nodes.execute(&DEBIT);
    for number in 0..50 {
        nodes.execute(&["SET", &format!("key-{number}"), "value"]);
    }
    let follower = (nodes.leader() + 1) % 3;
    let at = |nodes: &Nodes, node: usize| format!("127.0.0.1:{}", nodes.main_port(node));
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("export");
    scurry(&["export", "--from", &at(&nodes, follower), "--out", text(&file)]).well();
    drop(nodes);
    let other = Nodes::start(3, 1);
    let follower = (other.leader() + 2) % 3;
    scurry(&["import", "--to", &at(&other, follower), "--in", text(&file)]).well();
    other.wait_for_all();
    other.signal(other.leader(), Signal::SIGKILL);
    assert_eq!(other.execute(&["DBSIZE"]), ":51");
    assert_eq!(other.execute(&["GET", "key-49"]), "$value");
    let again = other.execute(&DEBIT);
    assert_eq!(again.lines().next(), answer.lines().next(), "{again}");
}

/// Copies a directory with everything below it.
fn copy_all(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new directory");
    for entry in fs::read_dir(from).expect("it is there").flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_all(&path, &copy);
        } else {
            fs::copy(&path, &copy).expect("a copy");
        }
    }
}

#[test]
fn nodes_that_run_are_compared_and_have_the_same() {
    let nodes = Nodes::start(3, 2);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "100"]);
    nodes.execute(&DEBIT);
    for number in 0..20 {
        nodes.execute(&["SET", &format!("key-{number}"), "value"]);
    }
    nodes.wait_for_all();
    let dirs = [0, 1, 2].map(|node| nodes.dir(node));
    let [first, second, third] = dirs.each_ref().map(|dir| text(dir));
    let said = scurry(&["replica", "verify", first, second, third]).well();
    let same = said.lines().filter(|line| line.contains("3 nodes have the same at sequence"));
    assert_eq!(same.count(), 2, "{said}");
    scurry(&["replica", "verify", first]).refused(&["name two or more"]);
    scurry(&["replica", "verify", first, first]).refused(&["is named twice"]);
    let other = Nodes::start(1, 1);
    let other = other.dir(0);
    scurry(&["replica", "verify", first, text(&other)]).refused(&["are nodes of two groups"]);
}

#[test]
fn nodes_that_have_gone_two_ways_are_told_apart() {
    let (mut nodes, dir) = killed_behind(&["one"]);
    let (fork, aside) = (dir.with_file_name("fork"), dir.with_file_name("aside"));
    copy_all(&dir, &fork);
    let mut go_on = |value: &str| {
        nodes.start_again(0);
        nodes.wait_for_all();
        for value in [value, "last"] {
            assert_eq!(nodes.execute(&["SET", "key", value]), "+OK");
        }
        nodes.signal(0, Signal::SIGKILL);
    };
    go_on("two");
    fs::rename(&dir, &aside).expect("it is moved");
    fs::rename(&fork, &dir).expect("it is moved");
    go_on("three");
    let said = scurry(&["replica", "verify", text(&dir), text(&aside)]);
    said.refused(&["the nodes do not have the same", "join again"]);
}
