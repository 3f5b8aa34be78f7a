//! A disk without room. The limit on the size of files stands for it: what it forbids fails as a
//! write to a full disk does, it can be set for one process, and it can be lifted again.

use super::{kill, place, segment, start, under};
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
fn a_full_disk_refuses_writes_and_goes_on_when_there_is_room() {
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
        let mut client = server.connect();
        client.send("SET k refused\r\n");
        let refusal = client.line();
        assert!(refusal.starts_with("-MISCONF the disk is full"), "{refusal}");
        assert!(refusal.contains("make room"), "{refusal}");
        client.ask("GET k", "$6\r\nbefore\r\n");
        client.send("INFO persistence\r\n");
        let info = client.bulk();
        assert!(info.contains("log_status:full"), "{info}");
        limit(&server, "unlimited");
        writer.expect("*4\r\n+OK\r\n:0\r\n:2\r\n:30\r\n");
        client.ask("SET k after", "+OK\r\n");
        kill(server);
        let mut client = start(&directory, mode).connect();
        client.ask("SCUR.DEBIT a t cent 30", "*4\r\n+OK\r\n:1\r\n:2\r\n:30\r\n");
        client.ask("GET k", "$5\r\nafter\r\n");
        segment(&directory);
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
    let mut client = start(&directory, "fsync").connect();
    client.ask("SCUR.DEBIT a t cent 30", "*4\r\n+OK\r\n:0\r\n:2\r\n:30\r\n");
}
