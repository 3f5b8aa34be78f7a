//! The console, operated in a headless Chromium by testing/console.

use crate::browser::drive;
use crate::charging_nchf::{SUPI, post, request};
use crate::nchf_notices;
use crate::node::keeping;
use crate::page::Page;
use crate::proxy::{Way, proxy};
use crate::store::Store;
use crate::support::Door;
use serde_json::json;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Returns a token and its hash.
fn token() -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_scurry")).arg("make-token").output();
    let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let words: Vec<&str> = text.split_whitespace().collect();
    (words[1].to_owned(), words[3].to_owned())
}

/// Returns an entry of a settings file.
fn user(name: &str, token_hash: &str, roles: &str) -> String {
    format!("[[users]]\nname = \"{name}\"\ntoken_hash = \"{token_hash}\"\nroles = [{roles}]\n")
}

fn ask(connection: &mut redis::Connection, line: &str) {
    let mut words = line.split(' ');
    let mut command = redis::cmd(words.next().expect("a word"));
    command.arg(words.collect::<Vec<&str>>());
    command.query::<redis::Value>(connection).expect("an answer");
}

#[test]
fn what_is_done_is_seen_on_the_page_in_light_and_dark_on_a_phone_and_by_keyboard() {
    let store = Store::start(&["--threads", "2"]);
    let mut client = store.connect();
    for number in 0..20 {
        ask(&mut client, &format!("SCUR.CREATE user-{number} BUCKET main cent 1000"));
    }
    ask(&mut client, "SCUR.CREATE alice BUCKET main cent 1000 BUCKET data octet 5000000");
    for number in 0..12 {
        ask(&mut client, &format!("SCUR.RESERVE user-{number} call 0 ITEM 1 cent REQUESTED 200"));
    }
    // A limit without a unit: it counts sessions.
    ask(&mut client, "SCUR.LIMIT alice l1 at-once SESSIONS AMOUNT 5");
    ask(&mut client, "SCUR.RESERVE alice call-1 0 ITEM 1 cent REQUESTED 200");
    ask(&mut client, "SCUR.UPDATE alice call-1 1 ITEM 1 cent USED 150 REQUESTED 300");
    // One account has too little and one is suspended, so their requests are denied.
    ask(&mut client, "SCUR.CREATE poor BUCKET main point 10");
    ask(&mut client, "SCUR.CREATE idle BUCKET main point 10");
    ask(&mut client, "SCUR.RESERVE poor s 0 ITEM 1 point REQUESTED 1");
    ask(&mut client, "SCUR.STATUS idle suspended");
    // Requests go on during the whole test.
    let ends = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&ends);
    let load = thread::spawn(move || {
        for turn in 0u64.. {
            if ended.load(Ordering::Relaxed) {
                break;
            }
            if turn % 50 == 0 {
                let number = turn / 50 + 1;
                let more = "ITEM 1 point REQUESTED 20 MIN 20";
                ask(&mut client, &format!("SCUR.UPDATE poor s {number} {more}"));
                ask(&mut client, &format!("SCUR.DEBIT idle t{number} point 1"));
            }
            ask(&mut client, "SCUR.CHECK alice cent 10");
            thread::sleep(Duration::from_millis(2)); // tidy: allow (a pace, not a wait for something)
        }
    });
    let want = json!({
        "accounts": "23", "sessions": "14", "cores": 2, "account": "alice",
        "denied": { "1": "too little in its buckets", "4": "suspended or closed" },
        "unit": { "Credited": "21,000", "Held": "2,700", "Consumed": "150", "Available": "18,150",
            "Conservation": "holds" },
        "about": [format!("127.0.0.1:{}", store.port), "durability fsync".to_owned(), "version".to_owned()],
        "lookup": { "Buckets": ["main", "cent", "550", "octet", "5,000,000"],
            "Open sessions": ["call-1", "300", "150"],
            "What has happened": ["limit set", "reserved", "settled", "session opened", "credited"] },
    });
    let found = drive(&store.url(""), &["figures", &want.to_string()]);
    ends.store(true, Ordering::Relaxed);
    load.join().expect("the load ends");
    assert_eq!(found["cores"], 2);
}

