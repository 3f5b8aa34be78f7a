//! Dumps that no server has written are refused with an error, the node keeps running, and nothing changes. A dump that
//! is accepted is a valid account in every respect.

use crate::product::products;
use crate::support::{Client, Node};
use crc::{CRC_64_REDIS, Crc};
use scurry_codec::{decode_account, encode_account};
use scurry_ledger::{Account, Status};

/// Random dumps of each kind.
const ROUNDS: usize = 1_000;

#[test]
fn garbage_is_not_restored() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 1000", "[OK, 1]");
        client.ask("SCUR.RESERVE alice s 0 TCC 600000 ITEM 1 cent REQUESTED 200");
        client.expect("ENTITY.PUT e value VERSION 7", "[1, 7]");
        let totals = client.ask("SCUR.TOTALS");
        for key in ["alice", "e"] {
            let dump = client.bytes(&format!("DUMP {key}"));
            let (mut refused, mut taken) = (0, 0);
            for at in 0..dump.len() - FOOTER_LEN {
                for flip in [0x01, 0x80] {
                    let mut bad = dump.clone();
                    bad[at] ^= flip;
                    seal(&mut bad);
                    match restore(&mut client, &bad).as_str() {
                        "OK" => {
                            taken += 1;
                            let audit = client.ask("SCUR.AUDIT bad");
                            assert!(key == "e" || audit.starts_with("[ok, 1"), "{at}: {audit}");
                        }
                        said => {
                            assert!(said.starts_with('!'), "{said}");
                            refused += 1;
                        }
                    }
                    // Whatever was accepted works with all commands as an account or an entity.
                    for line in ["SCUR.GET bad", "ENTITY.GET bad", "SCUR.TERMINATE bad s 9"] {
                        client.ask(line);
                    }
                    client.ask("DEL bad");
                }
            }
            // Most bytes of an account are amounts, two of which must agree.
            assert!(refused > taken / 4, "{key}: {refused} refused, {taken} taken");
        }
        client.expect("PING", "PONG");
        // Units that did not exist before may have a row of zeros now.
        let left = client.ask("SCUR.TOTALS");
        assert!(left.starts_with(totals.trim_end_matches("]]")), "{left}");
        node.logs("a scurryacc is refused");
    }
}

/// Bytes that announce a module's value and its type.
const HEAD_LEN: usize = 10;
/// Version of the format and checksum, after the value.
const FOOTER_LEN: usize = 10;

/// Corrects the checksum of a dump.
fn seal(dump: &mut [u8]) {
    let end = dump.len() - 8;
    let sum = Crc::<u64>::new(&CRC_64_REDIS).checksum(&dump[..end]);
    dump[end..].copy_from_slice(&sum.to_le_bytes());
}

fn restore(client: &mut Client, dump: &[u8]) -> String {
    client.send(&[b"RESTORE", b"bad", b"0", dump])
}

/// Returns the dump of an account with everything that an image can contain.
fn rich(client: &mut Client) -> Vec<u8> {
    client.expect(
        "SCUR.CREATE rich IDENTITY msisdn 49151 BUCKET main cent 1000 BUCKET data octet 5 TO 4102444800000",
        "[OK, 1]",
    );
    client
        .ask("SCUR.RESERVE rich s 0 TCC 600000 ITEM 1 cent REQUESTED 200 ITEM 2 octet REQUESTED 3");
    client.ask("SCUR.UPDATE rich s 1 ITEM 1 cent USED 150 REQUESTED 100");
    client.ask("SCUR.DEBIT rich d cent 10");
    client.ask("SCUR.COUNTER rich c calls 1 PERIOD day");
    client.ask("SCUR.RESERVE rich closed 0 ITEM 1 cent REQUESTED 20");
    client.ask("SCUR.TERMINATE rich closed 1 ITEM 1 cent USED 20");
    client.bytes("DUMP rich")
}

/// Damages a dump in one of several ways.
fn spoil(dump: &mut Vec<u8>, how: usize, random: &mut Random) {
    let end = dump.len() - FOOTER_LEN;
    match how {
        // Changes some bytes.
        0 => {
            for _ in 0..=random.below(8) {
                let at = random.below(end);
                dump[at] = random.byte();
            }
        }
        // Cuts it short, with its footer at the new end. The footer is shorter than the missing part.
        1 => {
            let cut = HEAD_LEN + random.below(end - HEAD_LEN - 2 * FOOTER_LEN);
            dump.drain(cut..end);
        }
        // Repeats a piece, or inserts bytes.
        2 => {
            let (at, len) = (random.below(end), 1 + random.below(30));
            let piece: Vec<u8> = (0..len).map(|_| random.byte()).collect();
            dump.splice(at..at, piece);
        }
        // Keeps the head of a module's value, followed by random bytes.
        _ => {
            let len = random.below(200);
            let noise: Vec<u8> = (0..len).map(|_| random.byte()).collect();
            dump.splice(random.below(2 * HEAD_LEN)..end, noise);
        }
    }
    seal(dump);
}

