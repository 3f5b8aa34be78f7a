//! Wrong requests: each gets an error, and leaves the node running and the account unchanged.

use crate::product::products;
use crate::support::Node;

const WRONG: &str = "!WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn a_key_of_another_type_is_wrong() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SET plain 1", "OK");
        client.expect("HSET hash f v", "1");
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.expect("ENTITY.PUT e value VERSION 7", "[1, 7]");
        let all = scurry_resp::table::SCUR.iter().chain(scurry_resp::table::ENTITY);
        for spec in all.filter(|spec| spec.keys.0 == 1 && !spec.has_dynamic_keys) {
            let of_entities = spec.name.starts_with("ENTITY");
            for key in ["plain", "hash", if of_entities { "alice" } else { "e" }] {
                let mut words: Vec<&[u8]> = spec.example.split(' ').map(str::as_bytes).collect();
                words[1] = key.as_bytes();
                let said = client.send(&words);
                // An image is parsed after the key is checked, and a key alone is no image.
                assert_eq!(said, WRONG, "{} of {key}", spec.name);
            }
        }
        for line in [
            "GET KEY",
            "GETDEL KEY",
            "GETEX KEY",
            "INCR KEY",
            "APPEND KEY x",
            "SETRANGE KEY 0 x",
            "STRLEN KEY",
            "BITCOUNT KEY",
            "HSET KEY f v",
            "HGETALL KEY",
            "LPUSH KEY x",
            "SADD KEY x",
            "ZADD KEY 1 x",
            "XADD KEY * f v",
            "PFADD KEY x",
            "SORT KEY",
        ] {
            for key in ["alice", "e"] {
                client.expect(&line.replace("KEY", key), WRONG);
            }
        }
        client.expect("SCUR.CHECK alice cent 100", "[OK, 100]");
        client.expect("ENTITY.GET e WITHVERSION", "[7, value, -1]");
        client.expect("GET plain", "1");
    }
}

#[test]
fn flushall_takes_everything() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        for how in ["SYNC", "ASYNC"] {
            for number in 0..200 {
                client.expect(&format!("SCUR.CREATE a{number} BUCKET main cent 10"), "[OK, 1]");
                client
                    .ask(&format!("SCUR.RESERVE a{number} s 0 TCC 60000 ITEM 1 cent REQUESTED 4"));
            }
            client.expect(&format!("FLUSHALL {how}"), "OK");
            client.until("SCUR.TOTALS", |totals| {
                totals
                    == "[accounts, 0, sessions, 0, units, [[cent, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]]"
            });
        }
        client.expect("SCUR.CREATE a1 BUCKET main cent 10", "[OK, 1]");
    }
}

#[test]
fn what_only_a_primary_says_is_refused_to_clients() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        let digest = client.digest("alice");
        let told =
            "!ERR only a primary and its files say this: use the commands of docs/commands.md";
        for line in ["SCUR.APPLY alice x", "SCUR.APPLY new IMAGE x", "ENTITY.APPLY e 1 -1 v"] {
            client.expect(line, told);
            client.expect("MULTI", "OK");
            client.expect(line, "QUEUED");
            let all = client.ask("EXEC");
            assert!(all.contains("only a primary"), "{all}");
            let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
            let script = format!("return redis.pcall({}).err", words.join(","));
            let said = client.send(&[b"EVAL", script.as_bytes(), b"0"]);
            assert!(said.contains("only a primary"), "{said}");
        }
        assert_eq!(client.digest("alice"), digest);
        client.expect("DBSIZE", "1");
    }
}

#[test]
fn what_reads_the_log_of_our_own_server_says_so() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        for line in ["SCUR.WATCH 0", "SCUR.STATEMENT alice", "SCUR.SNAPSHOT"] {
            let said = client.ask(line);
            assert!(said.starts_with("!ERR a Valkey node keeps no log"), "{said}");
        }
    }
}

#[test]
fn malformed_arguments_are_named() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.GET", "!ERR wrong number of arguments for 'scur.get' command");
        client.expect(
            "SCUR.CREATE alice BUCKET main cent x",
            "!INVALID 10 amount is not an integer or out of range: it counts minor units, without a fraction",
        );
        let long = vec![b'x'; 8 * 1024 * 1024 + 1];
        let said = client.send(&[b"SCUR.CREATE", &long]);
        assert!(said.starts_with("!INVALID 10 the arguments are longer than 8388608"), "{said}");
        let said = client.send(&[b"SCUR.CREATE", b"a\0b"]);
        assert!(said.starts_with("!INVALID 10 account must be"), "{said}");
        client.expect("PING", "PONG");
    }
}

#[test]
fn without_memory_writes_are_refused_and_sessions_still_end() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.ask("SCUR.RESERVE alice s 0 ITEM 1 cent REQUESTED 40");
        client.expect("SCUR.CREATE due BUCKET main octet 10", "[OK, 1]");
        client.ask("SCUR.RESERVE due s 0 TCC 500ms ITEM 1 octet REQUESTED 10");
        client.ask("SCUR.RESERVE alice r 0 ITEM 1 cent REQUESTED 10");
        client.expect("SCUR.DEBIT alice known cent 5", "[OK, 0, 4, 5]");
        client.expect("CONFIG SET maxmemory 1", "OK");
        let oom = "!OOM command not allowed when used memory > 'maxmemory'.";
        client.expect("SCUR.DEBIT alice d cent 1", oom);
        client.expect("SCUR.CREATE bob", oom);
        client.expect("SCUR.RESERVE alice new 0 ITEM 1 cent REQUESTED 1", oom);
        // A duplicate needs no memory.
        client.expect("SCUR.DEBIT alice known cent 5", "[OK, 1, 4, 5]");
        let said = client.ask("SCUR.DEBIT alice known cent 6");
        assert!(said.starts_with("!REQUEST_MISMATCH"), "{said}");
        client.expect(
            "SCUR.RESERVE alice s 0 ITEM 1 cent REQUESTED 40",
            "[OK, 1, 1, [[1, OK, 40, 0, 0]]]",
        );
        client.expect(
            "SCUR.UPDATE alice r 1 ITEM 1 cent USED 5 REQUESTED 5",
            "[OK, 0, 2, [[1, OK, 5, 0, 0]]]",
        );
        client.expect("SCUR.RELEASE alice r", "[OK, 0, 0, []]");
        client.expect("SCUR.REFUND alice back known", "[OK, 0, 7, 5]");
        client.expect(
            "SCUR.TERMINATE alice s 1 ITEM 1 cent USED 5",
            "[OK, 0, 0, [[1, OK, 0, 0, 0]]]",
        );
        client.expect("SCUR.CHECK alice cent 90", "[OK, 90]");
        // Expiries are not commands, so the server cannot refuse them.
        client.until("SCUR.TOTALS", |totals| totals.contains("sessions, 0"));
        client.expect("ENTITY.PUT e value", oom);
        let script = b"return redis.call('SCUR.DEBIT', KEYS[1], 'd', 'cent', 1)";
        let said = client.send(&[b"EVAL", script, b"1", b"alice"]);
        assert!(said.starts_with("!OOM"), "{said}");
        for line in ["SCUR.GET alice", "SCUR.AUDIT alice", "SCUR.DUMP alice", "SCUR.TOTALS"] {
            let said = client.ask(line);
            assert!(!said.starts_with('!'), "{line}: {said}");
        }
        client.expect("CONFIG SET maxmemory 0", "OK");
        client.expect("SCUR.DEBIT alice d cent 1", "[OK, 0, 9, 1]");
    }
}
