//! A store under load, and what its events are.

use crate::wait::{LONG, wait_until};
use redis::{Connection, Value};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;

const ACCOUNTS: u64 = 40;
const THREADS: u16 = 2;

/// A server, stopped when dropped.
pub(crate) struct Store {
    child: Child,
    port: u16,
    _files: TempDir,
}

/// Commands to a store that go on until they are ended.
pub(crate) struct Load {
    ends: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Store {
    pub(crate) fn start() -> Store {
        let files = TempDir::new().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["serve", "--durability", "write", "--listen", "127.0.0.1:0", "--dir"]);
        command.arg(files.path()).args(["--threads", &THREADS.to_string()]);
        command.arg("--allow-open-access-without-password");
        command.env_remove("SCURRY_PASSWORD").env_remove("SCURRY_REQUIREPASS");
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let port = loop {
            let line = lines.next().expect("it starts").expect("a line is read");
            if let Some(port) = line.strip_prefix("listening on 127.0.0.1:") {
                break port.parse().expect("a port");
            }
        };
        // Keeps reading, so that the process can write its log.
        thread::spawn(move || lines.for_each(drop));
        Store { child, port, _files: files }
    }

    /// Returns the address for `--from`.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn connect(&self) -> Connection {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port));
        let connection = client.expect("an address").get_connection().expect("it accepts");
        connection.set_read_timeout(Some(LONG)).expect("a socket");
        connection
    }

    /// Executes a command, whose words have no spaces.
    pub(crate) fn ask(&self, words: &str) {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().expect("a name"));
        command.arg(words.collect::<Vec<_>>());
        command.query::<Value>(&mut self.connect()).expect("an answer");
    }

    /// Starts a load.
    pub(crate) fn load(&self) -> Load {
        let (ends, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut connection = self.connect();
        let (ended, counted) = (Arc::clone(&ends), Arc::clone(&count));
        let thread = thread::spawn(move || {
            let mut pipe = redis::pipe();
            for account in 0..ACCOUNTS {
                let words = format!("a{account} BUCKET main cent 1000000000");
                let mut command = redis::cmd("SCUR.CREATE");
                command.arg(words.split(' ').collect::<Vec<_>>());
                pipe.add_command(command);
            }
            pipe.query::<Vec<Value>>(&mut connection).expect("accounts");
            for number in 0_u64.. {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let mut pipe = redis::pipe();
                for step in 0..20 {
                    let account = (number * 7 + step) % ACCOUNTS;
                    let transaction = format!("t{number}-{step}");
                    pipe.cmd("SCUR.DEBIT").arg(format!("a{account}")).arg(transaction);
                    pipe.arg("cent").arg(1 + step);
                }
                pipe.query::<Vec<Value>>(&mut connection).expect("debits");
                counted.fetch_add(20, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(10)); // tidy: allow (a load is paced)
            }
        });
        Load { ends, count, thread: Some(thread) }
    }

    /// Returns the ids of all events by account, in order.
    pub(crate) fn events(&self) -> BTreeMap<String, Vec<String>> {
        let mut events = BTreeMap::<String, Vec<String>>::new();
        let mut connection = self.connect();
        for thread in 0..THREADS {
            let mut from = "0".to_owned();
            loop {
                let mut command = redis::cmd("SCUR.WATCH");
                command.arg(&from).arg("COUNT").arg(1_000);
                if from == "0" {
                    command.arg("THREAD").arg(thread);
                }
                let reply = fields(command.query(&mut connection).expect("events"));
                let Value::Array(read) = &reply["events"] else { panic!("{reply:?}") };
                for event in read {
                    let Value::Array(event) = event else { panic!("{event:?}") };
                    let account = text(&fields(event[1].clone())["account"]);
                    events.entry(account).or_default().push(text(&event[0]));
                }
                from = text(&reply["next"]);
                if from == text(&reply["end"]) {
                    break;
                }
            }
        }
        events
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Load {
    /// Waits for so many more commands.
    pub(crate) fn go_on(&self, more: u64) {
        let begun = self.count.load(Ordering::Relaxed);
        wait_until("the load goes on", || self.count.load(Ordering::Relaxed) >= begun + more);
    }

    pub(crate) fn end(mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("no panic");
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("no text: {other:?}"),
    }
}

/// Returns pairs of names and values.
fn fields(value: Value) -> BTreeMap<String, Value> {
    let Value::Array(words) = value else { panic!("no pairs: {value:?}") };
    words.chunks_exact(2).map(|pair| (text(&pair[0]), pair[1].clone())).collect()
}
