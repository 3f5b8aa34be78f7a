//! A replica has its primary's data, decides nothing, and continues when it becomes the primary.

use crate::product::{Product, products};
use crate::support::{Client, Node};

/// Starts a primary and a replica that has caught up, with a client for each.
fn pair(product: Product, settings: &[&str]) -> [(Node, Client); 2] {
    let primary = Node::start(product);
    let replica = Node::with(product, settings);
    let mut clients = [primary.connect(), replica.connect()];
    clients[1].expect(&format!("REPLICAOF 127.0.0.1 {}", primary.port), "OK");
    clients[1].until("INFO replication", |info| info.contains("master_link_status:up"));
    let [first, second] = clients;
    [(primary, first), (replica, second)]
}

/// Waits until the replica has the client's writes.
fn caught_up(client: &mut Client) {
    client.expect("WAIT 1 20000", "1");
}

#[test]
fn a_replica_has_the_same_accounts_and_says_no_to_writes() {
    for product in products() {
        let [(_primary, mut client), (_replica, mut copy)] = pair(product, &[]);
        client.expect("SCUR.CREATE alice BUCKET main cent 1000", "[OK, 1]");
        client.ask("SCUR.RESERVE alice s 0 ITEM 1 cent REQUESTED 200");
        client.ask("SCUR.UPDATE alice s 1 ITEM 1 cent USED 150 REQUESTED 100");
        client.ask("ENTITY.PUT e one");
        client.ask("ENTITY.DEL e");
        client.ask("MULTI");
        client.ask("SCUR.DEBIT alice d cent 5");
        client.ask("SCUR.CREATE bob BUCKET main cent 7");
        client.ask("EXEC");
        caught_up(&mut client);
        for key in ["alice", "bob", "e"] {
            assert_eq!(copy.digest(key), client.digest(key), "{product:?} {key}");
        }
        assert_eq!(copy.ask("SCUR.TOTALS"), client.ask("SCUR.TOTALS"));
        let refused = copy.ask("SCUR.DEBIT alice d2 cent 1");
        assert!(refused.starts_with("!READONLY"), "{refused}");
        // A writable replica decides nothing either.
        copy.expect("CONFIG SET replica-read-only no", "OK");
        let refused = copy.ask("SCUR.DEBIT alice d2 cent 1");
        assert!(refused.starts_with("!READONLY only the primary decides"), "{refused}");
        assert_eq!(copy.digest("alice"), client.digest("alice"));
    }
}

#[test]
fn a_full_copy_and_the_copys_own_file_are_the_same() {
    for product in products() {
        let primary = Node::start(product);
        let mut client = primary.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 1000", "[OK, 1]");
        let replica = Node::with(product, &["--appendonly", "yes", "--appendfsync", "always"]);
        let mut copy = replica.connect();
        copy.expect(&format!("REPLICAOF 127.0.0.1 {}", primary.port), "OK");
        copy.until("INFO replication", |info| info.contains("master_link_status:up"));
        copy.until("INFO persistence", |info| info.contains("aof_rewrite_in_progress:0"));
        client.expect("SCUR.DEBIT alice d cent 5", "[OK, 0, 2, 5]");
        caught_up(&mut client);
        let (digest, totals) = (client.digest("alice"), client.ask("SCUR.TOTALS"));
        assert_eq!(copy.digest("alice"), digest);
        // It was made a replica after it was started, so it restarts as an independent node.
        let restarted = replica.crash_and_restart();
        let mut copy = restarted.connect();
        assert_eq!((copy.digest("alice"), copy.ask("SCUR.TOTALS")), (digest, totals));
    }
}

#[test]
fn a_replica_lets_nothing_expire_until_it_is_the_primary() {
    for product in products() {
        let [(primary, mut client), (_replica, mut copy)] = pair(product, &[]);
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.expect("SCUR.CREATE bob BUCKET main cent 100", "[OK, 1]");
        client.ask("SCUR.RESERVE bob s 0 TCC 50ms ITEM 1 cent REQUESTED 40");
        // The primary ends Bob's session, and the replica receives that.
        client.until("SCUR.TOTALS", |totals| totals.starts_with("[accounts, 2, sessions, 0"));
        let digest = client.digest("bob");
        copy.until("DEBUG DIGEST-VALUE bob", |held| held == digest);
        client.ask("SCUR.RESERVE alice s 0 TCC 1500 ITEM 1 cent REQUESTED 40");
        caught_up(&mut client);
        drop(primary);
        // Alice's session ends while no primary runs: reads show it, but nothing is committed.
        copy.until("SCUR.GET alice", |account| account.ends_with("sessions, []]"));
        let totals = copy.ask("SCUR.TOTALS");
        assert!(totals.starts_with("[accounts, 2, sessions, 1"), "{totals}");
        copy.expect("REPLICAOF NO ONE", "OK");
        copy.until("SCUR.TOTALS", |totals| totals.starts_with("[accounts, 2, sessions, 0"));
    }
}

#[test]
fn a_duplicate_moves_the_offset_that_wait_waits_for() {
    for product in products() {
        let [(_primary, mut client), (_replica, _copy)] = pair(product, &[]);
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.expect("SCUR.DEBIT alice d cent 5", "[OK, 0, 2, 5]");
        let offset = |client: &mut Client| -> i64 {
            let info = client.ask("INFO replication");
            let line = info.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
            line.and_then(|offset| offset.trim().parse().ok()).expect("an offset")
        };
        let before = offset(&mut client);
        client.expect("SCUR.DEBIT alice d cent 5", "[OK, 1, 2, 5]");
        assert!(offset(&mut client) > before, "{product:?}");
        caught_up(&mut client);
    }
}
