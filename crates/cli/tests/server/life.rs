//! The life of a server: its messages at the start, which appear only when every port is open, its log, how it stops,
//! and what its timers do without requests.

use crate::access::{CHEAP, settings};
use crate::store::Directory;
use crate::support::{Client, Server, array, serve};
use nix::sys::signal::Signal;
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;

/// Bound of repeated requests: each is a round trip, so this ends.
const TRIES_MAX: usize = 1_000_000;

#[test]
fn a_start_says_what_starts_and_who_may_come_in() {
    let version = env!("CARGO_PKG_VERSION");
    let server = Server::start(&[]);
    let expected = format!(
        "scurry {version}, durability none: nothing survives a restart\n\
         clients come in without a password, with every role\nlistening on 127.0.0.1:{}\n",
        server.port
    );
    assert!(server.said.ends_with(&expected), "{}", server.said);
    let directory = Directory::make();
    let path = settings("starting", "", &[("alice", CHEAP, "'read'"), ("bob", CHEAP, "'read'")]);
    let directory = directory.path();
    let path = path.to_str().expect("UTF-8");
    let server = Server::start(&["--dir", directory, "--durability", "write", "--config", path]);
    let expected = format!("scurry {version}, durability write in {directory}\n");
    assert!(server.said.contains(&expected), "{}", server.said);
    let expected = "\nclients come in with the password or token of one of 2 users\n";
    assert!(server.said.contains(expected), "{}", server.said);
    let server = Server::start(&["--requirepass", "secret"]);
    let expected = "\nclients come in with the password or token of default\n";
    assert!(server.said.contains(expected), "{}", server.said);
    assert!(!server.said.contains("secret"), "{}", server.said);
}

#[test]
fn nothing_listens_when_a_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    let mut child = serve(&["--log", "off", "--http-listen", &taken]).spawn().expect("it starts");
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("stderr is piped");
    stderr.read_to_string(&mut said).expect("it ends");
    assert!(!child.wait().expect("it ends").success());
    assert!(!said.contains("listening on "), "{said}");
    assert!(said.contains(&taken), "{said}");
}

fn fails(arguments: &[&str]) -> String {
    let output = serve(arguments).output().expect("the binary starts");
    assert!(!output.status.success(), "{arguments:?} should not work");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn sigterm_answers_what_was_sent_and_exits_with_0() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let server = Server::start(&[]);
        let mut client = server.connect();
        let idle = server.connect();
        let count = 20_000;
        client.send(array(&[b"SET", b"k", b"v"]).repeat(count));
        // The first reply shows that the requests are being executed.
        client.expect("+OK\r\n");
        server.signal(signal);
        let rest = client.rest();
        assert_eq!(rest.lines().filter(|line| *line == "+OK").count(), count - 1);
        assert_eq!(rest.len(), 5 * (count - 1));
        drop(client);
        let (status, log) = server.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        drop(idle);
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send(array(&[b"SET", b"big", &vec![b'v'; 900_000]]));
    client.expect("+OK\r\n");
    // More replies than socket buffers hold, and the client does not read: draining waits.
    client.send(array(&[b"GET", b"big"]).repeat(200));
    client.expect("$900000\r\n");
    server.signal(Signal::SIGTERM);
    // Signals of one kind can merge, so the second one is of another kind.
    server.signal(Signal::SIGINT);
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(1), "{log}");
}

#[test]
fn an_address_that_others_reach_needs_a_password() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let error = fails_at(address, &[]);
        assert!(error.contains("SCURRY_REQUIREPASS or --requirepass"), "{error}");
        assert!(error.contains("--allow-open-access-without-password"), "{error}");
    }
}

fn fails_at(address: &str, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["serve", "--durability", "none", "--listen", address]).args(arguments);
    let output = command.env_remove("SCURRY_REQUIREPASS").output().expect("the binary starts");
    assert!(!output.status.success(), "{address} should not work");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_address_in_use_is_named_with_a_cure() {
    let server = Server::start(&[]);
    let error = fails_at(&format!("127.0.0.1:{}", server.port), &[]);
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("address is in use"), "{error}");
    assert!(error.contains("--listen"), "{error}");
}

