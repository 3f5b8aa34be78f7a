//! Keys chosen by an attacker to collide. Probes are counted, no time is measured.

use crate::support::{Server, array};

/// First shared seed of foldhash 0.2: a key of 17 to 31 bytes that ends with it twice has the same hash whatever comes
/// before, under every seed.
const WORD: u64 = 0xc0ac_29b7_c97c_50dd;
const KEYS: u32 = 2_000;
/// Number of probes from which the log warns: more cannot be chance.
const PROBE_MAX: u32 = 16;

#[test]
fn keys_of_a_known_pattern_are_compared_as_rarely_as_others() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let pattern = [WORD; 2].map(u64::to_le_bytes).concat();
    let keys: Vec<Vec<u8>> =
        (0..KEYS).map(|number| [&number.to_le_bytes()[..], &pattern].concat()).collect();
    for chunk in keys.chunks(200) {
        let sets: Vec<u8> = chunk.iter().flat_map(|key| array(&[b"SET", key, b"v"])).collect();
        client.send(sets);
        client.expect(&"+OK\r\n".repeat(chunk.len()));
    }
    let mut exists = vec![&b"EXISTS"[..]];
    exists.extend(keys.iter().map(Vec::as_slice));
    client.send(array(&exists));
    client.expect(&format!(":{KEYS}\r\n"));
    client.send("INFO stats\r\n");
    let info = client.bulk();
    let line = info.lines().find_map(|line| line.strip_prefix("longest_probe:"));
    let longest: u32 = line.and_then(|number| number.trim().parse().ok()).expect("INFO has it");
    assert!((1..=PROBE_MAX).contains(&longest), "a look-up compares {longest} keys");
}
