//! `scurry cli` at a terminal: completion, history, and a server that goes away and returns.

use crate::support::Server;
use crate::terminal::Terminal;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

const UP: &str = "\x1b[A";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

/// Starts a shell with this state directory and waits for its first prompt.
fn shell(state: &Path, port: u16, password: Option<&str>) -> Terminal {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["cli", "-h", "127.0.0.1", "-p", &port.to_string()]);
    command.env("XDG_STATE_HOME", state).env_remove("SCURRY_PASSWORD");
    command.envs(password.map(|password| ("SCURRY_PASSWORD", password)));
    let mut shell = Terminal::start(&mut command, 100, 30);
    prompt(&mut shell, port);
    shell
}

/// Waits for the next prompt, because keys typed before it may be dropped. The line is drawn again after each key, but
/// only a new one begins with a line break.
fn prompt(shell: &mut Terminal, port: u16) {
    shell.wait_for(&format!("\n\r127.0.0.1:{port}> "));
}

/// Waits for the next prompt, in any state of the connection.
fn any_prompt(shell: &mut Terminal, port: u16) {
    shell.wait_for(&format!("\n\r127.0.0.1:{port}"));
    shell.wait_for("> ");
}

/// Ends a shell that shows a prompt. Before that the terminal itself would handle the key.
fn leave(mut shell: Terminal) {
    shell.keys(CTRL_D);
    assert!(shell.end().0.success(), "it ends well");
}

#[test]
fn a_shell_completes_hints_remembers_and_keeps_no_password() {
    let server = Server::start(&["--requirepass", "sesame"]);
    let home = tempfile::tempdir().expect("a directory");
    let state = home.path().join("state");
    let mut shell = shell(&state, server.port, Some("sesame"));
    shell.keys("scur.tot\t\r");
    shell.wait_for("\"accounts\"");
    prompt(&mut shell, server.port);
    // The hint is the rest of the syntax.
    shell.keys("SCUR.RELEASE alice ");
    shell.wait_for("SCUR.RELEASE alice session");
    // The line is dropped: PING is on a new line.
    shell.keys(CTRL_C);
    prompt(&mut shell, server.port);
    shell.keys("PING\r");
    shell.wait_for("PONG");
    for (line, reply) in [
        ("AUTH sesame", "OK"),
        ("HELLO 2 AUTH default sesame", "\"server\""),
        ("CONFIG SET requirepass sesame", "(error)"),
        ("AUTH \"sesame", "a quote is not closed"),
        ("scurry cli -a sesame PING", "(error)"),
        ("AHTU sesame", "(error)"),
        ("help scur.release", "SCUR.RELEASE account session"),
        (" ECHO not-kept", "\"not-kept\""),
        ("ECHO \"the last one\"", "\"the last one\""),
    ] {
        prompt(&mut shell, server.port);
        shell.keys(&format!("{line}\r"));
        // The line itself is shown first.
        shell.wait_for("\r\n");
        shell.wait_for(reply);
    }
    prompt(&mut shell, server.port);
    shell.keys(CTRL_D);
    let (status, _) = shell.end();
    assert!(status.success(), "{status}");
    let file = state.join("scurry/history");
    let kept = std::fs::read_to_string(&file).expect("the lines are kept");
    assert!(kept.contains("scur.totals") && kept.contains("help scur.release"), "{kept}");
    assert!(!kept.contains("sesame") && !kept.contains("not-kept"), "{kept}");
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode();
    assert_eq!(mode(&file) & 0o777, 0o600, "others can read it");
    assert_eq!(mode(&state.join("scurry")) & 0o777, 0o700, "others can look into it");

    let mut again = self::shell(&state, server.port, Some("sesame"));
    again.keys(&format!("{UP}\r"));
    again.wait_for("\r\n");
    again.wait_for("\"the last one\"");
    prompt(&mut again, server.port);
    again.keys("exit\r");
    assert!(again.end().0.success(), "it ends well");
}

#[test]
fn a_server_that_goes_away_is_told_and_its_return_too() {
    let home = tempfile::tempdir().expect("a directory");
    let server = Server::start(&[]);
    let port = server.port;
    let mut shell = shell(home.path(), port, None);
    shell.keys("PING\r");
    shell.wait_for("PONG");
    drop(server);
    any_prompt(&mut shell, port);
    shell.keys("ECHO gone\r");
    shell.wait_for(&format!("not sent: no server answers at 127.0.0.1:{port}"));
    shell.wait_for("scurry serve");
    shell.wait_for(&format!("\n\r127.0.0.1:{port} (away)> "));
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--durability", "none"]);
    let _again = Server::run(command.env_remove("SCURRY_REQUIREPASS").stderr(Stdio::piped()));
    shell.keys("PING\r");
    shell.wait_for("is there again");
    shell.wait_for("PONG");
    prompt(&mut shell, port);
    shell.keys("quit\r");
    assert!(shell.end().0.success(), "it ends well");
}

/// A command whose connection ends may have been executed, and is not repeated.
#[test]
fn a_command_without_a_reply_is_not_repeated() {
    let home = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("it comes");
        let mut request = [0; 64];
        let len = client.read(&mut request).expect("a command");
        drop(client);
        String::from_utf8_lossy(&request[..len]).into_owned()
    });
    let mut shell = shell(home.path(), port, None);
    shell.keys("INCR counter\r");
    shell.wait_for("Whether the server has done it is not known");
    assert!(server.join().expect("it ends").contains("INCR"), "it was sent");
    // The port is closed by now, so a second attempt could not have worked.
    shell.wait_for(&format!("\n\r127.0.0.1:{port} (away)> "));
    leave(shell);
}

