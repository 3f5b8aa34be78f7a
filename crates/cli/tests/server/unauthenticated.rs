//! Many clients that do not authenticate: bounds on their input, their memory and their time, and that authenticated
//! clients, clients that are authenticating, and HTTP are not affected.

use crate::access::{NO_AUTH, WRONG_PASS};
use crate::random::Random;
use crate::support::{Client, Server, array, connect};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

/// Seeds of the hostile clients. Each makes a server and some rounds.
const SEEDS: std::ops::Range<u64> = 1..5;
const ROUNDS: usize = 6;
/// Limit of connections, low enough that hostile clients could take all of them.
const CLIENTS_MAX: usize = 64;
/// Hostile connections in a round at most.
const HOSTILE_MAX: usize = 80;

fn enter(server: &Server) -> Client {
    let mut client = server.connect();
    client.ask("AUTH secret", "+OK\r\n");
    client
}

/// Connects and authenticates, with retries: on a stalled machine even a prompt client may be late.
fn enter_at_last(server: &Server) -> Client {
    for _ in 0..1_000 {
        let mut client = server.connect();
        let mut reply = [0; 5];
        let stream = client.stream_mut();
        if stream.write_all(b"AUTH secret\r\n").is_ok() && stream.read_exact(&mut reply).is_ok() {
            assert_eq!(&reply, b"+OK\r\n");
            return client;
        }
    }
    panic!("nobody comes in");
}

/// Returns a number of INFO.
pub(super) fn info(client: &mut Client, name: &str) -> u64 {
    client.send("INFO everything\r\n");
    let text = client.bulk();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let value = value.unwrap_or_else(|| panic!("no {name} in {text}"));
    value.parse().unwrap_or_else(|_| panic!("{name} is {value}"))
}

/// Waits until the server has closed the connection. Unread data may be lost.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 4096];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

fn settings(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    std::fs::write(&path, text).expect("it is written");
    path.display().to_string()
}

#[test]
fn requests_are_small_before_auth_and_as_ever_behind_it() {
    let server = Server::start(&["--requirepass", "secret"]);
    let half: &[u8] = &[b'x'; 8_000];
    for (request, error) in [
        (array(&[b"SET", half, half, half]), "too big request before AUTH"),
        ([&[b'x'; 20_000][..], b"\r\n"].concat(), "too big inline request"),
        (vec![b'x'; 20_000], "too big inline request"),
    ] {
        let mut client = server.connect();
        client.send(&request);
        client.expect(&format!("-ERR Protocol error: {error}\r\n"));
        assert_eq!(client.rest(), "");
        client = enter(&server);
        client.send(array(&[b"SET", b"k", half]));
        client.send(array(&[b"MSET", b"a", half, b"b", half, b"c", half]));
        client.expect("+OK\r\n+OK\r\n");
    }
    // A request within the bound may arrive in pieces and be followed by many others.
    let mut client = server.connect();
    let mut all = array(&[b"PING"]).repeat(3_000);
    all.extend(array(&[b"AUTH", b"secret"]));
    all.extend(array(&[b"SET", b"k", &[b'x'; 100_000]]).repeat(3));
    let mut writer = client.stream().try_clone().expect("a second handle");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            all.chunks(7_001).for_each(|some| writer.write_all(some).expect("it is read"))
        });
        client.expect(&NO_AUTH.repeat(3_000));
        client.expect("+OK\r\n+OK\r\n+OK\r\n+OK\r\n");
    });
}

#[test]
fn what_is_held_before_auth_is_not_the_stores_memory() {
    let server = Server::start(&["--requirepass", "secret", "--max-memory", "4mb"]);
    let mut client = enter(&server);
    client.ask("SCUR.CREATE a BUCKET m cent 100", "*2\r\n+OK\r\n:1\r\n");
    let (used, received) =
        (info(&mut client, "used_memory"), info(&mut client, "total_net_input_bytes"));
    let part = [&b"*9\r\n$16000\r\n"[..], &[b'x'; 15_000]].concat();
    let mut others = Vec::new();
    for _ in 0..600 {
        let mut other = connect(server.port);
        other.write_all(&part).expect("it is open");
        others.push(other);
    }
    let sent = (others.len() * part.len()) as u64;
    while info(&mut client, "total_net_input_bytes") - received < sent {}
    let held = info(&mut client, "mem_clients_unauthenticated");
    assert!((sent..2 * sent).contains(&held), "{held} bytes are held of {sent}");
    assert_eq!(info(&mut client, "unauthenticated_clients"), 600);
    assert_eq!(info(&mut client, "used_memory"), used);
    client.ask("SCUR.DEBIT a d cent 1", "*4\r\n+OK\r\n:0\r\n:2\r\n:1\r\n");
    // From AUTH on it counts.
    let mut in_now = server.connect();
    in_now.ask("AUTH wrong", WRONG_PASS);
    in_now.ask("AUTH secret", "+OK\r\n");
    in_now.send([&b"*2\r\n$3\r\nGET\r\n$900000\r\n"[..], &[b'x'; 800_000]].concat());
    while info(&mut client, "used_memory") < used + 800_000 {}
    drop(others);
    while info(&mut client, "unauthenticated_clients") > 0 {}
    assert_eq!(info(&mut client, "mem_clients_unauthenticated"), 0);
}

