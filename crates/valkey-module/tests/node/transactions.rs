//! MULTI, Lua and functions with our commands: they behave as on their own, an error is the reply of one command, and
//! earlier changes stay and reach replicas.

use crate::product::products;
use crate::support::{Client, Node};

fn eval(client: &mut Client, script: &str, key: &str) -> String {
    client.send(&[b"EVAL", script.as_bytes(), b"1", key.as_bytes()])
}

#[test]
fn an_error_within_a_transaction_is_the_reply_of_one_command() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.expect("SET plain 1", "OK");
        client.expect("MULTI", "OK");
        for line in [
            "SCUR.DEBIT alice d1 cent 30",
            "SCUR.DEBIT alice d1 cent 30",
            "SCUR.DEBIT plain d1 cent 30",
            "SCUR.DEBIT alice d2 cent x",
            "SCUR.DEBIT alice d3 cent 20",
        ] {
            client.expect(line, "QUEUED");
        }
        let replies = client.exec();
        assert_eq!(replies[..2], ["[OK, 0, 2, 30]", "[OK, 1, 2, 30]"], "{product:?}");
        assert!(replies[2].starts_with("!WRONGTYPE"), "{}", replies[2]);
        assert!(replies[3].starts_with("!INVALID 10 amount"), "{}", replies[3]);
        assert_eq!(replies[4..], ["[OK, 0, 3, 20]"], "{product:?}");
        client.expect("SCUR.CHECK alice cent 50", "[OK, 50]");
    }
}

#[test]
fn a_transaction_that_is_not_run_changes_nothing() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.expect("MULTI", "OK");
        client.expect("SCUR.DEBIT alice d cent 30", "QUEUED");
        let said = client.ask("SCUR.DEBIT alice");
        assert!(said.starts_with("!ERR wrong number of arguments"), "{said}");
        let said = client.ask("EXEC");
        assert!(said.starts_with("!EXECABORT"), "{said}");
        client.expect("MULTI", "OK");
        client.expect("SCUR.DEBIT alice d cent 30", "QUEUED");
        client.expect("DISCARD", "OK");
        client.expect("SCUR.CHECK alice cent 100", "[OK, 100]");
        // A client that watches an account notices commands of others, and expiries.
        client.expect("WATCH alice", "OK");
        node.connect().expect("SCUR.DEBIT alice d1 cent 1", "[OK, 0, 2, 1]");
        client.expect("MULTI", "OK");
        client.expect("SCUR.DEBIT alice d cent 30", "QUEUED");
        client.expect("EXEC", "nil");
        client.ask("SCUR.RESERVE alice s 0 TCC 1000 ITEM 1 cent REQUESTED 40");
        client.expect("WATCH alice", "OK");
        node.connect().until("SCUR.TOTALS", |totals| totals.contains("sessions, 0"));
        client.expect("MULTI", "OK");
        client.expect("SCUR.DEBIT alice d cent 30", "QUEUED");
        client.expect("EXEC", "nil");
        client.expect("SCUR.CHECK alice cent 99", "[OK, 99]");
    }
}

#[test]
fn an_error_within_a_script_leaves_what_was_done_and_replicas_have_it() {
    for product in products() {
        let (primary, replica) = (Node::start(product), Node::start(product));
        let (mut client, mut copy) = (primary.connect(), replica.connect());
        copy.expect(&format!("REPLICAOF 127.0.0.1 {}", primary.port), "OK");
        copy.until("INFO replication", |info| info.contains("master_link_status:up"));
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        let said = eval(
            &mut client,
            "redis.call('SCUR.DEBIT', KEYS[1], 'd1', 'cent', 30)
             redis.call('SCUR.DEBIT', KEYS[1], 'd2', 'cent', 'x')
             redis.call('SCUR.DEBIT', KEYS[1], 'd3', 'cent', 20)",
            "alice",
        );
        assert!(said.starts_with("!INVALID 10 amount"), "{said}");
        let said = eval(
            &mut client,
            "local refused = redis.pcall('SCUR.DEBIT', KEYS[1], 'd4', 'cent', 1000)
             local wrong = redis.pcall('SCUR.DEBIT', KEYS[1])
             local denied = redis.pcall('SCUR.APPLY', KEYS[1], 'x')
             local done = redis.call('SCUR.RESERVE', KEYS[1], 's', 0, 'ITEM', 1, 'cent', 'REQUESTED', 5)
             return {refused[1].ok or refused[1], wrong.err, denied.err, done[3]}",
            "alice",
        );
        let said = said.to_lowercase();
        assert!(said.starts_with("[credit_limit_reached, err wrong number of arg"), "{said}");
        assert!(said.contains("err only a primary and its files say this"), "{said}");
        assert!(said.ends_with(", 1]"), "{said}");
        // A read-only script may read but not write.
        let read = b"return redis.call('SCUR.CHECK', KEYS[1], 'cent', 1)[2]";
        assert_eq!(client.send(&[b"EVAL_RO", read, b"1", b"alice"]), "65");
        let write = b"return redis.call('SCUR.DEBIT', KEYS[1], 'd5', 'cent', 1)";
        let said = client.send(&[b"EVAL_RO", write, b"1", b"alice"]);
        assert!(said.contains("not allowed from read-only script"), "{said}");
        client.expect("WAIT 1 20000", "1");
        assert_eq!(copy.digest("alice"), client.digest("alice"));
        assert_eq!(copy.ask("SCUR.TOTALS"), client.ask("SCUR.TOTALS"));
    }
}

