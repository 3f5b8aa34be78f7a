//! An answer over HTTP waits for the log of the store in which the door runs: if the log cannot sync the changes that
//! the answer shows, the client is told that the outcome is unknown, and never that the debit was done.

use crate::store::{Store, command, say};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Segment that begins after the one Change of [`start`].
const NEXT_SEGMENT: &str = "g1/0/log-00000000000000000002";

/// Returns the command under strace, which makes every sync of [`NEXT_SEGMENT`] fail with EIO.
fn without_sync(directory: &TempDir, serve: &Command) -> Command {
    let store = directory.path().join("store").canonicalize().expect("it is there");
    let mut strace = Command::new("strace");
    // The server is our own child (-D), and stops only at these calls.
    strace.args(["-D", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-P"]);
    strace.arg(store.join(NEXT_SEGMENT));
    strace.args(["-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO"]);
    strace.arg(serve.get_program()).args(serve.get_args());
    strace.env_remove("SCURRY_PASSWORD").env_remove("SCURRY_REQUIREPASS");
    strace
}

fn ask(store: &Store, method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    say(store.http_port, request.as_bytes())
}

/// Starts a store whose log accepts no sync from now on; it has the account `alice`.
fn start(directory: &TempDir) -> Store {
    let serve = || command(directory, &["--durability", "fsync"]);
    let of_process = || TempDir::new().expect("a directory");
    let store = Store::run(serve(), of_process());
    let account = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":1000}]}"#;
    let created = ask(&store, "PUT", "/v1/accounts/alice", "", account);
    assert!(created.starts_with("HTTP/1.1 201 "), "{created}");
    let (status, log) = store.stop();
    assert!(status.success(), "{log}");
    assert!(!Path::new(&directory.path().join("store").join(NEXT_SEGMENT)).exists());
    Store::run(without_sync(directory, &serve()), of_process())
}

#[test]
fn a_debit_that_the_log_has_not_synced_is_not_answered_as_done() {
    let directory = TempDir::new().expect("a directory");
    let store = start(&directory);
    let debit = r#"{"unit":"cent","amount":5}"#;
    let key = "Idempotency-Key: debit-1\r\n";
    let answer = ask(&store, "POST", "/v1/accounts/alice/debits", key, debit);
    // The mark of the idle log may have failed before: then the debit is refused.
    let is_unknown = answer.starts_with("HTTP/1.1 504 ") && answer.contains("OUTCOME_UNKNOWN");
    let is_refused = answer.starts_with("HTTP/1.1 503 ") && answer.contains("STORE_UNAVAILABLE");
    assert!(is_unknown || is_refused, "{answer}");
    for _ in 0..3 {
        let shown = ask(&store, "GET", "/v1/accounts/alice", "", "");
        assert!(
            shown.starts_with("HTTP/1.1 503 ") && shown.contains("the log has failed"),
            "{shown}"
        );
    }
}
