//! `GET /v1/events`: what a stream has, where it goes on, and its bounds.

use crate::node::{Node, forgetting, forgetting_valkey, keeping};
use crate::store::Store;
use crate::support::Door;
use redis::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long an event may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// An event of a stream.
#[derive(Clone, Debug, Default)]
struct Pushed {
    /// The id of the stream, to go on with.
    last: String,
    name: String,
    data: serde_json::Value,
}

/// A client of a stream in a process of its own, killed when dropped.
struct Client {
    child: Child,
    lines: Receiver<String>,
}

impl Client {
    fn curl(url: &str, more: &[&str]) -> Client {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--no-buffer"]).args(more).arg(url);
        let client = Client::start(&mut command);
        // The first lines show that the stream is open.
        assert_eq!(client.line(), "retry: 1000");
        client
    }

    fn start(command: &mut Command) -> Client {
        let mut child =
            command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (tell, lines) = channel();
        thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        Client { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }

    /// Returns the next event.
    fn event(&self) -> Pushed {
        let mut event = Pushed::default();
        loop {
            let line = self.line();
            match line.split_once(": ") {
                Some(("id", id)) => id.clone_into(&mut event.last),
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("data", data)) => event.data = serde_json::from_str(data).expect("JSON"),
                _ if line.is_empty() && !event.name.is_empty() => return event,
                _ => assert!(line.is_empty() || line == ":", "{line}"),
            }
        }
    }

    /// Returns ids of events until the one with this id.
    fn until(&self, id: &str) -> Vec<Pushed> {
        let mut events = Vec::new();
        while events.last().is_none_or(|event: &Pushed| event.data["id"] != id) {
            events.push(self.event());
        }
        events
    }

    /// Waits for the end of the stream, and returns the status of the client.
    fn end(mut self) -> ExitStatus {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().expect("it ends"),
                Err(RecvTimeoutError::Timeout) => panic!("the stream does not end"),
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ids(events: &[Pushed]) -> Vec<String> {
    events.iter().map(|event| event.data["id"].as_str().expect("an id").to_owned()).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("{other:?}"),
    }
}

/// Returns the ids of all events of a store with one thread.
fn logged(node: &Node) -> Vec<String> {
    let (mut ids, mut from) = (Vec::new(), "0".to_owned());
    loop {
        let Value::Array(reply) = node.ask(&["SCUR.WATCH", &from, "COUNT", "1000"]) else {
            panic!("no events")
        };
        let field =
            |name: &str| &reply.chunks(2).find(|pair| text(&pair[0]) == name).expect("a field")[1];
        let Value::Array(events) = field("events") else { panic!("{reply:?}") };
        ids.extend(events.iter().map(|event| match event {
            Value::Array(event) => text(&event[0]),
            other => panic!("{other:?}"),
        }));
        from = text(field("next"));
        if from == text(field("end")) {
            return ids;
        }
    }
}

fn create(connection: &mut redis::Connection, account: &str) {
    let bucket = ["BUCKET", "main", "cent", "1000000", "BUCKET", "data", "octet", "1000000"];
    redis::cmd("SCUR.CREATE").arg(account).arg(&bucket).exec(connection).expect("an account");
}

fn debit(connection: &mut redis::Connection, account: &str, id: u64, unit: &str, amount: u64) {
    let mut command = redis::cmd("SCUR.DEBIT");
    // A denial is a reply too.
    command.arg(account).arg(id).arg(unit).arg(amount).exec(connection).expect("a reply");
}

#[test]
fn a_stream_has_the_events_that_are_asked_for_over_both_versions() {
    let store = Store::start(&["--threads", "2"]);
    let mut connection = store.connect();
    ["alice", "bob", "carol"].iter().for_each(|account| create(&mut connection, account));
    let url = store.url("/v1/events?event=denied&event=debited");
    let http2 = Client::curl(&url, &["--http2-prior-knowledge"]);
    let cents = Client::curl(&format!("{url}&unit=cent&account=alice"), &[]);
    let prefix =
        Client::curl(&store.url("/v1/events?from=oldest&account_prefix=c&event=created"), &[]);
    for account in ["alice", "bob", "carol"] {
        debit(&mut connection, account, 1, "octet", 5);
        debit(&mut connection, account, 2, "cent", 7);
        debit(&mut connection, account, 3, "cent", 9_000_000);
    }
    let mut all: Vec<Pushed> = (0..9).map(|_| http2.event()).collect();
    all.sort_by_key(|event| event.data["account"].as_str().map(str::to_owned));
    for (events, account) in all.chunks(3).zip(["alice", "bob", "carol"]) {
        let seen: Vec<_> = events.iter().map(|event| (event.name.as_str(), &event.data)).collect();
        let names: Vec<&str> = seen.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["debited", "debited", "denied"]);
        for (name, data) in seen {
            assert_eq!((&data["account"], &data["event"]), (&account.into(), &name.into()));
        }
        assert_eq!(events[2].data["code"], "CREDIT_LIMIT_REACHED");
        assert_eq!(events[2].data["requested"], 9_000_000);
    }
    for name in ["debited", "denied"] {
        let event = cents.event();
        assert_eq!((event.name.as_str(), &event.data["unit"]), (name, &"cent".into()));
        assert_eq!(event.data["account"], "alice");
    }
    assert_eq!(prefix.event().data["account"], "carol");
    // It goes on after any event, without a gap or a repeat, on both threads.
    for (at, event) in all.iter().enumerate() {
        let header = format!("Last-Event-ID: {}", event.last);
        let rest = Client::curl(&url, &["-H", &header]);
        debit(&mut connection, "alice", 100 + at as u64, "cent", 1);
        let first = rest.event();
        assert_ne!(first.data["id"], event.data["id"]);
        assert!(event.last.starts_with(first.data["store"].as_str().expect("a store")));
    }
}

