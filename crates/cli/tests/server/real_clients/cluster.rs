//! Cluster-aware clients: each finds the owner of a key by itself, and follows MOVED when its map is wrong.

use super::peer::Peer;
use super::programs::{ALL, GLIDE, Session};
use super::{redis_rs, text};
use crate::support::{Server, tool};

/// Threads of our server, each with its own port.
const THREADS: &str = "3";

/// Address of a cluster, and the parts of a session that it supports.
struct Cluster<'a> {
    /// Address of one node, or of our main port.
    address: &'a str,
    /// `-` for none.
    password: &'a str,
    parts: &'a str,
}

/// Parts for Valkey's own cluster, which show that the sessions behave as a cluster expects.
const VALKEY_PARTS: &str = "plain,expiry,moved";

const OUR_PARTS: &str = "charging,chains,plain,expiry,moved";

fn every_client(cluster: &Cluster<'_>) {
    for protocol in [2, 3] {
        for (name, program) in ALL {
            let (right, shown) = program.run(&Session {
                address: cluster.address,
                mode: "cluster",
                protocol,
                password: cluster.password,
                parts: cluster.parts,
            });
            assert!(right, "{name} in RESP{protocol}: {shown}");
            delete_accounts(cluster);
        }
    }
    for protocol in [redis::ProtocolVersion::RESP2, redis::ProtocolVersion::RESP3] {
        redis_rs::in_cluster(cluster.address, protocol, cluster.password, cluster.parts);
        delete_accounts(cluster);
    }
}

/// Deletes the accounts: each session creates the same ones.
fn delete_accounts(cluster: &Cluster<'_>) {
    if cluster.parts != VALKEY_PARTS {
        assert_eq!(redis_cli(cluster, &["FLUSHALL", "FORCE"]), "OK\n");
        assert_eq!(redis_cli(cluster, &["DBSIZE"]), "0\n");
    }
}

/// Returns connection options for the tools of Redis and Valkey.
fn connection<'a>(cluster: &Cluster<'a>) -> Vec<&'a str> {
    let (_, port) = cluster.address.split_once(':').expect("host and port");
    match cluster.password {
        "-" => vec!["-p", port],
        password => vec!["-p", port, "-a", password],
    }
}

fn redis_cli(cluster: &Cluster<'_>, words: &[&str]) -> String {
    let output =
        tool("redis-cli", &[&connection(cluster)[..], &["--no-auth-warning"], words].concat());
    assert!(output.status.success(), "redis-cli {words:?}: {}", text(&output));
    text(&output)
}

/// redis-cli -c follows MOVED; without -c it prints it.
fn redis_cli_follows(node: &Cluster<'_>) {
    let mut moved = 0;
    for number in 0..30 {
        let (key, value) = (format!("cli{number}"), number.to_string());
        assert_eq!(redis_cli(node, &["-c", "SET", &key, &value]), "OK\n");
        assert_eq!(redis_cli(node, &["-c", "GET", &key]), format!("{value}\n"));
        let direct = redis_cli(node, &["GET", &key]);
        let slot = redis_cli(node, &["CLUSTER", "KEYSLOT", &key]);
        if direct != format!("{value}\n") {
            assert!(direct.starts_with(&format!("MOVED {} 127.0.0.1:", slot.trim())), "{direct}");
            moved += 1;
        }
    }
    assert!((1..30).contains(&moved), "{moved} of 30 keys belong to others");
    assert!(redis_cli(node, &["MGET", "cli1", "cli2"]).starts_with("CROSSSLOT"));
    assert!(redis_cli(node, &["CLUSTER", "INFO"]).contains("cluster_state:ok"));
}

/// valkey-benchmark asks for the slots and sends to every node.
fn valkey_benchmark_goes_to_every_node(cluster: &Cluster<'_>) {
    let load = ["--cluster", "-n", "20000", "-P", "16", "-r", "1000", "-t", "set,get", "-q"];
    let output = tool("valkey-benchmark", &[&connection(cluster)[..], &load].concat());
    let shown = text(&output);
    assert!(output.status.success() && !shown.contains("rror"), "{shown}");
    assert!(shown.contains("3 primary nodes"), "{shown}");
    assert!(shown.contains("SET: ") && shown.contains("GET: "), "{shown}");
}

