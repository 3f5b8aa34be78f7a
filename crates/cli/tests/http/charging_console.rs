//! What the console asks of a door: its user, lists of accounts and of open holds, and acts under the user's name.

use crate::store::Store;
use crate::support::{Door, Reply};
use serde_json::{Value, json};
use std::process::Command;
use tempfile::TempDir;

const DIGITS: &str = "0123456789abcdef0123456789abcdef";

/// Returns a header with a new token, and an entry of a settings file for its user.
fn user(name: &str, roles: &str) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_scurry")).arg("make-token").output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let words: Vec<&str> = text.split_whitespace().collect();
    let entry =
        format!("[[users]]\nname = \"{name}\"\ntoken_hash = \"{}\"\nroles = [{roles}]\n", words[3]);
    (format!("Bearer {}", words[1]), entry)
}

fn send(store: &Store, lines: impl IntoIterator<Item = String>) {
    let mut client = store.connect();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        redis::cmd(words[0]).arg(&words[1..]).exec(&mut client).expect(&line);
    }
}

fn code(reply: &Reply) -> (u16, &str) {
    (reply.status, reply.body["code"].as_str().unwrap_or_default())
}

#[test]
fn the_users_name_in_an_act_of_the_console_is_proved() {
    let store = Store::start(&["--durability", "write"]);
    let (clerk, clerk_entry) = user("clerk", "\"read\", \"provision\", \"charge\"");
    let (reader, reader_entry) = user("reader", "\"read\"");
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("users.toml");
    std::fs::write(&file, clerk_entry + &reader_entry).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let store_address = format!("127.0.0.1:{}", store.port);
    let door =
        Door::charging(&store_address, &["--users", file, "--unit-decimals", "USD=2,point=0"]);
    let ask = |who: &str, request: &str, key: &str, body: &str| {
        let mut headers = vec![("Authorization", who)];
        headers.extend((!key.is_empty()).then_some(("Idempotency-Key", key)));
        door.ask(request, &headers, body)
    };
    let seen = |who: &str| ask(who, "GET /v1/console/user", "", "").body;
    let decimals = json!({ "USD": 2, "point": 0 });
    let roles = json!(["read", "charge", "provision"]);
    let expected = json!({ "user": "clerk", "roles": roles, "unit_decimals": decimals });
    assert_eq!(seen(&clerk), expected);
    let expected = json!({ "user": "reader", "roles": ["read"], "unit_decimals": decimals });
    assert_eq!(seen(&reader), expected);
    assert_eq!(door.ask("GET /v1/console/user", &[], "").status, 401);

    let lines = [
        "SCUR.CREATE alice BUCKET main USD 1000",
        "SCUR.RESERVE alice s-1 0 ITEM 1 USD REQUESTED 500",
    ];
    send(&store, lines.map(str::to_owned));
    let own = format!("console:clerk:{DIGITS}");
    let release = "DELETE /v1/accounts/alice/sessions/s-1";
    // Without the role, under another name, and in another form.
    let reply = ask(&reader, release, &format!("console:reader:{DIGITS}"), "");
    assert_eq!(code(&reply), (403, "FORBIDDEN"));
    for forged in [&format!("console:reader:{DIGITS}"), "console:clerk:1", "console:"] {
        let reply = ask(&clerk, release, forged, "");
        assert_eq!(code(&reply), (400, "INVALID"), "{forged}");
        assert_eq!(reply.body["errors"][0]["header"], "Idempotency-Key", "{forged}");
        let why = reply.body["detail"].as_str().expect("a detail");
        assert!(why.contains("use console:clerk: and 32 hexadecimal digits"), "{why}");
    }
    let forged = format!("console:reader:{DIGITS}");
    let chain = json!({ "commands": [{ "account": "alice", "operation": "debit",
        "transaction": forged, "unit": "USD", "amount": 1 }] });
    let reply = ask(&clerk, "POST /v1/chains", "", &chain.to_string());
    assert_eq!(code(&reply), (400, "INVALID"), "{}", reply.body);
    // Released once, however often it is asked for; the id is no other request's.
    for replayed in [false, true, true] {
        let reply = ask(&clerk, release, &own, "");
        let told = (reply.status, &reply.body["code"], &reply.body["replayed"]);
        assert_eq!(told, (200, &json!("OK"), &json!(replayed)));
    }
    let body = r#"{"status":"suspended"}"#;
    let status = "PUT /v1/accounts/alice/status";
    assert_eq!(code(&ask(&clerk, status, &own, body)), (422, "REQUEST_MISMATCH"));
    let suspended = format!("console:clerk:{}", DIGITS.replace('0', "f"));
    assert_eq!(ask(&clerk, status, &suspended, body).status, 200);
    // The events say who it was.
    let of = |transaction: &str| {
        let path = format!("GET /v1/accounts/alice/statement?transaction={transaction}");
        let told = ask(&reader, &path, "", "").body;
        let entries = told["entries"].as_array().expect("entries").iter();
        let entries = entries.map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            (text("event"), text("transaction") == transaction, text("session"))
        });
        entries.collect::<Vec<_>>()
    };
    let event = |name: &str, session: &str| (name.to_owned(), true, session.to_owned());
    let [first, second, third] = &of(&own)[..] else { panic!("{:?}", of(&own)) };
    assert_eq!([first, second], [&event("released", "s-1"), &event("session-released", "s-1")]);
    assert_eq!(third.0, "answered");
    assert_eq!(of(&suspended)[0], event("status", ""));
}

