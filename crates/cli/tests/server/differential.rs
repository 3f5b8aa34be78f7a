//! Compares plain commands with a real valkey-server: thousands of random commands, many of them wrong, go to both, and
//! every reply is compared.

mod command;
mod compare;
mod locks;
mod peer;
mod transactions;

use crate::random::Random;
use crate::support::{Server, array};
use crate::valkey::Valkey;
use command::{Cores, Generator, Request};
use compare::same;
use peer::Peer;
use std::time::{Duration, Instant};

/// Commands of all seeds together, unless SCURRY_DIFFERENTIAL_COMMANDS sets another number.
const COMMANDS: usize = 120_000;
const SEEDS: u64 = 8;
/// Commands sent before the first reply is read.
const PIPELINE: usize = 200;
/// Earlier commands shown on a failure.
const SHOWN: usize = 12;

struct Pair {
    theirs: Peer,
    ours: Peer,
}

impl Pair {
    fn new(valkey: &Valkey, server: &Server) -> Pair {
        let stream = server.connect().stream().try_clone().expect("a second handle");
        Pair { theirs: Peer::new(valkey.connect()), ours: Peer::new(stream) }
    }

    /// Sends requests to both servers. Returns pairs of their reply and ours.
    fn ask(&mut self, requests: &[Request]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let bytes: Vec<u8> = requests.iter().flat_map(Request::bytes).collect();
        self.theirs.send(&bytes);
        self.ours.send(&bytes);
        let mut replies = Vec::new();
        for request in requests {
            let one = |peer: &mut Peer, name| {
                let reply = peer.reply();
                reply.unwrap_or_else(|error| panic!("{name}: {error}: {}", request.shown()))
            };
            replies.push((one(&mut self.theirs, "valkey"), one(&mut self.ours, "ours")));
        }
        replies
    }

    fn both(&mut self, words: &[&str]) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let bytes = array(&words);
        for peer in [&mut self.theirs, &mut self.ours] {
            peer.send(&bytes);
            let reply = peer.reply().expect("a reply comes");
            assert_ne!(reply.first(), Some(&b'-'), "{}", reply.escape_ascii());
        }
    }
}

/// Compares this many commands of one seed, in one protocol.
fn run(valkey: &Valkey, server: &Server, seed: u64, commands: usize, cores: Cores) {
    let mut pair = Pair::new(valkey, server);
    pair.both(&["HELLO", if seed.is_multiple_of(2) { "2" } else { "3" }]);
    pair.both(&["FLUSHALL"]);
    let mut generator = Generator::new(Random::new(seed), cores);
    let mut sent: Vec<Request> = Vec::new();
    let mut good = 0;
    while sent.len() < commands {
        let batch: Vec<Request> = (0..PIPELINE).map(|_| generator.request()).collect();
        for (request, (theirs, ours)) in batch.iter().zip(pair.ask(&batch)) {
            good += usize::from(theirs.first() != Some(&b'-'));
            if !same(request.check, &theirs, &ours) {
                let before = sent.iter().filter(|earlier| earlier.shares_a_word(request));
                let before: Vec<String> = before.map(Request::shown).collect();
                panic!(
                    "seed {seed}, step {}: {}\n  valkey: {}\n  ours:   {}\n  before: {}",
                    sent.len(),
                    request.shown(),
                    theirs.escape_ascii(),
                    ours.escape_ascii(),
                    before[before.len().saturating_sub(SHOWN)..].join("\n          "),
                );
            }
            sent.push(request.clone());
        }
    }
    assert!(good > commands / 3 && good < commands, "seed {seed}: {good} of {commands} good");
}

#[test]
fn random_commands_have_the_replies_of_valkey() {
    let (valkey, server) = (Valkey::start("differential"), Server::start(&[]));
    let commands = std::env::var("SCURRY_DIFFERENTIAL_COMMANDS").ok();
    let commands = commands.map_or(COMMANDS, |text| text.parse().expect("a number"));
    let first = std::env::var("SCURRY_DIFFERENTIAL_SEED").ok();
    let first: u64 = first.map_or(1, |text| text.parse().expect("a number"));
    for seed in first..first + SEEDS {
        run(&valkey, &server, seed, commands / 8, Cores::One);
    }
}

