//! Many clients that track, read and write over all threads at once: no push falls into a reply, and in the end every
//! client's cache agrees with the server.

use super::{ALL, tracker, value};
use crate::random::Random;
use crate::support::{Client, Server, array};
use std::collections::{BTreeMap, VecDeque};

const KEYS: usize = 60;
const ROUNDS: usize = 150;
const CLIENTS: u64 = 4;
/// Enough marks that each thread has some.
const MARKS: usize = 40;

/// A client with its cache.
struct Cached {
    client: Client,
    believed: BTreeMap<String, String>,
    /// Requests that wait for their replies.
    asked: VecDeque<Asked>,
    seed: u64,
}

enum Asked {
    Get(String),
    MGet(Vec<String>),
    Set,
}

/// Checks that a value belongs to its key.
fn check(key: &str, value: &str) {
    let own = value == "_" || value.starts_with(&format!("${key}="));
    assert!(own, "{key} has {value}");
}

impl Cached {
    /// Reads a value: the next reply, or a push between replies. Returns false for a push.
    fn take(&mut self) -> bool {
        let got = value(&mut self.client);
        if got == ALL {
            self.believed.clear();
            return false;
        }
        if let Some(key) = got.strip_prefix(">($invalidate *($") {
            let key = key.strip_suffix("))").expect("a push");
            assert!(key.starts_with("key") || key.starts_with("mark"), "{got}");
            self.believed.remove(key);
            return false;
        }
        match self.asked.pop_front().expect("nothing was asked") {
            Asked::Get(key) => {
                check(&key, &got);
                self.believed.insert(key, got);
            }
            Asked::MGet(keys) => {
                let inner = got.strip_prefix("*(").and_then(|rest| rest.strip_suffix(')'));
                let values: Vec<&str> = inner.expect("an array").split(' ').collect();
                assert_eq!(values.len(), keys.len(), "{got}");
                for (key, value) in keys.into_iter().zip(values) {
                    check(&key, value);
                    self.believed.insert(key, value.to_owned());
                }
            }
            Asked::Set => assert_eq!(got, "+OK"),
        }
        true
    }

    fn run(&mut self) {
        let mut random = Random::new(self.seed);
        let key = |random: &mut Random| format!("key{}", random.below(KEYS));
        for round in 0..ROUNDS {
            let mut bytes = Vec::new();
            for at in 0..1 + random.below(30) {
                match random.below(6) {
                    0 | 1 => {
                        let key = key(&mut random);
                        bytes.extend(array(&[b"GET", key.as_bytes()]));
                        self.asked.push_back(Asked::Get(key));
                    }
                    2..4 => {
                        let keys: Vec<String> =
                            (0..1 + random.below(12)).map(|_| key(&mut random)).collect();
                        let mut words: Vec<&[u8]> = vec![b"MGET"];
                        words.extend(keys.iter().map(String::as_bytes));
                        bytes.extend(array(&words));
                        self.asked.push_back(Asked::MGet(keys));
                    }
                    4 => {
                        let key = key(&mut random);
                        let text = format!("{key}={}.{round}.{at}", self.seed);
                        bytes.extend(array(&[b"SET", key.as_bytes(), text.as_bytes()]));
                        self.asked.push_back(Asked::Set);
                    }
                    _ => {
                        let keys = [key(&mut random), key(&mut random), key(&mut random)];
                        let text = keys
                            .each_ref()
                            .map(|key| format!("{key}={:x<300}", format!("{}.{round}", self.seed)));
                        let mut words: Vec<&[u8]> = vec![b"MSET"];
                        for (key, text) in keys.iter().zip(&text) {
                            words.extend([key.as_bytes(), text.as_bytes()]);
                        }
                        bytes.extend(array(&words));
                        self.asked.push_back(Asked::Set);
                    }
                }
            }
            self.client.send(bytes);
            let keep = if random.one_in(3) { random.below(20) } else { 0 };
            while self.asked.len() > keep {
                self.take();
            }
        }
        while !self.asked.is_empty() {
            self.take();
        }
        let marks: Vec<String> = (0..MARKS).map(|mark| format!("mark{mark}")).collect();
        let mut words: Vec<&[u8]> = vec![b"MGET"];
        words.extend(marks.iter().map(String::as_bytes));
        self.client.send(array(&words));
        self.asked.push_back(Asked::MGet(marks));
        while !self.take() {}
    }

