//! Thousands of random commands, most of them wrong: the server answers each one, keeps running, and no unit is created
//! or lost.

use crate::random::Random;
use crate::support::{Client, Server, array};

const ACCOUNTS: [&str; 3] = ["a", "b", "c"];
const COMMANDS: usize = 20_000;

/// Returns a random command, mostly in the form of the grammar.
fn command(random: &mut Random, step: usize) -> Vec<String> {
    let account = ["a", "b", "c", "a", "b", "c", "a", "plain", ""];
    // Ended sessions are remembered, so new ids are used all the time.
    let (session, transaction) = (format!("s{}", step / 20), format!("t{}", random.below(2_000)));
    let id = [&session, &session, &transaction, &transaction, "s1", "t1", ""];
    let unit = ["cent", "octet", "cent", "cent", "cent", "far-too-long-a-unit"];
    let bucket = ["m", "n", "o", "m"];
    let number = [
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
        "9223372036854775808",
        "4294967295",
        "x",
        "",
    ];
    let small = ["1", "2", "5", "20"];
    let duration = ["1ms", "5ms", "20s", "1m", "1500", "60"];
    let shape = random.of(&[
        "SCUR.CREATE A BUCKET B U N",
        "SCUR.CREATE A BUCKET m cent 100 BUCKET n octet 50 FLOOR -20",
        "SCUR.STATUS A active",
        "SCUR.STATUS A suspended",
        "SCUR.STATUS A active IDENTITY B I",
        "SCUR.TOPUP A I B N",
        "SCUR.TOPUP A I B S UNIT U",
        "SCUR.TOPUP A I B S TO N",
        "SCUR.ADJUST A I B N",
        "SCUR.BUCKET A I B FLOOR N",
        "SCUR.BUCKET A I B REMOVE",
        "SCUR.DEBIT A I U N",
        "SCUR.DEBIT A I U S",
        "SCUR.REFUND A I I",
        "SCUR.REFUND A I I S",
        "SCUR.COUNTER A I B N PERIOD day",
        "SCUR.LIMIT A I B UNIT U AMOUNT N PERIOD day",
        "SCUR.LIMIT A I B SESSIONS AMOUNT S",
        "SCUR.LIMIT A I B REMOVE",
        "SCUR.CHECK A U N",
        "SCUR.RESERVE A I S ITEM S U REQUESTED S",
        "SCUR.RESERVE A I N ITEM N U REQUESTED N MIN N",
        "SCUR.RESERVE A I S TCC D OVERRUN clamp ITEM 1 U REQUESTED S ITEM 2 U REQUESTED S",
        "SCUR.UPDATE A I S ITEM S U USED S REQUESTED S",
        "SCUR.UPDATE A I N ITEM N U USED N",
        "SCUR.UPDATE A I S CLOSEONDENIAL ITEM 1 U USED S REQUESTED N",
        "SCUR.UPDATE A I S IFVERSION S",
        "SCUR.TERMINATE A I S ITEM S U USED S",
        "SCUR.TERMINATE A I N",
        "SCUR.RELEASE A I",
        "SCUR.TOPUP A I B S UNIT U ITEM 1 ITEM 2",
        "SCUR.BUCKET A I B ANYITEM",
        "SCUR.CHECK A U S ITEM 1",
        "SCUR.FIND msisdn N SESSION I",
        "SCUR.GET A",
        "SCUR.SESSION A I",
        "SCUR.AUDIT A",
        "SCUR.TOTALS",
        "SET A N",
        "GET A",
        "DEL A",
        "SCUR.DELETE A FORCE",
    ]);
    let mut words: Vec<String> = Vec::new();
    for word in shape.split(' ') {
        let word = match word {
            "A" => random.of(&account),
            "I" => random.of(&id),
            "U" => random.of(&unit),
            "B" => random.of(&bucket),
            "N" => random.of(&number),
            "S" => random.of(&small),
            "D" => random.of(&duration),
            fixed => fixed,
        };
        words.push(word.to_owned());
    }
    match random.below(20) {
        0 => {
            let at = random.below(words.len());
            words.remove(at);
        }
        1 => {
            let (from, to) = (random.below(words.len()), random.below(words.len()));
            words.swap(from, to);
        }
        2 => words.push(random.of(&["ITEM", "FLOOR", "7", "DATA"]).to_owned()),
        _ => {}
    }
    words
}

/// Reads one reply of RESP2, and flattens its integers and texts.
fn reply(client: &mut Client, out: &mut Vec<String>) {
    let line = client.line();
    let (kind, rest) = line.split_at(1);
    match kind {
        "*" => (0..rest.parse().expect("a count")).for_each(|_| reply(client, out)),
        "$" if rest != "-1" => out.push(client.line()),
        "-" => out.push(line),
        "+" | ":" | "$" => out.push(rest.to_owned()),
        _ => panic!("not a reply: {line:?}"),
    }
}

#[test]
fn random_commands_are_answered_and_conserve_units() {
    let server = Server::start(&[]);
    for seed in 1..=4u64 {
        let mut random = Random::new(seed);
        let mut client = server.connect();
        let (mut good, mut refused) = (0, 0);
        for step in 0..COMMANDS / 4 {
            let words = command(&mut random, step);
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            if words.is_empty() {
                continue;
            }
            client.send(array(&words));
            let mut texts = Vec::new();
            reply(&mut client, &mut texts);
            if texts.first().is_some_and(|text| text.starts_with('-')) {
                refused += 1;
            } else {
                good += 1;
            }
        }
        assert!(good > 1_000 && refused > 1_000, "seed {seed}: {good} good, {refused} refused");
        for account in ACCOUNTS {
            client.send(format!("SCUR.AUDIT {account}\r\n"));
            let mut audit = Vec::new();
            reply(&mut client, &mut audit);
            let unknown =
                audit[0].starts_with("-UNKNOWN_ACCOUNT") || audit[0].starts_with("-WRONGTYPE");
            assert!(unknown || audit[..2] == ["ok", "1"], "seed {seed}, {account}: {audit:?}");
        }
        client.send("SCUR.TOTALS\r\n");
        let mut totals = Vec::new();
        reply(&mut client, &mut totals);
        for unit in totals[5..].chunks(11) {
            let amounts: Vec<i128> =
                unit[1..].iter().map(|text| text.parse().expect("an integer")).collect();
            let [available, held, credited, refunded, consumed, expired, voided, ..] = amounts[..]
            else {
                panic!("seed {seed}: {totals:?}")
            };
            let inflow = credited + refunded - consumed - expired - voided;
            assert_eq!(available + held, inflow, "seed {seed}: {unit:?}");
        }
    }
}
