//! A server with an RDMA port, and clients for it.

use scurry_rdma::{Device, Stream};
use scurry_rdma_proto::Settings;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// Timeout of everything here, however slow the machine.
pub(crate) const LONG: Duration = Duration::from_secs(40);

/// Address of the guest's device.
const IN_THE_GUEST: &str = "10.77.0.1";

/// Returns the address of a device, with port 0. Without a device it returns None and prints that.
pub(crate) fn device() -> Option<SocketAddr> {
    let named = std::env::var("SCURRY_RDMA_ADDRESS").unwrap_or_else(|_| IN_THE_GUEST.to_owned());
    let address = SocketAddr::new(named.parse().expect("SCURRY_RDMA_ADDRESS is an address"), 0);
    match Device::of(address) {
        Ok(_) => Some(address),
        Err(error) if std::env::var_os("SCURRY_RDMA_GUEST").is_some() => {
            panic!("the guest has no device: {error}")
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// A server, stopped when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    tcp: SocketAddr,
    log: BufReader<ChildStderr>,
}

impl Server {
    /// Starts a server with RDMA at this address, without a password, and with these arguments.
    pub(crate) fn start(address: SocketAddr, arguments: &[&str]) -> Server {
        let open = ["--allow-open-access-without-password"];
        Server::guarded(address, &[&open[..], arguments].concat())
    }

    /// Starts a server without permission for open access.
    pub(crate) fn guarded(address: SocketAddr, arguments: &[&str]) -> Server {
        // In the guest the binary lies where the script has put it.
        let binary = std::env::var("SCURRY_BIN");
        let binary = binary.unwrap_or_else(|_| env!("CARGO_BIN_EXE_scurry").to_owned());
        let address = address.to_string();
        let mut command = Command::new(binary);
        command.args(["serve", "--durability", "none", "--listen", "127.0.0.1:0"]);
        command.args(["--max-clients", "100", "--rdma-listen", &address]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut tcp = None;
        let address = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).expect("it logs") > 0, "it ends");
            let Some(rest) = line.trim().strip_prefix("listening on ") else { continue };
            match rest.strip_suffix(" over RDMA") {
                Some(address) => break address.parse().expect("an address"),
                None => tcp = Some(rest.parse().expect("an address")),
            }
        };
        Server { child, address, tcp: tcp.expect("TCP is first"), log }
    }

    pub(crate) fn connect(&self) -> Client {
        self.connect_with(Settings::default())
    }

    pub(crate) fn connect_with(&self, settings: Settings) -> Client {
        Client::over_rdma(self.address, settings)
    }

    /// Connects over TCP.
    pub(crate) fn connect_over_tcp(&self) -> Client {
        Client::over_tcp(self.tcp)
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line of the log.
    pub(crate) fn log_line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.log.read_line(&mut line).expect("it logs") > 0, "it ends");
        line
    }

    /// Kills it and returns the unread part of its log.
    pub(crate) fn end(mut self) -> String {
        let _ = self.child.kill();
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).expect("text");
        rest
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that reads lines and bulk strings.
pub(crate) struct Client {
    stream: Box<dyn Duplex>,
}

pub(crate) trait Duplex: Read + Write {}

impl<T: Read + Write> Duplex for T {}

impl Client {
    pub(crate) fn over_rdma(address: SocketAddr, settings: Settings) -> Client {
        let mut stream = Stream::connect(address, settings, LONG).expect("it accepts");
        stream.set_timeout(Some(LONG));
        Client { stream: Box::new(stream) }
    }

    pub(crate) fn over_tcp(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("it accepts");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        Client { stream: Box::new(stream) }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).expect("sent");
        self.stream.flush().expect("sent");
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.stream.read_exact(&mut bytes).expect("a reply");
        bytes
    }

    /// Reads a line, without its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.push(self.bytes(1)[0]);
        }
        String::from_utf8(line[..line.len() - 2].to_vec()).expect("text")
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str, expected: &str) {
        self.send(format!("{line}\r\n"));
        assert_eq!(self.line(), expected, "{line}");
    }

    /// Returns the numbers of `INFO rdma`.
    pub(crate) fn counts(&mut self) -> BTreeMap<String, u64> {
        self.send("INFO rdma\r\n");
        let len = self.line()[1..].parse::<usize>().expect("a bulk");
        let text = String::from_utf8(self.bytes(len + 2)).expect("text");
        let pair = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim_start_matches("rdma_").to_owned(), value.parse().ok()?))
        };
        text.lines().filter_map(pair).collect()
    }

    /// Waits until the server has this many connections, and returns how much memory is pinned for them.
    pub(crate) fn pinned_with(&mut self, connections: u64) -> u64 {
        loop {
            let counts = self.counts();
            if counts["connections"] == connections {
                return counts["pinned_bytes"];
            }
            std::thread::sleep(Duration::from_millis(20)); // tidy: allow (INFO has no event to wait for)
        }
    }
}
