//! A store with a log on disk, in a process of its own.

use redis::{Connection, Value};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use tempfile::TempDir;

/// Threads of the store.
pub(crate) const THREADS: u16 = 2;

/// A running `scurry serve`, stopped when dropped.
pub(crate) struct Store {
    child: Child,
    pub(crate) port: u16,
    _directory: TempDir,
}

impl Store {
    pub(crate) fn start() -> Store {
        let directory = TempDir::new().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--durability", "write"]);
        command.args(["--threads", &THREADS.to_string(), "--dir"]).arg(directory.path());
        command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let port = log.find_map(|line| {
            let line = line.expect("a line");
            let address = line.split("127.0.0.1:").nth(1)?;
            let digits: String = address.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|_| line.contains("listening"))
        });
        // The log is read on, so that the server never waits for it.
        thread::spawn(move || log.count());
        Store { child, port: port.expect("it listens"), _directory: directory }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn connect(&self) -> Connection {
        let client =
            redis::Client::open(format!("redis://{}", self.address())).expect("an address");
        client.get_connection().expect("it listens")
    }

    /// Returns the ids of all events, by thread.
    pub(crate) fn events(&self) -> Vec<Vec<String>> {
        (0..THREADS).map(|thread| self.events_of(thread)).collect()
    }

    fn events_of(&self, thread: u16) -> Vec<String> {
        let mut connection = self.connect();
        let (mut ids, mut from) = (Vec::new(), "0".to_owned());
        loop {
            let mut command = redis::cmd("SCUR.WATCH");
            command.arg(&from).arg("COUNT").arg(1_000);
            if from == "0" {
                command.arg("THREAD").arg(thread);
            }
            let reply: Vec<Value> = command.query(&mut connection).expect("events");
            let text = |value: &Value| match value {
                Value::BulkString(bytes) => String::from_utf8(bytes.clone()).expect("text"),
                other => panic!("{other:?}"),
            };
            let field = |name: &str| {
                let place = reply.chunks(2).find(|pair| text(&pair[0]) == name);
                &place.expect("a field")[1]
            };
            let Value::Array(events) = field("events") else { panic!("{reply:?}") };
            for event in events {
                let Value::Array(event) = event else { panic!("{event:?}") };
                ids.push(text(&event[0]));
            }
            from = text(field("next"));
            if from == text(field("end")) {
                return ids;
            }
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
