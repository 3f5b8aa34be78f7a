//! A disk without room. The limit on the size of files stands for it: what it forbids fails as a
//! write to a full disk does, it can be set for one process, and it can be lifted again.

use super::{kill, place, start, under};
use crate::support::{Client, Server, tool};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// A signal would end the process that goes beyond the limit.
const IGNORE: [&str; 3] = ["sh", "-c", r#"trap '' XFSZ; exec "$0" "$@""#];

fn started(directory: &Path, mode: &str) -> Server {
    Server::run(&mut under(&IGNORE, directory, mode))
}

/// Sets the limit on the size of files of a server, bytes or "unlimited".
fn limit(server: &Server, size: &str) {
    let pid = server.pid().to_string();
    let output = tool("prlimit", &["--pid", &pid, &format!("--fsize={size}:unlimited")]);
    assert!(output.status.success(), "{output:?}");
}

/// True when no reply comes for a while.
fn is_silent(client: &mut Client) -> bool {
    let timeout = client.stream().read_timeout().expect("it has one");
    client.stream().set_read_timeout(Some(Duration::from_millis(300))).expect("it is set");
    let mut byte = [0];
    let seen = client.stream().peek(&mut byte);
    client.stream().set_read_timeout(timeout).expect("it is set");
    matches!(seen, Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()))
}

#[test]
fn what_is_committed_on_a_full_disk_is_answered_when_there_is_room() {
    for mode in ["write", "fsync"] {
        let directory = place(&format!("full-{mode}"));
        let server = started(&directory, mode);
        let mut writer = server.connect();
        writer.ask("SCUR.CREATE a BUCKET b cent 100", "*2\r\n+OK\r\n:1\r\n");
        writer.ask("SET k before", "+OK\r\n");
        limit(&server, "100");
        // It is executed, and cannot be written: its reply is held.
        writer.send("SCUR.DEBIT a t cent 30\r\n");
        assert!(is_silent(&mut writer), "a change was answered that is not in the log");
        // Later writes are refused before anything changes.
        let mut client = server.connect();
        client.send("SET k refused\r\nSCUR.DEBIT a u cent 1\r\nGET k\r\nSCUR.GET a\r\n");
        // What shows the change waits as well.
        let mut reader = server.connect();
        reader.send("SCUR.AUDIT a\r\n");
        assert!(is_silent(&mut reader), "a change was shown that is not in the log");
        limit(&server, "unlimited");
        writer.expect("*4\r\n+OK\r\n:0\r\n:2\r\n:30\r\n");
        for _ in 0..2 {
            let refusal = client.line();
            assert!(refusal.starts_with("-MISCONF the disk is full"), "{refusal}");
            assert!(refusal.contains("make room"), "{refusal}");
        }
        client.expect("$6\r\nbefore\r\n");
        writer.ask("SET k after", "+OK\r\n");
        kill(server);
        let server = start(&directory, mode);
        let mut client = server.connect();
        client.ask("SCUR.DEBIT a t cent 30", "*4\r\n+OK\r\n:1\r\n:2\r\n:30\r\n");
        client.ask("GET k", "$5\r\nafter\r\n");
    }
}

#[test]
fn what_a_full_disk_never_took_is_not_there_after_a_crash() {
    let directory = place("full-crash");
    let server = started(&directory, "fsync");
    let mut client = server.connect();
    client.ask("SCUR.CREATE a BUCKET b cent 100", "*2\r\n+OK\r\n:1\r\n");
    limit(&server, "100");
    client.send("SCUR.DEBIT a t cent 30\r\n");
    assert!(is_silent(&mut client), "a change was answered that is not in the log");
    kill(server);
    let server = start(&directory, "fsync");
    let mut client = server.connect();
    client.ask("SCUR.DEBIT a t cent 30", "*4\r\n+OK\r\n:0\r\n:2\r\n:30\r\n");
}
