//! Nodes whose files are removed or damaged, while they run or before they start.

use super::nodes::{self, Nodes};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the newest segment of a node's log.
fn segment(node: &Path) -> PathBuf {
    let entries = std::fs::read_dir(node.join("g1/0")).expect("it is listed").flatten();
    let names = entries.map(|entry| entry.path());
    let is_segment = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log-"))
    };
    names.filter(is_segment).max().expect("a segment")
}

/// Writes until a node has noticed that its files are gone, and checks that the others serve without it.
fn ends_and_is_not_missed(nodes: &Nodes, gone: usize) {
    nodes.until("the node notices it", || {
        nodes.try_execute(&["SET", "key", "value"]);
        let log = nodes.log(gone);
        let stops = log.contains("this node stops: the log cannot be trusted any more");
        (stops && log.contains("was removed while this server runs")).then_some(())
    });
    nodes.until("it ends", || nodes.status(gone).is_none().then_some(()));
    assert_eq!(nodes.execute(&["SET", "key", "newer"]), "+OK");
}

#[test]
fn a_node_whose_files_are_removed_while_it_runs_counts_no_more() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "value"]);
    nodes.wait_for_all();
    // A follower loses its whole directory, and the leader the file that it writes to.
    let follower = (nodes.leader() + 1) % 3;
    std::fs::remove_dir_all(nodes.directory_of(follower)).expect("it is removed");
    ends_and_is_not_missed(&nodes, follower);
    std::fs::create_dir(nodes.directory_of(follower)).expect("it is made");
    nodes.start_anew(follower);
    nodes.wait_for_all();
    let leader = nodes.leader();
    std::fs::remove_file(segment(&nodes.directory_of(leader))).expect("it is removed");
    ends_and_is_not_missed(&nodes, leader);
    nodes.start_anew(leader);
    nodes.wait_for_all();
    assert_eq!(nodes.execute(&["GET", "key"]), "$newer");
}

/// Returns the output of a node that does not start.
fn refused(nodes: &Nodes, node: usize) -> String {
    let (path, address) = (nodes.directory_of(node), nodes.peer_address(node));
    let dir = path.to_str().expect("text");
    nodes::refused(&["--dir", dir, "--replicate", &address, "--durability", "fsync"])
}

#[test]
fn a_node_with_a_damaged_directory_is_told_to_join_anew() {
    let mut nodes = Nodes::start(3, 1);
    for number in 0..20 {
        nodes.execute(&["SET", &format!("key-{number}"), "value"]);
    }
    nodes.wait_for_all();
    let node = (nodes.leader() + 1) % 3;
    let id = nodes.id(node);
    let mut others: Vec<_> = (0..3)
        .filter(|other| *other != node)
        .map(|other| (nodes.id(other), nodes.peer_address(other)))
        .collect();
    others.sort();
    let path = nodes.stop(node);
    let log = segment(&path);
    let whole = std::fs::read(&log).expect("it is read");
    let at = whole.windows(5).position(|window| window == b"key-3").expect("it is there") as u64;
    let ways: [(&str, &dyn Fn()); 4] = [
        ("is damaged at byte", &|| {
            let file = File::options().write(true).open(&log).expect("a file");
            file.write_at(b"K", at).expect("it is written");
        }),
        ("is missing", &|| std::fs::rename(&log, path.join("segment")).expect("it is moved")),
        ("reach-g1 is missing", &|| {
            std::fs::rename(path.join("segment"), &log).expect("it is moved back");
            std::fs::rename(path.join("reach-g1"), path.join("note")).expect("it is moved");
        }),
        ("MANIFEST is damaged", &|| {
            std::fs::rename(path.join("note"), path.join("reach-g1")).expect("it is moved back");
            std::fs::write(path.join("MANIFEST"), "no manifest").expect("it is written");
        }),
    ];
    for (words, damage) in ways {
        damage();
        let said = refused(&nodes, node);
        let advice = format!(
            "Move {} away and start this node with an empty directory, --join {},{} and --replaces {id}",
            path.display(),
            others[0].1,
            others[1].1
        );
        let (advised, found) = (said.find(&advice), said.find(words));
        assert!(advised.is_some() && found.is_some() && advised < found, "{words}: {said}");
        if words == "is damaged at byte" {
            std::fs::write(&log, &whole).expect("it is written");
        }
    }
    nodes.start_anew(node);
    nodes.wait_for_all();
}

/// Copies a directory with everything in it.
fn copy(from: &Path, to: &Path) {
    let mut command = Command::new("cp");
    let status = command.arg("-a").arg(from).arg(to).status().expect("cp is there");
    assert!(status.success(), "{}", from.display());
}

