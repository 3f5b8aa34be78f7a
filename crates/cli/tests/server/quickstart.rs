//! `scurry quickstart`, used as its output suggests.

use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_scurry");
/// Bound of polls. Each starts two processes, so this takes minutes.
const TRIES: u32 = 10_000;

fn start(temporary: &std::path::Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(BINARY);
    command.args(["quickstart", "--no-browser"]).args(arguments).env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it runs")
}

/// Reads the lines that it prints up to this word.
fn lines_up_to(child: &mut Child, word: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.as_mut().expect("its output")).lines() {
        let line = line.expect("text");
        let is_last = line.contains(word);
        lines.push(line);
        if is_last {
            return lines;
        }
    }
    panic!("it has ended behind {lines:#?}");
}

/// Runs a command that was printed, and returns its output.
fn typed(line: &str) -> String {
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("scurry"), "{line}");
    let output = Command::new(BINARY).args(words).env_remove("SCURRY_PASSWORD").output();
    let output = output.expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{line}: {text}");
    text
}

#[test]
fn a_quickstart_can_be_tried_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().expect("a directory");
    let mut child = start(temporary.path(), &["--port", "0", "--http-port", "0", "--rate", "200"]);
    let lines = lines_up_to(&mut child, "The last one charges");
    let console = lines.iter().find_map(|line| line.trim().strip_prefix("the console "));
    let console = console.and_then(|line| line.split_whitespace().next()).expect("a console");
    let mut page = ureq::get(console).call().expect("it is open");
    let page = page.body_mut().read_to_string().expect("a page");
    assert!(page.contains("<title>"), "{page}");
    let figures = lines.iter().find_map(|line| line.trim().strip_prefix("the figures "));
    let figures = typed(&format!("{} --once", figures.expect("a command").trim()));
    assert!(figures.contains("charging   accounts "), "{figures}");
    let commands: Vec<&String> =
        lines.iter().filter(|line| line.trim().starts_with("scurry cli")).collect();
    assert_eq!(commands.len(), 3, "{lines:#?}");
    for command in &commands {
        assert!(typed(command).starts_with("1) OK\n"), "{command}");
    }
    let last = lines.last().and_then(|line| line.split_once(": ")).expect("a command").1;
    assert!(typed(last).contains("880"), "120 of 1000 were charged: {}", typed(last));
    let port = last.split_whitespace().nth(3).expect("a port");
    // The load continues by itself: sessions begin, report and end.
    let counts = |name: &str| {
        let info = typed(&format!("scurry cli -p {port} INFO commandstats"));
        info.lines().any(|line| line.starts_with(&format!("cmdstat_{name}:")))
    };
    let sessions = || typed(&format!("scurry cli -p {port} SCUR.GET org-1"));
    let is_loaded = || counts("scur.update") && sessions().contains("chat-");
    assert!((0..TRIES).any(|_| is_loaded()), "there is no load");
    signal(&child, Signal::SIGINT);
    let ended = child.wait().expect("it ends");
    assert!(ended.success(), "{ended}");
    let left = std::fs::read_dir(temporary.path()).expect("it is there").count();
    assert_eq!(left, 0, "it has left something behind");
}

#[test]
fn a_port_that_is_taken_is_named_and_nothing_is_left() {
    let temporary = tempfile::tempdir().expect("a directory");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("it listens");
    let port = taken.local_addr().expect("an address").port().to_string();
    let child = start(temporary.path(), &["--port", &port, "--http-port", "0"]);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(!output.status.success() && said.contains(&port), "{said}");
    assert_eq!(std::fs::read_dir(temporary.path()).expect("it is there").count(), 0);
}

#[test]
fn a_terminal_that_is_closed_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().expect("a directory");
    let mut child = start(temporary.path(), &["--port", "0", "--http-port", "0"]);
    lines_up_to(&mut child, "The last one charges");
    // Both the shell and the kernel may send the signal.
    signal(&child, Signal::SIGHUP);
    signal(&child, Signal::SIGHUP);
    let ended = child.wait().expect("it ends");
    assert!(ended.success(), "{ended}");
    assert_eq!(std::fs::read_dir(temporary.path()).expect("it is there").count(), 0);
}

fn signal(child: &Child, signal: Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a number"));
    nix::sys::signal::kill(pid, signal).expect("it runs");
}