#[test]
fn a_stream_goes_on_where_it_was_though_the_store_and_the_client_are_killed() {
    let mut nodes = keeping(1);
    let door = Door::charging(&nodes[0].address(), &[]);
    let url = door.url("/v1/events?from=oldest");
    let steady = Client::curl(&url, &[]);
    let (mut pieces, mut last) = (Vec::new(), String::new());
    nodes[0].ask(&["SCUR.CREATE", "alice", "BUCKET", "main", "cent", "1000000"]);
    for round in 0..3 {
        let header = format!("Last-Event-ID: {last}");
        let piece = Client::curl(&url, &["-H", &header]);
        for number in 0..100 {
            nodes[0].ask(&["SCUR.DEBIT", "alice", &format!("{round}-{number}"), "cent", "1"]);
        }
        let end = logged(&nodes[0]).pop().expect("an event");
        let events = piece.until(&end);
        // The client has read further than it remembers, and goes on from where it remembers.
        let kept = events.len() - usize::from(round < 2) * 13;
        events[kept - 1].last.clone_into(&mut last);
        pieces.extend(ids(&events[..kept]));
        drop(piece);
        nodes[0].kill();
        nodes[0].start_again();
    }
    let expected = logged(&nodes[0]);
    assert_eq!(pieces, expected);
    let end = expected.last().expect("an event");
    assert_eq!(ids(&steady.until(end)), expected, "the stream outlives the store");
}

#[test]
fn a_reader_that_is_slow_gets_all_and_the_client_of_the_page_too() {
    let nodes = keeping(1);
    let door = Door::charging(&nodes[0].address(), &[]);
    let mut slow = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
    slow.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
    slow.write_all(b"GET /v1/events?from=oldest HTTP/1.0\r\nHost: localhost\r\n\r\n")
        .expect("it is sent");
    nodes[0].ask(&["SCUR.CREATE", "alice", "BUCKET", "main", "cent", "1000000"]);
    let script: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
    for number in &script {
        nodes[0].ask(&["SCUR.DEBIT", "alice", number, "cent", "1"]);
    }
    let expected = logged(&nodes[0]);
    let end = expected.last().expect("an event");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/push.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, rest) =
        page.split_once("A client without a library:\n\n```python\n").expect("a program");
    let mut python = Command::new("python3");
    python.args(["-c", rest.split_once("```").expect("its end").0]);
    let python = Client::start(python.env("SCURRY_EVENTS", door.url("/v1/events?from=oldest")));
    let seen: Vec<String> = expected
        .iter()
        .map(|_| python.line().split_once(' ').expect("a name and an id").1.to_owned())
        .collect();
    assert_eq!(seen, expected);
    let mut seen = Vec::new();
    for line in BufReader::new(slow).lines() {
        let line = line.expect("a line");
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
        seen.push(data["id"].as_str().expect("an id").to_owned());
        if data["id"] == *end {
            break;
        }
    }
    assert_eq!(seen, expected);
}

