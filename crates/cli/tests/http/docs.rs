//! Runs the lines of curl and nghttp in the documentation. A fenced block that begins with ```` ```curl ```` is run line by line in a
//! shell, on fresh stores and doors. A line `# 201` before a command gives the status that it must have; without one
//! the status must be below 400.

use crate::charging::open;
use crate::node::indexed;
use crate::support::Door;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Page with the tables.
const PAGE: &str = "docs/charging-http.md";

#[test]
fn the_lines_on_charging_work() {
    let (_nodes, door) = open();
    let ran = run(PAGE, &door);
    assert!(ran >= 20, "only {ran} lines were found");
    let ran = run("docs/charging-5g.md", &door);
    assert!(ran >= 8, "only {ran} lines were found");
}

#[test]
fn the_lines_on_entities_work() {
    let nodes = indexed(3);
    let door = Door::open(&nodes);
    let ran = run("docs/http.md", &door);
    assert!(ran >= 5, "only {ran} lines were found");
}

/// The store of the door is away, and so is the NRF.
#[test]
fn the_settings_for_free5gc_are_read() {
    let page = read("docs/charging-5g.md");
    let part = page.split("## free5GC").nth(1).expect("a section");
    let settings = part.split("```toml").nth(1).and_then(|rest| rest.split("```").next());
    let files = tempfile::tempdir().expect("a directory");
    let file = files.path().join("scurry.toml");
    std::fs::write(&file, settings.expect("a block")).expect("it is written");
    let door = Door::charging("127.0.0.1:1", &["--config", file.to_str().expect("text")]);
    assert_eq!(door.get("/healthz").0, 200);
}

#[test]
fn the_tables_are_those_of_the_code() {
    let (_nodes, door) = open();
    let document = door.ask("GET /v1/openapi.json", &[], "").body;
    let mut operations =
        String::from("\n| request | command | role | sent again |\n|---|---|---|---|\n");
    for (path, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let mut keys = parameters.iter().filter(|p| p["name"] == "Idempotency-Key");
            let key = keys.next();
            let (has_key, needs_key) = (key.is_some(), key.is_some_and(|p| p["required"] == true));
            let text = operation["description"].as_str().unwrap_or_default();
            let command = text.split('`').nth(1).map_or("-".to_owned(), |name| format!("`{name}`"));
            let again = match method.as_str() {
                _ if needs_key => "Idempotency-Key",
                _ if has_key => "as it is, or Idempotency-Key",
                _ if path == "/v1/chains" => "each command's id",
                "post" => "`request`",
                "get" => "",
                _ => "as it is",
            };
            let query: Vec<&str> = parameters
                .iter()
                .filter(|p| p["in"] == "query")
                .filter_map(|p| p["name"].as_str())
                .collect();
            let query =
                if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
            let role = operation["x-scurry-role"].as_str().unwrap_or_default();
            let method = method.to_uppercase();
            writeln!(operations, "| `{method} {path}{query}` | {command} | {role} | {again} |")
                .expect("a string");
        }
    }
    operations.push('\n');
    let mut problems = String::from("\n| code | status | meaning |\n|---|---|---|\n");
    let commands = read("docs/commands.md");
    for row in door.ask("GET /v1/problems", &[], "").body.as_array().expect("a list") {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let (code, status) = (text("code"), &row["status"]);
        if commands.contains(&format!("\n| `{code}` | ")) {
            let listed = commands.lines().find(|line| line.starts_with(&format!("| `{code}` | ")));
            let listed = listed.is_some_and(|line| line.contains(&format!(" | {status} | ")));
            assert!(listed, "docs/commands.md has another status for {code}");
            continue;
        }
        writeln!(problems, "| `{code}` | {status} | {} |", text("meaning")).expect("a string");
    }
    problems.push('\n');
    let page = read(PAGE);
    let wanted =
        with_section(&with_section(&page, "operations", &operations), "problems", &problems);
    if page != wanted && std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(root().join(PAGE), &wanted).expect("the page is written");
        return;
    }
    assert!(page == wanted, "the tables of {PAGE} are old: run this test with UPDATE_EXPECT=1");
}

/// Returns a page with this text between the marks of a section.
fn with_section(page: &str, name: &str, text: &str) -> String {
    let begin = page.find(&format!("<!-- {name}:")).expect("a mark");
    let begin = begin + page[begin..].find('\n').expect("a line") + 1;
    let end = begin + page[begin..].find("<!-- end -->").expect("a mark");
    format!("{}{text}{}", &page[..begin], &page[end..])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).expect("a page")
}

/// Runs the lines of a page against this door instead of the page's. Returns the number of lines.
fn run(page: &str, door: &Door) -> usize {
    let text = read(page);
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
    if line.contains("| nghttp ") {
        return nghttp_status_of(line, door);
    }
    let rest = line.strip_prefix("curl ").expect("every line is one curl");
    let rest = rest.replace("127.0.0.1:8080", &format!("127.0.0.1:{}", door.port()));
    assert_ne!(rest, line["curl ".len()..], "the line asks 127.0.0.1:8080: {line}");
    let line = format!("curl -s -o /dev/null -m 20 -w '%{{http_code}}' {rest}");
    let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // With -i the headers go to the same output as the body.
    text.parse()
        .unwrap_or_else(|_| panic!("{line}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Runs a line with nghttp, which shows the frames.
fn nghttp_status_of(line: &str, door: &Door) -> u16 {
    let line = line.replace("127.0.0.1:8080", &format!("127.0.0.1:{}", door.port()));
    let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    let status = text.lines().find_map(|line| line.split_once(":status: "));
    let (_, status) = status.unwrap_or_else(|| {
        panic!("{line}: {text}{}", String::from_utf8_lossy(&output.stderr));
    });
    status.trim().parse().expect("a status")
}
