//! Runs the pages of docs/start: types the lines of their `console` blocks and compares the output with the page. A
//! line `...` of the page matches any number of lines.

use crate::store::{Store, command};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A command of the page and the lines below it.
struct Typed {
    line: String,
    shown: Vec<String>,
}

fn typed(page: &str) -> Vec<Typed> {
    let mut all: Vec<Typed> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = !is_console && line == "```console";
        } else if let Some(line) = line.strip_prefix("$ ").filter(|_| is_console) {
            all.push(Typed { line: line.to_owned(), shown: Vec::new() });
        } else if is_console {
            let last = all.last_mut().expect("a command comes first");
            last.shown.push(line.to_owned());
        }
    }
    assert!(!is_console, "a block does not end");
    all
}

/// Reports whether the output matches the lines of the page.
fn fits(shown: &[String], said: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return said.is_empty() };
    if first == "..." {
        return (0..=said.len()).any(|skipped| fits(rest, &said[skipped..]));
    }
    said.split_first().is_some_and(|(line, said)| line == first && fits(rest, said))
}

#[test]
fn what_the_page_shows_is_what_is_said() {
    what_a_page_shows_is_what_is_said("README.md", 36);
}

#[test]
fn what_the_page_for_gateways_shows_is_what_is_said() {
    what_a_page_shows_is_what_is_said("gateway.md", 8);
}

/// Runs a page that has so many commands at least.
fn what_a_page_shows_is_what_is_said(page: &str, least: usize) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/start");
    let commands = typed(&std::fs::read_to_string(directory.join(page)).expect("the page"));
    assert!(commands.len() >= least, "only {} commands were found", commands.len());
    let directory = TempDir::new().expect("a directory");
    let place = directory.path().to_owned();
    // This directory stands for the page's `--dir store`.
    let store = Store::run(command(&directory, &[]), directory);
    let binary = Path::new(env!("CARGO_BIN_EXE_scurry"));
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{path}", binary.parent().expect("a directory").display());
    let mut was_up = false;
    for Typed { line, shown } in &commands {
        let here = line
            .replace("127.0.0.1:8080", &format!("127.0.0.1:{}", store.http_port))
            .replace("scurry cli", &format!("scurry cli -p {}", store.port))
            .replace("127.0.0.1:6389", &format!("127.0.0.1:{}", store.port))
            .replace(
                "scurry snapshot",
                &format!("scurry snapshot --address 127.0.0.1:{}", store.port),
            );
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{here} 2>&1")]).current_dir(&place).env("PATH", &path);
        shell.env_remove("SCURRY_PASSWORD");
        let output = shell.output().expect("a shell");
        was_up |= line.contains("replica up");
        let text = String::from_utf8(output.stdout).expect("text");
        let said: Vec<&str> = text.lines().collect();
        if !fits(shown, &said) {
            if was_up {
                // Its nodes would outlive the test. The command fails if they are already down.
                let mut down = Command::new(binary);
                let _ =
                    down.args(["replica", "down", "--dir", "group"]).current_dir(&place).output();
            }
            panic!("$ {line}\n{text}\nand the page shows\n{}", shown.join("\n"));
        }
    }
}

#[test]
fn other_lines_do_not_fit() {
    let shown = ["a", "...", "c"].map(str::to_owned);
    for (said, expected) in [
        (&["a", "c"][..], true),
        (&["a", "b", "b", "c"], true),
        (&["a", "b"], false),
        (&["a", "c", "d"], false),
        (&["b", "c"], false),
        (&[], false),
    ] {
        assert_eq!(fits(&shown, said), expected, "{said:?}");
    }
}