#[test]
fn streams_end_when_the_door_stops() {
    let store = Store::start(&[]);
    let url = store.url("/v1/events");
    let clients = [Client::curl(&url, &[]), Client::curl(&url, &["--http2-prior-knowledge"])];
    let (status, log) = store.stop();
    assert!(status.success(), "{log}");
    for client in clients {
        let status = client.end();
        assert!(status.success(), "curl has seen no clean end: {status}");
    }
}

#[test]
fn a_door_has_a_bounded_number_of_streams() {
    let store = Store::start(&[]);
    let mut connection = store.connect();
    create(&mut connection, "alice");
    let open = || {
        let mut stream = TcpStream::connect(("127.0.0.1", store.http_port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
        let request = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).expect("it is sent");
        let mut status = [0; 12];
        stream.read_exact(&mut status).expect("a status");
        (String::from_utf8_lossy(&status).into_owned(), stream)
    };
    let streams: Vec<_> = (0..128).map(|_| open()).collect();
    assert!(streams.iter().all(|(status, _)| status == "HTTP/1.1 200"));
    let (status, text) = store.get("/v1/events");
    assert_eq!(status, 503);
    assert!(text.contains("this door has 128 streams of events already: close some"), "{text}");
    drop(streams);
    // The door sees that a client has gone when it cannot send to it.
    let mut number = 0;
    while open().0 != "HTTP/1.1 200" {
        number += 1;
        debit(&mut connection, "alice", number, "cent", 1);
        assert!(number < 1_200, "no place is given back");
        thread::sleep(Duration::from_millis(50)); // tidy: allow (the system has to tell the door)
    }
}

#[test]
fn what_a_store_has_not_and_who_may_not_is_told() {
    let nodes = forgetting(1);
    let door = Door::charging(&nodes[0].address(), &[]);
    let reply = door.ask("GET /v1/events", &[], "");
    assert_eq!((reply.status, &reply.body["code"]), (501, &"NOT_IMPLEMENTED".into()));
    assert!(reply.body["detail"].as_str().is_some_and(|text| text.contains("--durability")));
    let valkey = forgetting_valkey(1);
    let door = Door::charging(&valkey[0].address(), &[]);
    let reply = door.ask("GET /v1/events", &[], "");
    assert_eq!((reply.status, &reply.body["code"]), (501, &"NOT_IMPLEMENTED".into()));
    let (store, token) = Store::with_reader();
    assert_eq!(store.get("/v1/events").0, 401);
    let bearer = format!("Bearer {token}");
    let (status, text) = store.get_as(&bearer, "/v1/events?event=debit");
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("no event is called so; those are: credited"), "{text}");
    let id = "00c0ffee00c0ffee+1.0:17";
    let (status, text) = store.get_as(&bearer, &format!("/v1/events?from={id}"));
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("is of store 00c0ffee00c0ffee, and this is store"), "{text}");
    let (_, first) = store.get_as(&bearer, "/v1/openapi.json");
    assert!(first.contains("followEvents"));
    let header = format!("Authorization: {bearer}");
    let client = Client::curl(&store.url("/v1/events"), &["-H", &header]);
    let begin = [client.line(), client.line(), client.line()].join("\n");
    let id = begin.split("id: ").nth(1).and_then(|id| id.split(' ').next()).expect("an id");
    let (status, text) = store.get_as(&bearer, &format!("/v1/events?from={id}+1.0:17"));
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("is ahead of the events of the store, which was restored"), "{text}");
}
