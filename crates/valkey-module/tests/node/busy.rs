//! Busy accounts, which are kept in parts: whatever the server does with a key, it stays one account.

use crate::product::products;
use crate::support::{Client, Node};

const DEBITS: u32 = 400;
const SESSIONS: u32 = 60;

fn fill(client: &mut Client, key: &str) {
    client.expect(&format!("SCUR.CREATE {key} BUCKET main cent 100000"), "[OK, 1]");
    for number in 0..DEBITS {
        let said = client.ask(&format!("SCUR.DEBIT {key} transaction-{number} cent 1"));
        assert!(said.starts_with("[OK, "), "{said}");
    }
    for number in 0..SESSIONS {
        let line =
            format!("SCUR.RESERVE {key} session-{number} 0 TCC 600000 ITEM 1 cent REQUESTED 2");
        let said = client.ask(&line);
        assert!(said.starts_with("[OK, "), "{said}");
    }
}

/// Checks that the account behaves as where it was filled: duplicates, refunds, open sessions.
fn goes_on(client: &mut Client, key: &str) {
    let again = client.ask(&format!("SCUR.DEBIT {key} transaction-7 cent 1"));
    assert!(again.ends_with(", 9, 1]"), "the version of the answer then: {again}");
    let said = client.ask(&format!("SCUR.REFUND {key} refund-1 transaction-8"));
    assert!(said.starts_with("[OK, "), "{said}");
    let said = client.ask(&format!("SCUR.REFUND {key} refund-2 transaction-8"));
    assert!(said.contains("NOT_APPLICABLE"), "{said}");
    let used = format!("SCUR.TERMINATE {key} session-9 1 ITEM 1 cent USED 2");
    assert!(client.ask(&used).starts_with("[OK, "));
    client.expect(&format!("SCUR.CHECK {key} cent 1"), "[OK, 99481]");
    let totals = client.ask("SCUR.TOTALS");
    assert!(totals.contains(&format!("sessions, {}", SESSIONS - 1)), "{totals}");
}

#[test]
fn a_busy_account_survives_files_of_every_kind() {
    for product in products() {
        for settings in [
            &["--appendonly", "yes", "--appendfsync", "always", "--save", ""][..],
            &["--appendonly", "no", "--save", "3600 1"],
        ] {
            let node = Node::with(product, settings);
            let mut client = node.connect();
            fill(&mut client, "tenant");
            let digest = client.digest("tenant");
            if settings[1] == "no" {
                client.expect("SAVE", "OK");
            }
            let node = node.crash_and_restart();
            let mut client = node.connect();
            assert_eq!(client.digest("tenant"), digest, "{product:?} {settings:?}");
            // A rewritten file contains the account as a whole.
            client.ask("BGREWRITEAOF");
            client.until("INFO persistence", |info| info.contains("aof_rewrite_in_progress:0"));
            goes_on(&mut client, "tenant");
        }
    }
}

#[test]
fn an_account_longer_than_a_client_may_send_survives_a_rewritten_file_of_commands() {
    for product in products() {
        let settings = ["--appendonly", "yes", "--save", "", "--aof-use-rdb-preamble", "no"];
        let node = Node::with(product, &settings);
        let mut client = node.connect();
        client.expect("SCUR.CREATE tenant BUCKET main cent 100000", "[OK, 1]");
        // Each transaction is remembered in about a hundred bytes.
        for number in 0..12_000 {
            let said = client.ask(&format!("SCUR.DEBIT tenant {number:064} cent 1"));
            assert!(said.starts_with("[OK, 0, "), "{said}");
        }
        assert!(client.bytes("SCUR.DUMP tenant").len() > 1024 * 1024);
        let digest = client.digest("tenant");
        client.ask("BGREWRITEAOF");
        client.until("INFO persistence", |info| {
            info.contains("aof_rewrite_in_progress:0")
                && info.contains("aof_rewrite_scheduled:0")
                && info.contains("aof_last_bgrewrite_status:ok")
                && !info.contains("aof_rewrites:0")
        });
        let node = node.crash_and_restart();
        let mut client = node.connect();
        assert_eq!(client.digest("tenant"), digest, "{product:?}");
        let again = client.ask(&format!("SCUR.DEBIT tenant {:064} cent 1", 7));
        assert_eq!(again, "[OK, 1, 9, 1]", "{product:?}");
    }
}

#[test]
fn a_busy_account_is_copied_moved_and_freed_as_one() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        fill(&mut client, "tenant");
        let digest = client.digest("tenant");
        let image = client.bytes("SCUR.DUMP tenant");
        assert_eq!(client.send(&[b"SCUR.LOAD", b"copy", &image]), "OK");
        assert_eq!(client.digest("copy"), digest, "{product:?}");
        let dump = client.bytes("DUMP tenant");
        assert_eq!(client.send(&[b"RESTORE", b"restored", b"0", &dump]), "OK");
        assert_eq!(client.digest("restored"), digest, "{product:?}");
        client.expect("RENAME restored renamed", "OK");
        let memory: i64 = client.ask("MEMORY USAGE renamed").parse().expect("a number");
        assert!(memory > 400 * 30, "{memory}");
        client.expect("DEL copy", "1");
        client.expect("UNLINK renamed", "1");
        // Loaded over itself: the annex is replaced too.
        assert_eq!(client.send(&[b"SCUR.LOAD", b"tenant", &image, b"REPLACE"]), "OK");
        assert_eq!(client.digest("tenant"), digest, "{product:?}");
        client.until("SCUR.TOTALS", |totals| totals.starts_with("[accounts, 1, sessions, 60,"));
        goes_on(&mut client, "tenant");
        client.expect("FLUSHALL ASYNC", "OK");
        client.until("SCUR.TOTALS", |totals| totals.starts_with("[accounts, 0, sessions, 0,"));
    }
}

#[test]
fn a_replica_of_a_busy_account_is_the_same_and_goes_on() {
    for product in products() {
        let (primary, replica) = (Node::start(product), Node::start(product));
        let (mut client, mut copy) = (primary.connect(), replica.connect());
        fill(&mut client, "before");
        copy.expect(&format!("REPLICAOF 127.0.0.1 {}", primary.port), "OK");
        copy.until("INFO replication", |info| info.contains("master_link_status:up"));
        // One account that was copied as a whole, and one that arrived Change by Change.
        client.expect("DEL before", "1");
        fill(&mut client, "tenant");
        for number in 0..30 {
            client.ask(&format!(
                "SCUR.UPDATE tenant session-{number} 1 ITEM 1 cent USED 1 REQUESTED 3"
            ));
            client.ask(&format!("SCUR.REFUND tenant back-{number} transaction-{number}"));
        }
        client.expect("WAIT 1 20000", "1");
        assert_eq!(copy.digest("tenant"), client.digest("tenant"), "{product:?}");
        assert_eq!(copy.ask("SCUR.TOTALS"), client.ask("SCUR.TOTALS"));
        copy.expect("REPLICAOF NO ONE", "OK");
        let said = copy.ask("SCUR.REFUND tenant again transaction-3");
        assert!(said.contains("NOT_APPLICABLE"), "{said}");
        let said = copy.ask("SCUR.TERMINATE tenant session-3 2 ITEM 1 cent USED 1");
        assert!(said.starts_with("[OK, "), "{said}");
    }
}
