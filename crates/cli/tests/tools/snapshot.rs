//! `scurry snapshot` with scripted replies of a server. tests/server/tools.rs uses a real one.

use crate::support::{Said, scurry};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// Runs the tool with a server that expects these requests and sends these answers.
fn ask(arguments: &[&str], conversation: &[(&str, String)]) -> Said {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            for (expected, answer) in conversation {
                let mut got = vec![0; expected.len()];
                stream.read_exact(&mut got).expect("a request");
                assert_eq!(String::from_utf8_lossy(&got), *expected);
                stream.write_all(answer.as_bytes()).expect("answered");
            }
        });
        scurry(&[&["snapshot", "--address", &address], arguments].concat())
    })
}

const REQUEST: &str = "*1\r\n$13\r\nSCUR.SNAPSHOT\r\n";
const INFO: &str = "*1\r\n$4\r\nINFO\r\n";

/// Returns the INFO of a server with two threads.
fn info(running: u8, written: u64, failed: u64) -> String {
    let text = format!(
        "# Server\r\nthreads:2\r\nsnapshot_in_progress:{running}\r\nsnapshots_written:{written}\r\n\
         snapshots_failed:{failed}\r\n"
    );
    format!("${}\r\n{text}\r\n", text.len())
}

fn ok() -> String {
    "+OK\r\n".to_owned()
}

fn error(text: &str) -> String {
    format!("-{text}\r\n")
}

#[test]
fn it_waits_for_every_thread() {
    let said = ask(
        &[],
        &[
            (INFO, info(0, 4, 1)),
            (REQUEST, ok()),
            // One thread has not begun, and no snapshot is running at the moment.
            (INFO, info(0, 5, 1)),
            (INFO, info(1, 5, 1)),
            (INFO, info(0, 6, 1)),
        ],
    );
    assert_eq!(said.well(), "snapshot written by 2 threads\n");
}

#[test]
fn one_that_is_written_already_is_waited_for() {
    let busy = error("ERR a snapshot is being written already: wait for it (INFO persistence)");
    ask(
        &[],
        &[
            (INFO, info(1, 0, 0)),
            (INFO, info(0, 2, 0)),
            (REQUEST, busy),
            (INFO, info(0, 3, 0)),
            (REQUEST, ok()),
            (INFO, info(0, 5, 0)),
        ],
    )
    .well();
}

#[test]
fn one_that_fails_is_an_error() {
    ask(&[], &[(INFO, info(0, 4, 1)), (REQUEST, ok()), (INFO, info(0, 5, 2))])
        .refused(&["1 of 2 threads wrote no snapshot: the server's log says why"]);
    ask(&["--timeout", "1"], &[(INFO, info(0, 0, 0)), (REQUEST, error("ERR no log"))])
        .refused(&["writes no snapshot: ERR no log"]);
}

#[test]
fn waiting_has_an_end() {
    let mut conversation = vec![(INFO, info(0, 0, 0)), (REQUEST, ok())];
    // Every 50 ms, including the beginning and the end.
    conversation.extend((0..21).map(|_| (INFO, info(1, 1, 0))));
    ask(&["--timeout", "1"], &conversation).refused(&["was not written within 1 s"]);
}

#[test]
fn a_password_goes_first() {
    let auth = "*3\r\n$4\r\nAUTH\r\n$2\r\nop\r\n$3\r\nkey\r\n";
    let login = ["--user", "op", "--password", "key"];
    let all = [(auth, ok()), (INFO, info(0, 0, 0)), (REQUEST, ok()), (INFO, info(0, 2, 0))];
    ask(&login, &all).well();
    let wrong = error("WRONGPASS invalid username-password pair");
    ask(&login, &[(auth, wrong)]).refused(&["refuses the password: WRONGPASS"]);
    ask(&[], &[(INFO, error("NOAUTH Authentication required."))])
        .refused(&["wants a password: set SCURRY_PASSWORD"]);
}

#[test]
fn what_is_no_server_of_ours_is_said() {
    ask(&[], &[(INFO, "$15\r\nredis_version:8\r\n".to_owned())])
        .refused(&["is no scurry that writes snapshots"]);
    ask(&[], &[(INFO, String::new())]).refused(&["did not answer", "the connection was closed"]);
    for foreign in ["HTTP/1.1 400 Bad Request\r\n", "\x15\x03\r\n", &"*1\r\n".repeat(200)] {
        ask(&[], &[(INFO, foreign.to_owned())])
            .refused(&["did not answer", "what answers is no scurry"]);
    }
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one");
    scurry(&["snapshot", "--address", &free.to_string()])
        .refused(&["no server answers at ", "is it running there?"]);
    scurry(&["snapshot", "--address", "nowhere"]).refused(&["is no address: write HOST:PORT"]);
}
