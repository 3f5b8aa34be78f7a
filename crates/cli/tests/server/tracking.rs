//! CLIENT TRACKING: a client that has read a key is notified when it changes, once, and between replies.

mod compare;
mod stress;

use crate::support::{Client, Server, array, python, tool};
use std::io::{Read, Write};

/// Reads one complete reply or push and formats it on one line. Fails on anything else.
fn value<S: Read + Write>(client: &mut Client<S>) -> String {
    let line = client.line();
    let rest = line.get(1..).expect("a line");
    let len = || rest.parse::<usize>().unwrap_or_else(|_| panic!("a length: {line:?}"));
    match line.as_bytes()[0] {
        // Null in RESP2.
        b'$' | b'*' if rest == "-1" => "_".to_owned(),
        b'+' | b'-' | b':' | b'_' | b'#' => line,
        b'$' | b'=' => {
            let bytes = client.bytes(len() + 2);
            assert!(bytes.ends_with(b"\r\n"), "{line}: {}", bytes.escape_ascii());
            format!("${}", bytes[..bytes.len() - 2].escape_ascii())
        }
        kind @ (b'*' | b'~' | b'>' | b'%') => {
            let count = if kind == b'%' { 2 * len() } else { len() };
            let parts: Vec<String> = (0..count).map(|_| value(client)).collect();
            format!("{}({})", char::from(kind), parts.join(" "))
        }
        _ => panic!("not a reply: {line:?}"),
    }
}

fn push(key: &str) -> String {
    format!(">($invalidate *(${key}))")
}

const ALL: &str = ">($invalidate _)";

/// Opens a connection in RESP3.
fn third(server: &Server) -> Client {
    let mut client = server.connect();
    client.send("HELLO 3\r\n");
    assert!(value(&mut client).starts_with("%($server "));
    client
}

/// Opens a connection that tracks.
fn tracker(server: &Server, options: &str) -> Client {
    let mut client = third(server);
    client.ask(&format!("CLIENT TRACKING ON {options}"), "+OK\r\n");
    client
}

/// Sends a line and reads its reply. Fails if a push arrives before it.
fn ask(client: &mut Client, line: &str) -> String {
    client.send(format!("{line}\r\n"));
    value(client)
}

/// Returns a number from a section of INFO.
fn info(client: &mut Client, section: &str, name: &str) -> u64 {
    let text = ask(client, &format!("INFO {section}"));
    let name = format!("{name}:");
    let line = text.split("\\r\\n").find_map(|line| line.strip_prefix(&name));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} {text}"))
}

#[test]
fn timers_tell_what_they_end() {
    for threads in ["1", "4"] {
        let server = Server::start(&["--threads", threads]);
        let (mut reader, mut writer) = (tracker(&server, ""), third(&server));
        for (key, write, read) in [
            ("k", "SET k 1 PX 100", "GET k"),
            ("e", "ENTITY.PUT e blue PX 100", "ENTITY.GET e"),
            ("d", "SET d 1 PX 100", "PTTL d"),
        ] {
            // On a busy machine the key may have expired before it was read, so this is tried again.
            let seen = (0..100).any(|_| {
                ask(&mut writer, write);
                let before = ask(&mut writer, &format!("EXISTS {key}"));
                reader.send(format!("{read}\r\n"));
                let reply = value(&mut reader);
                let lives = reply != "_" && reply != ":-2" && before == ":1";
                if lives {
                    assert_eq!(value(&mut reader), push(key), "{read}");
                } else if reply.starts_with('>') {
                    value(&mut reader);
                }
                lives
            });
            assert!(seen, "{key} was never read in time");
        }
        assert_eq!(ask(&mut writer, "SCUR.CREATE a BUCKET m cent 100"), "*(+OK :1)");
        let reserve = "SCUR.RESERVE a s 0 TCC 300ms VALIDITY 150ms ITEM 1 cent REQUESTED 60";
        assert!(ask(&mut writer, reserve).starts_with("*(+OK :0 :1 "));
        assert!(ask(&mut reader, "SCUR.GET a").contains("$m $cent :40 :60"), "the hold");
        assert_eq!(value(&mut reader), push("a"));
        assert!(ask(&mut reader, "SCUR.GET a").contains("$m $cent :100 :0"), "none");
        // A replay and a rejection change nothing; a denial is stored.
        assert!(ask(&mut writer, "SCUR.DEBIT a t cent 30").starts_with("*(+OK :0"));
        assert_eq!(value(&mut reader), push("a"));
        ask(&mut reader, "SCUR.GET a");
        assert!(ask(&mut writer, "SCUR.DEBIT a t cent 30").starts_with("*(+OK :1"));
        assert!(ask(&mut writer, "SCUR.DEBIT a t cent 31").starts_with('-'));
        assert_eq!(ask(&mut reader, "CLIENT GETNAME"), "_");
        assert!(ask(&mut writer, "SCUR.DEBIT a u cent 100").contains("CREDIT_LIMIT_REACHED"));
        assert_eq!(value(&mut reader), push("a"));
    }
}