#[test]
fn functions_run_the_same_commands() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        let library = b"#!lua name=charging
            redis.register_function('charge', function(keys, args)
              return redis.call('SCUR.DEBIT', keys[1], args[1], 'cent', args[2])
            end)
            redis.register_function{function_name='look', flags={'no-writes'},
              callback=function(keys) return redis.call('SCUR.DEBIT', keys[1], 'x', 'cent', 1) end}
            redis.register_function('apply', function(keys)
              return redis.call('SCUR.APPLY', keys[1], 'IMAGE', 'x')
            end)";
        assert_eq!(client.send(&[b"FUNCTION", b"LOAD", library]), "charging");
        client.expect("FCALL charge 1 alice d1 30", "[OK, 0, 2, 30]");
        client.expect("FCALL charge 1 alice d1 30", "[OK, 1, 2, 30]");
        let said = client.ask("FCALL charge 1 alice d2 x");
        assert!(said.starts_with("!INVALID 10 amount"), "{said}");
        let said = client.ask("FCALL look 1 alice");
        assert!(said.contains("not allowed from read-only script"), "{said}");
        let said = client.ask("FCALL apply 1 alice");
        assert!(said.contains("only a primary and its files say this"), "{said}");
        client.expect("SCUR.CHECK alice cent 70", "[OK, 70]");
    }
}

#[test]
fn keys_of_two_slots_are_refused_together() {
    for product in products() {
        let node = Node::cluster(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.expect("SCUR.CREATE bob BUCKET main cent 100", "[OK, 1]");
        client.expect("MULTI", "OK");
        client.expect("SCUR.DEBIT alice d cent 1", "QUEUED");
        client.expect("SCUR.DEBIT bob d cent 1", "QUEUED");
        let said = client.ask("EXEC");
        assert!(said.starts_with("!CROSSSLOT"), "{said}");
        client.expect("MULTI", "OK");
        client.expect("SCUR.DEBIT alice d cent 1", "QUEUED");
        client.expect("SCUR.DEBIT {alice}2 d cent 1", "QUEUED");
        let replies = client.exec();
        assert_eq!(replies[0], "[OK, 0, 2, 1]");
        assert!(replies[1].starts_with("!UNKNOWN_ACCOUNT"), "{}", replies[1]);
        let script = b"redis.call('SCUR.DEBIT', KEYS[1], 'e', 'cent', 1)
            return redis.call('SCUR.DEBIT', KEYS[2], 'e', 'cent', 1)";
        let said = client.send(&[b"EVAL", script, b"2", b"alice", b"bob"]);
        assert!(said.starts_with("!CROSSSLOT") || said.contains("hash to the same slot"), "{said}");
        // Not even a script that does not declare its keys.
        let script = b"#!lua
            redis.call('SCUR.DEBIT', 'alice', 'f', 'cent', 1)
            return redis.call('SCUR.DEBIT', 'bob', 'f', 'cent', 1)";
        let said = client.send(&[b"EVAL", script, b"0"]);
        assert!(said.contains("do not hash to the same slot"), "{said}");
        client.expect("SCUR.CHECK bob cent 100", "[OK, 100]");
        // Keys in a slot of another node are not read.
        let slot: u16 = client.ask("CLUSTER KEYSLOT bob").parse().expect("a slot");
        client.expect(&format!("CLUSTER DELSLOTS {slot}"), "OK");
        client.expect("CONFIG SET cluster-require-full-coverage no", "OK");
        client.until("SCUR.DEBIT bob g cent 1", |said| said.starts_with("!CLUSTERDOWN Hash slot"));
        client.until("SCUR.CHECK alice cent 98", |said| said == "[OK, 98]");
    }
}
