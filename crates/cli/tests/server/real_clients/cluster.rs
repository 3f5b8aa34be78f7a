//! Clients that know clusters: each finds the owner of a key by itself, and follows a MOVED
//! answer when its map is wrong.

use super::peer::Peer;
use super::programs::{ALL, Session};
use super::{HAS_CLUSTER, HAS_EXPIRY, redis_rs, text};
use crate::support::{Server, tool};

/// Threads of our server, each with a port.
const THREADS: &str = "3";

/// One node's address, and the parts that it can answer.
struct Cluster<'a> {
    address: &'a str,
    parts: &'a str,
}

/// Valkey's cluster shows that the sessions are right about clusters.
const VALKEY_PARTS: &str = "plain,expiry,moved";

fn our_parts() -> String {
    format!("charging,plain{},moved", if HAS_EXPIRY { ",expiry" } else { "" })
}

fn every_client(cluster: &Cluster<'_>) {
    for protocol in [2, 3] {
        for (name, program) in ALL {
            let (right, shown) = program.run(&Session {
                address: cluster.address,
                mode: "cluster",
                protocol,
                password: "-",
                parts: cluster.parts,
            });
            assert!(right, "{name} in RESP{protocol}: {shown}");
            delete_accounts(cluster);
        }
    }
    for protocol in [redis::ProtocolVersion::RESP2, redis::ProtocolVersion::RESP3] {
        redis_rs::in_cluster(cluster.address, protocol, cluster.parts);
        delete_accounts(cluster);
    }
}

/// The sessions create the same accounts, and the next one wants them fresh.
fn delete_accounts(cluster: &Cluster<'_>) {
    if cluster.parts.contains("charging") {
        for account in ["alice", "bob", "carol", "dave"] {
            for command in [&["SCUR.STATUS", account, "closed"], &["SCUR.DELETE", account, "FORCE"]]
            {
                assert_eq!(redis_cli(cluster.address, &[&["-c"][..], command].concat()), "OK\n0\n");
            }
        }
    }
}

fn redis_cli(address: &str, words: &[&str]) -> String {
    let (_, port) = address.split_once(':').expect("host and port");
    let output = tool("redis-cli", &[&["-p", port], words].concat());
    assert!(output.status.success(), "redis-cli {words:?}: {}", text(&output));
    text(&output)
}

/// redis-cli -c follows MOVED; without -c it shows it.
fn redis_cli_follows(address: &str) {
    let mut moved = 0;
    for number in 0..30 {
        let (key, value) = (format!("cli{number}"), number.to_string());
        assert_eq!(redis_cli(address, &["-c", "SET", &key, &value]), "OK\n");
        assert_eq!(redis_cli(address, &["-c", "GET", &key]), format!("{value}\n"));
        let direct = redis_cli(address, &["GET", &key]);
        let slot = redis_cli(address, &["CLUSTER", "KEYSLOT", &key]);
        if direct != format!("{value}\n") {
            assert!(direct.starts_with(&format!("MOVED {} 127.0.0.1:", slot.trim())), "{direct}");
            moved += 1;
        }
    }
    assert!((1..30).contains(&moved), "{moved} of 30 keys belong to others");
    assert!(redis_cli(address, &["MGET", "cli1", "cli2"]).starts_with("CROSSSLOT"));
    assert!(redis_cli(address, &["CLUSTER", "INFO"]).contains("cluster_state:ok"));
}

/// valkey-benchmark asks for the slots and goes to every node.
fn valkey_benchmark_goes_to_every_node(address: &str) {
    let (_, port) = address.split_once(':').expect("host and port");
    let common = ["-p", port, "--cluster", "-n", "20000", "-P", "16", "-r", "1000"];
    let output = tool("valkey-benchmark", &[&common[..], &["-t", "set,get", "-q"]].concat());
    let shown = text(&output);
    assert!(output.status.success() && !shown.contains("rror"), "{shown}");
    assert!(shown.contains("3 primary nodes"), "{shown}");
    assert!(shown.contains("SET: ") && shown.contains("GET: "), "{shown}");
}

#[test]
fn every_client_in_a_cluster_of_valkey() {
    let valkey = Peer::cluster();
    every_client(&Cluster { address: valkey.address(), parts: VALKEY_PARTS });
    redis_cli_follows(valkey.address());
    valkey_benchmark_goes_to_every_node(valkey.address());
}

#[test]
fn every_client_in_a_cluster_of_ours() {
    if !HAS_CLUSTER {
        return;
    }
    let server = Server::start(&["--threads", THREADS]);
    let main = format!("127.0.0.1:{}", server.port);
    every_client(&Cluster { address: &main, parts: &our_parts() });
    // The main port forwards; a port of one core says MOVED.
    let slots = redis_cli(&main, &["CLUSTER", "SLOTS"]);
    let core = format!("127.0.0.1:{}", slots.lines().nth(3).expect("the first range's port"));
    redis_cli_follows(&core);
    valkey_benchmark_goes_to_every_node(&main);
}
