//! Clients in common use over TLS: redis-cli, valkey-cli, redis-benchmark, redis-py.

use super::{Certificates, start};
use crate::access::{CHEAP, settings};
use crate::support::{Server, python, tool};
use std::process::Output;

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn run(cli: &str, server: &Server, ca: &str, arguments: &[&str]) -> String {
    let port = server.port.to_string();
    let output = tool(cli, &[&["-p", &port, "--tls", "--cacert", ca], arguments].concat());
    text(&output)
}

#[test]
fn command_line_clients() {
    let files = Certificates::make("cli");
    let server = start(&files, &[]);
    for cli in ["redis-cli", "valkey-cli"] {
        for protocol in ["-2", "-3"] {
            let ask = |words: &[&str]| run(cli, &server, &files.ca, &[&[protocol], words].concat());
            assert_eq!(ask(&["SET", "k", "hello"]), "OK\n");
            assert_eq!(ask(&["GET", "k"]), "hello\n");
            assert!(ask(&["INFO"]).contains("redis_version"));
        }
        let wrong = run(cli, &server, &files.other_ca, &["PING"]);
        assert!(wrong.contains("certificate verify failed"), "{cli}: {wrong}");
    }
    let (certificate, key) = &files.expired_server;
    let server = Server::start(&["--tls-cert", certificate, "--tls-key", key]);
    let expired = run("redis-cli", &server, &files.ca, &["PING"]);
    assert!(expired.contains("certificate verify failed"), "{expired}");
}

#[test]
fn redis_cli_with_a_certificate_and_a_user() {
    let files = Certificates::make("cli-user");
    let path = settings("tls-cli-user", "", &[("alice", CHEAP, "'read', 'charge'")]);
    let path = path.to_str().expect("UTF-8");
    let server = start(&files, &["--tls-client-ca", &files.ca, "--config", path]);
    let own = ["--cert", &files.client.0, "--key", &files.client.1, "--no-auth-warning"];
    let ask = |words: &[&str]| run("redis-cli", &server, &files.ca, &[&own, words].concat());
    assert!(ask(&["PING"]).starts_with("NOAUTH"));
    let user = ["--user", "alice", "--pass", "password"];
    assert_eq!(ask(&[&user[..], &["ACL", "WHOAMI"]].concat()), "alice\n");
    assert!(ask(&[&user[..], &["FLUSHALL"]].concat()).starts_with("NOPERM User alice"));
    let without = run("redis-cli", &server, &files.ca, &["PING"]);
    assert!(without.starts_with("Error") || without.contains("Could not connect"), "{without}");
}

#[test]
fn redis_benchmark_over_tls() {
    let files = Certificates::make("benchmark");
    let server = start(&files, &[]);
    let port = server.port.to_string();
    let common = ["-p", &port, "--tls", "--cacert", &files.ca, "-n", "20000", "-P", "16", "-q"];
    let output = tool("redis-benchmark", &[&common[..], &["--csv", "-t", "set,get"]].concat());
    let shown = text(&output);
    assert!(output.status.success() && shown.contains("\"GET\""), "{shown}");
    assert!(!shown.to_ascii_lowercase().contains("err"), "{shown}");
}

#[test]
fn redis_py_with_ssl_and_a_user() {
    let files = Certificates::make("py");
    let path = settings("tls-py", "", &[("alice", CHEAP, "'read', 'charge'")]);
    let path = path.to_str().expect("UTF-8");
    let server = start(&files, &["--tls-client-ca", &files.ca, "--config", path]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/tls.py");
    let port = server.port.to_string();
    for protocol in ["2", "3"] {
        let (certificate, key) = &files.client;
        let arguments = [script, &port, &files.ca, &files.other_ca, certificate, key, protocol];
        let output = tool(&python(), &arguments);
        assert!(output.status.success(), "protocol {protocol}: {}", text(&output));
    }
}