/// The tool routes unknown commands by the hash tag in their first argument.
fn valkey_benchmark_creates_accounts_on_every_node(cluster: &Cluster<'_>) {
    assert_eq!(redis_cli(cluster, &["FLUSHALL", "FORCE"]), "OK\n");
    let load = ["--cluster", "-n", "2000", "-P", "8", "-r", "1000000000", "-q"];
    let create = ["SCUR.CREATE", "a{tag}__rand_int__", "BUCKET", "main", "cent", "5"];
    let output = tool("valkey-benchmark", &[&connection(cluster)[..], &load[..], &create].concat());
    assert!(output.status.success(), "{}", text(&output));
    let totals = redis_cli(cluster, &["SCUR.TOTALS"]);
    let accounts = totals.lines().nth(1).and_then(|count| count.parse::<u32>().ok());
    // Its last pipelines may exceed the requested number a little.
    assert!(accounts.is_some_and(|count| (2_000..2_500).contains(&count)), "{totals}");
}

#[test]
fn every_client_in_a_cluster_of_valkey() {
    let valkey = Peer::cluster();
    let cluster = Cluster { address: valkey.address(), password: "-", parts: VALKEY_PARTS };
    every_client(&cluster);
    redis_cli_follows(&cluster);
    valkey_benchmark_goes_to_every_node(&cluster);
}

#[test]
fn every_client_in_a_cluster_of_ours() {
    let server = Server::start(&["--threads", THREADS, "--requirepass", "secret"]);
    let main = format!("127.0.0.1:{}", server.port);
    let cluster = Cluster { address: &main, password: "secret", parts: OUR_PARTS };
    every_client(&cluster);
    // The main port forwards; the port of a core answers MOVED.
    let slots = redis_cli(&cluster, &["CLUSTER", "SLOTS"]);
    let core = format!("127.0.0.1:{}", slots.lines().nth(3).expect("the first range's port"));
    redis_cli_follows(&Cluster { address: &core, ..cluster });
    valkey_benchmark_goes_to_every_node(&cluster);
    valkey_benchmark_creates_accounts_on_every_node(&cluster);
}

/// Checks the claim of ADR 28: the first account of a chain is where clients expect the key of an unknown command.
#[test]
fn clients_send_chains_to_the_node_of_their_accounts() {
    let server = Server::start(&["--threads", THREADS]);
    let main = format!("127.0.0.1:{}", server.port);
    let cluster = Cluster { address: &main, password: "-", parts: "chains" };
    let moved = |session: &dyn Fn()| {
        assert_eq!(redis_cli(&cluster, &["CONFIG", "RESETSTAT"]), "OK\n");
        session();
        delete_accounts(&cluster);
        let errors = redis_cli(&cluster, &["INFO", "errorstats"]);
        errors.lines().any(|line| line.starts_with("errorstat_MOVED:"))
    };
    for protocol in [2, 3] {
        let session = Session {
            address: cluster.address,
            mode: "cluster",
            protocol,
            password: cluster.password,
            parts: cluster.parts,
        };
        for (name, program) in ALL.into_iter().chain([("valkey-glide", &GLIDE)]) {
            let was_moved = moved(&|| {
                let (right, shown) = program.run(&session);
                assert!(right, "{name} in RESP{protocol}: {shown}");
            });
            // ioredis sends an unknown command to any node.
            assert_eq!(was_moved, name == "ioredis", "{name} in RESP{protocol}");
        }
    }
    for protocol in [redis::ProtocolVersion::RESP2, redis::ProtocolVersion::RESP3] {
        let session = || redis_rs::in_cluster(&main, protocol, cluster.password, cluster.parts);
        assert!(!moved(&session), "redis-rs in {protocol:?}");
    }
}