#[test]
fn who_has_no_token_sees_nothing_and_who_has_one_signs_in() {
    let (token, hash) = token();
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("scurry.toml");
    let entry = user("r", &hash, "\"read\"");
    std::fs::write(&path, entry).expect("a file");
    let store = Store::start(&["--config", path.to_str().expect("UTF-8")]);
    assert_eq!(drive(&store.url(""), &["signin", &token])["signedIn"], true);
}

#[test]
fn a_door_to_nodes_shows_its_nodes_and_why_and_since_when_one_is_away() {
    let mut nodes = keeping(3);
    let door = Door::open(&nodes);
    assert_eq!(drive(&door.url(""), &["nodes", "3 of 3"])["ready"], "3 of 3");
    let gone = nodes.pop().expect("a node").address();
    let door_sees = || String::from_utf8(door.get("/v0/status").1).expect("text");
    let is_away = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(50)); // tidy: allow (the door has to notice)
        door_sees().contains(r#""state":"away""#)
    });
    assert!(is_away, "{}", door_sees());
    assert_eq!(drive(&door.url(""), &["nodes", "2 of 3", &gone])["ready"], "2 of 3");
}

#[test]
fn accounts_are_found_by_an_identity_whatever_they_are_called() {
    let store = Store::start(&["--threads", "2"]);
    let mut client = store.connect();
    let mut send = |words: &[&str]| {
        redis::cmd(words[0]).arg(&words[1..]).exec(&mut client).expect("an answer");
    };
    let month = ["PERIOD", "month", "AMOUNT", "1000"];
    let create = ["SCUR.CREATE", "alice", "IDENTITY", "msisdn", "41791234567"];
    let bucket = ["BUCKET", "main", "cent", "9223372036854775807", "BUCKET", "month", "cent", "0"];
    send(&[&create[..], &bucket, &month].concat());
    send(&["SCUR.LIMIT", "alice", "l", "a-day", "UNIT", "cent", "AMOUNT", "500", "PERIOD", "day"]);
    let odd = "<img/src=x/onerror=alert(1)>";
    for account in [odd, "house/2", "house#3"] {
        send(&[
            "SCUR.CREATE",
            account,
            "IDENTITY",
            "house",
            "a/b?c#d%",
            "BUCKET",
            "main",
            "EUR",
            "7",
        ]);
    }
    let want = json!({
        "alice": { "kind": "msisdn", "value": "41791234567", "others": [],
            "shows": { "Buckets": ["9,223,372,036,854,775,807", "to 1,000 each month, next 20"],
                "Limits": ["a-day", "cent", "500", "day"] } },
        odd: { "kind": "house", "value": "a/b?c#d%", "others": ["house/2", "house#3"],
            "shows": { "Buckets": ["EUR", "7"] } },
    });
    assert_eq!(drive(&store.url(""), &["identities", &want.to_string()])["found"], 2);
}

