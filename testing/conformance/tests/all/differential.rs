//! Sends the same random commands at the same times to a shard of the engine and to a server with the module. Their
//! replies must be equal byte for byte, including images of accounts, and timers must make the same number of commits.

use scurry_conformance::{Door, EngineDoor, NodeDoor, Script, ScriptStore, Value};
use scurry_ledger::Time;
use scurry_resp::Protocol;
use scurry_resp::table::{CommandId, SCUR, ScurWriteId, Spec};

/// Commands that do something often. Every fourth command is a sentence of the command table instead.
const SHAPES: [&str; 63] = [
    "SCUR.CREATE A BUCKET m U N",
    "SCUR.CREATE A BUCKET m cent 100 BUCKET n octet 50 FLOOR -20",
    "SCUR.STATUS A active",
    "SCUR.STATUS A suspended",
    "SCUR.STATUS A closed",
    "SCUR.STATUS A active IDENTITY B I",
    "SCUR.TOPUP A I B N",
    "SCUR.TOPUP A I O S UNIT U",
    "SCUR.TOPUP A I O S UNIT U PRIORITY N FLOOR N",
    "SCUR.ADJUST A I B N",
    "SCUR.BUCKET A I B FLOOR N",
    "SCUR.BUCKET A I B REMOVE",
    "SCUR.DEBIT A I U N",
    "SCUR.DEBIT A I U S",
    "SCUR.REFUND A I I",
    "SCUR.REFUND A I I S",
    "SCUR.COUNTER A I B N",
    "SCUR.LIMIT A I B UNIT U AMOUNT N",
    "SCUR.LIMIT A I B UNIT U ITEM S AMOUNT N PERIOD hour OFFSET S",
    "SCUR.LIMIT A I B SESSIONS AMOUNT S",
    "SCUR.LIMIT A I B REMOVE",
    "SCUR.CHECK A U N",
    "SCUR.RESERVE A I S ITEM S U REQUESTED S",
    "SCUR.RESERVE A I N ITEM N U REQUESTED N MIN N",
    "SCUR.RESERVE A I S OVERRUN clamp ITEM 1 U REQUESTED S ITEM 2 U REQUESTED S",
    "SCUR.RESERVE A I S CLOSEONDENIAL ITEM 1 U REQUESTED N ITEM 2 U REQUESTED S",
    "SCUR.UPDATE A I S ITEM S U USED S REQUESTED S",
    "SCUR.UPDATE A I N ITEM N U USED N",
    "SCUR.RESERVE A I S KEEPOPEN ITEM 1 U REQUESTED N MIN S",
    "SCUR.RESERVE A I S",
    "SCUR.UPDATE A I S LATEUSE ITEM 1 U USED S",
    "SCUR.TERMINATE A I S LATEUSE OVERRUN clamp ITEM 1 U USED N",
    "SCUR.UPDATE A I S CLOSEONDENIAL ITEM 1 U USED S REQUESTED N",
    "SCUR.UPDATE A I S IFVERSION S",
    "SCUR.TERMINATE A I S ITEM S U USED S",
    "SCUR.TERMINATE A I N",
    "SCUR.RELEASE A I",
    "SCUR.AUDIT A",
    "SCUR.TOTALS",
    "SCUR.DELETE A FORCE",
    "SCUR.CREATE A BUCKET m cent 100 TO T BUCKET n cent 50 FROM T TO T",
    "SCUR.TOPUP A I O S UNIT U TO T",
    "SCUR.BUCKET A I B TO T",
    "SCUR.RESERVE A I S TCC S000 ITEM 1 U REQUESTED S",
    "SCUR.UPDATE A I S TCC S000 ITEM 1 U USED S REQUESTED S",
    "SCUR.CREATE A TXN I BUCKET m cent 100 PERIOD hour OFFSET M AMOUNT S",
    "SCUR.STATUS A active TXN I",
    "SCUR.TOPUP A I O S UNIT U PERIOD hour OFFSET M",
    "SCUR.BUCKET A I B PERIOD hour OFFSET M AMOUNT N",
    "SCUR.BUCKET A I B PERIOD none",
    "SCUR.LIMIT A I B UNIT U AMOUNT N PERIOD hour OFFSET M",
    "SCUR.DEBIT A I ITEM K U S ITEM 7 U N",
    "SCUR.REFUND A I I ITEM K U S",
    "SCUR.RESERVE A I S ITEM K U REQUESTED S",
    "SCUR.UPDATE A I S ITEM K U USED S REQUESTED S",
    "SCUR.GET A",
    "SCUR.GET A",
    "SCUR.GET A",
    "SCUR.DUMP A",
    "SCUR.DUMP A",
    "SCUR.LOAD A IMAGE",
    "SCUR.LOAD A IMAGE REPLACE",
    "SCUR.LOAD A IMAGE REPLACE",
];
/// Commands for chains, and one that a chain refuses.
const LINKS: [&str; 12] = [
    "SCUR.DEBIT A I cent S",
    "DEBIT A I U S",
    "DEBIT A I ITEM K U S ITEM 7 U S",
    "SCUR.TOPUP A I B S",
    "TOPUP A I O S UNIT U PERIOD hour OFFSET M",
    "REFUND A I I S",
    "RESERVE A I S ITEM K U REQUESTED S",
    "SCUR.RESERVE A I S ITEM 1 cent REQUESTED S MIN S ITEM 2 U REQUESTED S",
    "UPDATE A I S ITEM K U USED S REQUESTED S",
    "UPDATE A I S CLOSEONDENIAL ITEM 1 U USED S REQUESTED N",
    "TERMINATE A I S LATEUSE ITEM 1 U USED S",
    "ADJUST A I B S",
];
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "10",
    "50",
    "100",
    "-1",
    "-50",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967295",
    "x",
];