#[test]
fn replies_before_auth_are_bounded_too() {
    let server = Server::start(&["--requirepass", "secret"]);
    let mut other = connect(server.port);
    other.set_write_timeout(Some(Duration::from_millis(200))).expect("a time-out is set");
    let lines = b"a\r\n".repeat(20_000);
    // The client never reads, so the server stops reading too.
    let mut sent = 0;
    let stuck = loop {
        match other.write(&lines) {
            Ok(len) => sent += len,
            Err(error) => break error,
        }
        assert!(sent < 1 << 30, "it reads on for ever");
    };
    assert!(matches!(stuck.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{stuck}");
    let mut client = enter(&server);
    let held = info(&mut client, "mem_clients_unauthenticated");
    assert!(held < 256 * 1024, "{held} bytes are held");
}

#[test]
fn who_does_not_come_in_has_to_go() {
    let path = settings("deadline", "requirepass = 'secret'\nauth_ms_max = 1000\n");
    let server = Server::start(&["--config", &path]);
    let mut client = enter_at_last(&server);
    let mut others: Vec<TcpStream> = (0..20).map(|_| connect(server.port)).collect();
    for (number, other) in others.iter_mut().enumerate() {
        // Failed attempts do not extend the time.
        other
            .write_all([&b""[..], b"PING\r\n", b"AUTH wrong\r\n"][number % 3])
            .expect("it is open");
    }
    assert!(others.iter_mut().all(is_closed), "each ends");
    client.ask("PING", "+PONG\r\n");
    // RESET ends the authentication, and the time starts again.
    client.ask("RESET", "+RESET\r\n");
    assert!(is_closed(client.stream_mut()));
    let mut client = enter_at_last(&server);
    assert!(info(&mut client, "unauthenticated_connections_closed") >= 21);
    while info(&mut client, "connected_clients") > 1 {}
    assert_eq!(info(&mut client, "unauthenticated_clients"), 0);
}

#[test]
fn without_a_password_everybody_is_in() {
    let path = settings("open", "auth_ms_max = 1\n");
    let server = Server::start(&["--config", &path, "--max-clients", "8"]);
    let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for _ in 0..100 {
        clients.iter_mut().for_each(|client| client.ask("PING", "+PONG\r\n"));
    }
    assert_eq!(server.connect().rest(), "-ERR max number of clients reached\r\n");
}

#[test]
fn the_oldest_gives_way_and_those_who_are_in_do_not() {
    for threads in ["1", "2"] {
        let server = Server::start(&[
            "--requirepass",
            "secret",
            "--max-clients",
            "40",
            "--threads",
            threads,
        ]);
        let mut client = enter(&server);
        let mut others: Vec<TcpStream> = Vec::new();
        for _ in 0..100 {
            others.push(connect(server.port));
            // Every core answers, so each has handled all earlier connections.
            assert!(info(&mut client, "unauthenticated_clients") <= 10);
            // A new client can authenticate, and is then no longer counted as unauthenticated.
            enter(&server).ask("PING", "+PONG\r\n");
        }
        assert!(others[..90].iter_mut().all(is_closed), "the oldest are closed");
        let last = others.last_mut().expect("some");
        last.write_all(b"AUTH secret\r\n").expect("it is open");
        let mut reply = [0; 5];
        last.read_exact(&mut reply).expect("it is open");
        assert_eq!(&reply, b"+OK\r\n");
        // When authenticated clients take all places, a new connection is closed.
        let mut inside = Vec::new();
        for _ in 0..60 {
            let mut newcomer = server.connect();
            let stream = newcomer.stream_mut();
            if stream.write_all(b"AUTH secret\r\n").is_ok()
                && stream.read_exact(&mut reply).is_ok()
                && &reply == b"+OK\r\n"
            {
                inside.push(newcomer);
            }
            assert!(info(&mut client, "connected_clients") <= 40);
        }
        assert_eq!(inside.len(), 38, "beside two");
        inside.iter_mut().for_each(|newcomer| newcomer.ask("PING", "+PONG\r\n"));
    }
}

/// Returns bytes that a hostile client sends, if any. None of them authenticate.
fn hostile(random: &mut Random) -> Vec<u8> {
    match random.below(7) {
        0 => Vec::new(),
        1 => (0..random.below(40_000))
            .map(|_| u8::try_from(random.below(256)).expect("a byte"))
            .collect(),
        // The beginning of the largest request that is allowed after AUTH. It never ends.
        2 | 3 => {
            let argument = array(&[&[b'x'; 16_384]]);
            let mut bytes = b"*10\r\n".to_vec();
            (0..1 + random.below(9)).for_each(|_| bytes.extend_from_slice(&argument[4..]));
            bytes
        }
        4 => vec![b'y'; random.below(70_000)],
        5 => array(&[b"AUTH", b"default", b"wrong"]).repeat(1 + random.below(50)),
        _ => b"PING\r\nGET k\r\n*1\r\n$4\r\n".repeat(1 + random.below(2_000)),
    }
}

/// Returns the port in the next log line.
fn http_port(server: &mut Server) -> u16 {
    let line = server.log_line();
    let port = line.split_once("127.0.0.1:").and_then(|(_, rest)| rest.split(' ').next());
    port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no port in {line}"))
}

/// Makes a debit over HTTP on a new connection.
fn debit_over_http(port: u16, id: &str) {
    let body = r#"{"unit":"cent","amount":1}"#;
    let mut client = Client::over(connect(port));
    client.send(format!(
        "POST /v1/accounts/a/debits HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Authorization: Basic ZGVmYXVsdDpzZWNyZXQ=\r\nContent-Type: application/json\r\n\
         Idempotency-Key: {id}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let answer = client.rest();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{id}: {answer}");
}

#[test]
fn http_charges_when_every_place_is_taken() {
    let mut server = Server::start(&["--max-clients", "8", "--http-listen", "127.0.0.1:0"]);
    let http = http_port(&mut server);
    let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.ask("PING", "+PONG\r\n"));
    clients[0].ask("SCUR.CREATE a BUCKET m cent 100", "*2\r\n+OK\r\n:1\r\n");
    debit_over_http(http, "h");
    clients[0].ask("SCUR.CHECK a cent 99", "*2\r\n+OK\r\n:99\r\n");
    clients.iter_mut().for_each(|client| client.ask("PING", "+PONG\r\n"));
}

/// Checks the limits of hostile clients, whatever they send: authenticated clients charge, others can authenticate,
/// HTTP charges, and the memory of the store does not change.
fn hostile_rounds(seed: u64) {
    let mut random = Random::new(seed);
    let mut server = Server::start(&[
        "--requirepass",
        "secret",
        "--max-clients",
        &CLIENTS_MAX.to_string(),
        "--max-memory",
        "4mb",
        "--http-listen",
        "127.0.0.1:0",
    ]);
    let http = http_port(&mut server);
    let mut client = enter(&server);
    client.ask("SCUR.CREATE a BUCKET m cent 1000", "*2\r\n+OK\r\n:1\r\n");
    let mut others: Vec<TcpStream> = Vec::new();
    // They stay connected, so that only hostile clients change between two looks at the memory.
    let mut newcomers = Vec::new();
    let mut version = 1;
    for round in 0..ROUNDS {
        let used = info(&mut client, "used_memory");
        for _ in 0..1 + random.below(HOSTILE_MAX) {
            let mut other = connect(server.port);
            other.set_write_timeout(Some(Duration::from_millis(20))).expect("a time-out is set");
            // The server may have closed it, or have stopped reading: both are right.
            let _ = other.write_all(&hostile(&mut random));
            others.push(other);
            if random.one_in(4) {
                others.swap_remove(random.below(others.len()));
            }
        }
        // After these, the server has handled all connections.
        (0..50).for_each(|_| client.ask("PING", "+PONG\r\n"));
        assert_eq!(info(&mut client, "used_memory"), used, "seed {seed}, round {round}");
        version += 1;
        client.ask(
            &format!("SCUR.DEBIT a r{round} cent 1"),
            &format!("*4\r\n+OK\r\n:0\r\n:{version}\r\n:1\r\n"),
        );
        newcomers.push(enter(&server));
        debit_over_http(http, &format!("h{round}"));
        version += 1;
    }
}

#[test]
fn hostile_clients_keep_nobody_from_charging() {
    SEEDS.for_each(hostile_rounds);
}
