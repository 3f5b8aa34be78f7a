//! The sink before a receiver that answers as it is told.

use super::{HttpSink, now};
use crate::{DeadLetterSettings, HttpSettings};
use scurry_service::Position;
use scurry_ship::{Delivery, Form, Positions, Record, Sink, SinkError, StoreId, encode};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const STORE: StoreId = StoreId(0x00c0_ffee_00c0_ffee);

/// A request: its head in lower case, and its body.
#[derive(Clone, Debug)]
struct Request {
    head: String,
    body: Value,
}

impl Request {
    /// Returns the ids of its events.
    fn ids(&self) -> Vec<String> {
        let events = self.body.as_array().map_or(std::slice::from_ref(&self.body), Vec::as_slice);
        events.iter().map(|event| event["id"].as_str().expect("an id").to_owned()).collect()
    }
}

/// What a receiver does after a request.
type Script = dyn Fn(&Request, &mut TcpStream) -> bool + Send + Sync;

/// A receiver, whose script answers and says whether the connection stays.
struct Receiver {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    fn start(
        script: impl Fn(&Request, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, script): (_, Arc<Script>) = (Arc::clone(&requests), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, script) = (Arc::clone(&kept), Arc::clone(&script));
                thread::spawn(move || serve(stream, &kept, &*script));
            }
        });
        Receiver { port, requests }
    }

    /// Starts one that answers each request with a status.
    fn of(status: impl Fn(&Request) -> &'static str + Send + Sync + 'static) -> Receiver {
        Receiver::start(move |request, stream| {
            let text = status(request);
            let answer = format!("HTTP/1.1 {text}\r\nContent-Length: 5\r\n\r\nwords");
            stream.write_all(answer.as_bytes()).is_ok()
        })
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no fault").clone()
    }

    fn ids(&self) -> Vec<Vec<String>> {
        self.requests().iter().map(Request::ids).collect()
    }

    fn settings(&self) -> HttpSettings {
        let url = format!("http://127.0.0.1:{}/hook?a=b", self.port);
        HttpSettings::new(url.parse().expect("a URL"))
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<Request>>, script: &Script) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let mut stream = stream;
    loop {
        let (mut head, mut line) = (String::new(), String::new());
        while reader.read_line(&mut line).is_ok_and(|len| len > 2) {
            head.push_str(&line.to_lowercase());
            line.clear();
        }
        let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let Some(len) = len.and_then(|len| len.parse().ok()) else { return };
        let mut body = vec![0; len];
        reader.read_exact(&mut body).expect("a body");
        let request = Request { head, body: serde_json::from_slice(&body).expect("JSON") };
        kept.lock().expect("no fault").push(request.clone());
        if !script(&request, &mut stream) {
            return;
        }
    }
}

/// A sink with files of its own.
struct Bench {
    directory: TempDir,
    sink: HttpSink,
}

impl Bench {
    fn new(settings: HttpSettings) -> Bench {
        Bench::in_directory(TempDir::new().expect("a directory"), settings)
    }

    fn in_directory(directory: TempDir, mut settings: HttpSettings) -> Bench {
        if let Some(letters) = &mut settings.dead_letters {
            letters.path = directory.path().join("dead");
        }
        let mut sink = HttpSink::new(settings, directory.path().join("place")).expect("a sink");
        sink.resume(STORE).expect("it is ready");
        Bench { directory, sink }
    }

    /// Appends the events with these sequences, and returns the first error.
    fn append(&mut self, sequences: impl IntoIterator<Item = u64>) -> Result<(), SinkError> {
        sequences.into_iter().try_for_each(|sequence| {
            let at = Position { generation: 1, thread: 0, sequence, index: 0 };
            let record = Record {
                id: at.to_string(),
                store: STORE.to_string(),
                event: "denied".to_owned(),
                account: "alice".to_owned(),
                ..Record::default()
            };
            self.append_record(&record, at)
        })
    }

    fn append_record(&mut self, record: &Record, at: Position) -> Result<(), SinkError> {
        let mut payload = Vec::new();
        encode(record, Form::Json, &mut payload);
        self.sink.append(&Delivery { record, payload: &payload, at })
    }

    fn flush(&mut self, reached: &str) -> Result<(), SinkError> {
        let reached: Positions = format!("{STORE} {reached}").parse().expect("positions");
        self.sink.flush(&reached)
    }

