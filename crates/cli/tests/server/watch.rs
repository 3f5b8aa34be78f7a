//! Administration of a running server: SLOWLOG, LATENCY, CONFIG SET, SHUTDOWN, MONITOR.

use crate::support::{Client, Server, array};

/// Pairs of an MSET that takes more than a millisecond on any machine.
const MANY: usize = 100_000;

/// Sends a request and reads this many lines.
fn lines(client: &mut Client, request: &str, count: usize) -> Vec<String> {
    client.send(format!("{request}\r\n"));
    (0..count).map(|_| client.line()).collect()
}

fn many(client: &mut Client) {
    let key = |at: usize| format!("key{at}").into_bytes();
    let keys: Vec<Vec<u8>> = (0..MANY).map(key).collect();
    let mut words: Vec<&[u8]> = vec![b"MSET"];
    words.extend(keys.iter().flat_map(|key| [&key[..], b"v"]));
    client.send(array(&words));
    client.expect("+OK\r\n");
}

#[test]
fn slow_commands_are_kept_with_their_arguments() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.ask("SLOWLOG LEN", ":0\r\n");
    client.ask("CLIENT SETNAME me", "+OK\r\n");
    client.ask("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 3", "+OK\r\n");
    // Each command has its own entry, also in a pipeline, and no entry has a password.
    client.send("SET k v\r\nGET k\r\nAUTH secret\r\nSLOWLOG GET 2\r\n");
    client.expect("+OK\r\n$1\r\nv\r\n");
    assert!(client.line().starts_with("-ERR AUTH"));
    let reply: Vec<String> = (0..27).map(|_| client.line()).collect();
    let reply = reply.join(" ");
    assert!(reply.starts_with("*2 *6 :3 :"), "{reply}");
    assert!(reply.contains(" *2 $4 AUTH $10 (redacted) $"), "{reply}");
    assert!(reply.contains(" *2 $3 GET $1 k $"), "{reply}");
    assert!(reply.contains(" $2 me"), "{reply}");
    client.ask("SLOWLOG LEN", ":3\r\n");
    client.ask("CONFIG SET slowlog-log-slower-than -1", "+OK\r\n");
    client.ask("SLOWLOG RESET", "+OK\r\n");
    client.ask("PING", "+PONG\r\n");
    client.ask("SLOWLOG LEN", ":0\r\n");
}

#[test]
fn a_long_command_is_found_among_short_ones_and_the_short_ones_are_not_kept() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.ask("CONFIG SET slowlog-log-slower-than 1000 latency-monitor-threshold 1", "+OK\r\n");
    client.send("PING\r\n".repeat(40));
    client.expect(&"+PONG\r\n".repeat(40));
    many(&mut client);
    client.ask("CONFIG SET slowlog-log-slower-than -1", "+OK\r\n");
    // Whatever else was slow on a busy machine, this one was by far the slowest.
    client.send("SLOWLOG GET -1\r\n");
    let entries: usize = client.line()[1..].parse().expect("a count");
    let mut names = Vec::new();
    for _ in 0..entries {
        let head: Vec<String> = (0..5).map(|_| client.line()).collect();
        let words: usize = head[4][1..].parse().expect("a count");
        let words: Vec<String> = (0..2 * words).map(|_| client.line()).collect();
        (0..4).for_each(|_| drop(client.line()));
        names.push((words[1].clone(), words[words.len() - 1].clone()));
    }
    let found = names.iter().find(|(name, _)| name == "MSET");
    let last = format!("... ({} more arguments)", 2 * MANY + 1 - 31);
    assert_eq!(found.map(|(_, last)| last), Some(&last), "{names:?}");
    let latest = lines(&mut client, "LATENCY HISTORY command", 1);
    assert_ne!(latest[0], "*0");
    let samples: usize = latest[0][1..].parse().expect("a count");
    (0..3 * samples).for_each(|_| drop(client.line()));
    client.send("LATENCY DOCTOR\r\n");
    assert!(client.line().starts_with('$'));
    assert!(client.line().starts_with("command: "));
}

