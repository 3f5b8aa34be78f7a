//! The HTTP door in a store whose log is stopped for a while, or has failed in one thread. Requests that arrive while
//! replies wait for the log are executed, so that the next sync covers them. Requests for a failed log are refused, and
//! others do not wait for it.

use crate::page::Page;
use crate::store::{Store, command, say};
use std::thread;
use tempfile::TempDir;

/// Creates an account and returns the status.
fn create(port: u16, account: &str) -> String {
    let body = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":5}]}"#;
    let head = format!("PUT /v1/accounts/{account} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    let rest = "Content-Type: application/json\r\nConnection: close\r\n";
    let request = format!("{head}{rest}Content-Length: {}\r\n\r\n{body}", body.len());
    status(&say(port, request.as_bytes()))
}

fn status(answer: &str) -> String {
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer}")).to_owned()
}

#[test]
fn a_failed_log_of_one_thread_leaves_the_door_to_the_others() {
    let directory = TempDir::new().expect("a directory");
    let log = directory.path().join("store/g1/1");
    let store = Store::run(command(&directory, &["--threads", "2"]), directory);
    let port = store.http_port;
    // A removed directory stands for a device that fails.
    std::fs::remove_dir_all(log).expect("it is removed");
    // Account a belongs to the second thread, b to the first.
    assert_eq!(create(port, "b"), "201");
    // The outcome is unknown.
    assert_eq!(create(port, "a"), "504");
    for _ in 0..3 {
        for path in ["/v1/accounts/a", "/v1/totals"] {
            let (status, body) = store.get(path);
            assert_eq!(status, 503, "{path}: {body}");
            assert!(body.contains("MISCONF"), "{path}: {body}");
        }
        let (status, body) = store.get("/v1/accounts/b");
        assert_eq!(status, 200, "{body}");
        assert_eq!(create(port, "a"), "503");
    }
    assert_eq!(create(port, "bar"), "201");
    let (status, body) = store.get("/readyz");
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("the log of core 1 has failed"), "{body}");
    assert_eq!(store.get("/healthz").0, 200);
    assert_eq!(store.metrics().sum("scurry_log_trouble", &[("core", "1")]), 2.0);
    let (status, log) = store.stop();
    assert!(status.success(), "{log}");
}

/// Returns how often a command was executed, whether answered or not.
fn executed(page: &Page, command: &str) -> f64 {
    page.sum("scurry_commands_total", &[("command", command)])
}

#[test]
fn what_is_asked_while_replies_wait_for_the_log_is_executed() {
    for threads in ["1", "2"] {
        let store = Store::start(&["--threads", threads, "--durability", "fsync"]);
        let port = store.http_port;
        store.limit_files("0");
        let creation = thread::spawn(move || create(port, "a"));
        store.metrics_when(|page| executed(page, "scur.create") == 1.0);
        // The read shows a change that is not in the log yet, so its reply waits too.
        let get = thread::spawn(move || {
            let head = "GET /v1/accounts/a HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n";
            status(&say(port, [head, "\r\n"].concat().as_bytes()))
        });
        store.metrics_when(|page| executed(page, "scur.get") == 1.0);
        store.limit_files("unlimited");
        // On a busy machine the door may give up on an answer after some seconds.
        for (answer, status) in [(creation, "201"), (get, "200")] {
            let said = answer.join().expect("it ends");
            assert!([status, "504"].contains(&said.as_str()), "{said}");
        }
        let (status, body) = store.get("/v1/accounts/a");
        assert_eq!(status, 200, "{body}");
    }
}
