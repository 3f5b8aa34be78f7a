//! Users and TLS with several threads: any thread may serve a client, and its keys may belong to another.

use super::slots;
use crate::access::{CHEAP, NO_AUTH, WRONG_PASS, settings};
use crate::support::{Client, Server};
use crate::tls::{Certificates, closed, log_of, start, trust};
use std::io::{Read, Write};

fn users(name: &str) -> Server {
    let path = settings(
        name,
        "threads = 3\nrequirepass = 'secret'\n",
        &[("reader", CHEAP, "'read'"), ("charger", CHEAP, "'charge'")],
    );
    Server::start(&["--config", path.to_str().expect("UTF-8")])
}

/// Keys of the first, second and third core: CLUSTER KEYSLOT gives 3300, 7365, 12182.
const KEYS: [&str; 3] = ["b", "c", "foo"];

/// Returns the error for a command of a user with the role `read`.
fn refusal(user: &str, command: &str) -> String {
    let (name, sub) = command.split_once('|').unwrap_or((command, ""));
    let spec = scurry_resp::table::find(name.as_bytes()).expect("a command");
    let role = spec.subcommand(sub.as_bytes()).unwrap_or(spec).role.name();
    let why = format!("it needs the role {role}, and {user} has read");
    format!("-NOPERM User {user} has no permissions to run the '{command}' command: {why}\r\n")
}

#[test]
fn every_thread_checks_passwords_and_nothing_overtakes_the_check() {
    let server = users("threads-auth");
    let mut clients: Vec<Client> = (0..9).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let sets = KEYS.map(|key| format!("SET {key}{number} {number}\r\n")).concat();
        let gets = KEYS.map(|key| format!("GET {key}{number}\r\n")).concat();
        client.send(format!(
            "{gets}AUTH charger password\r\n{sets}AUTH charger wrong\r\n{sets}\
             AUTH reader password\r\n{gets}{sets}"
        ));
    }
    for (number, client) in clients.iter_mut().enumerate() {
        client.expect(&NO_AUTH.repeat(3));
        client.expect(&format!("+OK\r\n{}", "+OK\r\n".repeat(3)));
        client.expect(&format!("{WRONG_PASS}{}", "+OK\r\n".repeat(3)));
        client.expect(&format!("+OK\r\n{}", format!("$1\r\n{number}\r\n").repeat(3)));
        client.expect(&refusal("reader", "set").repeat(3));
    }
    // One check for each of the two right passwords, whichever thread asked first.
    let mut client = server.connect();
    client.ask("AUTH secret", "+OK\r\n");
    client.send("INFO\r\n");
    let info = client.bulk();
    let computed = format!("password_hashes_computed:{}", 2 + clients.len());
    assert!(info.lines().any(|line| line == computed), "{computed} is missing: {info}");
}

#[test]
fn what_another_core_would_execute_is_refused_in_its_place() {
    let server = users("threads-roles");
    for _ in 0..6 {
        let mut client = server.connect();
        client.ask("AUTH reader password", "+OK\r\n");
        let mut expected = String::new();
        for key in KEYS.repeat(20) {
            client.send(format!("GET {key}\r\nSET {key} 1\r\nEXISTS {key}\r\n"));
            expected += &format!("$-1\r\n{}:0\r\n", refusal("reader", "set"));
        }
        // Executed in parts by several cores, or by all.
        client.send("MGET b c foo\r\nDEL b c foo\r\nMSET b 1 c 1 foo 1\r\nEXISTS b c foo\r\n");
        let nothing = "*3\r\n$-1\r\n$-1\r\n$-1\r\n";
        expected +=
            &[nothing, &refusal("reader", "del"), &refusal("reader", "mset"), ":0\r\n"].concat();
        client.send("DBSIZE\r\nFLUSHALL FORCE\r\nCONFIG RESETSTAT\r\nCLIENT LIST\r\nDBSIZE\r\n");
        expected += ":0\r\n";
        for command in ["flushall", "config|resetstat", "client|list"] {
            expected += &refusal("reader", command);
        }
        client.expect(&(expected + ":0\r\n"));
    }
}

#[test]
fn the_port_of_a_core_refuses_before_it_redirects() {
    let server = users("threads-moved");
    let mut main = server.connect();
    main.ask("AUTH secret", "+OK\r\n");
    let nodes = slots(&mut main);
    let mut first = server.connect_to(nodes[0].2);
    first.ask("GET foo", NO_AUTH);
    first.ask("AUTH reader password", "+OK\r\n");
    first.ask("SET foo 1", &refusal("reader", "set"));
    first.ask("GET foo", &format!("-MOVED 12182 127.0.0.1:{}\r\n", nodes[2].2));
    first.ask("GET b", "$-1\r\n");
}

/// Checks that every key can be set and read on this connection.
fn serves_every_key<S: Read + Write>(client: &mut Client<S>) {
    client.send(KEYS.map(|key| format!("SET {key} {key}\r\nGET {key}\r\n")).concat());
    for key in KEYS {
        client.expect(&format!("+OK\r\n${}\r\n{key}\r\n", key.len()));
    }
    client.ask("MGET foo b", "*2\r\n$3\r\nfoo\r\n$1\r\nb\r\n");
}

#[test]
fn tls_on_the_main_port_and_on_those_of_the_cores() {
    let files = Certificates::make("threads");
    let server = start(&files, &["--threads", "3"]);
    let mut clients: Vec<_> = (0..6).map(|_| trust(&files).connect(server.port)).collect();
    clients.iter_mut().for_each(serves_every_key);
    let nodes = slots(&mut clients[0]);
    for (own, key) in nodes.iter().zip(KEYS) {
        let mut client = trust(&files).connect(own.2);
        client.ask(&format!("GET {key}"), &format!("${}\r\n{key}\r\n", key.len()));
        client.ask("DBSIZE", ":1\r\n");
        let mut plain = server.connect_to(own.2);
        plain.send("PING\r\n");
        assert!(!plain.rest().contains("PONG"));
    }
    drop(clients);
    let log = log_of(server);
    assert_eq!(closed(&log, "TLS handshake failed: "), 3, "{log}");
}

#[test]
fn tls_beside_a_plain_main_port_leaves_those_of_the_cores_plain() {
    let files = Certificates::make("threads-beside");
    let server = start(&files, &["--threads", "3", "--tls-listen", "127.0.0.1:0"]);
    let port = server.tls_port.expect("it has two");
    let mut clients: Vec<_> = (0..6).map(|_| trust(&files).connect(port)).collect();
    clients.iter_mut().for_each(serves_every_key);
    let mut main = server.connect();
    serves_every_key(&mut main);
    for (own, key) in slots(&mut main).iter().zip(KEYS) {
        server.connect_to(own.2).ask(&format!("EXISTS {key}"), ":1\r\n");
    }
}

#[test]
fn many_failures_are_few_lines() {
    let files = Certificates::make("threads-failures");
    let server = start(&files, &["--threads", "3"]);
    for _ in 0..300 {
        let mut plain = server.connect();
        plain.send("PING\r\n");
        assert!(!plain.rest().contains("PONG"));
    }
    let log = log_of(server);
    assert_eq!(closed(&log, "TLS handshake failed: "), 300, "{log}");
    let lines = log.lines().filter(|line| line.contains("TLS handshake failed: ")).count();
    assert!(lines < 100, "{lines} lines: {log}");
}