    /// Returns the positions in the file.
    fn place(&self) -> String {
        let text = std::fs::read_to_string(self.directory.path().join("place"));
        let text = text.unwrap_or_default();
        let line = text.lines().nth(1).unwrap_or_default();
        line.strip_prefix("00c0ffee00c0ffee").unwrap_or_default().trim().to_owned()
    }

    /// Returns id and status of each dead letter.
    fn dead(&self) -> Vec<(String, u64)> {
        let text = std::fs::read_to_string(self.directory.path().join("dead")).unwrap_or_default();
        let letter = |line: &str| {
            let letter: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(letter["answer"], "words");
            let id = letter["event"]["id"].as_str().expect("an id").to_owned();
            (id, letter["status"].as_u64().expect("a status"))
        };
        text.lines().map(letter).collect()
    }
}

fn with_dead_letters(receiver: &Receiver, attempts: Option<u32>) -> HttpSettings {
    let letters = DeadLetterSettings { path: "dead".into(), attempts };
    HttpSettings { dead_letters: Some(letters), ..receiver.settings() }
}

fn words(outcome: Result<(), SinkError>) -> String {
    match outcome {
        Ok(()) => "delivered".to_owned(),
        Err(SinkError::Unavailable(words)) => format!("again: {words}"),
        Err(SinkError::Refused(words)) => format!("ends: {words}"),
    }
}

#[test]
fn events_are_sent_one_by_one_with_their_headers() {
    let receiver = Receiver::of(|_| "204 No Content");
    // The answer has a body that 204 does not allow: the connection is of no more use.
    let mut settings = receiver.settings();
    settings.add_header("Authorization: Bearer secret").expect("a header");
    let mut bench = Bench::new(settings);
    bench.append(1..=3).expect("it takes them");
    bench.flush("1.0:9").expect("it is written");
    assert_eq!(receiver.ids(), [["1.0:1"], ["1.0:2"], ["1.0:3"]]);
    let first = &receiver.requests()[0];
    assert!(first.head.starts_with("post /hook?a=b http/1.1\r\n"), "{}", first.head);
    for line in [
        &format!("host: 127.0.0.1:{}\r\n", receiver.port),
        "content-type: application/cloudevents+json\r\n",
        "authorization: bearer secret\r\n",
        "user-agent: scurry/",
    ] {
        assert!(first.head.contains(line), "{line} {}", first.head);
    }
    assert!(!first.head.contains("webhook-"), "without a secret nothing is signed");
    assert_eq!(first.body["type"], "scurry.denied");
    assert_eq!(bench.place(), "1.0:9");
}

#[test]
fn every_status_has_its_outcome() {
    for (status, alone, with_letters) in [
        ("200 OK", "delivered", "delivered"),
        ("202 Accepted", "delivered", "delivered"),
        ("400 Bad", "ends", "delivered"),
        ("409 Conflict", "ends", "delivered"),
        ("413 Long", "ends", "delivered"),
        ("422 No", "ends", "delivered"),
        ("301 Moved", "ends", "ends"),
        ("401 Who", "ends", "ends"),
        ("403 No", "ends", "ends"),
        ("404 Where", "ends", "ends"),
        ("410 Gone", "ends", "ends"),
        ("408 Late", "again", "again"),
        ("425 Early", "again", "again"),
        ("429 Often", "again", "again"),
        ("500 Broken", "again", "again"),
        ("503 Full", "again", "again"),
    ] {
        let receiver = Receiver::of(move |_| status);
        let outcome = words(Bench::new(receiver.settings()).append([1]));
        assert!(outcome.starts_with(alone), "{status}: {outcome}");
        if alone != "delivered" {
            let number = &status[..3];
            let said = format!("/hook answers {number} (words) to event 1.0:1: ");
            assert!(outcome.contains(&said), "{outcome}");
        }
        let mut bench = Bench::new(with_dead_letters(&receiver, None));
        let outcome = words(bench.append([1]));
        assert!(outcome.starts_with(with_letters), "{status}: {outcome}");
        let is_dead = alone == "ends" && with_letters == "delivered";
        let number: u64 = status[..3].parse().expect("a number");
        let expected = is_dead.then(|| ("1.0:1".to_owned(), number));
        assert_eq!(bench.dead(), Vec::from_iter(expected), "{status}");
        assert_eq!(bench.place(), if with_letters == "delivered" { "1.0:1-1" } else { "" });
    }
}

