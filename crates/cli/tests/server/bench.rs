//! `scurry bench`, with its own server and with a running one.

use crate::support::{Client, Server};
use std::process::{Command, Output};

const SMALL: [&str; 10] =
    ["--connections", "4", "--depth", "8", "--accounts", "40", "--seconds", "1", "--warmup", "0"];

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.arg("bench").args(SMALL).args(arguments).env_remove("SCURRY_PASSWORD");
    command.output().expect("it runs")
}

/// Returns the lines of its table, without the head.
fn rows(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{error}");
    text.lines().skip_while(|line| !line.starts_with("load")).skip(1).map(str::to_owned).collect()
}

#[test]
fn a_server_of_its_own_is_loaded_audited_and_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let rows = rows(&bench(&["--dir", dir.path().to_str().expect("text")]));
    let loads: Vec<String> = rows
        .iter()
        .map(|row| row.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(loads, ["charging none", "charging fsync", "keys none", "keys fsync"]);
    for row in &rows {
        let operations = row.split_whitespace().nth(2).expect("a figure").replace(',', "");
        assert!(operations.parse::<u64>().expect("a figure") > 0, "{row}");
        let of = if row.starts_with("keys") { "keys" } else { "accounts" };
        assert!(row.ends_with(&format!("exact, 40 {of}")), "{row}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).expect("it is there").count(), 0);
}

#[test]
fn a_server_that_runs_has_nothing_more_afterwards() {
    for threads in ["1", "2"] {
        let server = Server::start(&["--threads", threads, "--requirepass", "secret"]);
        let port = server.port.to_string();
        let output = bench(&["-p", &port, "-a", "secret"]);
        assert_eq!(rows(&output).len(), 2);
        let mut client = server.connect();
        client.ask("AUTH secret", "+OK\r\n");
        assert_eq!(accounts(&mut client), 0, "{threads} threads");
        client.ask("DBSIZE", ":0\r\n");
    }
}

#[test]
fn what_cannot_be_measured_is_told() {
    let server = Server::start(&["--requirepass", "secret"]);
    let port = server.port.to_string();
    for (arguments, said) in [
        (&["-p", &port][..], "NOAUTH"),
        (&["-p", &port, "-a", "other"], "the password is refused"),
        (&["-p", "1"], "no server answers at 127.0.0.1:1"),
        (&["-p", &port, "--dir", "."], "cannot be used with"),
    ] {
        let output = bench(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(said), "{error}");
    }
}

/// Returns the number of accounts from SCUR.TOTALS.
fn accounts(client: &mut Client) -> u64 {
    client.send("SCUR.TOTALS\r\nPING\r\n");
    let text = client.until("+PONG\r\n");
    let mut lines = text.lines().skip_while(|line| *line != "accounts").skip(1);
    let number = lines.next().and_then(|line| line.strip_prefix(':'));
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}