#[test]
fn settings_come_from_the_file_and_flags_go_before_it() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = directory.join("settings.toml");
    let text =
        "max_memory = '3mb'\nmax_clients = 7\nrequirepass = 'secret'\n[limits]\nitems_max = 2\n";
    std::fs::write(&path, text).expect("it is written");
    let server = Server::start(&["--config", path.to_str().expect("UTF-8"), "--max-clients", "9"]);
    let mut client = server.connect();
    client.ask("PING", "-NOAUTH Authentication required.\r\n");
    client.ask("AUTH secret", "+OK\r\n");
    client.ask("CONFIG GET maxmemory", "*2\r\n$9\r\nmaxmemory\r\n$7\r\n3145728\r\n");
    client.ask("CONFIG GET MAXCL*", "*2\r\n$10\r\nmaxclients\r\n$1\r\n9\r\n");
    client.ask("CONFIG GET items-max", "*2\r\n$9\r\nitems-max\r\n$1\r\n2\r\n");
    client.ask("SCUR.CREATE a BUCKET m c 5", "*2\r\n+OK\r\n:1\r\n");
    let items = " ITEM 1 c REQUESTED 1 ITEM 2 c REQUESTED 1 ITEM 3 c REQUESTED 1";
    client.send(format!("SCUR.RESERVE a s 0{items}\r\n"));
    assert!(client.line().starts_with("-INVALID 10 "));
}

#[test]
fn wrong_settings_are_named() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = directory.join("wrong.toml");
    std::fs::write(&path, "[limits]\nitem_max = 2\n").expect("it is written");
    let error = fails(&["--config", path.to_str().expect("UTF-8")]);
    assert!(error.contains("item_max"), "{error}");
    assert!(fails(&["--config", "no-such-file"]).contains("no-such-file"));
    assert!(fails(&["--max-memory", "much"]).contains("is not a size"));
    let port = fails(&["--port", "6379"]);
    assert!(port.contains("scurry serve --listen 127.0.0.1:6379"), "{port}");
    assert!(fails(&["--save", "60 1"]).contains("--snapshot-log"));
    assert!(fails(&["--log", "loud"]).contains("is not a log level"));
    assert!(fails(&["--requirepass", ""]).contains("the password must have 1 to 512 bytes"));
}

#[test]
fn the_password_can_come_from_the_environment() {
    let mut command = serve(&["--log", "off"]);
    let server = Server::run(command.env("SCURRY_REQUIREPASS", "hidden"));
    let mut client = server.connect();
    client.ask("PING", "-NOAUTH Authentication required.\r\n");
    client.ask("AUTH hidden", "+OK\r\n");
}

#[test]
fn a_log_that_nobody_reads_holds_up_nobody() {
    const GUESSES: usize = 30_000;
    let mut server = Server::start(&["--log", "debug", "--requirepass", "secret"]);
    let mut client = server.connect();
    let refusal = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    // Each guess is a line of about a hundred bytes: together more than a pipe and the log buffer hold.
    for _ in 0..GUESSES / 1_000 {
        client.send("AUTH wrong\r\n".repeat(1_000));
        client.expect(&refusal.repeat(1_000));
    }
    client.ask("AUTH secret", "+OK\r\n");
    // Now the log is read.
    let mut told = 0;
    let missing = loop {
        let line = server.log_line();
        if let Some((count, _)) = line.split_once(" lines are missing here") {
            break count.parse::<usize>().expect("a number");
        }
        told += usize::from(line.contains("wrong user or password"));
    };
    assert!(told > 0 && missing > 0, "{told} told, {missing} missing");
    assert!(told + missing >= GUESSES, "{told} told, {missing} missing");
}

#[test]
fn holds_of_silent_sessions_come_back_by_themselves() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for account in 0..50 {
        client.ask(&format!("SCUR.CREATE a{account} BUCKET m cent 100"), "*2\r\n+OK\r\n:1\r\n");
        client.send(format!(
            "SCUR.RESERVE a{account} s 0 TCC 100ms VALIDITY 50ms ITEM 1 cent REQUESTED 60\r\n"
        ));
        let reply: Vec<String> = (0..10).map(|_| client.line()).collect();
        assert_eq!(reply.join(" "), "*4 +OK :0 :1 *1 *5 :1 +OK :60 :0");
        assert_eq!(client.line(), ":0");
    }
    // TOTALS show only committed changes, which must come from timers here.
    let held = |client: &mut Client| {
        client.send("SCUR.TOTALS\r\n");
        let lines: Vec<String> = (0..23).map(|_| client.line()).collect();
        assert_eq!(lines[7], "$5", "{lines:?}");
        (lines[6].clone(), lines[13].clone(), lines[14].clone())
    };
    let free = (":0".to_owned(), ":5000".to_owned(), ":0".to_owned());
    let freed = (0..TRIES_MAX).find(|_| held(&mut client) == free);
    assert!(freed.is_some(), "sessions, available, held: {:?}", held(&mut client));
    client.send("SCUR.UPDATE a0 s 1\r\n");
    assert!(client.line().starts_with("-UNKNOWN_SESSION 30 "));
}