#[test]
fn a_failure_repeats_no_more_than_what_failed() {
    let receiver = Receiver::of(|request| match request.ids()[0].as_str() {
        "1.0:3" => "503 Full",
        _ => "200 OK",
    });
    let mut bench = Bench::new(receiver.settings());
    let outcome = words(bench.append(1..=5));
    assert!(outcome.starts_with("again: "), "{outcome}");
    assert_eq!(bench.place(), "1.0:2-1", "the first two are delivered");
    assert_eq!(receiver.ids(), [["1.0:1"], ["1.0:2"], ["1.0:3"]], "nothing comes before it");
    let Bench { directory, sink } = bench;
    drop(sink);
    let mut again = Bench::in_directory(directory, receiver.settings());
    let reached = again.sink.resume(STORE).expect("it is ready");
    assert_eq!(reached.to_string(), format!("{STORE} 1.0:2-1"));
}

#[test]
fn of_a_refused_batch_each_event_is_tried_alone() {
    let receiver = Receiver::of(|request| match request.ids().iter().any(|id| id == "1.0:3") {
        true => "422 No",
        false => "200 OK",
    });
    let settings = HttpSettings { batch: Some(4), ..with_dead_letters(&receiver, None) };
    let mut bench = Bench::new(settings);
    bench.append(1..=6).expect("it goes on");
    assert_eq!(bench.dead(), [("1.0:3".to_owned(), 422)]);
    assert_eq!(receiver.ids().len(), 5, "a batch, and each alone");
    bench.flush("1.0:7").expect("it is written");
    assert_eq!(receiver.ids().last().expect("one"), &["1.0:5", "1.0:6"]);
    let last = receiver.requests().pop().expect("one");
    assert!(last.head.contains("content-type: application/cloudevents-batch+json\r\n"));
    assert_eq!(bench.place(), "1.0:7");
}

#[test]
fn what_a_receiver_always_fails_on_is_a_dead_letter_if_that_is_asked_for() {
    let receiver = Receiver::of(|request| match request.ids().iter().any(|id| id == "1.0:2") {
        true => "500 Broken",
        false => "200 OK",
    });
    for batch in [None, Some(3)] {
        let settings = HttpSettings { batch, ..with_dead_letters(&receiver, Some(3)) };
        let mut bench = Bench::new(settings);
        let mut failures = 0;
        // As the shipper does: after an error it begins again at the position.
        let mut from = 1;
        while let Err(error) = bench.append(from..=3) {
            assert!(matches!(error, SinkError::Unavailable(_)), "{error}");
            failures += 1;
            from = if batch.is_none() { 2 } else { 1 };
            bench.sink.resume(STORE).expect_err("a pause comes first");
            bench.sink.failing.until = None;
            bench.sink.resume(STORE).expect("it is ready");
        }
        assert_eq!(failures, 2, "the third try is the last");
        assert_eq!(bench.dead(), [("1.0:2".to_owned(), 500)]);
        bench.flush("1.0:4").expect("it is written");
        assert_eq!(bench.place(), "1.0:4");
    }
}

#[test]
fn a_receiver_may_ask_to_wait() {
    for (header, is_long) in [("7200", true), ("100", true), ("soon", false), ("-1", false)] {
        let receiver = Receiver::start(move |_, stream| {
            let answer =
                format!("HTTP/1.1 429 Often\r\nRetry-After: {header}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).is_ok()
        });
        let mut bench = Bench::new(receiver.settings());
        bench.append([1]).expect_err("it asks to wait");
        let (until, _) = bench.sink.failing.until.clone().expect("a pause");
        let pause = until - now();
        assert_eq!(pause > Duration::from_secs(60), is_long, "{header}: {pause:?}");
        assert!(pause <= Duration::from_secs(300), "{header}: {pause:?}");
        let error = bench.sink.resume(STORE).expect_err("it waits").to_string();
        assert!(error.contains("answers 429"), "{error}");
        assert_eq!(receiver.requests().len(), 1);
    }
}

#[test]
fn a_connection_is_kept_and_replaced_when_it_has_ended() {
    let peers = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&peers);
    let receiver = Receiver::start(move |request, stream| {
        seen.lock().expect("no fault").push(stream.peer_addr().expect("an address"));
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        // It says nothing of the end of the connection.
        request.ids() != ["1.0:2"]
    });
    let mut bench = Bench::new(receiver.settings());
    bench.append(1..=4).expect("it takes them");
    let mut ids = receiver.ids().concat();
    ids.dedup();
    assert_eq!(ids, ["1.0:1", "1.0:2", "1.0:3", "1.0:4"]);
    let mut peers = peers.lock().expect("no fault").clone();
    peers.dedup();
    assert_eq!(peers.len(), 2, "one connection before its end, and one after");
}