    /// Reads pushes until all marks have changed: none of the earlier pushes can come after that.
    fn settle(&mut self) {
        while self.believed.keys().any(|key| key.starts_with("mark")) {
            assert!(!self.take(), "nothing was asked");
        }
    }
}

fn stress(arguments: &[&str]) {
    let server = Server::start(arguments);
    let cached = |seed| Cached {
        client: tracker(&server, if seed % 2 == 0 { "" } else { "OPTOUT" }),
        believed: BTreeMap::new(),
        asked: VecDeque::new(),
        seed,
    };
    let mut clients: Vec<Cached> = (1..=CLIENTS).map(cached).collect();
    std::thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| client.run());
        }
    });
    let mut plain = server.connect();
    let mut words: Vec<String> = vec!["MSET".to_owned()];
    words.extend((0..MARKS).flat_map(|mark| [format!("mark{mark}"), "1".to_owned()]));
    plain.send(array(&words.iter().map(String::as_bytes).collect::<Vec<_>>()));
    plain.expect("+OK\r\n");
    let mut compared = 0;
    for client in &mut clients {
        client.settle();
        for (key, believed) in &client.believed {
            plain.send(format!("GET {key}\r\n"));
            let held = value(&mut plain);
            assert_eq!(&held, believed, "{key} of client {}", client.seed);
            compared += 1;
        }
    }
    assert!(compared > KEYS / 4, "{compared}");
}

#[test]
fn pushes_fall_between_replies_and_nothing_is_believed_that_is_not_so() {
    for threads in ["1", "4"] {
        stress(&["--threads", threads]);
    }
}

#[test]
fn pushes_do_not_fall_into_long_replies_that_come_in_pieces() {
    let server = Server::start(&["--threads", "4"]);
    let (mut reader, mut writer) = (tracker(&server, ""), server.connect());
    let big: Vec<String> = (0..60).map(|key| format!("big{key}")).collect();
    let value_of_300_kb = "v".repeat(300_000);
    for key in &big {
        writer.send(array(&[b"SET", key.as_bytes(), value_of_300_kb.as_bytes()]));
        writer.expect("+OK\r\n");
    }
    let small: Vec<String> = (0..40).map(|key| format!("small{key}")).collect();
    for _ in 0..3 {
        // Longer than socket buffers: the reply is merged in pieces while it is read.
        reader.send(format!("MGET {}\r\nMGET {}\r\n", small.join(" "), big.join(" ")));
        reader.expect("*40\r\n");
        small.iter().for_each(|_| drop(value(&mut reader)));
        for key in &small {
            writer.ask(&format!("SET {key} 1"), "+OK\r\n");
        }
        let mut told = 0;
        let mut next = value(&mut reader);
        while next.starts_with('>') {
            told += 1;
            next = value(&mut reader);
        }
        let len = "$ ".len() * 60 + 60 * 300_000 + "*()".len() - 1;
        assert_eq!((next.len(), &next[..3]), (len, "*($"));
        while told < 40 {
            assert!(value(&mut reader).starts_with(">($invalidate *($small"));
            told += 1;
        }
    }
}

#[test]
fn replies_that_wait_for_the_log_are_not_overtaken() {
    let name = format!("scurry-tracking-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let path = directory.display().to_string();
    stress(&["--threads", "3", "--dir", &path, "--durability", "fsync"]);
    std::fs::remove_dir_all(&directory).expect("it was there");
}