#[test]
fn settings_change_together_or_not_at_all() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.ask("SET k v", "+OK\r\n");
    client.send("CONFIG SET maxmemory 1 maxclients 0\r\n");
    assert!(client.line().starts_with("-ERR CONFIG SET failed"));
    client.ask("SET k w", "+OK\r\n");
    client.ask("CONFIG GET maxmemory", "*2\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n");
    client.ask("CONFIG SET maxmemory 1 maxclients 1", "+OK\r\n");
    let full = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    for line in
        ["SET k x", "SET k x GET", "APPEND k x", "INCR n", "SETRANGE k 0 x", "ENTITY.PUT e v"]
    {
        client.ask(line, full);
    }
    client.ask("GET k", "$1\r\nw\r\n");
    client.ask("DEL k", ":1\r\n");
    client.ask("CONFIG SET maxmemory 1gb", "+OK\r\n");
    client.ask("CONFIG GET maxmemory", "*2\r\n$9\r\nmaxmemory\r\n$10\r\n1073741824\r\n");
    client.ask("SET k x", "+OK\r\n");
    assert!(server.connect().line().starts_with("-ERR max number of clients reached"));
    client.ask("CONFIG SET maxclients 100", "+OK\r\n");
    server.connect().ask("PING", "+PONG\r\n");
    client.ask(
        "CONFIG SET slowlog-max-len 10001",
        "-ERR CONFIG SET failed (possibly related to argument 'slowlog-max-len') - argument must be between 0 and 10000 inclusive\r\n",
    );
}

#[test]
fn shutdown_answers_what_was_sent_and_ends() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (server.connect(), server.connect());
    client.send("SHUTDOWN SAVE\r\n");
    assert!(client.line().starts_with("-ERR durability is none"));
    other.send("SET k v\r\n");
    other.expect("+OK\r\n");
    client.send("PING\r\nSHUTDOWN NOSAVE\r\n");
    assert_eq!(client.rest(), "+PONG\r\n");
    assert_eq!(other.rest(), "");
    let (status, log) = server.wait();
    assert!(status.success(), "{status}: {log}");
    assert!(log.contains("stopping"), "{log}");
}

/// Follows cursors to the end. Returns the listed keys and the number of steps.
fn walk(client: &mut Client, request: impl Fn(&str) -> String) -> (Vec<String>, usize) {
    let (mut cursor, mut listed, mut steps) = ("0".to_owned(), Vec::new(), 0);
    loop {
        let head = lines(client, &request(&cursor), 4);
        cursor.clone_from(&head[2]);
        let count: usize = head[3][1..].parse().expect("a count");
        for _ in 0..count {
            client.line();
            listed.push(client.line());
        }
        steps += 1;
        assert!(steps <= 10_000, "{cursor}: {listed:?}");
        if cursor == "0" {
            return (listed, steps);
        }
    }
}

#[test]
fn several_threads_are_watched_walked_and_set_as_one() {
    let server = Server::start(&["--threads", "3", "--entity-index"]);
    let mut client = server.connect();
    let mut keys: Vec<String> = (0..300).map(|at| format!("key{at}")).collect();
    for key in &keys {
        client.ask(&format!("SET {key} v"), "+OK\r\n");
    }
    let mut ids: Vec<String> = (0..60).map(|at| format!("e{at}")).collect();
    for id in &ids {
        client.ask(&format!("ENTITY.PUT {id} blue VERSION 1"), "*2\r\n:1\r\n:1\r\n");
    }
    keys.sort_unstable();
    ids.sort_unstable();
    for count in [1, 7, 1_000] {
        let (mut scanned, steps) =
            walk(&mut client, |cursor| format!("SCAN {cursor} COUNT {count} TYPE string"));
        scanned.sort_unstable();
        assert_eq!(scanned, keys, "COUNT {count}");
        assert!(steps >= 3, "each thread is walked: {steps}");
        let (mut found, _) =
            walk(&mut client, |cursor| format!("ENTITY.FIND blue COUNT {count} AFTER {cursor}"));
        found.sort_unstable();
        assert_eq!(found, ids, "COUNT {count}");
    }
    // A cursor of a thread that does not exist.
    client.ask("SCAN 18446744073709551615", "*2\r\n$1\r\n0\r\n*0\r\n");
    for key in &keys {
        client.ask(&format!("OBJECT ENCODING {key}"), "$6\r\nembstr\r\n");
        client.ask(&format!("TTL {key}"), ":-1\r\n");
    }
    client.ask("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 1000", "+OK\r\n");
    client.ask("SLOWLOG RESET", "+OK\r\n");
    for key in &keys {
        client.ask(&format!("GET {key}"), "$1\r\nv\r\n");
    }
    client.ask("CONFIG SET slowlog-log-slower-than -1", "+OK\r\n");
    client.send("SLOWLOG GET -1\r\nPING\r\n");
    let shown = client.until("+PONG\r\n");
    for key in &keys {
        assert!(shown.contains(&format!("\r\n{key}\r\n")), "{key} is not in the slow log");
    }
    client.ask("CONFIG SET maxmemory 1", "+OK\r\n");
    for key in &keys {
        client.ask(
            &format!("SET {key} w"),
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
        );
    }
    client.send("SHUTDOWN NOSAVE\r\n");
    assert_eq!(client.rest(), "");
    assert!(server.wait().0.success());
}