#[test]
fn a_statement_is_read_from_the_newest_entry_to_the_oldest() {
    let store = Store::start(&["--threads", "2", "--durability", "write"]);
    let mut client = store.connect();
    let mut send = |words: &[&str]| {
        redis::cmd(words[0]).arg(&words[1..]).exec(&mut client).expect("an answer");
    };
    send(&["SCUR.CREATE", "alice", "BUCKET", "main", "cent", "100"]);
    for number in 1..=1100 {
        send(&["SCUR.TOPUP", "alice", &format!("t{number}"), "main", "2"]);
    }
    send(&["SCUR.TOPUP", "alice", "big", "data", "9007199254740993", "UNIT", "octet"]);
    send(&["SCUR.RESERVE", "alice", "call-1", "0", "ITEM", "7", "cent", "REQUESTED", "50"]);
    send(&["SCUR.UPDATE", "alice", "call-1", "1", "ITEM", "7", "cent", "USED", "20"]);
    let odd = "<img/src=x/onerror=alert(1)>";
    send(&["SCUR.DEBIT", "alice", odd, "cent", "30"]);
    let want = json!({
        // Entries of the log: one for each command, on the thread of the account.
        "account": "alice", "entries": 3 + 1100 + 2 + 3 + 2 + 1, "log": 1 + 1100 + 4,
        "newest": [
            ["debited", "main", "30 cent", "-30", "2,250", "0", format!("transaction {odd}")],
            ["released", "main", "30 cent", "30", "2,280", "0", "session call-1, request 1, item 7"],
            ["settled", "main", "20 cent", "0", "2,280", "0", "session call-1, request 1, item 7"],
            ["reserved", "main", "50 cent", "-50", "2,250", "50", "session call-1, request 0, item 7"],
            ["item added", "–", "–", "–", "–", "–", "session call-1, request 0, item 7"],
            ["session opened", "–", "–", "–", "–", "–", "session call-1, request 0"],
            ["credited", "data", "9,007,199,254,740,993 octet", "9,007,199,254,740,993",
                "9,007,199,254,740,993", "0", "transaction big"],
        ],
        "oldest": [["created", "–", "–", "–", "–", "–", "status active"]],
    });
    assert_eq!(drive(&store.url(""), &["statement", &want.to_string()])["entries"], 1111);
    let (_nodes, door) = crate::charging::open();
    crate::charging::create(&door, "bob");
    let want = json!({ "account": "bob", "why": "" });
    drive(&door.url(""), &["no-statement", &want.to_string()]);
}

/// Starts a proxy that loses the answers to top-ups and adjustments on their way to the browser. Returns its address.
fn losing(door: String) -> String {
    let is_losing = Arc::new(AtomicBool::new(false));
    let asked: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
    proxy(door, move |number, _| {
        let (is_losing, asked) = (Arc::clone(&is_losing), Arc::clone(&asked));
        move |way, bytes: &[u8]| {
            let mut asked = asked.lock().expect("no panic");
            match way {
                Way::ToNode if bytes.starts_with(b"POST /v1/accounts/") => {
                    asked.insert(number);
                }
                // The later parts of a request begin with other bytes.
                Way::ToNode if bytes.starts_with(b"GET ") => {
                    asked.remove(&number);
                    if bytes.starts_with(b"GET /readyz") || bytes.starts_with(b"GET /healthz") {
                        is_losing.store(bytes.starts_with(b"GET /readyz"), Ordering::Relaxed);
                    }
                }
                Way::ToNode => {}
                Way::ToDoor => {
                    return !(is_losing.load(Ordering::Relaxed) && asked.contains(&number));
                }
            }
            true
        }
    })
}

#[test]
fn a_change_is_asked_for_once_and_done_once_whatever_becomes_of_its_answer() {
    let ((clerk, clerk_hash), (reader, reader_hash)) = (token(), token());
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("scurry.toml");
    let users = user("clerk", &clerk_hash, "\"read\", \"provision\"")
        + &user("reader", &reader_hash, "\"read\"");
    std::fs::write(&path, users).expect("a file");
    let store = Store::start(&["--config", path.to_str().expect("UTF-8")]);
    let odd = "<img/src=x/onerror=alert(1)>";
    let create = |account: &str, buckets: serde_json::Value| {
        let path = format!(
            "/v1/accounts/{}",
            account.replace('/', "%2F").replace('<', "%3C").replace('>', "%3E")
        );
        let body = json!({ "buckets": buckets }).to_string();
        assert_eq!(store.put_as(&format!("Bearer {clerk}"), &path, &body).0, 201);
    };
    create(
        "alice",
        json!([{ "bucket": "main", "unit": "cent", "amount": 1000 }, { "bucket": "big", "unit": "octet", "amount": 2 }]),
    );
    create(odd, json!([{ "bucket": "main", "unit": "<i>", "amount": 1 }]));
    let door = losing(format!("127.0.0.1:{}", store.http_port));
    let want = json!({ "clerk": clerk, "reader": reader, "account": "alice", "odd": odd });
    let found = drive(&format!("http://{door}"), &["change", &want.to_string()]);
    assert_eq!(found["available"], "1,005");
}

