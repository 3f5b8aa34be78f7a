//! Compares transactions with a real valkey-server: several clients of each make the same random requests.
//!
//! Here a key counts as unchanged if it has its old value again, in Valkey it does not. So every write is new: numbers
//! only grow, and keys are deleted only by FLUSHALL, which is followed by a SET.

use super::peer::Peer;
use crate::random::Random;
use crate::support::{Server, array};
use crate::valkey::Valkey;

const CLIENTS: usize = 3;
const STEPS: usize = 30_000;
const KEYS: [&str; 3] = ["{t}a", "{t}b", "{t}c"];

/// Returns one command of one client.
fn command(random: &mut Random, step: usize) -> Vec<String> {
    let wrong = random.of(&[
        "GET",
        "SET K",
        "SET K N WRONG",
        "NOSUCH K",
        "EXEC K",
        "MULTI K",
        "WATCH",
        "DISCARD K",
        "UNWATCH K",
        "RESET",
    ]);
    let right = random.of(&[
        "MULTI",
        "MULTI",
        "EXEC",
        "EXEC",
        "EXEC",
        "DISCARD",
        "WATCH K",
        "WATCH K K",
        "UNWATCH",
        "PING",
        "ECHO hi",
        "GET K",
        "GET K",
        "SET K N",
        "SET K N",
        "SET K N NX",
        "SET K N XX GET",
        "INCR K",
        "INCRBY K 3",
        "APPEND K N",
        "APPEND K not-a-number",
        "MGET K K",
        "MSET K N K N",
        "GETSET K N",
        "STRLEN K",
        "EXISTS K K",
        "TTL K",
        // An error only at execution.
        "INCRBY K x",
    ]);
    let shape = if random.below(25) == 0 { wrong } else { right };
    let word = |random: &mut Random, word: &str| match word {
        "K" => random.of(&KEYS).to_owned(),
        "N" => step.to_string(),
        fixed => fixed.to_owned(),
    };
    shape.split(' ').map(|part| word(random, part)).collect()
}

#[test]
fn random_transactions_have_the_replies_of_valkey() {
    for (seed, threads) in [(1, "1"), (2, "1"), (3, "4")] {
        let valkey = Valkey::start("transactions");
        let server = Server::start(&["--threads", threads]);
        let mut pairs: Vec<[Peer; 2]> = (0..CLIENTS)
            .map(|_| {
                let stream = server.connect().stream().try_clone().expect("a second handle");
                [Peer::new(valkey.connect()), Peer::new(stream)]
            })
            .collect();
        let (mut random, mut said) = (Random::new(seed), Vec::new());
        let (mut executed, mut refused) = (0, 0);
        for step in 0..STEPS {
            let client = random.below(CLIENTS);
            let words = command(&mut random, step);
            said.push(format!("{client}: {}", words.join(" ")));
            let bytes: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            let [theirs, ours] = pairs[client].each_mut().map(|peer| {
                peer.send(&array(&bytes));
                let reply = peer.reply().expect("a reply");
                reply.escape_ascii().to_string()
            });
            assert_eq!(
                theirs,
                ours,
                "seed {seed}: {}",
                said[said.len().saturating_sub(20)..].join("\n")
            );
            if words == ["EXEC"] {
                executed += usize::from(ours.starts_with('*') && ours != "*-1\\r\\n");
                refused += usize::from(ours == "*-1\\r\\n");
            }
        }
        assert!(
            executed > 200 && refused > 30,
            "seed {seed}: {executed} executed, {refused} refused"
        );
    }
}
