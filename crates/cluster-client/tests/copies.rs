//! Tests of writes to K of M copies, against fake servers that reply by a rule and record their requests.

use scurry_cluster_client::redis::{Value, cmd};
use scurry_cluster_client::{Address, ClientError, Copies, CopiesOutcome, Node};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A fake server that answers commands by a rule. CLUSTER SLOTS is not recorded; its reply lists the given members. The
/// threads end with their connections.
struct Fake {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    fn start(rule: impl Fn(&str) -> String + Send + Sync + 'static) -> Fake {
        Fake::with_members(&[], rule)
    }

    /// Starts a node of a cluster with these other members.
    fn with_members(
        others: &[&str],
        rule: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it has one").to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let slots = Arc::new(slots(others));
        let (rule, all) = (Arc::new(rule), asked.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (rule, all, slots) = (rule.clone(), all.clone(), slots.clone());
                thread::spawn(move || serve(stream, &*rule, &slots, &all));
            }
        });
        Fake { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics").clone()
    }
}

/// Returns a reply to CLUSTER SLOTS that lists these nodes.
fn slots(others: &[&str]) -> String {
    if others.is_empty() {
        return "-ERR This instance has cluster support disabled\r\n".to_owned();
    }
    let nodes = others.iter().map(|node| {
        let (host, port) = node.rsplit_once(':').expect("HOST:PORT");
        format!("*2\r\n${}\r\n{host}\r\n:{port}\r\n", host.len())
    });
    let nodes: String = nodes.collect();
    format!("*1\r\n*{}\r\n:0\r\n:16383\r\n{nodes}", 2 + others.len())
}

