//! SCUR.CHAIN on a server: its key positions, the permissions that it needs, and that replicas and files get all of it
//! or nothing.

use crate::product::products;
use crate::support::{Client, Node};

const TRANSFER: &str = "SCUR.CHAIN {b}1 4 DEBIT t1 cent 30 {b}2 4 TOPUP t1 main 30";
const DONE: &str = "[OK, 0, 0, [[OK, 0, 2, 30], [OK, 0, 2, 130]]]";

fn create(client: &mut Client) {
    client.expect("SCUR.CREATE {b}1 BUCKET main cent 100", "[OK, 1]");
    client.expect("SCUR.CREATE {b}2 BUCKET main cent 100", "[OK, 1]");
}

#[test]
fn a_chain_is_one_step_for_a_replica_and_for_files() {
    for product in products() {
        let primary = Node::with(product, &["--appendonly", "yes"]);
        let replica = Node::start(product);
        let (mut client, mut copy) = (primary.connect(), replica.connect());
        copy.expect(&format!("REPLICAOF 127.0.0.1 {}", primary.port), "OK");
        copy.until("INFO replication", |info| info.contains("master_link_status:up"));
        create(&mut client);
        client.expect(TRANSFER, DONE);
        let denied = "SCUR.CHAIN {b}1 4 DEBIT t2 cent 99 {b}2 4 DEBIT t2 cent 1";
        client.expect(
            denied,
            "[CREDIT_LIMIT_REACHED, 0, 1, [[CREDIT_LIMIT_REACHED, 0, 3, 0, balance], \
             [CHAIN_DENIED, 0, 3, 0, chain]]]",
        );
        client.expect("WAIT 1 20000", "1");
        for key in ["{b}1", "{b}2"] {
            assert_eq!(copy.digest(key), client.digest(key), "{product:?} {key}");
        }
        let digests = ["{b}1", "{b}2"].map(|key| client.digest(key));
        client.expect("DEBUG LOADAOF", "OK");
        assert_eq!(digests, ["{b}1", "{b}2"].map(|key| client.digest(key)), "{product:?}");
        client.expect(TRANSFER, "[OK, 1, 0, [[OK, 1, 2, 30], [OK, 1, 2, 130]]]");
    }
}

#[test]
fn nothing_is_done_when_one_command_is_refused() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        create(&mut client);
        client.expect("SET {b}3 1", "OK");
        for (rest, refusal) in [
            ("{b}3 4 DEBIT t cent 1", "!WRONGTYPE"),
            ("{b}4 4 DEBIT t cent 1", "!UNKNOWN_ACCOUNT 20 command 2, account {b}4: "),
            ("{b}1 4 DEBIT u cent 1", "!INVALID 10 command 2, account {b}1: "),
            (
                "{c}1 4 DEBIT t cent 1",
                "!CROSSSLOT Keys in request don't hash to the same slot: all accounts",
            ),
            ("{b}2 9 DEBIT t cent 1", "!INVALID 10 command 2, account {b}2: "),
        ] {
            let said = client.ask(&format!("SCUR.CHAIN {{b}}1 4 DEBIT t cent 1 {rest}"));
            assert!(said.starts_with(refusal), "{product:?} {rest}: {said}");
        }
        client.expect("SCUR.CHECK {b}1 cent 100", "[OK, 100]");
        client.expect("EXISTS {b}4", "0");
        // In a transaction and a script as on its own.
        client.expect("MULTI", "OK");
        client.expect(TRANSFER, "QUEUED");
        assert_eq!(client.exec(), [DONE]);
        let script = "return redis.call('SCUR.CHAIN', KEYS[1], 4, 'DEBIT', 't1', 'cent', 30,
            KEYS[2], 4, 'TOPUP', 't1', 'main', 30)[2]";
        let said = client.send(&[b"EVAL", script.as_bytes(), b"2", b"{b}1", b"{b}2"]);
        assert_eq!(said, "1", "{product:?}");
    }
}

#[test]
fn a_chain_asks_for_the_permission_of_a_top_up() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        create(&mut client);
        client.expect("ACL SETUSER charger on >secret ~{b}1 ~{b}2 +scur.chain", "OK");
        client.expect("AUTH charger secret", "OK");
        let said = client.ask(TRANSFER);
        assert!(said.starts_with("!NOPERM") && said.contains("scur.topup"), "{said}");
        let said = client.ask("SCUR.CHAIN {b}1 4 DEBIT t cent 1 {b}3 4 DEBIT t cent 1");
        assert!(said.starts_with("!NOPERM") && said.contains("key"), "{said}");
        client.expect(
            "SCUR.CHAIN {b}1 4 DEBIT t cent 1 {b}2 4 DEBIT t cent 1",
            "[OK, 0, 0, [[OK, 0, 2, 1], [OK, 0, 2, 1]]]",
        );
    }
}

#[test]
fn a_node_of_a_cluster_looks_at_every_key() {
    for product in products() {
        let node = Node::cluster(product);
        let mut client = node.connect();
        create(&mut client);
        client.expect(TRANSFER, DONE);
        let said = client.ask("SCUR.CHAIN {b}1 4 DEBIT t cent 1 {c}1 4 DEBIT t cent 1");
        assert!(said.starts_with("!CROSSSLOT"), "{said}");
    }
}
