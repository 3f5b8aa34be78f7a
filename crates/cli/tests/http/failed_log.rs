//! The door beside a store one of whose threads has lost its log: what is that thread's is refused,
//! and nothing waits behind it. A directory that is gone stands for the device.

use crate::store::{Store, command, say};
use tempfile::TempDir;

/// The status of an account's creation.
fn create(store: &Store, account: &str) -> String {
    let body = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":5}]}"#;
    let head = format!("PUT /v1/accounts/{account} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    let rest = "Content-Type: application/json\r\nConnection: close\r\n";
    let request = format!("{head}{rest}Content-Length: {}\r\n\r\n{body}", body.len());
    let answer = say(store.http_port, request.as_bytes());
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer}")).to_owned()
}

#[test]
fn a_failed_log_of_one_thread_leaves_the_door_to_the_others() {
    let directory = TempDir::new().expect("a directory");
    let log = directory.path().join("store/g1/1");
    let store = Store::run(command(&directory, &["--threads", "2"]), directory);
    std::fs::remove_dir_all(log).expect("it is removed");
    // Account a is the second thread's, b the first one's.
    assert_eq!(create(&store, "b"), "201");
    // Whether it was done nobody knows.
    assert_eq!(create(&store, "a"), "504");
    for _ in 0..3 {
        for path in ["/v1/accounts/a", "/v1/totals"] {
            let (status, body) = store.get(path);
            assert_eq!(status, 503, "{path}: {body}");
            assert!(body.contains("MISCONF"), "{path}: {body}");
        }
        let (status, body) = store.get("/v1/accounts/b");
        assert_eq!(status, 200, "{body}");
        assert_eq!(create(&store, "a"), "503");
    }
    assert_eq!(create(&store, "bar"), "201");
    let (status, body) = store.get("/readyz");
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("the log of core 1 has failed"), "{body}");
    assert_eq!(store.get("/healthz").0, 200);
    assert_eq!(store.metrics().sum("scurry_log_trouble", &[("core", "1")]), 2.0);
    let (status, log) = store.stop();
    assert!(status.success(), "{log}");
}