/// Waits until a process sleeps in a read: a process that is stopped before that has nothing to interrupt
/// (proc_pid_stat(5)).
fn until_it_waits(process: Pid) {
    loop {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it is our child");
        assert!(!stat.contains(") Z "), "it ended without a reply");
        if stat.contains(") S ") {
            return;
        }
        std::thread::yield_now();
    }
}

/// As by Ctrl-Z and `fg`.
#[test]
fn a_command_that_was_stopped_while_it_waited_has_its_reply() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let port = listener.local_addr().expect("an address").port().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["cli", "-h", "127.0.0.1", "-p", &port, "PING"]).stdin(Stdio::null());
    command.env_remove("SCURRY_PASSWORD").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it is run");
    let (mut server, _) = listener.accept().expect("it comes");
    assert!(server.read(&mut [0; 64]).expect("a command") > 0);
    let process = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    for _ in 0..20 {
        until_it_waits(process);
        kill(process, Signal::SIGSTOP).expect("it is there");
        // Something else may stop and continue it meanwhile.
        let changes = WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
        let status = waitpid(process, Some(changes)).expect("it is our child");
        let is_there = matches!(status, WaitStatus::Stopped(..) | WaitStatus::Continued(_));
        assert!(is_there, "it ended without a reply: {status:?}");
        kill(process, Signal::SIGCONT).expect("it is there");
    }
    server.write_all(b"+PONG\r\n").expect("it is there");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("PONG"), "{output:?}");
}

/// Lines typed for a transaction are not executed outside of it.
#[test]
fn what_was_set_on_a_lost_connection_keeps_the_next_line_back() {
    let home = tempfile::tempdir().expect("a directory");
    let server = Server::start(&[]);
    let port = server.port;
    let mut shell = shell(home.path(), port, None);
    shell.keys("MULTI\r");
    shell.wait_for("OK");
    drop(server);
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--durability", "none"]);
    let _again = Server::run(command.env_remove("SCURRY_REQUIREPASS").stderr(Stdio::piped()));
    any_prompt(&mut shell, port);
    shell.keys("INCR counter\r");
    shell.wait_for("not sent: the connection is gone, and with it what was set");
    any_prompt(&mut shell, port);
    shell.keys("GET counter\r");
    shell.wait_for("is there again");
    shell.wait_for("(nil)");
    prompt(&mut shell, port);
    leave(shell);
}

#[test]
fn who_watches_sees_what_comes_and_goes_on_afterwards() {
    let home = tempfile::tempdir().expect("a directory");
    let server = Server::start(&[]);
    let mut shell = shell(home.path(), server.port, None);
    shell.keys("MONITOR\r");
    shell.wait_for("until Ctrl-C");
    server.connect().ask("GET watched", "$-1\r\n");
    shell.wait_for("\"GET\" \"watched\"");
    shell.interrupt();
    shell.wait_for("from here on it is a new connection");
    prompt(&mut shell, server.port);
    shell.keys("PING\r");
    shell.wait_for("PONG");
    prompt(&mut shell, server.port);
    leave(shell);
}

#[test]
fn a_byte_that_is_no_letter_drops_its_line_and_no_more() {
    let home = tempfile::tempdir().expect("a directory");
    let server = Server::start(&[]);
    let mut shell = shell(home.path(), server.port, None);
    shell.keys("SET a b\r");
    shell.wait_for("OK");
    prompt(&mut shell, server.port);
    shell.bytes(b"ECHO caf\xe9 ");
    shell.wait_for("that is not UTF-8");
    shell.wait_for("(dropped)> ");
    shell.keys("DEL a\r");
    prompt(&mut shell, server.port);
    shell.keys("GET a\r");
    shell.wait_for("\"b\"");
    prompt(&mut shell, server.port);
    leave(shell);
}

#[test]
fn values_have_their_names_at_a_terminal_and_an_unknown_unit_is_told_the_known_ones() {
    let home = tempfile::tempdir().expect("a directory");
    let server = Server::start(&[]);
    let mut shell = shell(home.path(), server.port, None);
    shell.keys("SCUR.CREATE a BUCKET main cent 100 BUCKET data octet 5\r");
    shell.wait_for("1) code: OK\r\n2) version: (integer) 1");
    prompt(&mut shell, server.port);
    shell.keys("SCUR.RESERVE a s 0 ITEM 7 cent REQUESTED 5\r");
    shell.wait_for("4) items: 1) 1) key: (integer) 7\r\n             2) code: OK");
    prompt(&mut shell, server.port);
    shell.keys("SCUR.DEBIT a t EUR 5\r");
    shell.wait_for("5) cause: no_bucket\r\n(a has no bucket of this unit: it has cent, octet)");
    prompt(&mut shell, server.port);
    leave(shell);
    // The same with a command as arguments.
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["cli", "-h", "127.0.0.1", "-p", &server.port.to_string()]);
    command.args(["SCUR.CHECK", "a", "Cent", "5"]).env_remove("SCURRY_PASSWORD");
    let (status, shown) = Terminal::start(&mut command, 100, 30).end();
    let expected = "1) code: CREDIT_LIMIT_REACHED\r\n2) amount: (integer) 0\r\n3) cause: no_bucket\r\n\
                    (a has no bucket of this unit: it has cent, octet)\r\n";
    assert_eq!((status.code(), &*shown), (Some(3), expected));
}