#[test]
fn nonsense_is_told_in_words_and_nothing_is_passed_over() {
    let raw = |bytes: Vec<u8>| {
        Receiver::start(move |_, stream| {
            let _ = stream.write_all(&bytes);
            false
        })
    };
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X-A: aaaaaaaaaaaaaaaa\r\n".repeat(1_000));
    let long = format!("HTTP/1.1 200 OK\r\nX-A: {}", "a".repeat(1 << 20));
    for (bytes, outcome, part) in [
        (b"SSH-2.0-OpenSSH_9\r\n".to_vec(), "ends: ", "does not answer as HTTP/1.1 has it"),
        (b"\x00\x01\x02\x03".repeat(100), "ends: ", "does not answer as HTTP/1.1 has it"),
        (endless.into_bytes(), "ends: ", "does not answer as HTTP/1.1 has it"),
        (long.into_bytes(), "ends: ", "does not answer as HTTP/1.1 has it"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n".to_vec(), "ends: ", "HTTP/1.1 has it"),
        (b"HTTP/1.1 200".to_vec(), "again: ", "did not answer"),
        (Vec::new(), "again: ", "did not answer"),
    ] {
        let mut bench = Bench::new(with_dead_letters(&raw(bytes.clone()), None));
        let said = words(bench.append([1]));
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(20)]);
        assert!(said.starts_with(outcome) && said.contains(part), "{shown:?}: {said}");
        assert_eq!((bench.place(), bench.dead()), (String::new(), Vec::new()), "{shown:?}");
    }
    // A body without an end: the status has told all, and the connection is closed.
    let receiver = Receiver::start(|_, stream| {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut is_open = stream.write_all(head).is_ok();
        while is_open {
            is_open = stream.write_all(b"400\r\n").is_ok()
                && stream.write_all(&[b'a'; 1_024]).is_ok()
                && stream.write_all(b"\r\n").is_ok();
        }
        false
    });
    let mut bench = Bench::new(receiver.settings());
    bench.append(1..=2).expect("it takes them");
    assert_eq!(receiver.ids(), [["1.0:1"], ["1.0:2"]]);
    // No answer at all, and no receiver.
    let silent = Receiver::start(|_, stream| stream.read(&mut [0]).is_err());
    let settings = HttpSettings { patience: Duration::from_millis(50), ..silent.settings() };
    let said = words(Bench::new(settings).append([1]));
    assert!(said.starts_with("again: ") && said.contains("did not answer in 50 ms"), "{said}");
    let nowhere = HttpSettings::new("http://127.0.0.1:1/".parse().expect("a URL"));
    let said = words(Bench::new(nowhere).append([1]));
    assert!(said.starts_with("again: no connection to http://127.0.0.1:1/"), "{said}");
    // A port without TLS.
    let plain = raw(b"HTTP/1.1 400 Bad\r\n\r\n".to_vec());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad\r\n\r\n");
        }
    });
    drop(plain);
    let url = format!("https://127.0.0.1:{port}/");
    let said = words(Bench::new(HttpSettings::new(url.parse().expect("a URL"))).append([1]));
    assert!(said.starts_with("ends: ") && said.contains("whether the port wants http"), "{said}");
}

#[test]
fn a_thread_that_has_ended_is_no_longer_in_the_file() {
    let receiver = Receiver::of(|_| "200 OK");
    let mut bench = Bench::new(receiver.settings());
    bench.append([1]).expect("it takes it");
    let position = |text: &str| Position::parse(text.as_bytes()).expect("a position");
    for (from, to) in [("1.0:2", "1.0:7"), ("1.3:5", "1.0:7")] {
        let missed = Record {
            id: format!("{from}..{to}"),
            store: STORE.to_string(),
            event: "missed".to_owned(),
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
            ..Record::default()
        };
        bench.append_record(&missed, position(to)).expect("it takes it");
    }
    bench.flush("1.0:7 1.3:5").expect("it is written");
    assert_eq!(bench.place(), "1.0:7", "thread 3 has ended");
    assert_eq!(receiver.ids().concat(), ["1.0:1", "1.0:2..1.0:7", "1.3:5..1.0:7"]);
}