#[test]
fn entities_are_found_by_value_when_there_is_an_index() {
    let server = Server::start(&["--entity-index"]);
    let mut client = server.connect();
    for at in 0..25 {
        client.ask(&format!("ENTITY.PUT e{at} blue VERSION 1"), "*2\r\n:1\r\n:1\r\n");
    }
    client.ask("ENTITY.PUT e0 green VERSION 2", "*2\r\n:1\r\n:2\r\n");
    client.ask("ENTITY.DEL e1 VERSION 2", "*2\r\n:1\r\n:2\r\n");
    let (mut ids, steps) =
        walk(&mut client, |cursor| format!("ENTITY.FIND blue AFTER {cursor} COUNT 4"));
    let mut expected: Vec<String> = (2..25).map(|at| format!("e{at}")).collect();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    assert!(steps > 2, "{steps}");
    client.ask("ENTITY.FIND green", "*2\r\n$1\r\n0\r\n*1\r\n$2\r\ne0\r\n");
    client.ask("ENTITY.FIND red", "*2\r\n$1\r\n0\r\n*0\r\n");
}

#[test]
fn monitor_shows_what_clients_of_every_thread_send_and_no_password() {
    let server = Server::start(&["--threads", "3", "--requirepass", "secret"]);
    let mut watcher = server.connect();
    watcher.ask("AUTH secret", "+OK\r\n");
    watcher.ask("MONITOR", "+OK\r\n");
    let sent = ["SET a 1", "SET b 2", "SET c 3", "MGET a b c", "PING"];
    for _ in 0..3 {
        let mut client = server.connect();
        client.ask("AUTH default secret", "+OK\r\n");
        client.ask(
            "HELLO 2 AUTH default wrong",
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
        );
        for line in sent {
            client.send(format!("{line}\r\n"));
        }
        client.until("+PONG\r\n");
    }
    let mut lines: Vec<String> = (0..15).map(|_| watcher.line()).collect();
    assert!(lines.iter().all(|line| line.starts_with('+') && line.contains(" [0 127.0.0.1:")));
    for line in &mut lines {
        *line = line.split_once("] ").expect("a line").1.replace('"', "");
    }
    lines.sort();
    let mut expected = sent.repeat(3);
    expected.sort_unstable();
    assert_eq!(lines, expected);
    // Its own commands are shown as well, after their replies.
    watcher.send("RESET\r\n");
    watcher.until("+RESET\r\n");
}

/// A monitoring client may also send commands: the lines that it is shown come between its replies, also when these are
/// long and arrive in pieces from several threads.
#[test]
fn lines_of_monitor_do_not_fall_into_replies() {
    let server = Server::start(&["--threads", "4"]);
    let (mut watcher, mut client) = (server.connect(), server.connect());
    let (keys, value) = ((0..60).map(|key| format!("big{key}")), "v".repeat(300_000));
    let keys: Vec<String> = keys.collect();
    for key in &keys {
        client.send(array(&[b"SET", key.as_bytes(), value.as_bytes()]));
        client.expect("+OK\r\n");
    }
    watcher.ask("MONITOR", "+OK\r\n");
    watcher.send(format!("MGET {}\r\n", keys.join(" ")));
    let (mut shown, mut replies) = (0, 0);
    let mut line = watcher.line();
    while !line.starts_with('*') {
        assert!(line.starts_with('+'), "{line}");
        line = watcher.line();
    }
    assert_eq!(line, "*60");
    // It has not read everything: the rest waits.
    for _ in 0..40 {
        client.ask("PING", "+PONG\r\n");
    }
    for _ in &keys {
        assert_eq!(watcher.bulk().len(), value.len());
        replies += 1;
    }
    while shown < 40 {
        shown += usize::from(watcher.line().ends_with("\"PING\""));
    }
    assert_eq!((shown, replies), (40, 60));
}

#[test]
fn a_watcher_that_does_not_read_is_closed_and_harms_nobody() {
    let server = Server::start(&[]);
    let mut watcher = server.connect();
    watcher.ask("MONITOR", "+OK\r\n");
    let mut client = server.connect();
    let request = array(&[b"SET", b"key", &[b'v'; 100]]).repeat(1_000);
    for _ in 0..100 {
        client.send(&request);
        client.expect(&"+OK\r\n".repeat(1_000));
    }
    client.send("CLIENT LIST\r\n");
    assert_eq!(client.bulk().lines().count(), 1, "the watcher is gone");
    client.send("INFO memory\r\n");
    let info = client.bulk();
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory_connections:"));
    let used: u64 = used.and_then(|bytes| bytes.parse().ok()).expect("a number");
    assert!(used < 3 * 1024 * 1024, "{info}");
}