/// Pseudo-random generator with the same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// Returns a random sentence of a grammar as the command table writes it, with the letters of [`SHAPES`] in place of its
/// placeholders. An option that is new in the table is tried without a line here.
fn sentence(random: &mut Random, grammar: &str) -> String {
    let choices = split(grammar, " | ");
    let chosen = choices[random.below(choices.len())];
    let mut words = Vec::new();
    for part in split(chosen, " ") {
        let optional = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
        let repeated = part.strip_prefix('[').and_then(|part| part.strip_suffix("]..."));
        let group = part.strip_prefix('(').and_then(|part| part.strip_suffix(')'));
        let (times, inner) = match (optional, repeated, group) {
            // `[ITEM ...]` repeats the item before it.
            (Some(inner), ..) if inner.ends_with("...") => continue,
            (Some(inner), ..) => (usize::from(random.below(3) == 0), inner),
            (_, Some(inner), _) => (random.below(3), inner),
            (.., Some(inner)) => (1, inner),
            _ => {
                let alternatives: Vec<&str> = part.split('|').collect();
                let word = random.of(&alternatives);
                words.push(letter(random, word).to_owned());
                continue;
            }
        };
        words.extend((0..times).map(|_| sentence(random, inner)));
    }
    words.join(" ")
}

/// Splits a grammar where a separator is outside of brackets.
fn split<'a>(grammar: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, byte) in grammar.bytes().enumerate() {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth -= 1,
            _ if depth == 0 && at >= from && grammar[at..].starts_with(separator) => {
                parts.push(&grammar[from..at]);
                from = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&grammar[from..]);
    parts
}

/// Returns the letter of [`SHAPES`] for a placeholder of the command table; a keyword stays as it is.
fn letter<'a>(random: &mut Random, word: &'a str) -> &'a str {
    match word {
        "account" => "A",
        "session" | "txn" | "debit-txn" | "value" => "I",
        "bucket" | "counter" | "limit" | "kind" => "B",
        "unit" => "U",
        "key" => "K",
        "ms" => "T",
        "minutes" => "M",
        "duration" => "S000",
        "request" | "amount" | "n" | "blob" => random.of(&["S", "S", "N"]),
        keyword => keyword,
    }
}

/// Bound of the time between two commands, ms.
const STEP_MS: usize = 200;
/// Number of commands after which timers run.
const TICK_EVERY: usize = 50;
/// Images kept for loading.
const IMAGES_MAX: usize = 16;

