//! The curl lines of the pages, run as they stand. A fenced block that begins with ```` ```curl ````
//! is run line by line in a shell, on fresh stores and doors; a line `# 201` before a command says
//! which status it must have, and without one it must be below 400.

use crate::charging::open;
use crate::support::{Door, keeping};
use std::path::Path;
use std::process::Command;

#[test]
fn the_lines_on_charging_work() {
    let (_nodes, door) = open();
    let ran = run("docs/charging-http.md", &door);
    assert!(ran >= 20, "only {ran} lines were found");
}

#[test]
fn the_lines_on_entities_work() {
    let nodes = keeping(3);
    let door = Door::open(&nodes);
    let ran = run("docs/http.md", &door);
    assert!(ran >= 5, "only {ran} lines were found");
}

/// Runs the lines of a page against a door in the place of the page's; how many there were.
fn run(page: &str, door: &Door) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).expect("a page");
    let mut is_curl = false;
    let mut expected = None;
    let mut ran = 0;
    for line in text.lines() {
        if line.starts_with("```") {
            is_curl = !is_curl && line == "```curl";
            expected = None;
        } else if let Some(status) = line.strip_prefix("# ").filter(|_| is_curl) {
            expected = Some(status.parse::<u16>().expect("a status"));
        } else if is_curl && !line.is_empty() {
            let status = status_of(line, door);
            match expected.take() {
                Some(expected) => assert_eq!(status, expected, "{page}: {line}"),
                None => assert!(status < 400, "{page}: {line}: {status}"),
            }
            ran += 1;
        }
    }
    assert!(!is_curl, "{page}: a block does not end");
    ran
}

fn status_of(line: &str, door: &Door) -> u16 {
    let rest = line.strip_prefix("curl ").expect("every line is one curl");
    let rest = rest.replace("127.0.0.1:8080", &format!("127.0.0.1:{}", door.port()));
    assert_ne!(rest, line["curl ".len()..], "the line asks 127.0.0.1:8080: {line}");
    let line = format!("curl -s -o /dev/null -m 20 -w '%{{http_code}}' {rest}");
    let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // With -i the headers go where the body goes.
    text.parse()
        .unwrap_or_else(|_| panic!("{line}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}
