//! Erasing a customer from all nodes of a group, as docs/retention.md says.

use super::nodes::Nodes;
use std::process::Command;

/// Returns the names of the files of a node that begin so and have one of the customer's texts, a line each.
fn files_with_texts(nodes: &Nodes, node: usize, begin: &str) -> String {
    let mut grep = Command::new("grep");
    grep.args(["-r", "-l", "-a", "-F", "-e", "customer-4711", "-e", "49123000111"]);
    let output =
        grep.arg(format!("--include={begin}*")).arg(nodes.dir(node)).output().expect("grep runs");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn no_node_has_a_deleted_customer_after_the_steps_of_the_page() {
    let mut nodes = Nodes::start(3, 1);
    for line in [
        "SCUR.CREATE customer-4711 IDENTITY msisdn 49123000111 BUCKET main cent 8",
        "SCUR.ADJUST customer-4711 paid-out main -8",
        "SCUR.STATUS customer-4711 closed",
        "SCUR.DELETE customer-4711 FORCE",
    ] {
        nodes.execute(&line.split(' ').collect::<Vec<_>>());
    }
    nodes.wait_for_all();
    assert!((0..3).all(|node| !files_with_texts(&nodes, node, "").is_empty()), "each has the log");
    for count in 1..=3 {
        nodes.execute(&["SET", "other", &count.to_string()]);
        nodes.wait_for_all();
        for node in 0..3 {
            let address = format!("127.0.0.1:{}", nodes.thread_port(node));
            let mut snapshot = Command::new(env!("CARGO_BIN_EXE_scurry"));
            let output = snapshot.args(["snapshot", "--address", &address]).output();
            let output = output.expect("it is run");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    nodes.execute(&["SET", "other", "last"]);
    nodes.wait_for_all();
    for node in 0..3 {
        // A node makes its log shorter when no other node needs it any more.
        nodes.until("the log is made shorter", || {
            files_with_texts(&nodes, node, "log-").is_empty().then_some(())
        });
        // The start removes spare segments.
        nodes.stop(node);
        nodes.start_again(node);
        nodes.wait_for_all();
    }
    for node in 0..3 {
        let left = files_with_texts(&nodes, node, "");
        assert_eq!(left, "", "node {node}");
    }
}
