//! Effects of the generic key commands on accounts, by users who may execute them: totals and timers follow, and
//! nothing exists twice.

use crate::product::products;
use crate::support::{Client, Node};

const NOTHING: &str = "[accounts, 0, sessions, 0, units, [[cent, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]]";
const RELEASED: &str =
    "[accounts, 1, sessions, 0, units, [[cent, 100, 0, 100, 0, 0, 0, 0, 0, 0, 0]]]";
const HELD: &str = "[accounts, 1, sessions, 1, units, [[cent, 60, 40, 100, 0, 0, 0, 0, 0, 0, 0]]]";

/// Creates an account of 100 with a session that holds 40 and whose Tcc ends.
fn open(client: &mut Client, account: &str, tcc_ms: u32) {
    client.expect(&format!("SCUR.CREATE {account} BUCKET main cent 100"), "[OK, 1]");
    let line = format!("SCUR.RESERVE {account} s 0 TCC {tcc_ms}ms ITEM 1 cent REQUESTED 40");
    client.expect(&line, "[OK, 0, 1, [[1, OK, 40, 0, 0]]]");
}

#[test]
fn a_flushed_database_takes_its_timers_and_no_others() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        for how in ["SYNC", "ASYNC"] {
            for number in 0..50 {
                open(&mut client, &format!("a{number}"), 400);
            }
            client.expect("SELECT 1", "OK");
            open(&mut client, "alice", 400);
            client.expect("SELECT 0", "OK");
            client.expect(&format!("FLUSHDB {how}"), "OK");
            client.until("SCUR.TOTALS", |totals| totals == HELD);
            // Sessions with the same names and a later end are not ended by the old timers.
            open(&mut client, "a7", 600_000);
            client.until("SCUR.TOTALS", |totals| totals.starts_with("[accounts, 2, sessions, 1"));
            client.expect("SCUR.CHECK a7 cent 61", "[CREDIT_LIMIT_REACHED, 60, balance]");
            client.expect(&format!("FLUSHALL {how}"), "OK");
            client.until("SCUR.TOTALS", |totals| totals == NOTHING);
        }
    }
}

#[test]
fn accounts_of_databases_that_change_places_are_released_where_they_are() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        open(&mut client, "alice", 300);
        client.expect("SELECT 1", "OK");
        client.expect("SCUR.CREATE alice", "[OK, 1]");
        client.expect("SWAPDB 0 1", "OK");
        client.until("SCUR.TOTALS", |totals| totals.starts_with("[accounts, 2, sessions, 0"));
        // The account is alice of the former database 0, and its expiry was committed here.
        let audit = client.ask("SCUR.AUDIT alice");
        assert!(audit.starts_with("[ok, 1, version, 3, "), "{audit}");
        client.expect("SELECT 0", "OK");
        let audit = client.ask("SCUR.AUDIT alice");
        assert!(audit.starts_with("[ok, 1, version, 1, "), "{audit}");
    }
}

#[test]
fn an_account_that_is_moved_to_another_database_is_released_there() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        open(&mut client, "alice", 300);
        client.expect("MOVE alice 2", "1");
        client.expect(
            "SCUR.GET alice",
            "!UNKNOWN_ACCOUNT 20 no account has this id: create it with SCUR.CREATE",
        );
        client.until("SCUR.TOTALS", |totals| totals == RELEASED);
        client.expect("SELECT 2", "OK");
        client.expect("SCUR.CHECK alice cent 100", "[OK, 100]");
    }
}

#[test]
fn an_account_that_is_renamed_over_another_leaves_one_of_them() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        open(&mut client, "alice", 600_000);
        open(&mut client, "bob", 200);
        client.expect("RENAMENX alice bob", "0");
        client.expect("RENAME alice bob", "OK");
        client.until("SCUR.TOTALS", |totals| totals == HELD);
        // Bob's timer was removed with him: the account that has his name now still holds its units when it would have
        // fired.
        open(&mut client, "carol", 400);
        client.until("SCUR.TOTALS", |totals| totals.starts_with("[accounts, 2, sessions, 1"));
        client.expect("SCUR.CHECK bob cent 61", "[CREDIT_LIMIT_REACHED, 60, balance]");
    }
}

#[test]
fn no_command_copies_an_account() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        open(&mut client, "alice", 600_000);
        for line in ["COPY alice bob", "COPY alice bob REPLACE", "COPY alice alice DB 1"] {
            let said = client.ask(line);
            assert!(said.starts_with('!'), "{line}: {said}");
        }
        client.expect("SCUR.TOTALS", HELD);
        client.expect("DBSIZE", "1");
    }
}

#[test]
fn an_account_that_is_made_to_expire_is_gone_with_all_that_it_had() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        open(&mut client, "alice", 600_000);
        client.expect("PEXPIRE alice 600000", "1");
        client.expect("SCUR.DEBIT alice d cent 1", "[OK, 0, 3, 1]");
        let left: i64 = client.ask("PTTL alice").parse().expect("a number");
        assert!((1..=600_000).contains(&left), "a command leaves it: {left}");
        client.expect("PERSIST alice", "1");
        client.expect("PTTL alice", "-1");
        client.expect("PEXPIRE alice 50", "1");
        client.until("SCUR.TOTALS", |totals| totals == NOTHING);
        client.expect("SCUR.CREATE alice", "[OK, 1]");
        client.expect("EXPIREAT alice 1", "1");
        client.until("SCUR.TOTALS", |totals| totals == NOTHING);
    }
}

#[test]
fn an_account_that_is_overwritten_is_gone_with_all_that_it_had() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        for line in [
            "SET alice plain",
            "GETSET alice plain",
            "SET alice plain GET",
            "RENAME other alice",
            "SINTERSTORE alice none",
            "LMOVE list alice LEFT LEFT",
            "UNLINK alice",
        ] {
            open(&mut client, "alice", 100);
            client.expect("SET other 1", "OK");
            client.expect("RPUSH list 1", "1");
            let said = client.ask(line);
            if said.starts_with('!') {
                assert!(said.starts_with("!WRONGTYPE"), "{line}: {said}");
                client.until("SCUR.TOTALS", |totals| totals == RELEASED);
            } else {
                // Its timer is gone too: nothing of the old account returns.
                open(&mut client, "bob", 150);
                client.until("SCUR.TOTALS", |totals| totals == RELEASED);
                let gone = client.ask("SCUR.GET alice");
                assert!(
                    gone.starts_with("!WRONGTYPE") || gone.starts_with("!UNKNOWN"),
                    "{line}: {gone}"
                );
            }
            client.expect("FLUSHALL", "OK");
        }
    }
}