/// Returns a random request, mostly in the shape of the grammar.
fn request(random: &mut Random, step: usize, now: Time, images: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let first = random.below(3);
    if random.below(6) > 0 {
        let account = account(random, step, first);
        return command(random, &SHAPES, &account, step, now, images);
    }
    let mut words = vec![b"SCUR.CHAIN".to_vec()];
    for number in 0..=random.below(3) {
        let is_again = random.below(30) == 0;
        let account = account(random, step, if is_again { first } else { first + number });
        let mut link = command(random, &LINKS, &account, step, now, images);
        let miscount = usize::from(random.below(40) == 0);
        words.extend([link.remove(1), (link.len() + miscount).to_string().into_bytes()]);
        words.extend(link);
    }
    words
}

/// Returns one of three accounts, most of them in one hash slot. Every 2000 steps other accounts replace them.
fn account(random: &mut Random, step: usize, number: usize) -> String {
    let begin = if random.below(12) > 0 { "{a}" } else { "b" };
    format!("{begin}{}", (step / 2_000) * 3 + number % 3)
}

fn command(
    random: &mut Random,
    shapes: &[&str],
    account: &str,
    step: usize,
    now: Time,
    images: &[Vec<u8>],
) -> Vec<Vec<u8>> {
    let (session, transaction) = (format!("s{}", step / 20), format!("t{}", random.below(2_000)));
    let newest = format!("o{:06}", step / 10);
    let mut words = Vec::new();
    let shape = if random.below(4) > 0 {
        random.of(shapes).to_owned()
    } else {
        // A module refuses every transfer.
        let is_write = |spec: &&Spec| matches!(spec.id, CommandId::ScurWrite(id) if id != ScurWriteId::Transfer);
        let writes: Vec<&Spec> = SCUR.iter().filter(is_write).collect();
        let Spec { name, grammar, .. } = writes[random.below(writes.len())];
        format!("{name} {}", sentence(random, grammar))
    };
    for word in shape.split(' ') {
        let time;
        let word = match word {
            "T" => {
                let ahead = i64::try_from(random.below(60_000)).unwrap_or(0);
                time = now.plus_ms(ahead - 5_000).0.to_string();
                &time
            }
            "M" => {
                // The offset makes an hour begin at the next minute.
                time = (59 - now.0 / 60_000 % 60).to_string();
                &time
            }
            "K" => random.of(&["1", "07", "10.4711"]),
            "S000" => random.of(&["1000", "5000", "20000"]),
            "IMAGE" => {
                words.push(image(random, images));
                continue;
            }
            "A" => account,
            "I" => random.of(&[&session, &session, &transaction, &transaction, "s1", "t1", ""]),
            "U" => random.of(&["cent", "octet", "cent", "cent", "far-too-long-a-unit"]),
            "B" => random.of(&["m", "n", "m", &newest]),
            "O" => &newest,
            "N" => random.of(&NUMBERS),
            "S" => random.of(&["1", "2", "5", "20"]),
            fixed => fixed,
        };
        words.push(word.as_bytes().to_vec());
    }
    match random.below(20) {
        0 if words.len() > 2 => drop(words.pop()),
        1 => words.push(random.of(&["ITEM", "FLOOR", "7", "DATA"]).as_bytes().to_vec()),
        _ => {}
    }
    words
}

/// Returns a dumped image, sometimes with a changed byte.
fn image(random: &mut Random, images: &[Vec<u8>]) -> Vec<u8> {
    if images.is_empty() {
        return b"none".to_vec();
    }
    let mut image = images[random.below(images.len())].clone();
    if random.below(3) == 0 {
        let at = random.below(image.len());
        image[at] = u8::try_from(random.below(256)).unwrap_or_default();
    }
    image
}

/// Both stores, and counts of what happened.
struct Pair {
    shard: Box<dyn ScriptStore>,
    node: Box<dyn ScriptStore>,
    name: &'static str,
    refused: usize,
    loaded: usize,
    due: usize,
}

