//! Every candidate answers the same, however the bytes arrive: a figure of a server that loses
//! or mixes replies would say nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const CANDIDATES: &[&str] = &[
    "epoll",
    "tokio",
    "ring",
    "ring-registered",
    "ring-direct",
    "ring-single",
    "ring-bundle",
    "ring-coop",
    "ring-arrival",
    "ring-batch",
    "epoll-busy",
    "ring-busy",
];
const GET: &[u8] = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
const SET: &[u8] = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nvv\r\n";
const PATIENCE: Duration = Duration::from_secs(20);
/// A server that has not taken all requests by now waits for its replies to be read.
const STUCK_AFTER: Duration = Duration::from_secs(1);

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(candidate: &str) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_scurry-io-bench"))
            .args(["serve", candidate, "--parent", &std::process::id().to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("{candidate} does not listen"));
        Server { child, address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn value() -> Vec<u8> {
    format!("$100\r\n{}\r\n", "x".repeat(100)).into_bytes()
}

fn expect(stream: &mut TcpStream, expected: &[u8], who: &str) {
    let mut found = vec![0; expected.len()];
    stream.read_exact(&mut found).unwrap_or_else(|error| panic!("{who}: {error}"));
    assert!(found == expected, "{who}: other replies than expected");
}

#[test]
fn the_list_names_every_candidate_that_is_tested() {
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-io-bench")).arg("list").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    for name in CANDIDATES {
        assert!(names.contains(name), "{name} is not listed");
    }
    assert_eq!(names.len(), CANDIDATES.len() + 4, "a candidate or a case is not tested: {names:?}");
}

/// A whole request and the beginning of another arrive together; the reply to the first shows
/// that the beginning was taken before its rest is sent.
#[test]
fn requests_split_at_every_byte() {
    for candidate in CANDIDATES {
        let server = Server::start(candidate);
        let mut stream = server.connect();
        for split in 0..SET.len() {
            stream.write_all(&[GET, &SET[..split]].concat()).unwrap();
            expect(&mut stream, &value(), candidate);
            stream.write_all(&SET[split..]).unwrap();
            expect(&mut stream, b"+OK\r\n", candidate);
        }
    }
}

/// More than any buffer holds, in both directions, to a peer that does not read until the server
/// is stuck with its replies: no reply may be lost or change its place.
#[test]
fn a_pipeline_longer_than_every_buffer() {
    const PAIRS: usize = 150_000;
    for candidate in CANDIDATES {
        let server = Server::start(candidate);
        let mut stream = server.connect();
        let mut writer = stream.try_clone().unwrap();
        let (sent, all_sent) = mpsc::channel();
        let sender = std::thread::spawn(move || {
            let pair = [SET, GET].concat();
            writer.write_all(&pair.repeat(PAIRS)).unwrap();
            // Nobody listens any more when the server has stopped reading before.
            let _ = sent.send(());
        });
        // Some servers take everything in, others stop reading and never let this be sent.
        let _ = all_sent.recv_timeout(STUCK_AFTER);
        let expected = [b"+OK\r\n", &value()[..]].concat();
        expect(&mut stream, &expected.repeat(PAIRS), candidate);
        sender.join().unwrap();
    }
}

#[test]
fn many_connections_come_and_go() {
    for candidate in CANDIDATES {
        let server = Server::start(candidate);
        for _ in 0..3 {
            let mut streams: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
            for stream in &mut streams {
                stream.write_all(GET).unwrap();
            }
            for stream in &mut streams {
                expect(stream, &value(), candidate);
            }
        }
    }
}

#[test]
fn nonsense_ends_its_own_connection_only() {
    for candidate in CANDIDATES {
        let server = Server::start(candidate);
        let (mut bad, mut good) = (server.connect(), server.connect());
        bad.write_all(b"nonsense\r\n").unwrap();
        assert!(!matches!(bad.read(&mut [0; 8]), Ok(1..)), "{candidate} answers nonsense");
        good.write_all(SET).unwrap();
        expect(&mut good, b"+OK\r\n", candidate);
        good.shutdown(Shutdown::Write).unwrap();
        assert!(matches!(good.read(&mut [0; 8]), Ok(0)), "{candidate} does not close");
    }
}
