//! Access over HTTP: the users of the settings with their roles, by token or by password.

use crate::node::keeping;
use crate::store::{Store, command, say};
use crate::support::Door;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::process::Command;
use tempfile::TempDir;

/// Hash of `password`, cheap enough for many checks.
const CHEAP: &str =
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

/// Returns a token and its hash, made by the binary.
fn token() -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_scurry")).arg("make-token").output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, token, _, hash] = words[..] else { panic!("{text}") };
    (token.to_owned(), hash.to_owned())
}

/// Users of the tests: `reader` and `charger` with a token, `alice` with a password and the role read.
struct Guests {
    reader: String,
    charger: String,
    settings: String,
}

impl Guests {
    fn new() -> Guests {
        let (reader, charger) = (token(), token());
        let entry = |name: &str, secret: &str, roles: &str| {
            format!("[[users]]\nname = \"{name}\"\n{secret}\nroles = [{roles}]\n")
        };
        let of_token = |hash: &str| format!("token_hash = \"{hash}\"");
        let settings = [
            entry("reader", &of_token(&reader.1), "\"read\""),
            entry("charger", &of_token(&charger.1), "\"charge\""),
            entry("alice", &format!("password_hash = \"{CHEAP}\""), "\"read\""),
        ];
        Guests {
            reader: format!("Bearer {}", reader.0),
            charger: format!("Bearer {}", charger.0),
            settings: settings.concat(),
        }
    }

    fn file(&self, directory: &TempDir) -> String {
        let path = directory.path().join("users.toml");
        std::fs::write(&path, &self.settings).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    }
}

#[test]
fn a_user_comes_in_with_a_token_or_a_password_and_does_what_the_roles_permit() {
    let guests = Guests::new();
    let directory = TempDir::new().expect("a directory");
    let file = guests.file(&directory);
    let command = command(&directory, &["--config", &file]);
    let store = Store::run(command, directory);
    // base64 of alice:password, alice:wrong, bob:password, nocolon.
    let (right, wrong) = ("Basic YWxpY2U6cGFzc3dvcmQ=", "Basic YWxpY2U6d3Jvbmc=");
    let (nobody, odd) = ("Basic Ym9iOnBhc3N3b3Jk", "Basic bm9jb2xvbg==");
    for (who, status, says) in [
        (guests.reader.as_str(), 200, "scurry_info"),
        (right, 200, "scurry_info"),
        (right, 200, "scurry_info"),
        ("", 401, "say who you are"),
        ("Bearer x", 401, "no user has this token"),
        (&guests.reader[..guests.reader.len() - 1], 401, "no user has this token"),
        (wrong, 401, "no user has this token, or this name and password"),
        (nobody, 401, "no user has this token, or this name and password"),
        (odd, 401, "say who you are"),
        ("Basic !", 401, "say who you are"),
        ("Digest x", 401, "say who you are"),
        (guests.charger.as_str(), 403, "the user charger has not the role read"),
    ] {
        let (told, body) = store.get_as(who, "/metrics");
        assert_eq!(told, status, "{who}: {body}");
        assert!(body.contains(says), "{who}: {body}");
        assert_eq!(status != 200, body.contains("about:blank"), "{body}");
        let (told, body) = store.get_as(who, "/v1/console/account?id=nobody");
        assert_eq!(told, if status == 200 { 404 } else { status }, "{who}: {body}");
    }
    // Charging needs the roles of its commands.
    let account = "/v1/accounts/nobody";
    for (who, status) in [(guests.reader.as_str(), 404), (guests.charger.as_str(), 403), ("", 401)]
    {
        assert_eq!(store.get_as(who, account).0, status, "{who}");
    }
    let charge = |who: &str| {
        let head =
            "POST /v1/accounts/nobody/debits HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        let request = format!("{head}Authorization: {who}\r\nContent-Length: 0\r\n\r\n");
        say(store.http_port, request.as_bytes())
    };
    assert!(charge(&guests.reader).contains(" 403 "), "{}", charge(&guests.reader));
    let refused = charge(&guests.charger);
    assert!(!refused.contains(" 401 ") && !refused.contains(" 403 "), "{refused}");
    // A chain needs the role of each of its commands, and the error names the missing one.
    let chain = r#"{"commands": [{"account": "a", "operation": "top_up", "transaction": "t", "bucket": "main", "amount": 1}]}"#;
    let head = "POST /v1/chains HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";
    let (who, len) = (&guests.charger, chain.len());
    let request = format!("{head}Authorization: {who}\r\nContent-Length: {len}\r\n\r\n{chain}");
    let refused = say(store.http_port, request.as_bytes());
    assert!(refused.contains(" 403 "), "{refused}");
    assert!(refused.contains("the user charger has not the role provision"), "{refused}");
    let (totals, charger) = ("/v1/totals", guests.charger.as_str());
    for (who, status) in [(guests.reader.as_str(), 200), (right, 200), (charger, 403), ("", 401)] {
        assert_eq!(store.get_as(who, totals).0, status, "{who}");
    }
    // These contain nothing secret.
    for path in ["/", "/healthz", "/readyz", "/v1/openapi.json"] {
        assert_eq!(store.get(path).0, 200, "{path}");
    }
    let answer = say(
        store.http_port,
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    let head = answer.to_ascii_lowercase();
    assert!(head.contains("www-authenticate: bearer realm=\"scurry\""), "{answer}");
    assert!(head.contains("www-authenticate: basic realm=\"scurry\""), "{answer}");
}

#[test]
fn the_console_is_told_what_who_asks_may_do() {
    let (reader, clerk) = (token(), token());
    let entry = |name: &str, hash: &str, roles: &str| {
        format!("[[users]]\nname = \"{name}\"\ntoken_hash = \"{hash}\"\nroles = [{roles}]\n")
    };
    let users = entry("reader", &reader.1, "\"read\"")
        + &entry("clerk", &clerk.1, "\"provision\", \"read\"");
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("users.toml");
    std::fs::write(&path, users).expect("a file");
    let store = Store::start(&["--config", path.to_str().expect("UTF-8")]);
    let [reader, clerk] = [reader, clerk].map(|(token, _)| format!("Bearer {token}"));
    assert_eq!(store.put_as(&reader, "/v1/accounts/alice", "{}").0, 403);
    assert_eq!(store.put_as(&clerk, "/v1/accounts/alice", "{}").0, 201);
    for (who, roles) in [(reader, json!(["read"])), (clerk, json!(["read", "provision"]))] {
        let (status, body) = store.get_as(&who, "/v1/console/account?id=alice");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, &body["roles"]), (200, &roles));
    }
}