/// Converts a reply of the engine to that of a node: the server itself checks the number of arguments, and its error
/// shows no syntax.
fn as_the_host(reply: &[u8]) -> Vec<u8> {
    let end = b"' command";
    let counted = reply.starts_with(b"-ERR wrong number of arguments for '");
    match reply.windows(end.len()).position(|part| part == end).filter(|_| counted) {
        Some(at) => [&reply[..at + end.len()], b"\r\n"].concat(),
        None => reply.to_vec(),
    }
}

impl Pair {
    /// Sends a command to both and compares the replies.
    fn send(&mut self, now: Time, words: &[Vec<u8>]) -> Vec<u8> {
        let what = format!("{}, {}: {}", self.name, now.0, words.join(&b' ').escape_ascii());
        let expected = self.shard.send(now, words).unwrap_or_else(|why| panic!("{what}: {why}"));
        let answered = self.node.send(now, words).unwrap_or_else(|why| panic!("{what}: {why}"));
        assert_eq!(
            answered.escape_ascii().to_string(),
            as_the_host(&expected).escape_ascii().to_string(),
            "{what}"
        );
        self.refused += usize::from(expected.first() == Some(&b'-'));
        expected
    }

    fn tick(&mut self, now: Time) {
        let expected = self.shard.tick(now).expect("the shard's timers run");
        let commits = self.node.tick(now).expect("the server's timers run");
        assert_eq!(commits, expected, "{}, {}: commits of timers", self.name, now.0);
        self.due += expected;
    }
}

/// Runs random commands through both. Some but not all must be refused, images must be loaded, and something must
/// become due.
fn same(door: &NodeDoor, protocol: Protocol, commands: usize) {
    let script = Script::parse("differential", "+0").expect("a script that sets the clock");
    if !door.takes(&script) {
        eprintln!("skipped: the module that SCURRY_MODULE names has no clock that can be set");
        return;
    }
    let shard = EngineDoor.open(&script, protocol).expect("a shard");
    let node = door.open(&script, protocol).expect("a server");
    let mut pair = Pair { shard, node, name: door.name(), refused: 0, loaded: 0, due: 0 };
    let mut random = Random(7);
    let (mut now, mut images) = (Time(1_700_000_000_000), Vec::new());
    for step in 0..commands {
        now = now.plus_ms(i64::try_from(random.below(STEP_MS)).unwrap_or(0));
        let words = request(&mut random, step, now, &images);
        let reply = pair.send(now, &words);
        match (words[0].as_slice(), Value::read_whole(&reply).expect("a reply")) {
            (b"SCUR.DUMP", Value::Word(image)) => {
                images.truncate(IMAGES_MAX - 1);
                images.insert(0, image);
            }
            (b"SCUR.LOAD", Value::Word(_)) => {
                pair.loaded += 1;
                pair.send(now, &[b"SCUR.GET".to_vec(), words[1].clone()]);
                pair.send(now, &[b"SCUR.AUDIT".to_vec(), words[1].clone()]);
            }
            _ => {}
        }
        if step % TICK_EVERY == 0 {
            pair.tick(now);
        }
    }
    let Pair { name, refused, loaded, due, .. } = pair;
    println!("{name}: {commands} commands, {refused} refused, {loaded} loaded, {due} came due");
    assert!((commands / 10..commands * 9 / 10).contains(&refused), "{refused} refused");
    assert!(loaded > commands / 100 && due > commands / 100, "{loaded} loaded, {due} came due");
}

#[test]
fn a_node_of_valkey_answers_as_the_engine() {
    same(&NodeDoor::find("valkey").expect("libscurry.so"), Protocol::Resp3, 100_000);
}

#[test]
fn a_node_of_valkey_9_answers_as_the_engine() {
    if let Some(door) = NodeDoor::valkey_9().expect("libscurry.so") {
        same(&door, Protocol::Resp3, 20_000);
    }
}

#[test]
fn a_node_of_redis_answers_as_the_engine() {
    same(&NodeDoor::find("redis").expect("libscurry.so"), Protocol::Resp2, 20_000);
}
