//! A server, with a door beside RESP or without, and commands to it over RESP.

use scurry_conformance::{Script, Value};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, process, thread};

/// Timeout of a reply: longer than any pause of the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Server {
    child: Child,
    stream: TcpStream,
    /// Port of its door.
    pub(crate) door: u16,
}

impl Server {
    /// Starts a server with the limits of the script, these settings, and a door that this option opens.
    pub(crate) fn start(binary: &Path, script: &Script, settings: &str, option: &str) -> Server {
        let mut text = String::from("[limits]\n");
        for (name, value) in &script.limit_words {
            let quote = if value.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "\"" };
            writeln!(text, "{name} = {quote}{value}{quote}").expect("memory");
        }
        text.push_str(settings);
        let name = script.file.replace('/', "-");
        let file = format!("scurry{option}-{}-{name}.toml", process::id());
        let path = env::temp_dir().join(file);
        fs::write(&path, text).expect("a file");
        let mut command = Command::new(binary);
        command.args(["serve", "--durability", "none", "--listen", "127.0.0.1:0"]);
        command.args([option, "127.0.0.1:0", "--config"]).arg(&path);
        for kind in &script.unique_kinds {
            command.arg("--unique-identities").arg(kind.as_str());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
        let (mut port, mut door, mut all) = (None, None, String::new());
        while port.is_none() || door.is_none() {
            let start = all.len();
            let len = said.read_line(&mut all).expect("a line");
            assert!(len > 0, "{}: the server does not start: {all}", script.file);
            let line = all[start..].trim();
            let number = |(_, rest): (&str, &str)| rest.split_whitespace().next()?.parse().ok();
            match line.strip_prefix("listening on 127.0.0.1:") {
                Some(digits) => port = digits.parse().ok(),
                None => door = door.or(line.split_once("127.0.0.1:").and_then(number)),
            }
        }
        // It is read on, so that the server can write its log.
        thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        // A file that is left over does no harm.
        let _ = fs::remove_file(&path);
        let port: u16 = port.expect("a port");
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Server { child, stream, door: door.expect("a port") }
    }

    /// Sends a command over RESP, and returns its reply.
    pub(crate) fn ask(&mut self, words: &[Vec<u8>]) -> Value {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).into_bytes());
            bytes.extend(word);
            bytes.extend(b"\r\n");
        }
        self.stream.write_all(&bytes).expect("it is sent");
        let (mut reply, mut part) = (Vec::new(), [0; 4096]);
        loop {
            let len = self.stream.read(&mut part).expect("a reply");
            assert!(len > 0, "the server closed the connection");
            reply.extend_from_slice(&part[..len]);
            if let Some((value, _)) = Value::read(&reply).expect("a reply") {
                return value;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
