//! `scurry cli` against a real server.

use crate::support::Server;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// What the tool prints, where it complains, and whether it says that all went well.
#[track_caller]
fn cli(
    server: &Server,
    arguments: &[&str],
    password: Option<&str>,
    input: &str,
) -> (String, String, bool) {
    let address = format!("127.0.0.1:{}", server.port);
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["cli", "--address", &address]).args(arguments).env_remove("SCURRY_PASSWORD");
    command.envs(password.map(|password| ("SCURRY_PASSWORD", password)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("an input").write_all(input.as_bytes()).expect("read");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(stdout), text(stderr), status.success())
}

#[test]
fn a_command_is_sent_and_its_reply_shown() {
    let server = Server::start(&[]);
    let create = ["SCUR.CREATE", "alice", "BUCKET", "main", "USD", "1000"];
    assert_eq!(cli(&server, &create, None, "").0, "1) OK\n2) (integer) 1\n");
    let (shown, _, _) = cli(&server, &["-3", "SCUR.AUDIT", "alice"], None, "");
    assert!(shown.starts_with("1# \"ok\" => (integer) 1\n"), "{shown}");
    let (shown, complaint, is_well) = cli(&server, &["GET", "alice"], None, "");
    assert!(shown.starts_with("(error) WRONGTYPE Operation"), "{shown}");
    assert!(!is_well && complaint.contains("answered with an error"), "{complaint}");
}

#[test]
fn lines_of_the_input_are_commands() {
    let server = Server::start(&[]);
    let lines = "SET 'a b' \"x\\n\"\n\nGET 'a b'\nDEL \"a b\" c\n";
    let (shown, complaint, is_well) = cli(&server, &[], None, lines);
    assert_eq!(shown, "OK\n\"x\\n\"\n(integer) 1\n");
    assert!(is_well, "{complaint}");
    // One that fails does not stop those behind it, but what is no command does.
    let (shown, complaint, is_well) = cli(&server, &[], None, "INCR\nPING\nGET \"a\nPING\n");
    assert_eq!(shown.lines().nth(1), Some("PONG"), "{shown}");
    assert_eq!(shown.lines().count(), 2);
    assert!(!is_well && complaint.contains("a quote is not closed"), "{complaint}");
}

#[test]
fn passwords_go_before_commands_and_troubles_are_told() {
    let server = Server::start(&["--requirepass", "secret"]);
    assert_eq!(cli(&server, &["PING"], Some("secret"), "").0, "PONG\n");
    let (_, complaint, is_well) = cli(&server, &["PING"], Some("wrong"), "");
    assert!(
        !is_well && complaint.contains("refuses the password: (error) WRONGPASS"),
        "{complaint}"
    );
    let nobody = Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["cli", "--address", "127.0.0.1:1", "PING"])
        .output()
        .expect("it runs");
    let complaint = String::from_utf8_lossy(&nobody.stderr);
    assert!(complaint.contains("no server answers at 127.0.0.1:1"), "{complaint}");
}