#[test]
fn a_flush_tells_everybody_who_tracks() {
    for threads in ["1", "4"] {
        let server = Server::start(&["--threads", threads]);
        let (mut reader, mut writer) = (tracker(&server, ""), tracker(&server, "NOLOOP"));
        let mut deaf = server.connect();
        deaf.ask("CLIENT TRACKING ON", "+OK\r\n");
        let mut silent = third(&server);
        assert_eq!(ask(&mut reader, "MGET a b c d e f"), "*(_ _ _ _ _ _)");
        assert_eq!(info(&mut silent, "stats", "tracking_total_keys"), 6);
        writer.send("FLUSHALL\r\n");
        // After the reply, however many threads have flushed.
        assert_eq!([value(&mut writer), value(&mut writer)], ["+OK", ALL]);
        assert_eq!(value(&mut reader), ALL);
        assert_eq!(info(&mut silent, "stats", "tracking_total_keys"), 0);
        // No client has read the key since: nothing but the one flush is notified.
        assert_eq!(ask(&mut silent, "SET a 1"), "+OK");
        deaf.ask("PING", "+PONG\r\n");
        for client in [&mut reader, &mut writer] {
            client.send("ECHO end\r\n");
            while value(client) != "$end" {}
        }
    }
}

#[test]
fn one_read_over_several_threads_is_tracked_by_each() {
    let server = Server::start(&["--threads", "4"]);
    let (mut reader, mut writer) = (tracker(&server, ""), third(&server));
    let keys: Vec<String> = (0..40).map(|number| format!("key{number}")).collect();
    let mget = format!("MGET {} key0", keys.join(" "));
    let mset = format!("MSET {} 1", keys.join(" 1 "));
    for _ in 0..5 {
        assert!(ask(&mut reader, &mget).starts_with("*("));
        assert_eq!(ask(&mut writer, &mset), "+OK");
        let mut told: Vec<String> = keys.iter().map(|_| value(&mut reader)).collect();
        let mut all: Vec<String> = keys.iter().map(|key| push(key)).collect();
        told.sort_unstable();
        all.sort_unstable();
        assert_eq!(told, all);
        assert_eq!(ask(&mut writer, &mset), "+OK");
    }
    // The client's own changes in one batch: the pushes come after the replies of the batch at the latest.
    reader.send(format!("{mget}\r\n{mset}\r\nCLIENT GETNAME\r\n"));
    let got: Vec<String> = (0..43).map(|_| value(&mut reader)).collect();
    assert!(got[0].starts_with("*($1 ") && got[1] == "+OK", "{got:?}");
    let pushes = got.iter().filter(|value| value.starts_with('>')).count();
    assert_eq!((pushes, got.contains(&"_".to_owned())), (40, true), "{got:?}");
}

