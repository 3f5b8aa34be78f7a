//! What `scurry replica` does not do, and the words for it.

use crate::nodes::{self, Nodes};
use crate::said::scurry;
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
