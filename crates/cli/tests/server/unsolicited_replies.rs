//! `scurry cli` without a terminal, with servers that send values unasked, or nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

/// Runs `scurry cli` with these words and this input. The server answers each command with the next text of `answers`,
/// and after the last waits for the end of the connection. Returns stdout and stderr.
fn cli(words: &[&str], input: &[u8], answers: &'static [&'static [u8]]) -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (client, _) = listener.accept().expect("it comes");
        let mut lines = BufReader::new(client);
        for answer in answers {
            let mut line = String::new();
            lines.read_line(&mut line).expect("a command");
            let count: usize = line[1..].trim().parse().expect("a count of words");
            for _ in 0..2 * count {
                lines.read_until(b'\n', &mut Vec::new()).expect("a word");
            }
            if *answer == CLOSED {
                return;
            }
            lines.get_mut().write_all(answer).expect("it reads");
        }
        // An error is an end, too.
        let _ = lines.read_to_end(&mut Vec::new());
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["cli", "-h", "127.0.0.1", "-p", &port.to_string()]).args(words);
    command.env_remove("SCURRY_PASSWORD").stdin(Stdio::piped());
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("its input").write_all(input).expect("it reads");
    let Output { stdout, stderr, .. } = child.wait_with_output().expect("it ends");
    server.join().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(stdout), text(stderr))
}

/// In place of an answer: the connection is closed.
const CLOSED: &[u8] = b"closed";

#[test]
fn a_push_is_no_reply() {
    let answers: &[&[u8]] = &[
        b"%0\r\n",
        // After a reply in the same piece, and before one.
        b"+one\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$2\r\nk\x1b\r\n",
        b">2\r\n$10\r\ninvalidate\r\n_\r\n+two\r\n",
        b"+three\r\n",
    ];
    let (shown, complaint) = cli(&["-3"], b"A\nB\nC\n", answers);
    let expected = "one\n-> invalidate: \"k\\x1b\"\n-> invalidate: (nil)\ntwo\nthree\n";
    assert_eq!((shown.as_str(), complaint.as_str()), (expected, ""));
    let answers: &[&[u8]] = &[b"%0\r\n", PUSH_AND_ERROR];
    let (shown, complaint) = cli(&["-3", "SCUR.DEBIT", "a"], b"", answers);
    assert_eq!(shown, "-> invalidate: \"k\"\n(error) ERR it\\x1b is\n");
    assert_eq!(complaint, "", "an error has one line");
}

const PUSH_AND_ERROR: &[u8] = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n-ERR it\x1b is\r\n";

#[test]
fn each_name_of_a_subscription_has_its_reply() {
    let answers: &[&[u8]] = &[
        b"*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n",
        b"-ERR there is none\r\n",
        b"+PONG\r\n",
    ];
    let (shown, _) = cli(&[], b"UNSUBSCRIBE a b\nUNSUBSCRIBE a b\nPING\n", answers);
    let told = shown.matches("\"unsubscribe\"").count();
    assert!(told == 2 && shown.ends_with("(error) ERR there is none\nPONG\n"), "{shown}");
}

#[test]
fn bytes_that_are_no_text_are_sent_as_they_are() {
    let (shown, complaint) = cli(&[], b"GET caf\xe9\n", &[b"$1\r\n\xe9\r\n"]);
    assert_eq!((shown.as_str(), complaint.as_str()), ("\"\\xe9\"\n", ""));
}

/// Answers, their timeout, and the message about them.
const TROUBLES: [(&[&[u8]], &str, &str); 3] = [
    (&[b""], "1", ": no reply within 1 s\n"),
    (
        &[b"HTTP/1.1 400 Bad Request\r\n\r\n"],
        "600",
        "RESP: is it a port for TLS (--tls) or for HTTP?",
    ),
    (&[b"\x15\x03\x03\x00\x02\x02\x32"], "600", "RESP: is it a port for TLS (--tls) or for HTTP?"),
];

#[test]
fn what_keeps_a_reply_away_is_told_in_one_line() {
    for (answers, timeout, told) in TROUBLES {
        let (_, complaint) = cli(&["--timeout", timeout, "PING"], b"", answers);
        assert!(complaint.contains(told) && complaint.lines().count() == 1, "{complaint}");
    }
}

#[test]
fn a_group_without_a_leader_is_not_told_to_be_something_else() {
    let down: &[&[u8]] = &[b"-CLUSTERDOWN no node leads shard 0: try again\r\n"];
    let (_, complaint) = cli(&["-3", "PING"], b"", down);
    assert!(complaint.contains("CLUSTERDOWN") && !complaint.contains("RESP3"), "{complaint}");
    let old: &[&[u8]] = &[b"-ERR unknown command 'HELLO'\r\n"];
    let (_, complaint) = cli(&["-3", "PING"], b"", old);
    assert!(complaint.contains("does not speak RESP3: (error) ERR unknown"), "{complaint}");
    let (_, complaint) = cli(&["PING"], b"", &[CLOSED]);
    assert!(complaint.contains("a port for TLS (--tls), or is a leader"), "{complaint}");
    // It has spoken RESP before, so it cannot be a port for TLS.
    let (_, complaint) = cli(&[], b"PING\nPING\n", &[b"+PONG\r\n", CLOSED]);
    assert!(complaint.contains("was closed") && !complaint.contains("TLS"), "{complaint}");
}