/// Commands that pass between cores have the same replies.
#[test]
fn random_commands_have_the_replies_of_valkey_on_several_threads() {
    let (valkey, server) = (Valkey::start("threads"), Server::start(&["--threads", "3"]));
    for seed in 101..=102 {
        run(&valkey, &server, seed, 10_000, Cores::Several);
    }
}

/// Differences that random commands have found, each as its own case.
#[test]
fn found_differences_stay_mended() {
    let (valkey, server) = (Valkey::start("found"), Server::start(&[]));
    let mut pair = Pair::new(&valkey, &server);
    for line in [
        // Either option alone was accepted, and both together too.
        "FLUSHALL SYNC ASYNC",
        // The key of a subcommand was not found.
        "COMMAND GETKEYS OBJECT ENCODING k",
        // The error for a wrong value has the setting's own name, that for a wrong name has the name as given.
        "CONFIG SET MAXMEMORY -1",
        "CONFIG SET DATABASES 1",
        // Rounded down, because the sum exceeded 64 bits.
        "SET k v",
        "PEXPIREAT k 9223372036854775807",
        "EXPIRETIME k",
        // Quotes and line breaks in the error are escaped.
        "it's-not-a-command it's",
        "EXPIRE k 1 it's",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (theirs, ours) = pair.ask(&[Request::exact(&words)]).remove(0);
        assert_eq!(theirs.escape_ascii().to_string(), ours.escape_ascii().to_string(), "{line}");
    }
}

/// Keys that expire soon are gone in both servers, whichever command looks first.
#[test]
fn short_lives_end_as_in_valkey() {
    let (valkey, server) = (Valkey::start("short-lives"), Server::start(&[]));
    let mut pair = Pair::new(&valkey, &server);
    pair.both(&["SET", "a", "1", "PX", "30"]);
    pair.both(&["PSETEX", "b", "30", "2"]);
    for key in ["c", "d", "e", "f", "g"] {
        pair.both(&["SET", key, "3"]);
        pair.both(&["PEXPIRE", key, "30"]);
    }
    pair.both(&["GETEX", "c", "PX", "20"]);
    let deadline = deadline();
    loop {
        let replies = pair.ask(&[Request::exact(&["TTL", "a"]), Request::exact(&["EXISTS", "g"])]);
        let gone = |reply: &[u8]| reply == b":-2\r\n" || reply == b":0\r\n";
        if replies.iter().all(|(theirs, ours)| gone(theirs) && gone(ours)) {
            break;
        }
        assert!(!is_over(deadline), "{replies:?}");
    }
    let questions = [
        &["GET", "a"][..],
        &["TYPE", "b"],
        &["EXISTS", "a", "b", "c", "d", "e", "f", "g"],
        &["TTL", "c"],
        &["PTTL", "c"],
        &["PEXPIRETIME", "c"],
        &["PERSIST", "c"],
        &["EXPIRE", "c", "100"],
        &["INCR", "d"],
        &["TTL", "d"],
        &["APPEND", "e", "x"],
        &["SETNX", "f", "new"],
        &["TTL", "f"],
        &["SCAN", "0", "MATCH", "[abcg]"],
        &["DEL", "a", "b", "c", "g"],
        &["OBJECT", "ENCODING", "b"],
        &["MEMORY", "USAGE", "a"],
        &["DBSIZE"],
    ];
    for question in questions {
        let (theirs, ours) = pair.ask(&[Request::exact(question)]).remove(0);
        assert_eq!(
            theirs.escape_ascii().to_string(),
            ours.escape_ascii().to_string(),
            "{question:?}"
        );
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a test waits for what must come")]
fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

#[expect(clippy::disallowed_methods, reason = "how long a test waits for what must come")]
fn is_over(deadline: Instant) -> bool {
    Instant::now() >= deadline
}
