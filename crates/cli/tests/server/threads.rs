//! Several threads: a plain client sees no difference from one thread, a cluster-aware client does.

mod access;
mod accounts;

use crate::random::Random;
use crate::support::{Client, Server, array, serve};
use nix::sys::signal::Signal;
use std::io::{Read, Write};

/// Keys spread over all cores.
const KEYS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "{a}1", "{b}2", "", "k9"];

fn command(random: &mut Random, step: usize) -> Vec<String> {
    let shape = random.of(&[
        "GET K",
        "SET K N",
        "SET K N",
        "DEL K",
        "DEL K K K",
        "EXISTS K K K K K",
        "MGET K",
        "MGET K K K K K K K",
        "MGET MANY K",
        "DEL MANY K",
        "MSET K N K N K N",
        "MSET K N K",
        "DBSIZE",
        "FLUSHALL",
        "FLUSHALL FORCE",
        "PING",
        "NOSUCH K",
        "GET",
        "ECHO N",
        "CONFIG RESETSTAT",
        "SCUR.CREATE A BUCKET m cent 1000",
        "SCUR.TOPUP A T m 10",
        "SCUR.RESERVE A S 0 ITEM 1 cent REQUESTED 50",
        "SCUR.UPDATE A S R ITEM 1 cent USED 20 REQUESTED 50",
        "SCUR.TERMINATE A S R ITEM 1 cent USED 5",
        "SCUR.AUDIT A",
        "SCUR.AUDIT K",
        "SCUR.TOTALS",
        "SCUR.DELETE A FORCE",
        "GET A",
    ]);
    let word = |random: &mut Random, word: &str| match word {
        "K" => random.of(&KEYS).to_owned(),
        "A" => format!("account{}", random.below(6)),
        "S" => format!("s{}", step / 50),
        "T" => format!("t{}", random.below(1_000)),
        "R" => random.below(20).to_string(),
        "N" => random.of(&["1", "", "some value"]).to_owned(),
        fixed => fixed.to_owned(),
    };
    // FLUSHALL deletes everything, and long requests take time, so both are rare.
    let is_rare = shape.starts_with("FLUSH") || shape.contains("MANY");
    let shape = if is_rare && random.below(10) > 0 { "DBSIZE" } else { shape };
    let mut words = Vec::new();
    for part in shape.split(' ') {
        match part {
            // More keys than one batch of replies holds, some of which exist.
            "MANY" => {
                words.extend((0..1 + random.below(9_000)).map(|_| random.of(&KEYS).to_owned()))
            }
            part => words.push(word(random, part)),
        }
    }
    words
}

/// Returns the server's replies to these commands, sent in one pipeline.
fn transcript(client: &mut Client, commands: &[Vec<String>], mark: &str) -> String {
    let mut bytes = Vec::new();
    for words in commands {
        bytes.extend(array(&words.iter().map(String::as_bytes).collect::<Vec<_>>()));
    }
    bytes.extend(array(&[b"ECHO", mark.as_bytes()]));
    client.send(bytes);
    client.until(&format!("${}\r\n{mark}\r\n", mark.len()))
}

#[test]
fn a_plain_client_gets_the_same_replies_from_one_thread_and_from_many() {
    for (protocol, threads) in [("2", "2"), ("3", "5")] {
        let (one, many) = (Server::start(&[]), Server::start(&["--threads", threads]));
        let mut clients = [one.connect(), many.connect()];
        for client in &mut clients {
            client.send(format!("HELLO {protocol}\r\n*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"));
            client.until("$2\r\nhi\r\n");
        }
        let (mut random, mut step) = (Random::new(0x5EED_0F7E_57ED), 0);
        while step < 12_000 {
            let most = if random.below(4) == 0 { 300 } else { 12 };
            let chunk = 1 + random.below(most);
            let commands: Vec<_> =
                (step..step + chunk).map(|step| command(&mut random, step)).collect();
            let [one, many] =
                clients.each_mut().map(|client| transcript(client, &commands, &format!("m{step}")));
            if one != many {
                let same = one.bytes().zip(many.bytes()).take_while(|(a, b)| a == b).count();
                let shown = |text: &str| {
                    let bytes = &text.as_bytes()[same.saturating_sub(200)..];
                    bytes[..bytes.len().min(400)].escape_ascii().to_string()
                };
                panic!(
                    "step {step}, replies differ from byte {same} on: {commands:?}\n\
                     one:  {}\nmany: {}",
                    shown(&one),
                    shown(&many)
                );
            }
            step += chunk;
        }
    }
}