#[test]
fn a_clerk_looks_after_accounts_and_each_act_is_done_once_under_the_users_name() {
    let ((clerk, clerk_hash), (reader, reader_hash)) = (token(), token());
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("scurry.toml");
    let users = "requirepass = \"secret\"\nunit_decimals = [\"USD=2\"]\n".to_owned()
        + &user("clerk", &clerk_hash, "\"read\", \"provision\", \"charge\"")
        + &user("reader", &reader_hash, "\"read\"");
    std::fs::write(&path, users).expect("a file");
    let store = Store::start(&["--threads", "2", "--config", path.to_str().expect("UTF-8")]);
    let client = redis::Client::open(format!("redis://:secret@127.0.0.1:{}", store.port));
    let mut client = client.expect("an address").get_connection().expect("it listens");
    let mut send = |line: &str| ask(&mut client, line);
    let listed: Vec<String> = (0..230).map(|number| format!("list-{number:03}")).collect();
    for account in &listed {
        send(&format!("SCUR.CREATE {account} BUCKET main USD 7"));
    }
    let (odd, odd_session) = ("<b>bold</b><script>alert(1)</script>", "<b>/s?1#2</b>");
    send("SCUR.CREATE alice BUCKET main USD 100000 FLOOR -100");
    send("SCUR.RESERVE alice s-1 0 ITEM 1 USD REQUESTED 50000");
    send("SCUR.DEBIT alice order-1 USD 200");
    send("SCUR.CREATE bob BUCKET main cent 100");
    send("SCUR.RESERVE bob call 0 ITEM 1 cent REQUESTED 3");
    send(&format!("SCUR.CREATE {odd} BUCKET main USD 30000"));
    send(&format!("SCUR.RESERVE {odd} {odd_session} 0 ITEM 1 USD REQUESTED 20000"));
    send("SCUR.CREATE formulas BUCKET main USD 10000 BUCKET =b <i> 1");
    for id in ["=1+1", "+1", "-1+1", "@x", "a,b", "\"q\"", "9"] {
        send(&format!("SCUR.DEBIT formulas {id} USD 5"));
    }
    let csv = [
        "time,event,bucket,unit,amount,change,held_change,available,held,transaction,user,session,request,details",
        "TIME,created,,,,,,,,,,,,status=active",
        "TIME,bucket-added,main,USD,,,,,,,,,,floor=0.00; priority=0; valid_from=1970-01-01T00:00:00.000Z",
        "TIME,credited,main,USD,100.00,100.00,0.00,100.00,0.00,,,,,",
        "TIME,bucket-added,'=b,<i>,,,,,,,,,,floor=0; priority=0; valid_from=1970-01-01T00:00:00.000Z",
        "TIME,credited,'=b,<i>,1,1,0,1,0,,,,,",
        "TIME,debited,main,USD,0.05,-0.05,0.00,99.95,0.00,'=1+1,,,,",
        "TIME,debited,main,USD,0.05,-0.05,0.00,99.90,0.00,'+1,,,,",
        "TIME,debited,main,USD,0.05,-0.05,0.00,99.85,0.00,'-1+1,,,,",
        "TIME,debited,main,USD,0.05,-0.05,0.00,99.80,0.00,'@x,,,,",
        "TIME,debited,main,USD,0.05,-0.05,0.00,99.75,0.00,\"a,b\",,,,",
        "TIME,debited,main,USD,0.05,-0.05,0.00,99.70,0.00,\"\"\"q\"\"\",,,,",
        "TIME,debited,main,USD,0.05,-0.05,0.00,99.65,0.00,9,,,,",
        "",
    ];
    let want = json!({
        "clerk": clerk, "reader": reader, "listed": listed, "odd": odd, "oddSession": odd_session,
        "holds": [["alice", "s-1", "500.00 USD"], ["bob", "call", "3 cent"], [odd, odd_session, "200.00 USD"]],
        "csv": csv.join("\r\n"),
    });
    let found = drive(&store.url(""), &["clerk", &want.to_string()]);
    // Events name the user, each act once.
    let ids = found["ids"].as_array().expect("ids");
    assert_eq!(ids.len(), 10);
    for id in ids {
        let id = id.as_str().expect("text");
        assert!(id.starts_with("console:clerk:"), "{id}");
        let mut statement = redis::cmd("SCUR.STATEMENT");
        statement.arg(&["alice", "TRANSACTION", id]);
        let told: redis::Value = statement.query(&mut client).expect("a statement");
        let told = format!("{told:?}");
        assert_eq!(told.matches("answered").count(), 1, "{told}");
    }
}

