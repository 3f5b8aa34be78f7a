//! Commands put together at random, the same ones to a shard of the engine and to a server with
//! the module: the replies are the same, byte for byte, and so are the totals at the end.

use scurry_conformance::{Door, EngineDoor, NodeDoor, Script};
use scurry_ledger::Time;
use scurry_resp::Protocol;

/// No time is among what they answer, and nothing comes due while they run: the clocks differ.
const SHAPES: [&str; 32] = [
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
    "SCUR.CHECK A U N",
    "SCUR.RESERVE A I S ITEM S U REQUESTED S",
    "SCUR.RESERVE A I N ITEM N U REQUESTED N MIN N",
    "SCUR.RESERVE A I S OVERRUN clamp ITEM 1 U REQUESTED S ITEM 2 U REQUESTED S",
    "SCUR.RESERVE A I S CLOSEONDENIAL ITEM 1 U REQUESTED N ITEM 2 U REQUESTED S",
    "SCUR.UPDATE A I S ITEM S U USED S REQUESTED S",
    "SCUR.UPDATE A I N ITEM N U USED N",
    "SCUR.UPDATE A I S CLOSEONDENIAL ITEM 1 U USED S REQUESTED N",
    "SCUR.UPDATE A I S IFVERSION S",
    "SCUR.TERMINATE A I S ITEM S U USED S",
    "SCUR.TERMINATE A I N",
    "SCUR.RELEASE A I",
    "SCUR.AUDIT A",
    "SCUR.TOTALS",
    "SCUR.DELETE A FORCE",
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

/// A number that follows from the one before it; which one, is for every run the same.
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

/// Mostly in the shape of the grammar, sometimes not.
fn command(random: &mut Random, step: usize) -> Vec<Vec<u8>> {
    let account = format!("a{}", (step / 2_000) * 3 + random.below(3));
    let (session, transaction) = (format!("s{}", step / 20), format!("t{}", random.below(2_000)));
    // A later bucket has a greater name: on one side two may be made in one millisecond, and then
    // their names say which burns first.
    let newest = format!("o{:06}", step / 10);
    let mut words = Vec::new();
    for word in random.of(&SHAPES).split(' ') {
        let word = match word {
            "A" => &account,
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

/// Runs so many commands through both, and returns how many were refused.
fn same(product: &'static str, protocol: Protocol, commands: usize) -> usize {
    let script = Script::parse("differential", "").expect("an empty script");
    let mut shard = EngineDoor.open(&script, protocol).expect("a shard");
    let door = NodeDoor::find(product).expect("libscurry.so");
    let mut node = door.open(&script, protocol).expect("a server");
    let (mut random, mut refused) = (Random(7), 0);
    let now = Time(1_700_000_000_000);
    for step in 0..commands {
        let words = command(&mut random, step);
        let now = now.plus_ms(i64::try_from(step).unwrap_or(0));
        let expected = shard.send(now, &words).expect("the shard answers");
        let answered = node.send(now, &words).expect("the server answers");
        refused += usize::from(expected.first() == Some(&b'-'));
        assert_eq!(
            answered.escape_ascii().to_string(),
            expected.escape_ascii().to_string(),
            "{product}, step {step}: {}",
            words.join(&b' ').escape_ascii()
        );
    }
    refused
}

#[test]
fn a_node_of_valkey_answers_as_the_engine() {
    let refused = same("valkey", Protocol::Resp3, 100_000);
    assert!((10_000..90_000).contains(&refused), "{refused} of 100,000 refused");
}

#[test]
fn a_node_of_redis_answers_as_the_engine() {
    let refused = same("redis", Protocol::Resp2, 20_000);
    assert!((2_000..18_000).contains(&refused), "{refused} of 20,000 refused");
}