fn serve(stream: TcpStream, rule: &dyn Fn(&str) -> String, slots: &str, all: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    while let Some(command) = request(&mut reader) {
        let reply = if command.starts_with("CLIENT") {
            "+OK\r\n".to_owned()
        } else if command == "CLUSTER SLOTS" {
            slots.to_owned()
        } else {
            all.lock().expect("nobody panics").push(command.clone());
            rule(&command)
        };
        if reply.is_empty() || reader.get_mut().write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads the words of the next request, None at the end of the stream.
fn request(reader: &mut impl BufRead) -> Option<String> {
    let mut words = Vec::new();
    for _ in 0..number(reader, '*')? {
        let mut word = vec![0; number(reader, '$')? + 2];
        reader.read_exact(&mut word).ok()?;
        words.push(String::from_utf8_lossy(&word[..word.len() - 2]).into_owned());
    }
    Some(words.join(" "))
}

fn number(reader: &mut impl BufRead, kind: char) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(kind)?.parse().ok()
}

fn copies(node: &Fake, wanted: u32) -> Copies {
    Copies::new(&Address::new(&node.address, None, None), wanted, 50)
}

/// Starts a primary with this many replicas.
fn primary(replicas: u32) -> Fake {
    Fake::start(move |command| match command.split(' ').next() {
        Some("WAIT") => format!(":{replicas}\r\n"),
        _ => "+OK\r\n".to_owned(),
    })
}

#[test]
fn too_few_replicas_are_said_and_the_reply_with_them() {
    let mut set = cmd("SET");
    set.arg("key").arg("1");
    for (replicas, wanted, enough) in [(0, 1, true), (0, 2, false), (1, 2, true), (1, 3, false)] {
        let node = primary(replicas);
        let kept = copies(&node, wanted).run(b"key", &set).expect("it answers");
        let (reply, copies) = (Value::Okay, replicas + 1);
        let expected = if enough {
            CopiesOutcome::Enough { reply, copies }
        } else {
            CopiesOutcome::NotEnough { reply, copies, wanted }
        };
        assert_eq!(kept, expected);
        let wait = (wanted > 1).then(|| format!("WAIT {} 50", wanted - 1));
        let expected: Vec<String> = ["SET key 1".to_owned()].into_iter().chain(wait).collect();
        assert_eq!(node.asked(), expected);
    }
}

#[test]
fn command_and_wait_follow_the_key_together_and_its_owner_is_remembered() {
    let owner = primary(1);
    let to = owner.address.clone();
    let other = Fake::start(move |command| match command.split(' ').next() {
        Some("WAIT") => ":7\r\n".to_owned(),
        _ => format!("-MOVED 12539 {to}\r\n"),
    });
    let mut copies = copies(&other, 2);
    let mut set = cmd("SET");
    set.arg("key").arg("1");
    for _ in 0..2 {
        let kept = copies.run(b"key", &set).expect("it answers");
        assert_eq!(
            kept,
            CopiesOutcome::Enough { reply: Value::Okay, copies: 2 },
            "not the other's seven"
        );
    }
    assert_eq!(other.asked().len(), 2, "it was asked once");
    assert_eq!(owner.asked(), ["SET key 1", "WAIT 1 50", "SET key 1", "WAIT 1 50"]);
}

#[test]
fn a_slot_that_is_being_moved_is_asked_once_and_not_remembered() {
    let target = primary(1);
    let to = target.address.clone();
    let owner = Fake::start(move |command| match command.split(' ').next() {
        Some("WAIT") => ":1\r\n".to_owned(),
        _ => format!("-ASK 12539 {to}\r\n"),
    });
    let mut copies = copies(&owner, 2);
    let mut set = cmd("SET");
    set.arg("key").arg("1");
    for round in 1..=2 {
        let kept = copies.run(b"key", &set).expect("it answers");
        assert_eq!(kept, CopiesOutcome::Enough { reply: Value::Okay, copies: 2 });
        assert_eq!(owner.asked().len(), 2 * round);
    }
    assert_eq!(target.asked()[..3], ["ASKING", "SET key 1", "WAIT 1 50"]);
}

#[test]
fn refusals_and_broken_connections_are_no_acknowledgement() {
    let mut set = cmd("SET");
    set.arg("key").arg("1");
    let node = Fake::start(|command| match command.split(' ').next() {
        Some("WAIT") => ":1\r\n".to_owned(),
        _ => "-READONLY You can't write against a read only replica.\r\n".to_owned(),
    });
    let kept = copies(&node, 2).run(b"key", &set).expect("it answers");
    assert!(matches!(kept, CopiesOutcome::Refused(_)), "{kept:?}");
    // The node closes the connection between the command and WAIT.
    let node = Fake::start(|command| match command.split(' ').next() {
        Some("WAIT") => String::new(),
        _ => "+OK\r\n".to_owned(),
    });
    let outcome = copies(&node, 2).run(b"key", &set);
    assert!(matches!(outcome, Err(ClientError::Failed(..))), "{outcome:?}");
}

#[test]
fn another_node_is_asked_when_the_one_that_was_named_is_gone() {
    // It sends no reply, as a node does that has just stopped.
    let other = primary(1);
    let seed = Fake::with_members(&[&other.address], |_| String::new());
    let mut copies = copies(&seed, 2);
    let mut set = cmd("SET");
    set.arg("key").arg("1");
    let lost = copies.run(b"key", &set);
    assert!(matches!(lost, Err(ClientError::Failed(..))), "{lost:?}");
    let kept = copies.run(b"key", &set).expect("the other answers");
    assert_eq!(kept, CopiesOutcome::Enough { reply: Value::Okay, copies: 2 });
}

#[test]
fn a_node_that_says_nothing_is_given_up_when_the_patience_ends() {
    let node = Fake::start(|_| {
        thread::park_timeout(Duration::from_secs(3));
        "+PONG\r\n".to_owned()
    });
    let address = Address::new(&node.address, None, None).with_patience(Duration::from_millis(100));
    let lost = Node::connect(&address).and_then(|mut node| node.ask(&cmd("PING")));
    let said = lost.map_or_else(|error| error.to_string(), |reply| format!("{reply:?}"));
    assert!(said.ends_with("no reply within 100ms"), "{said}");
}