#[test]
fn a_node_of_a_group_shows_the_others_who_leads_and_whether_one_may_be_lost() {
    let peers: Vec<String> = (0..3).map(|_| format!("127.0.0.1:{}", free_port())).collect();
    let start = |number: usize| {
        // Ticks long enough that a pause of the machine does not make another node leader.
        let own = ["--threads", "2", "--tick-ms", "200", "--replicate", &peers[number]];
        match number {
            0 => Store::start_group(&own),
            _ => Store::start(&[&own[..], &["--join", &peers[0]]].concat()),
        }
    };
    let mut nodes = vec![start(0)];
    let address = |node: &Store| format!("127.0.0.1:{}", node.port);
    let leads = |page: &Page| page.sum("scurry_group_serves", &[]) == 2.0;
    nodes[0].metrics_when(leads);
    let own = address(&nodes[0]);
    let mut want = json!({
        "state": "serving, and no node may be lost", "own": own,
        "lose": "Can lose a node: no, 1 of 3 nodes have a vote: let others join.",
        "nodes": { own.clone(): ["yes", "yes", "yes", "0"] },
    });
    drive(&nodes[0].url(""), &["group", &want.to_string()]);
    nodes.extend([start(1), start(2)]);
    (want["state"], want["lose"]) = (json!("serving"), json!("Can lose a node: yes."));
    for other in &nodes[1..] {
        want["nodes"][address(other)] = json!(["no", "yes", "yes", "0"]);
    }
    nodes[0]
        .metrics_when(|page| leads(page) && page.sum("scurry_group_can_lose_a_node", &[]) == 1.0);
    drive(&nodes[0].url(""), &["group", &want.to_string()]);
    // A follower shows the leader and no lag.
    let mut shown = want.clone();
    (shown["state"], shown["own"]) = (json!("another node leads"), json!(address(&nodes[1])));
    for node in shown["nodes"].as_object_mut().expect("nodes").values_mut() {
        node[3] = json!("–");
    }
    drive(&nodes[1].url(""), &["group", &shown.to_string()]);
    let gone = nodes.pop().expect("a node");
    let (id, gone_address) = (node_of(&gone), address(&gone));
    drop(gone);
    want["state"] = json!("serving, and no node may be lost");
    want["lose"] = json!(format!("Can lose a node: no, no connection to node {id}."));
    want["nodes"][gone_address] = json!(["no", "no", "yes", "0"]);
    drive(&nodes[0].url(""), &["group", &want.to_string()]);
}

