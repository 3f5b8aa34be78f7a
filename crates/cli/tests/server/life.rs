//! Starting and stopping.

use crate::support::{Server, array, serve};
use nix::sys::signal::Signal;
use std::path::Path;

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
        // The first reply shows that the requests are under way.
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
    // More replies than sockets hold, and nobody takes them: draining waits.
    client.send(array(&[b"GET", b"big"]).repeat(200));
    client.expect("$900000\r\n");
    server.signal(Signal::SIGTERM);
    // Signals of one kind can merge: another one cannot be missed.
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