/// Reads a whole list of the console. Returns its rows and its number of steps.
fn walk(store: &Store, path: &str, member: &str) -> (Vec<Value>, usize) {
    let (mut rows, mut steps, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let (status, body) = store.get(&format!("{path}&cursor={cursor}"));
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(status, 200, "{body}");
        rows.extend(body[member].as_array().expect("a list").iter().cloned());
        steps += 1;
        match &body["cursor"] {
            Value::Null => return (rows, steps),
            next => next.as_str().expect("text").clone_into(&mut cursor),
        }
    }
}

#[test]
fn accounts_and_open_holds_of_the_store_are_listed_in_steps() {
    let store = Store::start(&["--threads", "2", "--durability", "write"]);
    let many = (0..250).flat_map(|number| {
        let account = format!("user-{number:03}");
        let open = format!("SCUR.RESERVE {account} s{number} 0 ITEM 1 USD REQUESTED 5");
        [Some(format!("SCUR.CREATE {account} BUCKET main USD 9007199254740993")), Some(open)]
            .into_iter()
            .take(if number % 5 == 0 { 2 } else { 1 })
            .flatten()
    });
    send(&store, many);
    let busy =
        (0..120).map(|number| format!("SCUR.RESERVE busy b{number:03} 0 ITEM 1 cent REQUESTED 1"));
    send(&store, ["SCUR.CREATE busy BUCKET main cent 1000".to_owned()].into_iter().chain(busy));
    send(&store, ["SCUR.STATUS busy suspended".to_owned()]);

    let (rows, steps) = walk(&store, "/v1/console/accounts?prefix=", "accounts");
    assert_eq!(rows.len(), 251);
    assert!(steps >= 3, "{steps} steps for 251 accounts");
    let find = |id: &str| rows.iter().find(|row| row["id"] == id).expect(id);
    let expected = json!({ "id": "user-005", "status": "active", "sessions_open": 1, "buckets_more": 0,
        "buckets": [{ "id": "main", "unit": "USD", "available": "9007199254740988", "held": "5" }] });
    assert_eq!(find("user-005"), &expected);
    for (filter, count) in
        [("prefix=user-01", 10), ("prefix=&status=suspended", 1), ("prefix=x", 0)]
    {
        let (rows, _) = walk(&store, &format!("/v1/console/accounts?{filter}"), "accounts");
        assert_eq!(rows.len(), count, "{filter}");
    }

    let (rows, _) = walk(&store, "/v1/console/holds?unit=", "holds");
    assert_eq!(rows.len(), 50 + 100, "no more than 100 sessions of one account");
    for (filter, count) in [
        ("unit=USD", 50),
        ("unit=cent", 100),
        ("unit=EUR", 0),
        ("older_ms=3600000", 0),
        ("unit=USD&older_ms=0", 50),
    ] {
        assert_eq!(walk(&store, &format!("/v1/console/holds?{filter}"), "holds").0.len(), count);
    }
    let hold = rows.iter().find(|row| row["session"] == "s5").expect("a hold");
    assert_eq!([&hold["account"], &hold["unit"], &hold["amount"]], ["user-005", "USD", "5"]);
    let time = |name: &str| hold[name].as_str().and_then(|text| text.parse::<i64>().ok());
    assert!(time("opened") > Some(0) && time("opened") <= time("active"), "{hold}");
    // The rest of the sessions of a busy account.
    let (more, _) = walk(&store, "/v1/console/holds?unit=", "more");
    assert_eq!(more, [json!({ "account": "busy", "after": "b099" })]);
    let (rest, _) = walk(&store, "/v1/console/holds?account=busy&after=b099", "holds");
    let ids: Vec<&Value> = rest.iter().map(|row| &row["session"]).collect();
    assert_eq!((ids.len(), ids[0], ids[19]), (20, &json!("b100"), &json!("b119")));

    for (path, parameter) in [
        ("accounts?cursor=x", "cursor"),
        ("accounts?status=gone", "status"),
        ("accounts?prefix=%20", "prefix"),
        ("holds?older_ms=-1", "older_ms"),
        ("holds?older_ms=x", "older_ms"),
        ("holds?unit=%20", "unit"),
        ("holds?account=%0a", "account"),
        ("holds?account=busy&after=%0a", "after"),
        ("holds?cursor=1", "cursor"),
    ] {
        let (status, body) = store.get(&format!("/v1/console/{path}"));
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((status, &body["errors"][0]["parameter"]), (400, &json!(parameter)), "{path}");
    }
    let (status, body) = store.get("/v1/console/holds?account=nobody");
    assert!(status == 404 && body.contains("UNKNOWN_ACCOUNT"), "{body}");
    let (_, body) = store.get("/v1/console/user");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((&body["user"], &body["unit_decimals"]), (&json!("default"), &json!({})));
}

#[test]
fn the_console_runs_scripts_of_its_door_alone() {
    let store = Store::start(&["--durability", "write"]);
    let (_, page) = store.get("/");
    let scripts: Vec<&str> = page.split("<script").skip(1).collect();
    assert!(scripts.len() > 3);
    for script in scripts {
        let path = script.strip_prefix(" src=\"").and_then(|rest| rest.split_once("\"></script>"));
        let path = path.expect("a script of the door, and none in the page").0;
        let answer = crate::store::say(
            store.http_port,
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        );
        let head = answer.split("\r\n\r\n").next().expect("a head").to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{path}: {head}");
        assert!(head.contains("content-type: text/javascript"), "{path}: {head}");
        assert!(head.contains("x-content-type-options: nosniff"), "{path}: {head}");
        assert!(head.contains("script-src 'self';"), "{path}: {head}");
    }
}