#[test]
fn the_door_to_nodes_lets_readers_read_and_chargers_write() {
    let guests = Guests::new();
    let directory = TempDir::new().expect("a directory");
    let file = guests.file(&directory);
    let nodes = keeping(1);
    let door = Door::before(&[nodes[0].address()], &["--users", &file]);
    let ask = |method: &str, path: &str, who: &str| {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        let request = format!("{head}Authorization: {who}\r\nContent-Length: 1\r\n\r\nv");
        let answer = say(door.port(), request.as_bytes());
        answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()).expect("a status")
    };
    for _ in 0..400 {
        if door.get("/readyz").0 == 200 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50)); // tidy: allow (the door has to reach the node)
    }
    let path = "/v0/entity?id=x";
    let (reader, charger) = (guests.reader.as_str(), guests.charger.as_str());
    for (method, who, status) in [
        ("PUT", reader, 403),
        ("PUT", "Bearer x", 401),
        ("PUT", charger, 201),
        ("GET", reader, 200),
        ("GET", charger, 403),
        ("DELETE", reader, 403),
        ("DELETE", charger, 202),
        ("GET", reader, 404),
    ] {
        assert_eq!(ask(method, path, who), status, "{method} as {who}");
    }
    for path in ["/v0/status", "/metrics"] {
        assert_eq!(ask("GET", path, reader), 200, "{path}");
        assert_eq!(ask("GET", path, charger), 403, "{path}");
    }
    assert_eq!(door.get("/healthz").0, 200);
    // Other users in the same file, and SIGHUP: each request is checked against the new users.
    let others = Guests::new();
    others.file(&directory);
    assert_eq!(ask("GET", "/v0/status", &others.reader), 401);
    door.signal(Signal::SIGHUP);
    for _ in 0..1_200 {
        if door.log().contains("the users in ") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50)); // tidy: allow (the door reads a file)
    }
    assert_eq!(ask("GET", "/v0/status", &others.reader), 200);
    assert_eq!(ask("GET", "/v0/status", reader), 401);
    assert_eq!(ask("GET", "/v0/status", &others.charger), 403);
}

#[test]
fn no_door_is_open_to_everybody_unless_somebody_says_so() {
    let refused = |arguments: &[&str]| {
        // With a timeout, because a door that does open would keep running.
        let output = Command::new("timeout")
            .args(["--kill-after=2", "20", env!("CARGO_BIN_EXE_scurry")])
            .args(arguments)
            .env_remove("SCURRY_REQUIREPASS")
            .output()
            .expect("it runs");
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let serve = ["serve", "--listen", "127.0.0.1:0", "--durability", "none"];
    let said = refused(&[&serve[..], &["--http-listen", "0.0.0.0:0"]].concat());
    assert!(said.contains("refusing to open the HTTP door on 0.0.0.0:0"), "{said}");
    assert!(said.contains("--allow-open-access-without-password"), "{said}");
    let said = refused(&["http", "--listen", "0.0.0.0:0", "--nodes", "127.0.0.1:1"]);
    assert!(said.contains("refusing to open the HTTP door on 0.0.0.0:0"), "{said}");
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("users.toml");
    for (text, says) in [
        ("", "missing field `users`"),
        ("users = []", "there are no [[users]]"),
        ("[[users]]\nname = \"a\"\nroles = []\n", "neither a password_hash nor a token_hash"),
        ("[[users]]\nname = \"a\"\ntoken_hash = \"x\"\nroles = []\n", "is not sha256:"),
        ("[[users]]\nname = \"a\"\ntoken = \"x\"\nroles = []\n", "did you mean `token_hash`?"),
        ("[[users]]\nname = \"a\"\ncolour = 1\nroles = []\n", "`colour`: known here are name, "),
        (
            "[[users]]\nname = \"a\"\nroles = \"hunter2\"\n",
            "line 3, column 9, at `roles`: invalid type: ",
        ),
    ] {
        std::fs::write(&path, text).expect("a file");
        let file = path.to_str().expect("UTF-8");
        let said = refused(&["http", "--nodes", "127.0.0.1:1", "--users", file]);
        assert!(said.contains(says), "{text}: {said}");
        assert!(!said.contains("hunter2"), "what stands in the file is told: {said}");
    }
}
