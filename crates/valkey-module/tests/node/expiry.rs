//! Expiries without any request, only on the primary, also after a key was renamed.

use crate::product::products;
use crate::support::{Client, Node};

/// Opens a session whose Tcc ends soon.
fn open(client: &mut Client, account: &str, tcc_ms: u32) {
    client.expect(&format!("SCUR.CREATE {account} BUCKET main cent 100"), "[OK, 1]");
    let line = format!("SCUR.RESERVE {account} s 0 TCC {tcc_ms}ms ITEM 1 cent REQUESTED 40");
    client.expect(&line, "[OK, 0, 1, [[1, OK, 40, 0, 0]]]");
}

const RELEASED: &str =
    "[accounts, 1, sessions, 0, units, [[cent, 100, 0, 100, 0, 0, 0, 0, 0, 0, 0]]]";

#[test]
fn a_session_that_nobody_touches_is_released() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        open(&mut client, "alice", 50);
        client.until("SCUR.TOTALS", |totals| totals == RELEASED);
    }
}

#[test]
fn an_account_that_got_another_name_is_released_too() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        open(&mut client, "alice", 300);
        client.expect("RENAME alice bob", "OK");
        client.until("SCUR.TOTALS", |totals| totals == RELEASED);
    }
}

#[test]
fn an_account_that_comes_out_of_a_dump_is_released_too() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        open(&mut client, "alice", 300);
        let dump = client.bytes("DUMP alice");
        client.expect("DEL alice", "1");
        client.expect(
            "SCUR.TOTALS",
            "[accounts, 0, sessions, 0, units, [[cent, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]]",
        );
        assert_eq!(client.send(&[b"RESTORE", b"bob", b"0", &dump]), "OK");
        client.until("SCUR.TOTALS", |totals| totals == RELEASED);
    }
}

#[test]
fn an_account_that_comes_out_of_a_file_is_released_too() {
    for product in products() {
        let settings = ["--appendonly", "yes", "--appendfsync", "always"];
        let node = Node::with(product, &settings);
        open(&mut node.connect(), "alice", 600);
        let node = node.crash_and_restart();
        node.connect().until("SCUR.TOTALS", |totals| totals == RELEASED);
        // The release is in the file, once.
        let node = node.crash_and_restart();
        node.connect().expect("SCUR.TOTALS", RELEASED);
    }
}
