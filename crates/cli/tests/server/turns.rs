//! Many connections that are served in one turn: each gets its own replies in order, whatever happens to the others.

use crate::random::Random;
use crate::support::{Client, Server, array};
use crate::unauthenticated::info;
use nix::sys::signal::Signal;
use std::net::Shutdown;

const CONNECTIONS: usize = 240;

/// Returns requests of a connection while the server is stopped, and their replies.
fn exchange(number: usize) -> (String, String) {
    let own = format!("client {number}");
    let echo = String::from_utf8(array(&[b"ECHO", own.as_bytes()])).expect("text");
    let reply = format!("${}\r\n{own}\r\n", own.len());
    match number % 6 {
        0 => (echo, reply),
        1 => (format!("SET k{number} {number}\r\nGET k{number}\r\n{echo}"), {
            let text = number.to_string();
            format!("+OK\r\n${}\r\n{text}\r\n{reply}", text.len())
        }),
        // Every thread is asked, and later requests wait for their answers.
        2 => (format!("{echo}LATENCY LATEST\r\n{echo}"), format!("{reply}*0\r\n{reply}")),
        // More requests than one turn handles.
        3 => (echo.repeat(100), reply.repeat(100)),
        4 => (format!("{echo}QUIT\r\nSET late {number}\r\n"), format!("{reply}+OK\r\n")),
        _ => (
            format!("{echo}*x\r\nSET late {number}\r\n"),
            format!("{reply}-ERR Protocol error: invalid multibulk length\r\n"),
        ),
    }
}

fn serves_all(arguments: &[&str]) {
    let server = Server::start(arguments);
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| server.connect()).collect();
    let mut lost: Vec<Client> = (0..CONNECTIONS / 4).map(|_| server.connect()).collect();
    // These send nothing after their request, and are served together with connections that are lost.
    let mut last: Vec<Client> = (0..CONNECTIONS / 4).map(|_| server.connect()).collect();
    for client in clients.iter_mut().chain(&mut lost).chain(&mut last) {
        client.send("PING\r\n");
    }
    for client in clients.iter_mut().chain(&mut last) {
        client.expect("+PONG\r\n");
    }
    for client in &lost {
        client.stream().peek(&mut [0]).expect("a reply is there");
    }
    // Bytes that arrive while the server is stopped are all there when it continues.
    server.signal(Signal::SIGSTOP);
    let mut lost = lost.into_iter();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(exchange(number).0);
        // One connection that is reset between the others: its reply was not read.
        if number % 4 == 0 {
            last[number / 4].send("PING\r\n");
            last[number / 4].stream().shutdown(Shutdown::Write).expect("it is open");
            drop(lost.next());
        }
    }
    server.signal(Signal::SIGCONT);
    for (number, client) in clients.iter_mut().enumerate() {
        client.expect(&exchange(number).1);
    }
    for client in &mut last {
        assert_eq!(client.rest(), "+PONG\r\n");
    }
    for (number, client) in clients.iter_mut().enumerate() {
        if number % 6 < 4 {
            client.send("GET late\r\n");
            client.expect("$-1\r\n");
        } else {
            assert_eq!(client.rest(), "");
        }
    }
}

#[test]
fn connections_that_are_served_together_get_their_own_replies() {
    serves_all(&[]);
    serves_all(&["--threads", "3"]);
}

#[test]
fn whoever_is_at_work_does_not_wait_for_those_who_wake() {
    const WAKING: usize = 300;
    let server = Server::start(&[]);
    let mut working = server.connect();
    // Work of a second ago does not count, so on a stalled machine there is another round.
    let is_first = (0..60).any(|_| {
        let mut waking: Vec<Client> = (0..WAKING).map(|_| server.connect()).collect();
        while info(&mut working, "connected_clients") <= WAKING as u64 {}
        working.ask("SET n 0", "+OK\r\n");
        server.signal(Signal::SIGSTOP);
        for client in &mut waking {
            client.send("INCR n\r\n");
        }
        // The last of all.
        working.send("GET n\r\n");
        server.signal(Signal::SIGCONT);
        let before: usize = working.bulk().parse().expect("a count");
        for client in &mut waking {
            assert!(client.line().starts_with(':'), "everybody has a turn");
        }
        before < WAKING / 2
    });
    assert!(is_first);
}

/// Every request uses its own key, in batches, next to requests without a key, in transactions, and when other threads
/// execute it.
#[test]
fn each_request_of_a_pipeline_has_its_own_key() {
    const KEYS: usize = 200;
    for threads in ["1", "3"] {
        let server = Server::start(&["--threads", threads]);
        let mut client = server.connect();
        let request = |words: &str| -> Vec<u8> {
            array(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>())
        };
        let sets = |n| [request(&format!("SET key:{n} {n}")), request("PING")].concat();
        client.send((0..KEYS).flat_map(sets).collect::<Vec<u8>>());
        client.expect(&"+OK\r\n+PONG\r\n".repeat(KEYS));
        let gets = |n| {
            let (get, increment) = (format!("GET key:{n}"), format!("INCR key:{n}"));
            [request(&get), request("MULTI"), request(&increment), request("EXEC")].concat()
        };
        client.send((0..KEYS).flat_map(gets).collect::<Vec<u8>>());
        for n in 0..KEYS {
            let bulk = format!("${}\r\n{n}\r\n", n.to_string().len());
            client.expect(&format!("{bulk}+OK\r\n+QUEUED\r\n*1\r\n:{}\r\n", n + 1));
        }
    }
}

/// Returns the words of a request, and its reply.
fn any_request(random: &mut Random, number: usize) -> (String, String) {
    let key = random.of(&["a", "b", "c", "d"]);
    match random.below(6) {
        0 => ("PING".to_owned(), "+PONG\r\n".to_owned()),
        1 => (format!("ECHO {number}"), format!("${}\r\n{number}\r\n", number.to_string().len())),
        2 => ("NOSUCH".to_owned(), {
            "-ERR unknown command 'NOSUCH', with args beginning with: \r\n".to_owned()
        }),
        3 => ("WATCH a".to_owned(), "+OK\r\n".to_owned()),
        4 => (format!("GET nothing:{key}"), "$-1\r\n".to_owned()),
        _ => (format!("SET {key} {number}"), "+OK\r\n".to_owned()),
    }
}

/// The rest of a pipeline arrives while its beginning waits for a sync, for other threads or for earlier replies: lines
/// and arrays, cut at any byte.
#[test]
fn what_comes_in_pieces_is_answered_whatever_waits() {
    const PIPELINES: usize = 300;
    for (threads, durability) in [("1", "fsync"), ("3", "fsync"), ("3", "write"), ("3", "none")] {
        let directory = tempfile::tempdir().expect("a directory");
        let directory = directory.path().join("store");
        let mut arguments = vec!["--threads", threads];
        if durability != "none" {
            let directory = directory.to_str().expect("a name");
            arguments.extend(["--durability", durability, "--dir", directory]);
        }
        let server = Server::start(&arguments);
        let mut random = Random::new(0x7134);
        for number in 0..PIPELINES {
            let mut client = server.connect();
            let (mut sent, mut expected) = (Vec::new(), String::new());
            for _ in 0..2 + random.below(6) {
                let (words, reply) = any_request(&mut random, number);
                if random.one_in(3) {
                    sent.extend_from_slice(format!("{words}\r\n").as_bytes());
                } else {
                    sent.extend(array(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
                }
                expected.push_str(&reply);
            }
            let (first, rest) = sent.split_at(1 + random.below(sent.len() - 1));
            client.send(first);
            client.send(rest);
            client.expect(&expected);
        }
    }
}