/// Returns the ranges of CLUSTER SLOTS: first slot, last slot, port.
pub(crate) fn slots<S: Read + Write>(client: &mut Client<S>) -> Vec<(u16, u16, u16)> {
    let integer = |client: &mut Client<S>| -> u16 {
        client.line().trim_start_matches([':', '*', '$']).parse().expect("a number")
    };
    client.send("CLUSTER SLOTS\r\n");
    let nodes = integer(client);
    (0..nodes)
        .map(|_| {
            client.expect("*3\r\n");
            let (first, last) = (integer(client), integer(client));
            client.expect("*4\r\n$9\r\n127.0.0.1\r\n");
            let port = integer(client);
            client.expect("$40\r\n");
            assert_eq!(client.line().len(), 40);
            client.expect("*0\r\n");
            (first, last, port)
        })
        .collect()
}

#[test]
fn each_core_has_a_port_that_answers_like_a_node_of_a_cluster() {
    let server = Server::start(&["--threads", "3"]);
    let nodes = slots(&mut server.connect());
    let ranges: Vec<_> = nodes.iter().map(|(first, last, _)| (*first, *last)).collect();
    assert_eq!(ranges, [(0, 5461), (5462, 10922), (10923, 16383)]);
    let mut cores: Vec<Client> = nodes.iter().map(|(.., port)| server.connect_to(*port)).collect();
    // CLUSTER KEYSLOT foo is 12182, a slot of the third core.
    let moved = format!("-MOVED 12182 127.0.0.1:{}\r\n", nodes[2].2);
    cores[0].ask("SET foo 1", &moved);
    cores[1].ask("SCUR.CREATE foo BUCKET m cent 5", &moved);
    cores[2].ask("SET foo 1", "+OK\r\n");
    cores[2].ask("MGET foo {foo}2", "*2\r\n$1\r\n1\r\n$-1\r\n");
    for core in &mut cores {
        core.ask("MGET foo bar", "-CROSSSLOT Keys in request don't hash to the same slot\r\n");
        core.ask("DEL {x}1 {y}1", "-CROSSSLOT Keys in request don't hash to the same slot\r\n");
        core.ask("PING", "+PONG\r\n");
        core.ask("READONLY", "+OK\r\n");
    }
    // A core's port counts its own keys, the main port all of them.
    let counts = cores.iter_mut().map(|core| {
        core.send("DBSIZE\r\n");
        core.line()
    });
    assert_eq!(counts.collect::<Vec<_>>(), [":0", ":0", ":1"]);
    let mut main = server.connect();
    main.ask("GET foo", "$1\r\n1\r\n");
    main.ask("DBSIZE", ":1\r\n");
    main.ask("CLUSTER KEYSLOT foo", ":12182\r\n");
    // In the same way it deletes only its own keys.
    cores[2].ask("SCUR.CREATE {foo}a BUCKET m cent 5", "*2\r\n+OK\r\n:1\r\n");
    cores[0].ask("SET bar 1", "+OK\r\n");
    for (line, left) in [("FLUSHALL", ":2\r\n"), ("FLUSHDB FORCE", ":2\r\n")] {
        cores[0].ask(line, "+OK\r\n");
        main.ask("DBSIZE", left);
    }
    let refusal = "-ERR accounts exist: FLUSHALL FORCE deletes balances for good\r\n";
    cores[2].ask("FLUSHALL", refusal);
    main.ask("FLUSHALL", refusal);
    main.ask("DBSIZE", ":2\r\n");
    for (core, _) in nodes.iter().enumerate() {
        cores[core].send("CLUSTER NODES\r\n");
        let text = cores[core].bulk();
        let myself: Vec<_> = text.lines().filter(|line| line.contains("myself,master")).collect();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(myself[0].contains(&format!(":{}@", nodes[core].2)), "{text}");
    }
}