#[test]
fn a_node_whose_disk_was_put_back_takes_no_part_any_more_also_when_it_is_started_again() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "value"]);
    nodes.wait_for_all();
    let node = (nodes.leader() + 1) % 3;
    let id = nodes.id(node);
    let path = nodes.stop(node);
    let image = path.with_extension("image");
    copy(&path, &image);
    nodes.start_again(node);
    nodes.wait_for_all();
    // If another node became leader, it does not know how much this one had, and sends it again. So this is tried
    // again.
    let is_noticed = (0..20).any(|round| {
        nodes.execute(&["SET", "key", &format!("newer-{round}")]);
        nodes.wait_for_all();
        nodes.stop(node);
        std::fs::remove_dir_all(&path).expect("it is removed");
        copy(&image, &path);
        nodes.start_again(node);
        nodes.until("it is noticed, or it has all again", || {
            if nodes.log(node).contains("this node stops for good") {
                return Some(true);
            }
            let committed = nodes.number(nodes.leader(), "committed")?;
            (nodes.number(node, "applied")? >= committed).then_some(false)
        })
    });
    assert!(is_noticed, "{}", nodes.log(node));
    let said = refused(&nodes, node);
    for words in ["RETIRED", "what was stored here is lost", &format!("--replaces {id}")] {
        assert!(said.contains(words), "{words}: {said}");
    }
    nodes.start_anew(node);
    nodes.wait_for_all();
}

#[test]
fn a_damaged_copy_of_a_note_is_told_and_the_node_goes_on() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "value"]);
    nodes.wait_for_all();
    let node = (nodes.leader() + 1) % 3;
    let path = nodes.stop(node);
    for name in ["reach-g1", "ballot-g1"] {
        let bytes = std::fs::read(path.join(name)).expect("it is read");
        // Finds the older of the two copies, by term or sequence, and the vote, from byte 22 on.
        let numbers = |copy: usize| {
            let number =
                |at: usize| bytes[copy + at..copy + at + 8].try_into().expect("eight bytes");
            (
                u64::from_le_bytes(number(22)),
                if name == "ballot-g1" { u64::from_le_bytes(number(30)) } else { 0 },
            )
        };
        let older = if numbers(0) < numbers(512) { 0 } else { 512 };
        let file = File::options().write(true).open(path.join(name)).expect("a file");
        file.write_at(b"?", older).expect("it is written");
    }
    nodes.start_again(node);
    nodes.wait_for_all();
    for name in ["reach-g1", "ballot-g1"] {
        let words = format!("{}: one of the two copies", path.join(name).display());
        assert!(nodes.log(node).contains(&words), "{name}: {}", nodes.log(node));
        let bytes = std::fs::read(path.join(name)).expect("it is read");
        assert_eq!(bytes[..8], bytes[512..520], "{name} was written again");
    }
}

/// Returns a node's metric about trouble with its log.
fn trouble(nodes: &Nodes, node: usize) -> Option<u64> {
    let page = super::http::ask(nodes, node, "GET /metrics", "", "")?.body;
    let line =
        page.lines().find_map(|line| line.strip_prefix("scurry_log_trouble{core=\"0\"} "))?;
    line.parse().ok()
}

/// Limits the size of a node's files, in bytes or "unlimited": a write beyond it fails as on a full disk.
fn limit(nodes: &Nodes, node: usize, size: &str) {
    let mut command = Command::new("prlimit");
    command.args(["--pid", &nodes.process(node).to_string(), &format!("--fsize={size}:unlimited")]);
    let output = command.output().expect("it runs: prlimit is of util-linux");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_follower_without_room_shows_it_as_a_leader_does() {
    let nodes = Nodes::start_with_doors(3, 1, Vec::new());
    let leader = nodes.leader();
    let follower = (leader + 1) % 3;
    nodes.until("nothing is wrong", || (trouble(&nodes, follower)? == 0).then_some(()));
    limit(&nodes, follower, "100");
    nodes.execute(&["SET", "key", "value"]);
    nodes.until("the follower shows it", || (trouble(&nodes, follower)? == 1).then_some(()));
    let info = nodes.ask_node(follower, &["INFO", "persistence"]).unwrap_or_default();
    assert!(info.contains("log_status:full"), "{info}");
    // The metric is set as long as the condition lasts.
    nodes.execute(&["SET", "key", "newer"]);
    assert_eq!(trouble(&nodes, follower), Some(1));
    limit(&nodes, follower, "unlimited");
    nodes.until("it is over", || (trouble(&nodes, follower)? == 0).then_some(()));
    nodes.wait_for_all();
}