#[test]
fn whoever_reads_by_a_threads_own_port_is_told_as_well() {
    let server = Server::start(&["--threads", "3"]);
    let mut writer = third(&server);
    let nodes = ask(&mut writer, "CLUSTER SLOTS");
    let port = nodes.split("$127.0.0.1 :").nth(3).and_then(|rest| rest.split(' ').next());
    let mut reader = server.connect_to(port.expect("three ports").parse().expect("a port"));
    reader.send("HELLO 3\r\n");
    value(&mut reader);
    assert_eq!(ask(&mut reader, "CLIENT TRACKING ON"), "+OK");
    // The key belongs to the third thread, not to the first.
    assert_eq!(ask(&mut reader, "GET foo"), "_");
    assert!(ask(&mut reader, "GET b").starts_with("-MOVED "));
    assert_eq!(ask(&mut writer, "MSET foo 1 b 2"), "+OK");
    assert_eq!(value(&mut reader), push("foo"));
    assert_eq!(ask(&mut reader, "GET foo"), "$1");
    reader.send("FLUSHALL\r\n");
    assert_eq!([value(&mut reader), value(&mut reader)], ["+OK", ALL]);
    assert_eq!(ask(&mut writer, "GET foo"), "_");
    assert_eq!(info(&mut writer, "stats", "tracking_total_keys"), 0);
}

#[test]
fn who_comes_to_the_place_of_a_client_is_not_told_what_that_one_has_read() {
    let server = Server::start(&[]);
    let mut writer = third(&server);
    let mut gone = tracker(&server, "");
    // Another client tracks all the time.
    let mut other = tracker(&server, "");
    assert_eq!(ask(&mut gone, "GET k"), "_");
    drop(gone);
    while info(&mut writer, "clients", "connected_clients") > 2 {}
    assert_eq!(info(&mut writer, "clients", "tracking_clients"), 1);
    let mut next = tracker(&server, "");
    assert_eq!(info(&mut writer, "stats", "tracking_total_items"), 1);
    for (client, flags) in [(&mut next, " flags=t "), (&mut writer, " flags=N ")] {
        let line = ask(client, "CLIENT INFO");
        assert!(line.contains(flags), "{line}");
    }
    assert_eq!(ask(&mut writer, "SET k 1"), "+OK");
    assert_eq!(ask(&mut next, "PING"), "+PONG");
    assert_eq!(ask(&mut other, "PING"), "+PONG");
    assert_eq!(info(&mut writer, "stats", "tracking_total_items"), 0);
    // When the last tracking client is gone, nothing is remembered any more.
    assert_eq!(ask(&mut next, "GET k"), "$1");
    drop((next, other));
    while info(&mut writer, "stats", "tracking_total_items") > 0 {}
    assert_eq!(info(&mut writer, "clients", "tracking_clients"), 0);
}

