//! Nodes whose files are removed or damaged, while they run or before they start.

use super::nodes::Nodes;
use std::path::{Path, PathBuf};

/// The newest segment of a node's log.
fn segment(node: &Path) -> PathBuf {
    let entries = std::fs::read_dir(node.join("g1/0")).expect("it is listed").flatten();
    let names = entries.map(|entry| entry.path());
    let is_segment = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log-"))
    };
    names.filter(is_segment).max().expect("a segment")
}

/// Writes until a node has noticed that its files are gone, and serves on without it.
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
    // A follower loses all of its directory, and the leader the file that it writes to.
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
