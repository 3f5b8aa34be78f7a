//! A store whose log takes nothing for a while: what the door is asked meanwhile is executed, so that
//! the next sync takes it along, and does not wait for the replies before it.

use crate::store::{Page, Store, say};
use std::thread;

/// Executed, answered or not.
fn executed(page: &Page, command: &str) -> f64 {
    page.sum("scurry_commands_total", &[("command", command)])
}

#[test]
fn what_is_asked_while_replies_wait_for_the_log_is_executed() {
    for threads in ["1", "2"] {
        let store = Store::start(&["--threads", threads, "--durability", "fsync"]);
        let port = store.http_port;
        store.limit_files("0");
        let create = thread::spawn(move || {
            let body = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":5}]}"#;
            let head = "PUT /v1/accounts/a HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n";
            let kind = "Content-Type: application/json\r\n";
            let length = format!("Content-Length: {}\r\n\r\n{body}", body.len());
            say(port, [head, kind, &length].concat().as_bytes())
        });
        store.metrics_when(|page| executed(page, "scur.create") == 1.0);
        // It shows what is not in the log yet, so its reply waits too.
        let get = thread::spawn(move || {
            let head = "GET /v1/accounts/a HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n";
            say(port, [head, "\r\n"].concat().as_bytes())
        });
        store.metrics_when(|page| executed(page, "scur.get") == 1.0);
        store.limit_files("unlimited");
        // The door gives an answer up that takes seconds, on a machine that is busy.
        for (answer, status) in [(create, "201"), (get, "200")] {
            let answer = answer.join().expect("it ends");
            let said = answer.split(' ').nth(1).unwrap_or_default();
            assert!([status, "504"].contains(&said), "{answer}");
        }
        let (status, body) = store.get("/v1/accounts/a");
        assert_eq!(status, 200, "{body}");
    }
}
