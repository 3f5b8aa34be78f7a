//! KEYS: all keys of a small store, and an error for a large one.

use crate::support::{Client, Server, array};

/// Returns the reply to KEYS.
fn listed(client: &mut Client, pattern: &str) -> Vec<String> {
    client.send(format!("KEYS {pattern}\r\n"));
    let len: usize = client.line().trim_start_matches('*').parse().expect("an array");
    (0..len).map(|_| client.bulk()).collect()
}

const MANY: &str = "-ERR more than 10000 keys: use SCAN, which lists them in steps\r\n";

#[test]
fn keys_of_all_threads_are_one_list() {
    let server = Server::start(&["--threads", "3"]);
    let mut client = server.connect();
    let mut keys: Vec<String> = (0..300).map(|at| format!("key{at}")).collect();
    for key in &keys {
        client.ask(&format!("SET {key} v"), "+OK\r\n");
    }
    client.ask("ENTITY.PUT entity blue VERSION 1", "*2\r\n:1\r\n:1\r\n");
    client.ask("ENTITY.PUT gone blue VERSION 1", "*2\r\n:1\r\n:1\r\n");
    client.ask("ENTITY.DEL gone VERSION 2", "*2\r\n:1\r\n:2\r\n");
    let mut all = listed(&mut client, "key*");
    all.sort_unstable();
    keys.sort_unstable();
    assert_eq!(all, keys);
    assert_eq!(listed(&mut client, "[^k]*"), ["entity"]);
    client.ask("KEYS none*", "*0\r\n");
    // Requests of one pipeline keep their lists separate, in both protocols.
    client.send("HELLO 3\r\nPING\r\n");
    client.until("+PONG\r\n");
    client.send("KEYS key1\r\nGET key1\r\nKEYS key2\r\nDBSIZE\r\n");
    client.expect("*1\r\n$4\r\nkey1\r\n$1\r\nv\r\n*1\r\n$4\r\nkey2\r\n:301\r\n");
}

#[test]
fn keys_of_a_thread_that_has_many_are_not_listed() {
    for threads in ["1", "3"] {
        let server = Server::start(&["--threads", threads]);
        let mut client = server.connect();
        client.ask("SCUR.CREATE {t}account", "*2\r\n+OK\r\n:1\r\n");
        client.ask("SET other v", "+OK\r\n");
        for begin in (0..9_000).step_by(1_000) {
            let pairs: Vec<String> =
                (begin..begin + 1_000).map(|at| format!("{{t}}{at} v")).collect();
            client.ask(&format!("MSET {}", pairs.join(" ")), "+OK\r\n");
        }
        // One thread may own both, so the bound leaves room for a few keys.
        let mut some = listed(&mut client, "{t}[a8]*");
        some.sort_unstable();
        assert_eq!((some.len(), some[1_111].as_str()), (1_112, "{t}account"), "{threads} threads");
        let pairs: Vec<String> = (9_000..10_000).map(|at| format!("{{t}}{at} v")).collect();
        client.ask(&format!("MSET {}", pairs.join(" ")), "+OK\r\n");
        client.ask("KEYS none*", MANY);
        client.ask("KEYS *", MANY);
        client.ask("FLUSHALL FORCE", "+OK\r\n");
        assert_eq!(listed(&mut client, "*"), Vec::<String>::new());
        // Some of these keys belong to other threads, and are listed there when this thread refuses.
        for at in 0..20 {
            client.ask(&format!("SET other{at} v"), "+OK\r\n");
        }
        // Few keys, but too long for one reply.
        for at in 0..70 {
            let key = format!("{{t}}{at}{}", "k".repeat(60_000));
            client.send(array(&[b"SET", key.as_bytes(), b"v"]));
            client.expect("+OK\r\n");
        }
        // In one pipeline: keys listed for the refused request must not appear in another reply.
        client.send("KEYS *\r\nKEYS {t}7k*\r\n");
        let said = client.line();
        assert!(said.starts_with("-ERR more than 4194304 bytes of keys: use SCAN"), "{said}");
        assert_eq!(client.line(), "*1");
        assert!(client.bulk().starts_with("{t}7k"));
        client.ask("PING", "+PONG\r\n");
    }
}

/// Returns as many `a` as make a pattern and keys costly together.
fn costly(len: usize) -> String {
    "a".repeat(len)
}

#[test]
fn a_costly_pattern_ends_a_command_and_not_the_server() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let spent = "-ERR the pattern takes more than 5000000 steps of matching";
    // A single key takes less than half of the allowed steps.
    for at in 0..9 {
        client.ask(&format!("SET {at}{}b v", costly(2_500)), "+OK\r\n");
    }
    client.ask("SET short v", "+OK\r\n");
    let pattern = format!("*{}b", costly(1_250));
    client
        .ask(&format!("KEYS {pattern}"), &format!("{spent}: use SCAN with a shorter pattern\r\n"));
    assert_eq!(listed(&mut client, "[0-9]*b").len(), 9);
    // SCAN continues where it stopped, and still lists every key.
    let (mut cursor, mut found, mut steps) = ("0".to_owned(), Vec::new(), 0);
    loop {
        client.send(format!("SCAN {cursor} MATCH {pattern} COUNT 10000\r\n"));
        assert_eq!(client.line(), "*2");
        cursor = client.bulk();
        let len: usize = client.line().trim_start_matches('*').parse().expect("an array");
        found.extend((0..len).map(|_| client.bulk()));
        steps += 1;
        if cursor == "0" {
            break;
        }
    }
    assert!(steps >= 3, "{steps}");
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 9);
    // A single key that is too costly for the pattern gives an error after the others.
    client.ask(&format!("SET {} v", costly(20_000)), "+OK\r\n");
    let pattern = format!("*{}b", costly(10_000));
    let said = loop {
        client.send(format!("SCAN {cursor} MATCH {pattern}\r\n"));
        let line = client.line();
        if line != "*2" {
            break line;
        }
        cursor = client.bulk();
        assert_eq!(client.line(), "*0");
        assert_ne!(cursor, "0", "it is left out");
    };
    assert_eq!(said, format!("{spent} for a single key: use a shorter pattern"));
    // The names of settings and commands are short, but patterns may be long.
    let class = format!("*[{}]", costly(500_000));
    for command in ["CONFIG GET", "COMMAND LIST FILTERBY PATTERN"] {
        let words = command.split(' ').chain([class.as_str()]);
        client.send(array(&words.map(str::as_bytes).collect::<Vec<_>>()));
        client.expect(&format!("{spent}\r\n"));
    }
    client.ask("PING", "+PONG\r\n");
}
