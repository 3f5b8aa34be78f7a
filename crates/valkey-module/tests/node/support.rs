//! A server with the module for a test, on a free local port.

use crate::product::{Product, module};
use redis::{Connection, ConnectionLike, Value};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Bound of polls.
const LOOKS_MAX: usize = 1_000;
/// Attempts to start: a free port may be taken before the server binds it.
const STARTS_MAX: usize = 5;

/// A running server, stopped when dropped. Its directory exists until then.
pub(crate) struct Node {
    product: Product,
    options: Vec<String>,
    child: Child,
    pub(crate) port: u16,
    directory: Arc<TempDir>,
    log: Arc<Mutex<String>>,
}

impl Node {
    /// Starts a server with the module, without files.
    pub(crate) fn start(product: Product) -> Node {
        Node::with(product, &[])
    }

    /// Starts a server with the module and further settings.
    pub(crate) fn with(product: Product, settings: &[&str]) -> Node {
        Node::with_options(product, settings, &[])
    }

    /// Starts the only node of a cluster.
    pub(crate) fn cluster(product: Product) -> Node {
        let node = Node::of_cluster(product, &[]);
        let mut client = node.connect();
        client.expect("CLUSTER ADDSLOTSRANGE 0 16383", "OK");
        client.until("CLUSTER INFO", |info| info.contains("cluster_state:ok"));
        node
    }

    /// Starts a node of a cluster, without slots.
    pub(crate) fn of_cluster(product: Product, settings: &[&str]) -> Node {
        let bus = free_port().to_string();
        Node::with(
            product,
            &[settings, &["--cluster-enabled", "yes", "--cluster-port", &bus]].concat(),
        )
    }

    /// Returns the port for clients and the port of the cluster bus.
    pub(crate) fn cluster_ports(&self) -> (u16, u16) {
        let at = self.options.iter().position(|option| option == "--cluster-port");
        let bus = at.and_then(|at| self.options.get(at + 1)).and_then(|port| port.parse().ok());
        (self.port, bus.expect("a node of a cluster"))
    }

    /// Starts a server with settings and with options of the module.
    pub(crate) fn with_options(product: Product, settings: &[&str], options: &[&str]) -> Node {
        let mut all: Vec<String> = settings.iter().map(|word| (*word).to_owned()).collect();
        all.push("--loadmodule".to_owned());
        all.push(module().display().to_string());
        all.extend(options.iter().map(|word| (*word).to_owned()));
        let directory = Arc::new(TempDir::new().expect("a directory"));
        Node::run(product, &all, &directory).unwrap_or_else(|log| panic!("no start: {log}"))
    }

    /// Returns the output of a server that does not start.
    pub(crate) fn refusal(product: Product, settings: &[&str]) -> String {
        let all: Vec<String> = settings.iter().map(|word| (*word).to_owned()).collect();
        let directory = Arc::new(TempDir::new().expect("a directory"));
        match Node::run(product, &all, &directory) {
            Ok(_) => panic!("it starts with {settings:?}"),
            Err(log) => log,
        }
    }

    fn run(product: Product, options: &[String], directory: &Arc<TempDir>) -> Result<Node, String> {
        let mut log = String::new();
        for _ in 0..STARTS_MAX {
            match Node::try_run(product, options, directory) {
                Ok(node) => return Ok(node),
                Err(said) if said.contains("Address already in use") => log = said,
                Err(said) => return Err(said),
            }
        }
        Err(log)
    }

