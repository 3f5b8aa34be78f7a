//! TLS between nodes: a group through its life, nodes that are refused, and renewed certificates.

use crate::certificates::Certificates;
use crate::nodes::{self, Client, Nodes};
use nix::sys::signal::Signal;

/// Returns the members as the leader shows them, without values that change by themselves.
fn members(nodes: &Nodes) -> Vec<String> {
    nodes.until("the leader shows the members", || {
        let said = nodes.status(nodes.leader())?;
        let lines = said.lines().filter(|line| line.starts_with("member"));
        let kept = lines.filter_map(|line| line.split_once(",connected=").map(|(kept, _)| kept));
        Some(kept.map(str::to_owned).collect())
    })
}

#[test]
fn a_group_with_tls_survives_its_leader_and_a_node_comes_back() {
    let files = Certificates::make();
    let mut nodes = Nodes::start_with_doors(3, 2, files.options());
    let page =
        nodes.until("a door answers", || crate::http::ask(&nodes, 0, "GET /metrics", "", ""));
    let end = "scurry_certificate_expiry_timestamp_seconds{certificate=\"nodes\"} ";
    let line = page.body.lines().find_map(|line| line.strip_prefix(end));
    let seconds = line.and_then(|line| line.parse::<i64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds > 4_102_444_800), "{line:?}");
    for key in 0..20 {
        nodes.execute(&["SET", &format!("key-{key}"), "before"]);
    }
    let leader = nodes.leader();
    nodes.signal(leader, Signal::SIGKILL);
    for key in 0..20 {
        assert_eq!(nodes.execute(&["GET", &format!("key-{key}")]), "$before");
        nodes.execute(&["SET", &format!("key-{key}"), "after"]);
    }
    nodes.start_again(leader);
    nodes.wait_for_all();
    assert_eq!(nodes.execute(&["GET", "key-7"]), "$after");
}

/// A follower forwards encrypted bytes that it cannot read.
#[test]
fn tls_of_clients_ends_on_the_node_that_leads() {
    let (files, of_clients) = (Certificates::make(), Certificates::make());
    let options = [files.options(), of_clients.options_for_clients()].concat();
    let nodes = Nodes::start_trusted(3, 1, options, Some(of_clients.trust()));
    // Through one node after another.
    for key in 0..6 {
        nodes.execute(&["SET", &format!("key-{key}"), "value"]);
    }
    for _ in 0..3 {
        let mut plain = Client::connect(nodes.any_port()).expect("it listens");
        let said = plain.ask(&["PING"]).unwrap_or_default();
        assert!(!said.contains("PONG"), "{said}");
    }
    nodes.signal(nodes.leader(), Signal::SIGKILL);
    for key in 0..6 {
        assert_eq!(nodes.execute(&["GET", &format!("key-{key}")]), "$value");
    }
}

#[test]
fn a_node_of_another_ca_and_one_without_tls_are_refused_in_words_and_change_nothing() {
    let (files, others) = (Certificates::make(), Certificates::make());
    let nodes = Nodes::start_with(2, 1, files.options());
    nodes.execute(&["SET", "key", "value"]);
    let before = members(&nodes);
    let asks = |options: Vec<String>| {
        let directory = tempfile::tempdir().expect("a directory");
        let peer = format!("127.0.0.1:{}", nodes::free_ports(1));
        let mut words = ["--durability", "fsync", "--replicate", &peer].map(str::to_owned).to_vec();
        let store = directory.path().join("store");
        let store = store.to_str().expect("text").to_owned();
        words.extend(["--dir".to_owned(), store, "--join".to_owned(), nodes.peer_address(0)]);
        words.extend(options);
        nodes::refused(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for (options, told, heard) in [
        (
            others.options(),
            "the CA of this node has not signed its certificate",
            "it refuses the certificate or the TLS of this node",
        ),
        (
            Vec::new(),
            "nodes of this group speak TLS with each other and show certificates",
            "nodes of this group speak TLS with each other and show certificates",
        ),
    ] {
        // A node logs one such line a second.
        nodes.until("the node that was asked says why", || {
            let said = asks(options.clone());
            assert!(said.contains(told), "{said}");
            nodes.log(0).contains(heard).then_some(())
        });
    }
    let mut mixed = files.options();
    mixed[5] = others.options()[5].clone();
    let said = asks(mixed);
    assert!(said.contains("has not signed it") && said.contains("Create it again"), "{said}");
    assert_eq!(members(&nodes), before);
    assert_eq!(nodes.execute(&["GET", "key"]), "$value");
}

#[test]
fn a_member_that_comes_back_without_tls_is_not_connected_until_it_has_its_certificate() {
    let files = Certificates::make();
    let mut nodes = Nodes::start_with(3, 1, files.options());
    let gone = (nodes.leader() + 1) % 3;
    nodes.set_options(Vec::new());
    nodes.start_again(gone);
    let refused = "nodes of this group speak TLS with each other";
    for node in 0..3 {
        nodes.until("all say why", || {
            let log = nodes.log(node);
            (log.contains(refused) || log.contains("it does not speak TLS between nodes"))
                .then_some(())
        });
    }
    nodes.execute(&["SET", "key", "value"]);
    assert!(!nodes.id(gone).is_empty(), "it runs");
    nodes.set_options(files.options());
    nodes.start_again(gone);
    nodes.wait_for_all();
}

#[test]
fn certificates_of_a_running_group_are_renewed_by_their_files() {
    let files = Certificates::make();
    let mut nodes = Nodes::start_with(3, 1, files.options());
    nodes.execute(&["SET", "key", "before"]);
    // Not even the CA stays: a node that still used the old files would refuse the restarted nodes.
    files.replace(&Certificates::make());
    nodes.execute(&["SET", "key", "after"]);
    for node in 0..3 {
        nodes.start_again(node);
        nodes.wait_for_all();
        assert_eq!(nodes.execute(&["GET", "key"]), "$after");
    }
    let renewed = (0..3).filter(|node| nodes.log(*node).contains("begin with the new")).count();
    assert!(renewed >= 2, "the nodes that ran on have read them");
}
