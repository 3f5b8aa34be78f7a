//! The OpenAPI document says what is served: no more, no less.

use crate::charging::{create, open};
use crate::support::schemathesis;
use scurry_resp::table::find;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const METHODS: [&str; 5] = ["GET", "PUT", "POST", "PATCH", "DELETE"];

#[test]
fn what_it_names_is_served_and_nothing_else() {
    let (_nodes, door) = open();
    let reply = door.ask("GET /v1/openapi.json", &[], "");
    assert_eq!((reply.status, reply.header("Content-Type")), (200, "application/json"));
    assert_eq!(reply.body["openapi"], "3.1.0");
    let paths = reply.body["paths"].as_object().expect("an object");
    let mut operations = 0;
    for (path, item) in paths {
        let item = item.as_object().expect("an object");
        let named: BTreeSet<String> = item.keys().map(|method| method.to_uppercase()).collect();
        let concrete: Vec<&str> =
            path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
        for method in METHODS {
            let body = if matches!(method, "GET" | "DELETE") { "" } else { "{}" };
            let reply = door.ask_once(&format!("{method} {}", concrete.join("/")), "k", body);
            let is_served =
                !matches!(reply.body["code"].as_str(), Some("NOT_FOUND" | "METHOD_NOT_ALLOWED"));
            assert_eq!(is_served, named.contains(method), "{method} {path}: {}", reply.body);
            if !is_served {
                assert_eq!(reply.status, 405, "{method} {path}");
                let allowed: BTreeSet<String> =
                    reply.header("Allow").split(',').map(str::to_owned).collect();
                let mut with_head = named.clone();
                if named.contains("GET") {
                    with_head.insert("HEAD".to_owned());
                }
                assert_eq!(allowed, with_head, "{path}");
            }
        }
        for (method, operation) in item {
            operations += 1;
            let text = operation["description"].as_str().unwrap_or_default();
            let Some(name) = text.split('`').nth(1) else { continue };
            let spec = find(name.as_bytes()).expect(name);
            assert_eq!(operation["x-scurry-role"], spec.role.name(), "{method} {path}");
        }
    }
    assert_eq!(operations, 21, "an operation was added or is gone: see docs/charging-http.md");
}

/// What schemathesis makes of the document, against the door: positive and negative cases of every
/// operation, and chains of them.
#[test]
fn schemathesis_finds_nothing() {
    let (_nodes, door) = open();
    for account in ["alice", "doomed"] {
        create(&door, account);
    }
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/schemathesis.toml");
    let directory = tempfile::tempdir().expect("a directory");
    let output = Command::new(schemathesis())
        .current_dir(directory.path())
        .arg("--config-file")
        .arg(config)
        .args(["run", &door.url("/v1/openapi.json"), "--seed", "1", "--max-examples", "10"])
        .args(["--no-color", "--workers", "1"])
        .output()
        .expect("schemathesis starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}