#[test]
fn what_is_tracked_is_bounded_and_what_is_let_go_is_told() {
    let server = Server::start(&["--threads", "2"]);
    let (mut reader, mut writer) = (tracker(&server, "NOLOOP"), third(&server));
    let before = info(&mut writer, "memory", "used_memory_connections");
    for number in 0..1_000 {
        reader.send(array(&[b"GET", format!("{number}-{:1000}", 0).as_bytes()]));
        assert_eq!(value(&mut reader), "_");
    }
    let after = info(&mut writer, "memory", "used_memory_connections");
    assert!(after > before + 1_000_000, "{before} {after}");
    assert_eq!(info(&mut writer, "stats", "tracking_total_keys"), 1_000);
    assert_eq!(ask(&mut writer, "CONFIG SET tracking-table-max-keys 20"), "+OK");
    let kept = info(&mut writer, "stats", "tracking_total_keys");
    assert!(kept <= 10, "their memory counts as well: {kept}");
    for _ in kept..1_000 {
        assert!(value(&mut reader).starts_with(">($invalidate *($"));
    }
    assert_eq!(ask(&mut writer, "FLUSHALL"), "+OK");
    assert_eq!(value(&mut reader), ALL);
    reader.send("ECHO end\r\n");
    while value(&mut reader) != "$end" {}
    for number in 0..1_000 {
        reader.send(format!("GET {number}\r\n"));
    }
    reader.send("ECHO end\r\n");
    let (mut replies, mut told) = (0, 0);
    loop {
        match &*value(&mut reader) {
            "$end" => break,
            "_" => replies += 1,
            other if other.starts_with(">($invalidate *($") => told += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!(replies, 1_000);
    assert_eq!(info(&mut writer, "stats", "tracking_total_keys"), 20);
    while told < 980 {
        assert!(value(&mut reader).starts_with(">($invalidate *($"));
        told += 1;
    }
    assert!(ask(&mut writer, "CONFIG SET tracking-table-max-keys 0").starts_with("-ERR "));
}

#[test]
fn who_does_not_read_costs_little_and_is_told_to_drop_everything() {
    let server = Server::start(&[]);
    let (mut reader, mut writer) = (tracker(&server, ""), server.connect());
    let keys: Vec<Vec<u8>> = (0..20_000).map(|key| format!("{key:0500}").into_bytes()).collect();
    let mut mget: Vec<&[u8]> = vec![b"MGET"];
    mget.extend(keys.iter().map(Vec::as_slice));
    reader.send(array(&mget));
    assert!(value(&mut reader).starts_with("*(_ "));
    // Ten megabytes of pushes.
    for chunk in keys.chunks(1_000) {
        let mut mset: Vec<&[u8]> = vec![b"MSET"];
        mset.extend(chunk.iter().flat_map(|key| [key.as_slice(), b"v"]));
        writer.send(array(&mset));
        writer.expect("+OK\r\n");
    }
    writer.send("INFO memory\r\n");
    let text = writer.bulk();
    let used = text.lines().find_map(|line| line.strip_prefix("used_memory_connections:"));
    let used: u64 = used.and_then(|bytes| bytes.parse().ok()).expect("a number");
    assert!(used < 5_000_000, "{text}");
    // It finally reads, and no push is cut off.
    reader.send("ECHO end\r\n");
    let (mut told, mut all) = (0, 0);
    loop {
        match value(&mut reader) {
            end if end == "$end" => break,
            end if end == ALL => all += 1,
            key => {
                assert!(key.starts_with(">($invalidate *($"), "{key}");
                told += 1;
            }
        }
    }
    assert!(told == 20_000 || all > 0, "{told} {all}");
}

#[test]
fn who_may_not_read_a_key_does_not_learn_that_it_changes() {
    let server = Server::start(&["--requirepass", "secret"]);
    let mut reader = third_with_password(&server);
    assert_eq!(ask(&mut reader, "CLIENT TRACKING ON"), "+OK");
    // After RESET it is not authenticated and tracks nothing.
    assert_eq!(ask(&mut reader, "RESET"), "+RESET");
    let mut stranger = server.connect();
    assert!(ask(&mut stranger, "CLIENT TRACKING ON").starts_with("-NOAUTH"));
    let mut writer = third_with_password(&server);
    assert_eq!(info(&mut writer, "clients", "tracking_clients"), 0);
}

fn third_with_password(server: &Server) -> Client {
    let mut client = server.connect();
    client.send("HELLO 3 AUTH default secret\r\n");
    assert!(value(&mut client).starts_with("%($server "));
    client
}

/// A client library that caches the values it has read until it is notified of a change.
#[test]
fn redis_py_keeps_its_cache_right() {
    for threads in ["1", "3"] {
        let server = Server::start(&["--threads", threads]);
        let program = "
import sys, redis
from redis.cache import CacheConfig
from redis.connection import CacheProxyConnection
# It asks for a server of this name, and so refuses Valkey as well.
CacheProxyConnection.DEFAULT_SERVER_NAME = 'scurry'
CacheProxyConnection.MIN_ALLOWED_VERSION = '0.0.0'
port = int(sys.argv[1])
reader = redis.Redis(port=port, protocol=3, decode_responses=True, cache_config=CacheConfig())
writer = redis.Redis(port=port, decode_responses=True)
for number in range(50):
    key = 'key%d' % (number % 7)
    writer.set(key, number)
    while reader.get(key) != str(number):
        pass
    assert len(reader.get_cache().collection) > 0
    assert reader.get(key) == str(number)
    reader.mget(key, 'other')
calls = lambda: int(writer.info('stats')['keyspace_hits'])
before = calls()
for number in range(100):
    assert reader.get('key0') == '49'
assert calls() == before, 'it asks although nothing has changed'
writer.flushall()
while reader.get('key0') is not None:
    pass
print('done')
";
        let output = tool(&python(), &["-c", program, &server.port.to_string()]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text, "done\n", "{}", String::from_utf8_lossy(&output.stderr));
    }
}
