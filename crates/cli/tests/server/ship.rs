//! `scurry ship` with the real binary: files have every event once and in order, and usage records have what the buckets
//! consumed, although shippers and servers are killed.

use crate::events::{balances, list, requests, text};
use crate::store::{Directory, kill, wait_for_snapshots};
use crate::support::{Client, Server, tool};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const ACCOUNTS: [&str; 5] = ["alice", "bob", "carol", "dave", "erin"];
const PAUSE: Duration = Duration::from_millis(5);
/// A minute of pauses.
const TRIES: usize = 12_000;

/// Starts a shipper into a directory. Its files are small, so that each life has several.
fn start(kind: &str, to: &Path, server: &Server) -> Child {
    Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["ship", kind])
        .arg(to)
        .args(["--from", &format!("127.0.0.1:{}", server.port), "--log", "off"])
        .args(["--flush-ms", "5", "--file-size", "4kb"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it is run")
}

/// Ships all that is left, and returns what was written to stderr.
fn finish(kind: &str, to: &Path, from: &[&str]) -> String {
    let to = to.display().to_string();
    let words = [&["ship", kind, &to, "--once"], from].concat();
    let output = tool(env!("CARGO_BIN_EXE_scurry"), &words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Returns the lines of all complete files, in the order of their names, by the thread in the name.
fn lines(directory: &Path) -> BTreeMap<String, Vec<Value>> {
    let entries = fs::read_dir(directory).expect("a directory");
    let names: BTreeSet<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .filter(|name| {
            name.ends_with(".0.jsonl") || name.contains("-1.") && name.ends_with(".jsonl")
        })
        .collect();
    let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for name in names {
        let text = fs::read_to_string(directory.join(&name)).expect("a file");
        let thread = name.split('-').nth(2).expect("a thread").to_owned();
        let parsed = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        lines.entry(thread).or_default().extend(parsed);
    }
    lines
}

/// Returns sequence and index of an id.
fn place(id: &Value) -> (u64, u64) {
    let (_, place) = id.as_str().and_then(|id| id.split_once(':')).expect("a position");
    let (sequence, index) = place.split_once('-').unwrap_or((place, "0"));
    (sequence.parse().expect("a number"), index.parse().expect("a number"))
}

fn number(value: &Value, name: &str) -> i64 {
    value[name].as_i64().unwrap_or(0)
}

fn name(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// Returns what each bucket of an account has consumed.
fn consumed(client: &mut Client, account: &str) -> BTreeMap<String, i64> {
    client.send(format!("SCUR.AUDIT {account}\r\n"));
    assert_eq!(list(client), 8);
    assert_eq!((text(client), text(client)), ("ok".to_owned(), "1".to_owned()));
    let _ = [(); 3].map(|()| text(client));
    let mut consumed = BTreeMap::new();
    for _ in 0..list(client) {
        let fields: Vec<String> = (0..list(client)).map(|_| text(client)).collect();
        consumed.insert(fields[0].clone(), fields[6].parse().expect("a number"));
    }
    assert_eq!(text(client), "uncollected");
    for _ in 0..list(client) {
        let _: Vec<String> = (0..list(client)).map(|_| text(client)).collect();
    }
    consumed
}

#[test]
fn files_have_each_event_once_and_usage_adds_up_although_all_are_killed() {
    let directory = Directory::make();
    let place_of_files = tempfile::tempdir().expect("a directory");
    let (files, usage) =
        (place_of_files.path().join("events"), place_of_files.path().join("usage"));
    for round in 0..4 {
        let server = directory.serve("fsync", "2");
        let mut client = server.connect();
        if round == 0 {
            for account in ACCOUNTS {
                client.ask(
                    &format!("SCUR.CREATE {account} BUCKET main cent 1000 BUCKET data octet 90000"),
                    "*2\r\n+OK\r\n:1\r\n",
                );
            }
        }
        let before = lines_of_both(&files, &usage);
        let shippers = [start("files", &files, &server), start("usage", &usage, &server)];
        for at in 0..25 {
            client.send(requests(ACCOUNTS[at % ACCOUNTS.len()], 100 * round + at));
        }
        // Some of it was delivered when they die.
        wait("nothing is delivered", || {
            lines_of_both(&files, &usage).iter().zip(before).all(|(now, before)| *now > before)
        });
        if round % 2 == 0 {
            kill(server);
        }
        for mut shipper in shippers {
            shipper.kill().expect("it runs");
            shipper.wait().expect("it has ended");
        }
    }
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    // Those that were open when the server was killed end now, and the others by their time.
    for at in 0..400 {
        let (account, session) = (ACCOUNTS[at % 100 % ACCOUNTS.len()], format!("s{at}"));
        let port = server.port.to_string();
        if at % 100 < 25 {
            tool("redis-cli", &["-p", &port, "SCUR.RELEASE", account, &session]);
        }
    }
    wait("sessions stay open", || open_sessions(&mut client) == "0");
    let from = format!("127.0.0.1:{}", server.port);
    finish("files", &files, &["--from", &from]);
    finish("usage", &usage, &["--from", &from]);

    let events = lines(&files);
    assert_eq!(events.len(), 2, "two threads have events");
    let (mut sums, mut versions) = (BTreeMap::new(), BTreeMap::new());
    for events in events.values() {
        for pair in events.windows(2) {
            assert!(place(&pair[0]["id"]) < place(&pair[1]["id"]), "{} and {}", pair[0], pair[1]);
        }
        for event in events {
            let sum: &mut (i64, i64) =
                sums.entry((name(event, "account"), name(event, "bucket"))).or_default();
            sum.0 += number(event, "change");
            sum.1 += number(event, "held_change");
            let version = number(event, "version");
            let known = versions.insert(name(event, "account"), version).unwrap_or(0);
            assert!(version == known || version == known + 1, "a commit is missing before {event}");
        }
    }
    let mut used: BTreeMap<(String, String), i64> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for record in lines(&usage).values().flatten() {
        assert_eq!(record["complete"], true, "{record}");
        let key = (name(record, "id"), name(record, "kind"), name(record, "session"));
        assert!(ids.insert(key), "twice: {record}");
        for item in record["items"].as_array().expect("items") {
            let mut sum = 0;
            for bucket in item["buckets"].as_array().expect("buckets") {
                sum += number(bucket, "used");
                if record["kind"] != "refund" {
                    let key = (name(record, "account"), name(bucket, "bucket"));
                    *used.entry(key).or_default() += number(bucket, "used");
                }
            }
            assert_eq!(sum, number(item, "used"), "{record}");
        }
    }
    for account in ACCOUNTS {
        for (bucket, balance) in balances(&mut client, account) {
            assert_eq!(sums[&(account.to_owned(), bucket.clone())], balance, "{account} {bucket}");
        }
        for (bucket, consumed) in consumed(&mut client, account) {
            let used = used.get(&(account.to_owned(), bucket.clone())).copied().unwrap_or(0);
            assert_eq!(used, consumed, "{account} {bucket}");
        }
    }

    // A backup of the same store has the same files, and goes on where the server's events ended.
    let again = place_of_files.path().join("again");
    finish("files", &again, &["--backup", directory.path()]);
    let all =
        |events: BTreeMap<String, Vec<Value>>| events.into_values().flatten().collect::<Vec<_>>();
    assert_eq!(all(lines(&again)), all(lines(&files)));
}

/// Returns the number of complete files in both directories.
fn lines_of_both(files: &Path, usage: &Path) -> [usize; 2] {
    [files, usage].map(|path| {
        let names = fs::read_dir(path).into_iter().flatten();
        let names = names.map(|entry| entry.expect("an entry").file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".jsonl")).count()
    })
}

/// Waits until something holds.
fn wait(otherwise: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..TRIES {
        if holds() {
            return;
        }
        thread::sleep(PAUSE); // tidy: allow (another process is waited for)
    }
    panic!("{otherwise}");
}

/// Returns how many sessions are open.
fn open_sessions(client: &mut Client) -> String {
    client.send("SCUR.TOTALS\r\n");
    assert_eq!(list(client), 6);
    let [.., sessions] = [(); 4].map(|()| text(client));
    assert_eq!(text(client), "units");
    for _ in 0..list(client) {
        for _ in 0..list(client) {
            text(client);
        }
    }
    sessions
}

#[test]
fn events_of_another_store_are_refused_in_words() {
    let place = tempfile::tempdir().expect("a directory");
    let to = place.path().join("events");
    let directories = [Directory::make(), Directory::make()];
    let servers = directories.each_ref().map(|directory| directory.serve("write", "1"));
    for server in &servers {
        server.connect().ask("SCUR.CREATE alice BUCKET main cent 1", "*2\r\n+OK\r\n:1\r\n");
    }
    let address = |server: &Server| format!("127.0.0.1:{}", server.port);
    finish("files", &to, &["--from", &address(&servers[0])]);
    let (to, from) = (to.display().to_string(), address(&servers[1]));
    let words = ["ship", "files", &to, "--once", "--from", &from];
    let output = tool(env!("CARGO_BIN_EXE_scurry"), &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("ship into another directory"), "{said}");
}

/// What a consumer knows that takes states and events, each if it has a higher version.
#[derive(Default)]
struct Consumer {
    /// Version of the last event of each account.
    events: BTreeMap<String, i64>,
    /// Version of the last state of each account.
    states: BTreeMap<String, i64>,
    balances: BTreeMap<(String, String), (i64, i64)>,
}

impl Consumer {
    fn take(&mut self, event: &Value) {
        let (account, version) = (name(event, "account"), number(event, "version"));
        let is_state = name(event, "event").ends_with("-state");
        let known = if is_state { self.events.get(&account) } else { self.states.get(&account) };
        if known.is_some_and(|known| version < *known || version == *known && !is_state) {
            return;
        }
        if event["available"].is_i64() {
            let balance = (number(event, "available"), number(event, "held"));
            self.balances.insert((account.clone(), name(event, "bucket")), balance);
        }
        let versions = if is_state { &mut self.states } else { &mut self.events };
        versions.insert(account, version);
    }
}

#[test]
fn a_consumer_that_has_missed_events_is_right_again_after_the_state() {
    let directory = Directory::make();
    let place = tempfile::tempdir().expect("a directory");
    let files = place.path().join("events");
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    for account in ACCOUNTS {
        client.ask(
            &format!("SCUR.CREATE {account} BUCKET main cent 1000 BUCKET data octet 90000"),
            "*2\r\n+OK\r\n:1\r\n",
        );
    }
    let from = format!("127.0.0.1:{}", server.port);
    let (mut states, mut written) = (0, 0);
    for round in 0..3 {
        for at in 0..10 {
            client.send(requests(ACCOUNTS[at % ACCOUNTS.len()], 100 * round + at));
        }
        client.send("ECHO sent\r\n");
        client.until("$4\r\nsent\r\n");
        wait("sessions stay open", || open_sessions(&mut client) == "0");
        // The log of the time before is removed after the first and the last round.
        if round != 1 {
            for _ in 0..2 {
                for account in ACCOUNTS {
                    let (kind, value) = ("note", format!("n{written}"));
                    let set = format!("SCUR.STATUS {account} active IDENTITY {kind} {value}\r\n");
                    client.send(set + "ECHO set\r\n");
                    client.until("$3\r\nset\r\n");
                }
                written += 1;
                client.ask("SCUR.SNAPSHOT", "+OK\r\n");
                wait_for_snapshots(&server, 2 * written);
            }
            states += 1;
        }
        finish("files", &files, &["--from", &from, "--from-state"]);
        let all = lines(&files);
        let mut consumer = Consumer::default();
        all.values().flatten().for_each(|event| consumer.take(event));
        let ends = all.values().flatten().filter(|event| event["event"] == "state-end").count();
        assert!(ends >= states, "{ends} of {states} states");
        for account in ACCOUNTS {
            for (bucket, balance) in balances(&mut client, account) {
                let known = consumer.balances.get(&(account.to_owned(), bucket.clone()));
                assert_eq!(known, Some(&balance), "{account} {bucket} in round {round}");
            }
        }
    }
    let missed = lines(&files).into_values().flatten().filter(|event| event["event"] == "missed");
    assert!(missed.count() > 0, "the log was not removed");
}

#[test]
fn a_shipper_shows_its_figures() {
    let directory = Directory::make();
    let place = tempfile::tempdir().expect("a directory");
    let server = directory.serve("write", "1");
    server.connect().ask("SCUR.CREATE alice BUCKET main cent 1", "*2\r\n+OK\r\n:1\r\n");
    let mut shipper = Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["ship", "files"])
        .arg(place.path().join("events"))
        .args(["--from", &format!("127.0.0.1:{}", server.port), "--flush-ms", "5"])
        .args(["--metrics-listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it is run");
    let said = BufReader::new(shipper.stderr.take().expect("it is piped"));
    let mut said = said.lines().map(|line| line.expect("text"));
    let address = said.find_map(|line| {
        let rest = line.strip_prefix("http://")?.strip_suffix("/metrics is open")?;
        Some(rest.to_owned())
    });
    let address = address.expect("it says where");
    let keep_reading = thread::spawn(move || said.for_each(drop));
    wait("nothing is shown", || {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let request =
            format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it is sent");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("text");
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        let rules = include_str!("../../../../docs/grafana/alerts.yml");
        for word in rules.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
            let is_there = page.contains(&format!("\n{word} "));
            assert!(!word.starts_with("scurry_ship_") || is_there, "{word} is asked for");
        }
        // Created, its bucket added and credited.
        page.contains("\nscurry_ship_events_total 3\n")
            && page.contains("\nscurry_ship_lag_seconds 0\n")
            && page.contains("\nscurry_ship_failures_total 0\n")
    });
    shipper.kill().expect("it runs");
    shipper.wait().expect("it has ended");
    keep_reading.join().expect("no panic");
}