#[test]
fn replies_of_other_cores_of_any_size_come_in_order_and_bounded() {
    let server = Server::start(&["--threads", "3"]);
    let mut client = server.connect();
    let value = "v".repeat(300_000);
    for key in 0..60 {
        client.send(array(&[b"SET", format!("k{key}").as_bytes(), value.as_bytes()]));
        client.expect("+OK\r\n");
    }
    // About 180 MB of replies to requests sent in one pipeline.
    let mut bytes = Vec::new();
    for round in 0..10 {
        for key in 0..60 {
            bytes.extend(array(&[b"GET", format!("k{key}").as_bytes()]));
            bytes.extend(array(&[b"ECHO", format!("{round}.{key}").as_bytes()]));
        }
    }
    client.send(bytes);
    for round in 0..10 {
        for key in 0..60 {
            client.expect(&format!("$300000\r\n{value}\r\n"));
            let mark = format!("{round}.{key}");
            client.expect(&format!("${}\r\n{mark}\r\n", mark.len()));
        }
    }
    let keys: Vec<String> = (0..60).map(|key| format!("k{key}")).collect();
    client.send(format!("MGET {}\r\n", keys.join(" ")));
    client.expect("*60\r\n");
    for _ in &keys {
        client.expect(&format!("$300000\r\n{value}\r\n"));
    }
    client.ask("PING", "+PONG\r\n");
}

#[test]
fn counts_of_a_refused_command_are_not_added_to_the_next() {
    let server = Server::start(&["--threads", "3"]);
    let mut client = server.connect();
    for number in 0..6 {
        client.ask(&format!("SCUR.CREATE account{number}"), "*2\r\n+OK\r\n:1\r\n");
    }
    client.ask("MSET a 1 b 2 c 3 d 4", "+OK\r\n");
    // Some threads delete their keys, the thread of the account refuses.
    client.send("DEL a b c d account0 account1 account2\r\nDBSIZE\r\nDBSIZE\r\n");
    assert!(client.line().starts_with("-WRONGTYPE"));
    let (first, second) = (client.line(), client.line());
    assert_eq!(first, second);
    let keys: u64 = first.trim_start_matches(':').parse().expect("a number");
    assert!((6..=10).contains(&keys), "{keys}");
}

#[test]
fn a_client_that_leaves_while_other_cores_work_for_it_harms_nobody() {
    let server = Server::start(&["--threads", "2"]);
    for _ in 0..200 {
        let mut client = server.connect();
        for key in ["a", "b", "c", "d"] {
            client.send(format!("SET {key} 1\r\nGET {key}\r\n"));
        }
    }
    let mut client = server.connect();
    client.ask("MGET a b c d", "*4\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n");
}

#[test]
fn one_info_and_one_list_of_clients_for_all_threads() {
    let server = Server::start(&["--threads", "4"]);
    let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.ask(&format!("SET key{number} 1"), "+OK\r\n");
    }
    let client = &mut clients[3];
    client.send("INFO\r\n");
    let info = client.bulk();
    for line in ["connected_clients:8", "threads:4", "db0:keys=8,expires=0,avg_ttl=0"] {
        assert!(info.lines().any(|found| found == line), "{line} is missing: {info}");
    }
    client.send("CLIENT LIST\r\n");
    assert_eq!(client.bulk().lines().count(), 8);
}

#[test]
fn all_threads_answer_what_was_sent_before_the_signal() {
    let server = Server::start(&["--threads", "3"]);
    let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.ask("PING", "+PONG\r\n");
        for key in 0..500 {
            client.send(format!("SET key{key} {key}\r\n"));
        }
    }
    server.signal(Signal::SIGTERM);
    for client in &mut clients {
        assert_eq!(client.rest(), "+OK\r\n".repeat(500));
    }
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
    assert!(log.contains("stopped: every client has its replies"), "{log}");
}

#[test]
fn ports_of_cores_that_are_taken_or_absent_are_named() {
    let taken = Server::start(&[]);
    let port = taken.port.to_string();
    let output = serve(&["--threads", "2", "--core-port", &port]).output().expect("it runs");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{log}");
    assert!(log.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{log}");
    let output = serve(&["--threads", "2", "--core-port", "65535"]).output().expect("it runs");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("the ports of the cores would go beyond 65535"), "{log}");
    let output = serve(&["--threads", "0"]).output().expect("it runs");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("is not a whole number from 1 to 256")
    );
}