/// Returns a free port.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Returns a node's number, from its metrics.
fn node_of(node: &Store) -> String {
    let page = node.metrics().0;
    let line = page.lines().find_map(|line| line.strip_prefix("scurry_group_info{node=\""));
    line.and_then(|rest| rest.split('"').next()).expect("a node").to_owned()
}

#[test]
fn a_door_to_a_store_looks_accounts_up_too() {
    let node = keeping(1).remove(0);
    let door = Door::charging(&node.address(), &[]);
    crate::charging::create(&door, "alice");
    let body = r#"{"unit":"cent","amount":30}"#;
    assert_eq!(door.ask_once("POST /v1/accounts/alice/debits", "d", body).status, 200);
    let found = drive(&door.url(""), &["lookup", "alice"]);
    let text = found["found"].as_str().expect("text");
    for part in ["970", "Its invariants hold", "debited"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A door treats several threads as a cluster: it asks the thread that keeps the account for its statement.
#[test]
fn what_has_happened_is_looked_up_where_the_account_is() {
    let store = Store::start(&["--threads", "2"]);
    let door = Door::charging(&format!("127.0.0.1:{}", store.port), &[]);
    for number in 0..8 {
        let account = format!("account-{number}");
        crate::charging::create(&door, &account);
        let path = format!("GET /v1/accounts/{account}/statement?newest_first=true&limit=1");
        let told = door.ask(&path, &[], "").body;
        assert_eq!(told["entries"][0]["event"], "credited", "{told}");
        let told = door.ask(&format!("GET /v1/console/account?id={account}"), &[], "").body;
        assert_eq!(told["buckets"][0]["id"], "main", "{told}");
    }
    let reply = door.ask("GET /v1/console/account?id=nobody", &[], "");
    assert_eq!((reply.status, &reply.body["code"]), (404, &json!("UNKNOWN_ACCOUNT")));
    let reply = door.ask("GET /v1/console/account", &[], "");
    assert_eq!((reply.status, &reply.body["type"]), (400, &json!("/v1/problems#BAD_REQUEST")));
}

#[test]
fn consumers_of_5g_are_seen_with_what_could_not_be_told_to_them() {
    let nodes = keeping(1);
    let (_files, config) = nchf_notices::settings("10.0.0.0/8");
    let door = Door::charging(&nodes[0].address(), &["--config", &config]);
    nchf_notices::logged(&door, "clients are asked again after a top-up (Nchf notifications)");
    let account = format!("/v1/accounts/{SUPI}");
    let body = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":100}]}"#;
    assert_eq!(door.ask(&format!("PUT {account}"), &[], body).status, 201);
    nchf_notices::denied_session(&door, 1, "http://user@127.0.0.1:9/notify?one");
    let top_up = r#"{"bucket":"data","amount":1000}"#;
    assert_eq!(door.ask_once(&format!("POST {account}/top-ups"), "t1", top_up).status, 200);
    let mut event =
        request(0, 0, &json!([{"ratingGroup": 1, "requestedUnit": {"totalVolume": 1}}]));
    event["nfConsumerIdentification"] = json!({"nodeFunctionality": "SMSF"});
    (event["oneTimeEvent"], event["oneTimeEventType"]) = (json!(true), json!("IEC"));
    assert_eq!(post(&door, "/nchf-convergedcharging/v2/chargingdata", &event).status, 201);
    let want = json!({
        "consumers": [
            ["SMF 0b3c2d3e-aaaa-bbbb-cccc-000000000001", "v3", "1", "1", "0", "0"],
            ["SMSF", "v2", "0", "0", "0", "1"],
        ],
        "failed": [["127.0.0.1:9", "not allowed", "1"]],
        "notices": "Notifications: 0 delivered, 1 given up.",
    });
    let url = format!("http://127.0.0.1:{}", door.port());
    assert_eq!(drive(&url, &["nchf", &want.to_string()])["consumers"], 2);
}
