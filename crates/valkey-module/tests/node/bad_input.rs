//! What is refused, in words, and leaves the node running and the account as it was.

use crate::support::{Client, Node, PRODUCTS};
use crc::{CRC_64_REDIS, Crc};

const WRONG: &str = "!WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn a_key_of_another_type_is_wrong() {
    for product in PRODUCTS {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SET plain 1", "OK");
        client.expect("HSET hash f v", "1");
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        for line in ["SCUR.GET plain", "SCUR.CREATE hash", "SCUR.DEBIT plain d cent 1"] {
            client.expect(line, WRONG);
        }
        for line in ["GET alice", "INCR alice", "HGET alice f", "APPEND alice x"] {
            client.expect(line, WRONG);
        }
        let copied = client.ask("COPY alice bob");
        assert!(copied.starts_with('!') && client.ask("EXISTS bob") == "0", "{copied}");
        client.expect("SCUR.CHECK alice cent 100", "[OK, 100]");
    }
}

#[test]
fn flushall_takes_everything() {
    for product in PRODUCTS {
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
                totals == "[accounts, 0, sessions, 0, units, [[cent, 0, 0, 0, 0, 0, 0, 0, 0, 0]]]"
            });
        }
        client.expect("SCUR.CREATE a1 BUCKET main cent 10", "[OK, 1]");
    }
}

#[test]
fn what_only_a_primary_says_is_refused_to_clients() {
    for product in PRODUCTS {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        let digest = client.digest("alice");
        let told =
            "!ERR only a primary and its files say this: use the commands of docs/commands.md";
        for line in ["SCUR.APPLY alice 1 x", "SCUR.APPLY new IMAGE x", "ENTITY.APPLY e 1 -1 v"] {
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
    for product in PRODUCTS {
        let node = Node::start(product);
        let mut client = node.connect();
        for line in ["SCUR.WATCH 0", "SCUR.SNAPSHOT"] {
            let said = client.ask(line);
            assert!(said.starts_with("!ERR a Valkey node keeps no log"), "{said}");
        }
    }
}

#[test]
fn malformed_arguments_are_named() {
    for product in PRODUCTS {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.GET", "!ERR wrong number of arguments for 'scur.get' command");
        client.expect(
            "SCUR.CREATE alice BUCKET main cent x",
            "!INVALID 10 amount is not an integer or out of range",
        );
        let long = vec![b'x'; 1024 * 1024 + 1];
        let said = client.send(&[b"SCUR.CREATE", &long]);
        assert!(said.starts_with("!INVALID 10 the arguments are longer than 1048576"), "{said}");
        let said = client.send(&[b"SCUR.CREATE", b"a\0b"]);
        assert!(said.starts_with("!INVALID 10 account must be"), "{said}");
        client.expect("PING", "PONG");
    }
}

#[test]
fn garbage_is_not_restored() {
    for product in PRODUCTS {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 1000", "[OK, 1]");
        client.ask("SCUR.RESERVE alice s 0 TCC 600000 ITEM 1 cent REQUESTED 200");
        client.expect("ENTITY.PUT e value VERSION 7", "[1, 7]");
        let totals = client.ask("SCUR.TOTALS");
        for key in ["alice", "e"] {
            let dump = client.bytes(&format!("DUMP {key}"));
            let (mut refused, mut taken) = (0, 0);
            for at in 0..dump.len() - FOOTER_LEN {
                for flip in [0x01, 0x80] {
                    let mut bad = dump.clone();
                    bad[at] ^= flip;
                    seal(&mut bad);
                    match restore(&mut client, &bad).as_str() {
                        "OK" => {
                            taken += 1;
                            let audit = client.ask("SCUR.AUDIT bad");
                            assert!(key == "e" || audit.starts_with("[ok, 1"), "{at}: {audit}");
                        }
                        said => {
                            assert!(said.starts_with('!'), "{said}");
                            refused += 1;
                        }
                    }
                    // Whatever was taken is an account, or an entity, to all commands.
                    for line in ["SCUR.GET bad", "ENTITY.GET bad", "SCUR.TERMINATE bad s 9"] {
                        client.ask(line);
                    }
                    client.ask("DEL bad");
                }
            }
            // Most bytes of an account are amounts, and two of them must agree.
            assert!(refused > taken / 4, "{key}: {refused} refused, {taken} taken");
        }
        client.expect("PING", "PONG");
        // Units that were never there before have a row by now, of zeros.
        let left = client.ask("SCUR.TOTALS");
        assert!(left.starts_with(totals.trim_end_matches("]]")), "{left}");
        node.logs("a scurryacc is refused");
    }
}

/// Version of the format and checksum, behind the value.
const FOOTER_LEN: usize = 10;

/// Makes the checksum of a dump right again.
fn seal(dump: &mut [u8]) {
    let end = dump.len() - 8;
    let sum = Crc::<u64>::new(&CRC_64_REDIS).checksum(&dump[..end]);
    dump[end..].copy_from_slice(&sum.to_le_bytes());
}

fn restore(client: &mut Client, dump: &[u8]) -> String {
    client.send(&[b"RESTORE", b"bad", b"0", dump])
}

#[test]
fn without_memory_writes_are_refused_and_sessions_still_end() {
    for product in PRODUCTS {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.ask("SCUR.RESERVE alice s 0 ITEM 1 cent REQUESTED 40");
        client.expect("CONFIG SET maxmemory 1", "OK");
        let oom = "!OOM command not allowed when used memory > 'maxmemory'.";
        client.expect("SCUR.DEBIT alice d cent 1", oom);
        client.expect("SCUR.CREATE bob", oom);
        client.expect(
            "SCUR.TERMINATE alice s 1 ITEM 1 cent USED 5",
            "[OK, 0, 0, [[1, OK, 0, 0, 0]]]",
        );
        client.expect("SCUR.CHECK alice cent 95", "[OK, 95]");
        client.expect("CONFIG SET maxmemory 0", "OK");
        client.expect("SCUR.DEBIT alice d cent 1", "[OK, 0, 4, 1]");
    }
}