    fn try_run(
        product: Product,
        options: &[String],
        directory: &Arc<TempDir>,
    ) -> Result<Node, String> {
        let port = free_port();
        let mut command = Command::new(product.binary());
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"]);
        command.args(product.settings()).args(options).current_dir(directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else {
            panic!("{product:?} is missing: run scripts/install-tools.sh");
        };
        let mut reader = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut said = String::new();
        while !said.contains("Ready to accept connections") {
            if reader.read_line(&mut said).expect("a line") == 0 {
                let _ = child.wait();
                return Err(said);
            }
        }
        let log = Arc::new(Mutex::new(said));
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|len| len > 0) {
                kept.lock().expect("no panic").push_str(&line);
                line.clear();
            }
        });
        let (options, directory) = (options.to_vec(), Arc::clone(directory));
        Ok(Node { product, options, child, port, directory, log })
    }

    /// Kills it and restarts it on its files.
    pub(crate) fn crash_and_restart(mut self) -> Node {
        self.stop();
        Node::run(self.product, &self.options, &self.directory)
            .unwrap_or_else(|log| panic!("no restart: {log}"))
    }

    /// Kills it, damages its files, and returns its output when it refuses to start.
    pub(crate) fn crash_and_refuse(mut self, spoil: impl FnOnce(&Path)) -> String {
        self.stop();
        spoil(self.directory.path());
        match Node::run(self.product, &self.options, &self.directory) {
            Ok(_) => panic!("it starts"),
            Err(log) => log,
        }
    }

    pub(crate) fn connect(&self) -> Client {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/", self.port));
        let connection = client.expect("an address").get_connection().expect("it listens");
        Client { connection }
    }

    /// Waits until its log contains this text. A thread reads the log.
    pub(crate) fn logs(&self, text: &str) {
        for _ in 0..LOOKS_MAX * LOOKS_MAX {
            if self.log.lock().expect("no panic").contains(text) {
                return;
            }
            std::thread::yield_now();
        }
        panic!("no {text:?} in {}", self.log.lock().expect("no panic"));
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn stop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns a free port.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// A client that sends commands given as lines.
pub(crate) struct Client {
    connection: Connection,
}

impl Client {
    /// Returns the reply to a line as text: `[OK, 0, 1]`, `nil`, or `!` and the error.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.send(&line.split_whitespace().map(str::as_bytes).collect::<Vec<_>>())
    }

    /// Sends a command as [`Client::ask`] does, with arguments of any bytes.
    pub(crate) fn send(&mut self, words: &[&[u8]]) -> String {
        match self.value(words) {
            Ok(value) => show(&value),
            Err(error) => format!("!{error}"),
        }
    }

    /// Returns the reply as a value.
    pub(crate) fn value(&mut self, words: &[&[u8]]) -> Result<Value, String> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        let value = command.query::<Value>(&mut self.connection);
        value.map_err(|error| {
            let detail = error.detail().unwrap_or_default();
            format!("{} {detail}", error.code().unwrap_or_default())
        })
    }

    /// Executes a transaction and returns each reply as text.
    pub(crate) fn exec(&mut self) -> Vec<String> {
        match self.connection.req_command(&redis::cmd("EXEC")) {
            Ok(Value::Array(replies)) => replies.iter().map(show).collect(),
            other => panic!("EXEC: {other:?}"),
        }
    }

    /// Sends a line and compares the reply.
    pub(crate) fn expect(&mut self, line: &str, expected: &str) {
        assert_eq!(self.ask(line), expected, "{line}");
    }

    /// Repeats a line until the reply is accepted.
    pub(crate) fn until(&mut self, line: &str, expected: impl Fn(&str) -> bool) -> String {
        let mut reply = String::new();
        for _ in 0..LOOKS_MAX {
            reply = self.ask(line);
            if expected(&reply) {
                return reply;
            }
            // Lets the server wait ten milliseconds; works on a replica too.
            self.ask("DEBUG SLEEP 0.01");
        }
        panic!("{line} stays {reply}");
    }

    /// Returns a bulk string.
    pub(crate) fn bytes(&mut self, line: &str) -> Vec<u8> {
        let words = line.split_whitespace().map(str::as_bytes).collect::<Vec<_>>();
        match self.value(&words) {
            Ok(Value::BulkString(bytes)) => bytes,
            other => panic!("{line}: {other:?}"),
        }
    }

    /// Returns the digest of a key, which is equal for equal copies.
    pub(crate) fn digest(&mut self, key: &str) -> String {
        self.ask(&format!("DEBUG DIGEST-VALUE {key}"))
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::Okay => "OK".to_owned(),
        Value::Array(values) => {
            let shown: Vec<String> = values.iter().map(show).collect();
            format!("[{}]", shown.join(", "))
        }
        Value::ServerError(error) => {
            format!("!{} {}", error.code(), error.details().unwrap_or_default())
        }
        other => format!("{other:?}"),
    }
}
