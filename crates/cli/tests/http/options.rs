//! OPTIONS: the allowed methods of a path, and the health check of HAProxy's `option httpchk`.

use crate::charging::open;
use crate::store::{Store, say};
use crate::support::Door;
use std::net::TcpListener;

/// Returns the status of an answer and its header Allow.
fn options(port: u16, target: &str) -> (String, String) {
    // As `option httpchk` sends it: HTTP/1.0 without Host.
    let answer = say(port, format!("OPTIONS {target} HTTP/1.0\r\n\r\n").as_bytes());
    let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
    let allow = answer.lines().find_map(|line| line.strip_prefix("allow: "));
    (status, allow.unwrap_or_default().to_owned())
}

#[test]
fn a_check_that_sends_options_finds_every_door_up_and_ready() {
    let store = Store::start(&[]);
    let (_nodes, door) = open();
    for port in [store.http_port, door.port()] {
        let of_health = |status: &str| (status.to_owned(), "GET,HEAD,OPTIONS".to_owned());
        assert_eq!(options(port, "/"), of_health("204"));
        assert_eq!(options(port, "/healthz"), of_health("200"));
        assert_eq!(options(port, "/readyz"), of_health("200"));
        assert_eq!(options(port, "/v1/accounts/alice/debits").0, "204");
        assert_eq!(options(port, "/v1/accounts/alice/debits").1, "POST,OPTIONS");
        assert_eq!(options(port, "/v1/nothing").0, "404");
        let (status, allow) = options(port, "*");
        assert!(status == "204" && allow.contains("PATCH"), "{status} {allow}");
    }
}

#[test]
fn a_door_that_is_not_ready_says_so_to_options_too() {
    // Connections there are never accepted.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = silent.local_addr().expect("it has one").to_string();
    drop(silent);
    let door = Door::charging(&address, &["--patience-ms", "100"]);
    assert_eq!(door.get("/readyz").0, 503);
    assert_eq!(options(door.port(), "/readyz").0, "503");
    assert_eq!(options(door.port(), "/healthz").0, "200");
}
