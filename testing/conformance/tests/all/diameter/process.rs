//! A server with a Diameter door, and commands to it over RESP.

use scurry_conformance::{Script, Value};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, process, thread};

/// Timeout of a reply: longer than any pause of the machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Server {
    child: Child,
    stream: TcpStream,
    /// Port of its Diameter door.
    pub(super) diameter: u16,
}

impl Server {
    /// Starts a server with the limits of the script and these settings.
    pub(super) fn start(binary: &Path, script: &Script, settings: &str) -> Server {
        let mut text = String::from("[limits]\n");
        for (name, value) in &script.limit_words {
            let quote = if value.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "\"" };
            writeln!(text, "{name} = {quote}{value}{quote}").expect("memory");
        }
        text.push_str(settings);
        let name = script.file.replace('/', "-");
        let file = format!("scurry-diameter-{}-{name}.toml", process::id());
        let path = env::temp_dir().join(file);
        fs::write(&path, text).expect("a file");
        let mut command = Command::new(binary);
        command.args(["serve", "--durability", "none", "--listen", "127.0.0.1:0"]);
        command.args(["--diameter-listen", "127.0.0.1:0", "--config"]).arg(&path);
        for kind in &script.unique_kinds {
            command.arg("--unique-identities").arg(kind.as_str());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
        let (mut port, mut diameter, mut all) = (None, None, String::new());
        while port.is_none() || diameter.is_none() {
            let start = all.len();
            let len = said.read_line(&mut all).expect("a line");
            assert!(len > 0, "{}: the server does not start: {all}", script.file);
            let number = |prefix: &str| all[start..].trim().strip_prefix(prefix)?.parse().ok();
            port = port.or_else(|| number("listening on 127.0.0.1:"));
            diameter = diameter.or_else(|| number("diameter listening on 127.0.0.1:"));
        }
        // It is read on, so that the server can write its log.
        thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        // A file that is left over does no harm.
        let _ = fs::remove_file(&path);
        let port: u16 = port.expect("a port");
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Server { child, stream, diameter: diameter.expect("a port") }
    }

    /// Sends a command over RESP, and returns its reply.
    pub(super) fn ask(&mut self, words: &[Vec<u8>]) -> Value {
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
