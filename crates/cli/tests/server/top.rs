//! `scurry top`, without a terminal and with one.

use crate::support::Server;
use crate::terminal::Terminal;
use std::process::{Command, Output, Stdio};

fn top(port: u16, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["top", "-h", "127.0.0.1", "-p", &port.to_string()]).args(words);
    command.env_remove("SCURRY_PASSWORD").stdin(Stdio::null());
    command
}

/// Returns stdout and stderr of the tool.
fn once(port: u16, words: &[&str]) -> (String, String) {
    let Output { stdout, stderr, .. } = top(port, words).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(stdout), text(stderr))
}

#[test]
fn one_picture_has_what_the_server_has_done() {
    let server = Server::start(&["--threads", "2"]);
    let mut client = server.connect();
    client.ask("SCUR.CREATE alice BUCKET main cent 1000", "*2\r\n+OK\r\n:1\r\n");
    client.send("SCUR.RESERVE alice s-1 0 ITEM 1 cent REQUESTED 1000\r\n");
    client.send("SCUR.RESERVE alice s-2 0 ITEM 1 cent REQUESTED 1\r\n");
    client.send("PING\r\n");
    while client.line() != "+PONG" {}
    let (shown, complaint) = once(server.port, &["--once"]);
    assert!(complaint.is_empty(), "{complaint}");
    let line = |begin: &str| {
        let found = shown.lines().find(|line| line.starts_with(begin));
        found.unwrap_or_else(|| panic!("no {begin} in {shown}")).to_owned()
    };
    assert!(line("scurry ").contains(&format!("at 127.0.0.1:{}", server.port)), "{shown}");
    assert!(line("scurry ").contains("threads 2   durability none"), "{shown}");
    assert!(line("charging ").contains("accounts 1   sessions 1 "), "{shown}");
    assert!(line("denials ").contains("CREDIT_LIMIT_REACHED 1,"), "{shown}");
    assert!(line("log ").contains("nothing survives a restart"), "{shown}");
    // The test's connection and that of the tool.
    assert!(line("clients ").contains(" 2 of "), "{shown}");
    let sums: Vec<String> = line("cent ").split_whitespace().map(str::to_owned).collect();
    assert_eq!(sums, ["cent", "0", "1,000", "0", "1,000", "0"], "{shown}");
    // The second between its two reads contains at least the first read.
    assert!(line("durations ").contains("99.9 % "), "{shown}");
    assert!(line("info ").contains("/s"), "{shown}");
    assert!(!shown.contains('\x1b'), "codes of a terminal: {shown}");
}

#[test]
fn what_keeps_the_figures_away_is_told() {
    let server = Server::start(&["--requirepass", "sesame"]);
    let (shown, complaint) = once(server.port, &["--once"]);
    assert!(shown.is_empty() && complaint.contains("SCURRY_PASSWORD"), "{complaint}");
    let (_, complaint) = once(server.port, &["--once", "-a", "wrong"]);
    assert!(complaint.contains("refuses the password: WRONGPASS"), "{complaint}");
    let (shown, complaint) = once(server.port, &["--once", "-a", "sesame"]);
    assert!(shown.starts_with("scurry "), "{complaint}");
    let (_, complaint) = once(server.port, &["-a", "sesame"]);
    assert!(complaint.contains("--once"), "{complaint}");
    let mut terminal = Terminal::start(&mut top(server.port, &["-a", "wrong"]), 80, 24);
    terminal.wait_for("refuses the password: WRONGPASS");
    assert_eq!(terminal.end().0.code(), Some(1));
}

#[test]
fn a_server_that_stands_still_is_marked() {
    let server = Server::start(&[]);
    let mut terminal = Terminal::start(&mut top(server.port, &[]), 80, 24);
    terminal.wait_for("charging   accounts 0");
    let id = nix::unistd::Pid::from_raw(i32::try_from(server.pid()).expect("an id"));
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGSTOP).expect("it is there");
    terminal.wait_for("no answer for ");
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGCONT).expect("it is there");
    terminal.keys("q");
    assert!(terminal.end().0.success(), "it ends well");
}

#[test]
fn output_that_nobody_takes_is_no_panic() {
    let server = Server::start(&[]);
    let script = "\"$0\" make-token > /dev/full; echo \"full $?\"; \
                  { \"$0\" cli -p \"$1\" COMMAND DOCS; echo \"closed $?\" >&2; } | true";
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_scurry"), &server.port.to_string()]);
    let Output { stdout, stderr, .. } =
        command.env_remove("SCURRY_PASSWORD").stdin(Stdio::null()).output().expect("it runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(stdout, "full 1\n", "{stderr}");
    assert!(stderr.contains("scurry: cannot write the output: No space left"), "{stderr}");
    assert!(stderr.contains("closed 141") && !stderr.contains("panic"), "{stderr}");
}

#[test]
fn a_terminal_shows_a_server_that_goes_and_comes_and_is_given_back() {
    let server = Server::start(&[]);
    let port = server.port;
    let mut command = Command::new("sh");
    let script = "\"$0\" top -p \"$1\"; echo \"ended $?\"; stty -a";
    command.args(["-c", script, env!("CARGO_BIN_EXE_scurry"), &port.to_string()]);
    // Narrow and low: lines that do not fit are cut.
    let mut terminal = Terminal::start(command.env_remove("SCURRY_PASSWORD"), 40, 12);
    terminal.wait_for("charging   accounts 0");
    drop(server);
    terminal.wait_for("it is away: no server answers");
    let mut again = Command::new(env!("CARGO_BIN_EXE_scurry"));
    again.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--durability", "none"]);
    let _again = Server::run(again.env_remove("SCURRY_REQUIREPASS").stderr(Stdio::piped()));
    terminal.wait_for("charging   accounts 0");
    terminal.keys("q");
    terminal.wait_for("ended 0");
    let (status, set) = terminal.end();
    assert!(status.success() && set.contains(" icanon") && set.contains(" echo "), "{set}");
}

#[test]
fn ctrl_c_ends_it_well() {
    let server = Server::start(&[]);
    let mut terminal = Terminal::start(&mut top(server.port, &[]), 80, 24);
    terminal.wait_for("durability none");
    terminal.keys("\x03");
    let (status, _) = terminal.end();
    assert!(status.success(), "{status}");
}
