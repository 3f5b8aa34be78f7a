//! Upgrades a group from an older version to this one, node by node, and back. Needs a binary of that version, named by
//! `SCURRY_BEFORE`.

use crate::nodes::Nodes;
use std::path::{Path, PathBuf};

/// Makes ten debits of one unit each. Repeated, they change nothing.
fn debit(nodes: &Nodes, stem: &str) {
    for number in 0..10 {
        nodes.execute(&["SCUR.DEBIT", "purse", &format!("{stem}-{number}"), "cent", "1"]);
    }
}

/// Moves each node to another binary: the followers first, then the leader, once another node leads.
fn roll(nodes: &mut Nodes, binary: &Path, stem: &str) {
    nodes.binary = binary.to_owned();
    let leader = nodes.leader();
    for node in (0..3).filter(|node| *node != leader) {
        restart(nodes, node, stem);
    }
    let next = nodes.id((leader + 1) % 3);
    nodes.until("another node leads", || {
        if nodes.leader() != leader {
            return Some(());
        }
        nodes.try_execute(&["SCUR.REPLICA", "TRANSFER", &next]);
        None
    });
    debit(nodes, &format!("{stem}-between"));
    restart(nodes, leader, stem);
}

fn restart(nodes: &mut Nodes, node: usize, stem: &str) {
    nodes.stop(node);
    nodes.start_again(node);
    nodes.wait_for_all();
    debit(nodes, &format!("{stem}-{node}"));
}

#[test]
fn an_upgrade_of_one_node_after_the_other_is_taken_back_in_the_same_way() {
    let Some(before) = std::env::var_os("SCURRY_BEFORE").map(PathBuf::from) else {
        println!("left out: SCURRY_BEFORE names no older version");
        return;
    };
    let mut nodes = Nodes::start_of(before.clone(), 3, 1);
    nodes.execute(&["SCUR.CREATE", "purse", "BUCKET", "main", "cent", "1000"]);
    roll(&mut nodes, Path::new(env!("CARGO_BIN_EXE_scurry")), "there");
    roll(&mut nodes, &before, "back");
    let shown = nodes.execute(&["SCUR.GET", "purse"]);
    assert!(shown.contains(":920"), "each once: {shown}");
}
