//! Committed data of every kind is there after a kill and after a stop, with any number of threads; and nothing is
//! acknowledged before it is durable.

use super::kill;
use crate::support::Server;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory, removed at the end.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn make() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("scurry-store-{}-{number}", std::process::id());
        Directory(std::env::temp_dir().join(name))
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }

    pub(crate) fn serve(&self, durability: &str, threads: &str) -> Server {
        Server::start(&["--dir", self.path(), "--durability", durability, "--threads", threads])
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // It may never have been created.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn talk(server: &Server, said: &[(&str, &str)]) {
    let mut client = server.connect();
    for (request, reply) in said {
        client.send(format!("{request}\r\n"));
        client.expect(reply);
    }
}

/// Requests with replies that cover everything that a store can hold.
const SAID: &[(&str, &str)] = &[
    ("SCUR.CREATE alice BUCKET main cent 1000", "*2\r\n+OK\r\n:1\r\n"),
    (
        "SCUR.RESERVE alice call-1 0 ITEM 1 cent REQUESTED 100",
        "*4\r\n+OK\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:100\r\n:0\r\n:0\r\n",
    ),
    ("SET plain value EX 1000", "+OK\r\n"),
    ("APPEND plain -tail", ":10\r\n"),
    ("INCRBY number 41", ":41\r\n"),
    ("INCR number", ":42\r\n"),
    ("SET gone x", "+OK\r\n"),
    ("DEL gone", ":1\r\n"),
    ("SET brief x", "+OK\r\n"),
    ("EXPIRE brief 1000", ":1\r\n"),
];

/// The same requests again: each returns its stored answer, marked as replayed, and values are unchanged.
const SAID_AGAIN: &[(&str, &str)] = &[
    (
        "SCUR.RESERVE alice call-1 0 ITEM 1 cent REQUESTED 100",
        "*4\r\n+OK\r\n:1\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:100\r\n:0\r\n:0\r\n",
    ),
    ("GET plain", "$10\r\nvalue-tail\r\n"),
    ("GET number", "$2\r\n42\r\n"),
    ("EXISTS gone", ":0\r\n"),
    ("PERSIST brief", ":1\r\n"),
    ("EXPIRE brief 1000", ":1\r\n"),
    ("DBSIZE", ":4\r\n"),
];

#[test]
fn a_killed_server_has_everything_that_it_answered() {
    for durability in ["write", "fsync"] {
        let directory = Directory::make();
        let server = directory.serve(durability, "1");
        talk(&server, SAID);
        kill(server);
        let server = directory.serve(durability, "1");
        talk(&server, SAID_AGAIN);
    }
}

#[test]
fn the_number_of_threads_may_change_between_runs() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "2");
    talk(&server, SAID);
    kill(server);
    for threads in ["3", "1", "2"] {
        let server = directory.serve("fsync", threads);
        talk(&server, SAID_AGAIN);
        talk(&server, &[("SCUR.SNAPSHOT", "+OK\r\n")]);
        kill(server);
    }
}

#[test]
fn what_was_set_after_a_snapshot_is_there_as_well() {
    let directory = Directory::make();
    let mut server = directory.serve("fsync", "1");
    talk(&server, SAID);
    for round in 0..4 {
        let keys = format!("SET round-{round} x");
        talk(&server, &[("SCUR.SNAPSHOT", "+OK\r\n"), (&keys, "+OK\r\n"), ("DEL gone", ":0\r\n")]);
        wait_for_snapshots(&server, round % 2 + 1);
        if round % 2 == 1 {
            kill(server);
            server = directory.serve("fsync", "1");
        }
    }
    talk(&server, &SAID_AGAIN[..6]);
    talk(&server, &[("EXISTS round-0 round-1 round-2 round-3", ":4\r\n")]);
}

#[test]
fn a_server_that_is_killed_before_its_log_has_grown_enough_writes_a_snapshot_all_the_same() {
    for threads in ["1", "2"] {
        let directory = Directory::make();
        let start = || {
            let words = ["--dir", directory.path(), "--threads", threads, "--snapshot-log", "1mb"];
            Server::start(&words)
        };
        let set = |server: &Server, life: u32, len: usize| {
            let (key, value) = (format!("{{one}}-{life}"), "x".repeat(len));
            let words = ["SET", &key, &value].map(|word| format!("${}\r\n{word}\r\n", word.len()));
            let mut client = server.connect();
            client.send(format!("*3\r\n{}", words.concat()));
            client.expect("+OK\r\n");
        };
        for life in 0..3 {
            let server = start();
            set(&server, life, 300_000);
            kill(server);
        }
        let server = start();
        talk(&server, &[("DBSIZE", ":3\r\n")]);
        set(&server, 3, 200_000);
        wait_for_snapshots(&server, 1);
    }
}

pub(crate) fn wait_for_snapshots(server: &Server, count: usize) {
    let wanted = format!("snapshots_written:{count}");
    let mut client = server.connect();
    for _ in 0..100_000 {
        client.send("INFO persistence\r\n");
        if client.bulk().contains(&wanted) {
            return;
        }
    }
    panic!("no snapshot was written");
}

#[test]
fn flushed_keys_stay_away() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "2");
    talk(
        &server,
        &[("MSET a 1 b 2 c 3", "+OK\r\n"), ("FLUSHALL", "+OK\r\n"), ("SET d 4", "+OK\r\n")],
    );
    kill(server);
    let server = directory.serve("fsync", "2");
    talk(&server, &[("DBSIZE", ":1\r\n"), ("GET d", "$1\r\n4\r\n")]);
}

#[test]
fn a_damaged_snapshot_is_set_aside_and_not_counted() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "1");
    talk(&server, SAID);
    for number in 0..60 {
        talk(&server, &[(&format!("SET long-{number} {}", "x".repeat(5_000)), "+OK\r\n")]);
    }
    for count in 1..=2 {
        talk(&server, &[("SET round x", "+OK\r\n"), ("SCUR.SNAPSHOT", "+OK\r\n")]);
        wait_for_snapshots(&server, count);
    }
    kill(server);
    let newest = snapshots(&directory).pop().expect("two are there");
    let path = directory.0.join("g1/0").join(&newest);
    let mut bytes = std::fs::read(&path).expect("it is read");
    // Damage in the last of several chunks: entries read from the others must not stay.
    let late = bytes.len() - 1_000;
    bytes[late] ^= 1;
    std::fs::write(&path, bytes).expect("it is written");
    let server = directory.serve("fsync", "1");
    talk(&server, &SAID_AGAIN[..6]);
    talk(&server, &[("DBSIZE", ":65\r\n")]);
    assert!(directory.0.join("g1/0").join(format!("damaged-{newest}")).exists());
    talk(&server, &[("SET round y", "+OK\r\n"), ("SCUR.SNAPSHOT", "+OK\r\n")]);
    wait_for_snapshots(&server, 1);
    assert_eq!(snapshots(&directory).len(), 2, "the older one is kept with the new one");
}

/// Returns the names of the snapshots, the newest last.
fn snapshots(directory: &Directory) -> Vec<String> {
    let files = std::fs::read_dir(directory.0.join("g1/0")).expect("it is listed");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("text"));
    let mut names: Vec<String> = names.filter(|name| name.starts_with("snapshot-")).collect();
    names.sort();
    names
}
