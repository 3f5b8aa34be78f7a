//! Clients in common use. This file has the tools that come with Redis and Valkey. The submodules have the libraries of
//! five languages, each with the same short session, and again with the server as a cluster.

mod cluster;
mod libraries;
mod litellm;
pub(crate) mod peer;
mod programs;
mod python_client;
mod redis_rs;
mod uses;

use crate::support::{Server, tool};
use std::process::Output;

/// Returns stdout followed by stderr.
fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn redis_cli(server: &Server, arguments: &[&str]) -> String {
    let port = server.port.to_string();
    let output = tool("redis-cli", &[&["-p", &port], arguments].concat());
    assert!(output.status.success(), "redis-cli {arguments:?}: {}", text(&output));
    text(&output)
}

#[test]
fn redis_cli_in_both_protocols() {
    for protocol in ["-2", "-3"] {
        let server = Server::start(&[]);
        let cli = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            redis_cli(&server, &[&[protocol][..], &words].concat())
        };
        assert_eq!(cli("PING"), "PONG\n");
        assert_eq!(cli("SET greeting hello"), "OK\n");
        assert_eq!(cli("GET greeting"), "hello\n");
        assert_eq!(cli("SCUR.CREATE alice BUCKET main cent 1000"), "OK\n1\n");
        assert_eq!(
            cli("SCUR.RESERVE alice call 0 ITEM 1 cent REQUESTED 200"),
            "OK\n0\n1\n1\nOK\n200\n0\n0\n"
        );
        assert_eq!(
            cli("SCUR.TERMINATE alice call 1 ITEM 1 cent USED 150"),
            "OK\n0\n0\n1\nOK\n0\n0\n0\n"
        );
        assert_eq!(cli("SCUR.DEBIT alice t cent 900"), "CREDIT_LIMIT_REACHED\n0\n4\n0\nbalance\n");
        assert!(cli("SCUR.GET bob").starts_with("UNKNOWN_ACCOUNT 20 "), "{}", cli("SCUR.GET bob"));
        assert!(cli("SCUR.AUDIT alice").starts_with("ok"), "{}", cli("SCUR.AUDIT alice"));
        assert!(cli("INFO").contains("accounts:1"), "{}", cli("INFO"));
        assert!(cli("COMMAND DOCS").contains("scur.reserve"));
        assert!(cli("CLIENT LIST").contains("cmd=client|list"));
        assert_eq!(cli("COMMAND GETKEYS MSET a 1 b 2"), "a\nb\n");
    }
}

#[test]
fn redis_cli_shows_maps_in_resp3() {
    let server = Server::start(&[]);
    redis_cli(&server, &["SCUR.CREATE", "a", "BUCKET", "m", "cent", "5"]);
    let shown = redis_cli(&server, &["-3", "--no-raw", "SCUR.AUDIT", "a"]);
    assert!(
        shown.starts_with("1# \"ok\" => (integer) 1\n2# \"version\" => (integer) 1\n"),
        "{shown}"
    );
}

#[test]
fn redis_benchmark_runs_its_own_tests_and_ours() {
    benchmark_runs_its_own_tests_and_ours("redis-benchmark");
}

#[test]
fn valkey_benchmark_runs_its_own_tests_and_ours() {
    benchmark_runs_its_own_tests_and_ours("valkey-benchmark");
}

fn benchmark_runs_its_own_tests_and_ours(benchmark: &str) {
    let server = Server::start(&[]);
    redis_cli(&server, &["SCUR.CREATE", "alice", "BUCKET", "main", "cent", "1000000"]);
    let port = server.port.to_string();
    let bench = |arguments: &[&str]| {
        let common = ["-p", port.as_str(), "-n", "20000", "-P", "16", "-q", "--csv"];
        let output = tool(benchmark, &[&common, arguments].concat());
        let shown = text(&output);
        assert!(output.status.success(), "{shown}");
        assert!(!shown.to_ascii_lowercase().contains("err"), "{shown}");
        shown
    };
    let shown = bench(&["-t", "ping,set,get,incr,mset", "-r", "1000"]);
    assert!(shown.contains("\"SET\"") && shown.contains("\"GET\""), "{shown}");
    bench(&["SCUR.CHECK", "alice", "cent", "10"]);
    bench(&["-3", "SCUR.GET", "alice"]);
    bench(&["SCUR.TOPUP", "alice", "txn", "main", "1"]);
    let counted = redis_cli(&server, &["INFO", "scurry"]);
    assert!(counted.contains("replays:19999"), "{counted}");
    let audit = redis_cli(&server, &["SCUR.AUDIT", "alice"]);
    assert!(audit.contains("1000001"), "{audit}");
}
