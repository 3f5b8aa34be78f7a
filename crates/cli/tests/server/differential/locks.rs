//! Compares the commands that locks use, SET with IFEQ and DELIFEQ, with a Valkey that supports them.

use super::command::Request;
use super::{PIPELINE, Pair};
use crate::random::Random;
use crate::support::Server;
use crate::valkey::Valkey;

/// Commands in each protocol.
const COMMANDS: usize = 20_000;

const KEYS: [&str; 3] = ["a", "b", "c"];
/// Few values, so that a comparison often succeeds; some are numbers, empty, or longer than embedded strings.
const VALUES: [&str; 8] = [
    "1",
    "2",
    "",
    "x",
    "01",
    "1.0",
    "NX",
    "longer than what a server keeps within the entry of its key",
];
const OPTIONS: [&str; 12] = [
    "IFEQ",
    "IFEQ",
    "ifeq",
    "NX",
    "XX",
    "GET",
    "get",
    "KEEPTTL",
    "EX 100",
    "PX x",
    "EXAT 4102444800",
    "NOPE",
];

fn words(random: &mut Random) -> Vec<&'static str> {
    let (key, value) = (random.of(&KEYS), random.of(&VALUES));
    let mut words = match random.below(8) {
        0 => vec!["GET", key],
        1 => vec!["DEL", key],
        2 => vec!["EXISTS", key],
        3 | 4 => vec![random.of(&["DELIFEQ", "delifeq"]), key, value],
        _ => vec!["SET", key, value],
    };
    if words[0] == "SET" {
        for _ in 0..random.below(4) {
            let option = random.of(&OPTIONS);
            words.extend(option.split(' '));
            if option.eq_ignore_ascii_case("IFEQ") && !random.one_in(20) {
                words.push(random.of(&VALUES));
            }
        }
    } else if random.one_in(20) {
        words.push("more");
    } else if random.one_in(20) {
        words.pop();
    }
    words
}

#[test]
fn locks_have_the_replies_of_valkey_9() {
    let (valkey, server) = (Valkey::start_9("locks"), Server::start(&[]));
    let mut random = Random::new(9);
    // A Valkey that is too old would answer everything with the same error.
    let mut pair = Pair::new(&valkey, &server);
    pair.both(&["SET", "a", "1"]);
    pair.both(&["SET", "a", "2", "IFEQ", "1"]);
    pair.both(&["DELIFEQ", "a", "2"]);
    let mut done = 0;
    for protocol in ["2", "3"] {
        pair.both(&["HELLO", protocol]);
        for _ in 0..COMMANDS / PIPELINE {
            let batch: Vec<Vec<&str>> = (0..PIPELINE).map(|_| words(&mut random)).collect();
            let requests: Vec<Request> = batch.iter().map(|words| Request::exact(words)).collect();
            for (words, (theirs, ours)) in batch.iter().zip(pair.ask(&requests)) {
                let (theirs, ours) = (theirs.escape_ascii(), ours.escape_ascii());
                assert_eq!(theirs.to_string(), ours.to_string(), "{words:?}");
                let is_done = theirs.to_string() == "+OK\\r\\n" && words.len() > 4;
                done += usize::from(is_done || theirs.to_string() == ":1\\r\\n");
            }
        }
    }
    assert!(done > COMMANDS / 20, "{done} conditions held");
}
