//! What an administrator does to a running server: SLOWLOG, LATENCY, CONFIG SET, SHUTDOWN.

use crate::support::{Client, Server, array};

/// Pairs of an MSET that takes more than a millisecond on any machine.
const MANY: usize = 100_000;

/// The lines of a reply that has this many.
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
    // Each one by itself, also in a pipeline, and no password.
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
    // Whatever else was slow on a busy machine, this one was the slowest by far.
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

#[test]
fn entities_are_found_by_value_when_there_is_an_index() {
    let server = Server::start(&["--entity-index"]);
    let mut client = server.connect();
    for at in 0..25 {
        client.ask(&format!("ENTITY.PUT e{at} blue VERSION 1"), "*2\r\n:1\r\n:1\r\n");
    }
    client.ask("ENTITY.PUT e0 green VERSION 2", "*2\r\n:1\r\n:2\r\n");
    client.ask("ENTITY.DEL e1 VERSION 2", "*2\r\n:1\r\n:2\r\n");
    let (mut cursor, mut ids, mut steps) = ("0".to_owned(), Vec::new(), 0);
    loop {
        client.send(format!("ENTITY.FIND blue AFTER {cursor} COUNT 4\r\n"));
        let head: Vec<String> = (0..4).map(|_| client.line()).collect();
        cursor.clone_from(&head[2]);
        let count: usize = head[3][1..].parse().expect("a count");
        for _ in 0..count {
            client.line();
            ids.push(client.line());
        }
        steps += 1;
        assert!(steps <= 25, "{cursor}: {ids:?}");
        if cursor == "0" {
            break;
        }
    }
    let mut expected: Vec<String> = (2..25).map(|at| format!("e{at}")).collect();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    assert!(steps > 2, "{steps}");
    client.ask("ENTITY.FIND green", "*2\r\n$1\r\n0\r\n*1\r\n$2\r\ne0\r\n");
    client.ask("ENTITY.FIND red", "*2\r\n$1\r\n0\r\n*0\r\n");
}
