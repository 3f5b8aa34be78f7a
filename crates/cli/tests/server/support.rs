//! Common parts of the tests with the real binary: a server on a free port, and a client that sends and compares bytes.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

/// Timeout of a single read.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `scurry serve`, stopped when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    /// Second port, with --tls-listen.
    pub(crate) tls_port: Option<u16>,
    /// Lines printed before it listened.
    pub(crate) said: String,
    /// Kept open so that the server can write its log.
    log: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Server {
        Server::run(&mut serve(arguments))
    }

    pub(crate) fn run(command: &mut Command) -> Server {
        let mut child = command.spawn().expect("the binary starts");
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut said = String::new();
        let port = port(&mut log, &mut said);
        let has_two = command.get_args().any(|argument| argument == "--tls-listen");
        let tls_port = has_two.then(|| self::port(&mut log, &mut said));
        Server { child, port, tls_port, said, log }
    }

    pub(crate) fn connect(&self) -> Client {
        self.connect_to(self.port)
    }

    /// Connects to another of its ports.
    pub(crate) fn connect_to(&self, port: u16) -> Client {
        Client::over(connect(port))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).expect("a pid");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }

    /// Waits for the next log line and returns it without its end.
    pub(crate) fn log_line(&mut self) -> String {
        let mut line = String::new();
        let len = self.log.read_line(&mut line).expect("a line is read");
        assert!(len > 0, "the log has ended");
        line.trim_end().to_owned()
    }

    /// Waits for its end. Returns the exit status and the log after the first line.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut log = String::new();
        self.log.read_to_string(&mut log).expect("the log is read");
        (self.child.wait().expect("it ends"), log)
    }
}

/// Returns the port in the next line that names one. Adds all lines up to it to `all`.
fn port(log: &mut impl BufRead, all: &mut String) -> u16 {
    loop {
        let begin = all.len();
        log.read_line(all).expect("a line is read");
        assert!(all.len() > begin, "the server did not start: {all}");
        let Some(rest) = all[begin..].strip_prefix("listening on 127.0.0.1:") else { continue };
        let digits = rest.split_whitespace().next().expect("a port");
        return digits.parse().expect("a port");
    }
}

/// Connects, with a timeout for reads.
pub(crate) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
    stream.set_write_timeout(Some(PATIENCE)).expect("a time-out is set");
    stream.set_nodelay(true).expect("no delay");
    stream
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns `scurry serve` on a free local port, not yet started.
pub(crate) fn serve(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.arg("serve").args(["--listen", "127.0.0.1:0"]);
    // Tests that give a directory also give the durability.
    if !arguments.contains(&"--dir") {
        command.args(["--durability", "none"]);
    }
    command.args(arguments);
    command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A connection that sends bytes and reads replies.
pub(crate) struct Client<S = TcpStream> {
    reader: BufReader<S>,
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn over(stream: S) -> Client<S> {
        Client { reader: BufReader::new(stream) }
    }

    pub(crate) fn stream(&self) -> &S {
        self.reader.get_ref()
    }

    pub(crate) fn stream_mut(&mut self) -> &mut S {
        self.reader.get_mut()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.reader.get_mut().write_all(bytes.as_ref()).expect("the server takes it");
    }

    /// Reads exactly as many bytes as expected and compares them.
    pub(crate) fn expect(&mut self, expected: &str) {
        let mut got = vec![0; expected.len()];
        let mut len = 0;
        while len < got.len() {
            match self.reader.read(&mut got[len..]) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&got[..len])),
            }
            // Fails early instead of waiting for bytes that will not arrive.
            assert!(
                expected.as_bytes().starts_with(&got[..len]),
                "expected {expected:?}, got {:?}",
                String::from_utf8_lossy(&got[..len])
            );
        }
        assert_eq!(String::from_utf8_lossy(&got[..len]), expected);
    }

    /// Sends a line and compares the reply.
    pub(crate) fn ask(&mut self, line: &str, expected: &str) {
        self.send(format!("{line}\r\n"));
        self.expect(expected);
    }

    /// Reads this many bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.reader.read_exact(&mut bytes).expect("they come");
        bytes
    }

    /// Reads one line of a reply, without its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("a line comes");
        line.trim_end().to_owned()
    }

    /// Reads a bulk string.
    pub(crate) fn bulk(&mut self) -> String {
        let head = self.line();
        let len = head.strip_prefix('$').and_then(|len| len.parse::<usize>().ok());
        let mut bytes = vec![0; len.unwrap_or_else(|| panic!("not a bulk string: {head}")) + 2];
        self.reader.read_exact(&mut bytes).expect("all of it comes");
        String::from_utf8_lossy(&bytes[..bytes.len() - 2]).into_owned()
    }

    /// Reads everything up to this end, which must be the last to arrive.
    pub(crate) fn until(&mut self, end: &str) -> String {
        let mut got = Vec::new();
        while !got.ends_with(end.as_bytes()) {
            let more = match self.reader.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                more => more.expect("more comes"),
            };
            assert!(!more.is_empty(), "closed after {:?}", String::from_utf8_lossy(&got));
            let len = more.len();
            got.extend_from_slice(more);
            self.reader.consume(len);
        }
        String::from_utf8_lossy(&got).into_owned()
    }

    /// Reads everything until the server closes the connection.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest).expect("the server closes without a reset");
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// Encodes a request as an array.
pub(crate) fn array(arguments: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        out.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Runs a tool for at most a minute. A missing tool is a failure that says how to install it.
pub(crate) fn tool(name: &str, arguments: &[&str]) -> Output {
    let output = Command::new("timeout").arg("60").arg(name).args(arguments).output();
    let output = output.expect("timeout (coreutils) runs");
    let missing = matches!(output.status.code(), Some(126 | 127));
    assert!(!missing, "{name} is missing: run scripts/install-tools.sh");
    output
}

/// Returns the Python interpreter with the `redis` package.
pub(crate) fn python() -> String {
    if let Ok(python) = std::env::var("SCURRY_TEST_PYTHON") {
        return python;
    }
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    root.join(".cache/venv/bin/python").display().to_string()
}
