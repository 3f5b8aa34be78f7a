//! Restarts from the server's own files give the same accounts and entities.

use crate::product::{Product, products};
use crate::support::{Client, Node};
use std::path::{Path, PathBuf};

/// Writes accounts and entities in several states. Returns their keys.
fn fill(client: &mut Client) -> [&'static str; 4] {
    client.expect(
        "SCUR.CREATE alice BUCKET main cent 1000 BUCKET data octet 5 TO 4102444800000",
        "[OK, 1]",
    );
    client.ask("SCUR.RESERVE alice s 0 TCC 600000 ITEM 1 cent REQUESTED 200");
    client.ask("SCUR.UPDATE alice s 1 ITEM 1 cent USED 150 REQUESTED 100");
    client.ask("SCUR.DEBIT alice d cent 10");
    client.ask("SCUR.COUNTER alice c calls 1 PERIOD day");
    client.expect("SCUR.CREATE bob IDENTITY msisdn 49151", "[OK, 1]");
    client.expect("SCUR.CREATE gone", "[OK, 1]");
    client.expect("SCUR.STATUS gone closed", "[OK, 2]");
    client.expect("SCUR.DELETE gone", "[OK, 3]");
    client.expect("ENTITY.PUT e one VERSION 10 PXAT 4102444800000", "[1, 10]");
    client.expect("ENTITY.PUT d one VERSION 10", "[1, 10]");
    client.expect("ENTITY.DEL d VERSION 11", "[1, 11]");
    ["alice", "bob", "e", "d"]
}

fn shown(client: &mut Client, keys: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = keys
        .iter()
        .flat_map(|key| [client.digest(key), client.ask(&format!("PEXPIRETIME {key}"))])
        .collect();
    all.push(client.ask("SCUR.TOTALS"));
    all.push(client.ask("DBSIZE"));
    all
}

fn survives(product: Product, settings: &[&str], before: impl Fn(&mut Client)) {
    let node = Node::with(product, settings);
    let mut client = node.connect();
    let keys = fill(&mut client);
    let expected = shown(&mut client, &keys);
    before(&mut client);
    let node = node.crash_and_restart();
    let mut client = node.connect();
    assert_eq!(shown(&mut client, &keys), expected, "{product:?} {settings:?}");
    // Duplicates across the restart get the stored answer, and new requests are executed.
    client.expect("SCUR.DEBIT alice d cent 10", "[OK, 1, 4, 10]");
    client.expect("SCUR.TERMINATE alice s 2", "[OK, 0, 0, []]");
}

#[test]
fn the_file_of_commands_gives_back_what_was_written() {
    for product in products() {
        survives(product, &["--appendonly", "yes", "--appendfsync", "always"], |_| {});
    }
}

#[test]
fn a_rewritten_file_of_commands_gives_back_what_was_written() {
    for product in products() {
        let settings = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
        survives(product, &settings, |client| {
            client.ask("BGREWRITEAOF");
            client.until("INFO persistence", |info| {
                info.contains("aof_rewrite_in_progress:0")
                    && info.contains("aof_rewrite_scheduled:0")
                    && info.contains("aof_last_bgrewrite_status:ok")
                    && !info.contains("aof_rewrites:0")
            });
        });
    }
}

#[test]
fn a_snapshot_gives_back_what_was_written() {
    for product in products() {
        survives(product, &["--dbfilename", "dump.rdb"], |client| client.expect("SAVE", "OK"));
    }
}

/// Returns the newest append-only file in a server's directory.
fn commands_file(directory: &Path) -> PathBuf {
    let files = directory.join("appendonlydir").read_dir().expect("the files");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "aof"));
    files.sort();
    files.pop().expect("a file of commands")
}

#[test]
fn a_change_that_is_there_twice_keeps_the_server_from_starting() {
    for product in products() {
        let node = Node::with(product, &["--appendonly", "yes", "--appendfsync", "always"]);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 1000", "[OK, 1]");
        client.expect("SCUR.DEBIT alice d cent 10", "[OK, 0, 2, 10]");
        let said = node.crash_and_refuse(|directory| {
            let file = commands_file(directory);
            let mut bytes = std::fs::read(&file).expect("its bytes");
            let begin = b"*3\r\n$10\r\nSCUR.APPLY\r\n";
            let last = bytes.windows(begin.len()).rposition(|window| window == begin);
            bytes.extend_from_within(last.expect("a change")..);
            std::fs::write(&file, bytes).expect("it is written");
        });
        assert!(
            said.contains("SCUR.APPLY of alice: it is for another version than the 2"),
            "{said}"
        );
    }
}