#[test]
fn random_dumps_leave_the_node_as_it_was() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        // Without compression, so that the image itself is damaged.
        client.expect("CONFIG SET rdbcompression no", "OK");
        let good = rich(&mut client);
        let totals = client.ask("SCUR.TOTALS");
        let totals = totals.trim_end_matches("]]").to_owned();
        let mut random = Random(7);
        let (mut refused, mut taken) = (0, 0);
        for how in 0..4 {
            for round in 0..ROUNDS {
                let mut bad = good.clone();
                spoil(&mut bad, how, &mut random);
                match restore(&mut client, &bad).as_str() {
                    "OK" => {
                        taken += 1;
                        // By chance it may be a string to the server, or an account.
                        if client.ask("TYPE bad") == "scurryacc" {
                            let audit = client.ask("SCUR.AUDIT bad");
                            assert!(audit.starts_with("[ok,"), "{how}, {round}: {audit}");
                            client.ask("SCUR.DEBIT bad x cent 1");
                            client.ask("SCUR.TERMINATE bad s 9");
                        }
                        client.expect("DEL bad", "1");
                    }
                    said => {
                        let clear = "!ERR Bad data format";
                        assert!(said.starts_with(clear), "{how}, {round}: {said}");
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused > 3 * ROUNDS && taken > 0, "{refused} refused, {taken} taken");
        let left = client.ask("SCUR.TOTALS");
        assert!(left.starts_with(&totals), "{left}");
        client.expect("DBSIZE", "1");
    }
}

/// Returns a dump with another image in place of its own.
fn with_image(dump: &[u8], image: &[u8], other: &[u8]) -> Vec<u8> {
    let found = dump.windows(image.len()).position(|window| window == image);
    let at = found.expect("the image is in the dump as it is");
    // A length below 64 is one byte.
    assert!(image.len() < 64 && other.len() < 64 && usize::from(dump[at - 1]) == image.len());
    let len = [u8::try_from(other.len()).expect("a byte")];
    let mut dump = [&dump[..at - 1], &len, other, &dump[at + image.len()..]].concat();
    seal(&mut dump);
    dump
}

#[test]
fn an_account_that_cannot_go_on_is_not_restored() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("CONFIG SET rdbcompression no", "OK");
        client.expect("SCUR.CREATE alice", "[OK, 1]");
        let (dump, image) = (client.bytes("DUMP alice"), client.bytes("SCUR.DUMP alice"));
        let mut account = Account::empty(Status::Active);
        decode_account(&image, &mut account).expect("an image");
        for version in [1 << 62, (1 << 62) + 1, u64::MAX] {
            account.version = version;
            let mut other = Vec::new();
            encode_account(&account, &mut other);
            let said = restore(&mut client, &with_image(&dump, &image, &other));
            let is_taken = version == 1 << 62;
            let wanted = if is_taken { "OK" } else { "!ERR Bad data format" };
            assert!(said.starts_with(wanted), "{version}: {said}");
            if is_taken {
                client.expect("SCUR.STATUS bad suspended", &format!("[OK, {}]", version + 1));
                client.expect("DEL bad", "1");
            }
        }
        node.logs("a scurryacc is refused: account image is beyond a bound: version");
    }
}

#[test]
fn a_dump_that_is_refused_leaves_the_account_that_it_was_to_replace() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        let good = rich(&mut client);
        let (digest, totals) = (client.digest("rich"), client.ask("SCUR.TOTALS"));
        let mut random = Random(11);
        for _ in 0..200 {
            // The checksum is not corrected.
            let mut bad = good.clone();
            let at = random.below(bad.len());
            bad[at] ^= 1 << random.below(8);
            let said = client.send(&[b"RESTORE", b"rich", b"0", &bad, b"REPLACE"]);
            assert!(said.starts_with("!ERR DUMP payload version or checksum are wrong"), "{said}");
            let mut bad = good.clone();
            spoil(&mut bad, 1, &mut random);
            let said = client.send(&[b"RESTORE", b"rich", b"0", &bad, b"REPLACE"]);
            assert!(said.starts_with("!ERR Bad data format"), "{said}");
        }
        assert_eq!((client.digest("rich"), client.ask("SCUR.TOTALS")), (digest, totals));
        let said = client.send(&[b"RESTORE", b"rich", b"0", &good]);
        assert!(said.starts_with("!BUSYKEY"), "{said}");
        assert_eq!(client.send(&[b"RESTORE", b"rich", b"0", &good, b"REPLACE"]), "OK");
        client.expect("SCUR.DEBIT rich d cent 10", "[OK, 1, 4, 10]");
    }
}

/// Pseudo-random generator with the same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap_or_default()
    }
}
