//! The OpenAPI document lists exactly the operations that are served.

use crate::charging::open;
use crate::node::forgetting;
use crate::store::Store;
use crate::support::{Door, schemathesis};
use scurry_resp::table::find;
use serde_json::{Value, json};
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
                with_head.insert("OPTIONS".to_owned());
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
    assert_eq!(operations, 32, "an operation was added or is gone: see docs/charging-http.md");
}

/// Permissions: the security scheme, and the role that the user needs.
#[test]
fn it_says_who_may_do_what_where_users_are_asked_for() {
    let token = "token_hash = \"sha256:".to_owned() + &"0".repeat(64) + "\"";
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("users.toml");
    let users = format!("[[users]]\nname = \"a\"\n{token}\nroles = [\"read\"]\n");
    std::fs::write(&file, users).expect("a file");
    let nodes = forgetting(1);
    let file = file.to_str().expect("UTF-8");
    let guarded = Door::charging(&nodes[0].address(), &["--users", file]);
    let document = guarded.ask("GET /v1/openapi.json", &[], "").body;
    let schemes = &document["components"]["securitySchemes"];
    assert_eq!(
        (&schemes["bearer"]["scheme"], &schemes["basic"]["scheme"]),
        (&json!("bearer"), &json!("basic"))
    );
    let mut guards = 0;
    for (path, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            let request = format!("{} {path}", method.to_uppercase());
            let role = &operation["x-scurry-role"];
            if role == "-" {
                assert_eq!(operation["security"], json!([]), "{request}");
                continue;
            }
            guards += 1;
            let expected = json!([{"bearer": [role]}, {"basic": [role]}]);
            assert_eq!(operation["security"], expected, "{request}");
            let responses = &operation["responses"];
            assert!(responses["401"].is_object() && responses["403"].is_object(), "{request}");
        }
    }
    assert_eq!(guards, 30);
    assert_eq!(guarded.ask("GET /v1/accounts/x", &[], "").body["code"], "UNAUTHORIZED");
    // Without users the document names no required role, but still says how a client may authenticate.
    let (_nodes, open) = open();
    let document = open.ask("GET /v1/openapi.json", &[], "").body;
    let get = &document["paths"]["/v1/accounts/{account}"]["get"];
    assert!(get["security"].is_null() && get["responses"]["401"].is_null(), "{get}");
    assert_eq!(document["security"], json!([{}, {"bearer": []}, {"basic": []}]));
}

/// Generators of clients make a type of each schema. A schema without a name is named after its location, and in Go
/// each type `X` gets a function `NewX`.
#[test]
fn what_generators_make_types_of_has_a_name() {
    let (_nodes, charging) = open();
    let nodes = forgetting(1);
    let entities = Door::open(&nodes);
    for (door, path) in [(&charging, "/v1/openapi.json"), (&entities, "/v0/openapi.json")] {
        let document = door.ask(&format!("GET {path}"), &[], "").body;
        let schemas = document["components"]["schemas"].as_object().expect("an object");
        let tags: Vec<&Value> = document["tags"].as_array().expect("a list").iter().collect();
        let tags: Vec<&Value> = tags.iter().map(|tag| &tag["name"]).collect();
        assert_eq!(document["servers"][0]["url"], "/");
        for (name, schema) in schemas {
            assert!(!name.starts_with("New"), "{name} is a function in Go");
            let members = schema["properties"].as_object();
            for (member, place) in members.into_iter().flatten() {
                let is_named = is_named(place);
                assert!(is_named, "{name}.{member} has branches without a name: {place}");
                let is_told = place["description"].is_string() || place["$ref"].is_string();
                assert!(is_told, "{name}.{member} has no description");
            }
            assert!(schema["anyOf"].is_null(), "{name}: branches are of one another: oneOf");
        }
        for (request, operation) in
            document["paths"].as_object().expect("an object").iter().flat_map(|(path, item)| {
                item.as_object().into_iter().flatten().map(move |one| (path, one.1))
            })
        {
            assert!(tags.contains(&&operation["tags"][0]), "{request} has no tag");
        }
    }
}

/// Reports whether a schema has no branches, or only a reference and null.
fn is_named(schema: &Value) -> bool {
    let branches = ["anyOf", "oneOf"].iter().filter_map(|word| schema[word].as_array()).next();
    let is_one = |branch: &Value| branch["$ref"].is_string() || branch["type"] == "null";
    branches.is_none_or(|branches| branches.len() <= 2 && branches.iter().all(is_one))
}

/// The greatest bounds that the settings of a store allow; the published document has the same.
const WIDEST: &str = "[limits]
identities_max = 64
buckets_max = 64
counters_max = 1024
sessions_max = 65535
session_ids_max = 65535
transactions_max = 65535
blob_len_max = 1024
tcc_ms_max = 31622400000
";

/// Runs the cases that schemathesis derives from the document: valid and invalid requests of every operation, and
/// sequences of them.
#[test]
fn schemathesis_finds_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let limits = directory.path().join("scurry.toml");
    std::fs::write(&limits, WIDEST).expect("a file");
    let store = Store::start(&["--config", limits.to_str().expect("UTF-8")]);
    let mut client = store.connect();
    for account in ["alice", "doomed"] {
        let create = ["BUCKET", "main", "cent", "1000"];
        let created = redis::cmd("SCUR.CREATE").arg(account).arg(&create).query(&mut client);
        let (code, _version): (String, i64) = created.expect("it is made");
        assert_eq!(code, "OK");
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http");
    let output = Command::new(schemathesis())
        .current_dir(directory.path())
        .env("PYTHONPATH", &tests)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SCHEMATHESIS_HOOKS", "schemathesis_hooks")
        .arg("--config-file")
        .arg(tests.join("schemathesis.toml"))
        .args(["run", &store.url("/v1/openapi.json"), "--seed", "1", "--max-examples", "5"])
        .args(["--no-color", "--workers", "1"])
        .output()
        .expect("schemathesis starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}
