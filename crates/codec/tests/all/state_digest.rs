//! Digests of memory in the log: their bytes, and bytes that are none.

use scurry_codec::StateDigest;
use scurry_ledger::Time;

fn digest(keys: Option<Vec<(u64, u32)>>) -> StateDigest {
    StateDigest { node: 1, at: Time(-2), from: 3, to: u64::MAX, sum: 5, keys }
}

#[test]
fn digests_come_back_from_their_bytes_and_no_part_of_them_does() {
    for keys in [None, Some(vec![]), Some(vec![(u64::MAX, 7), (8, u32::MAX)])] {
        let digest = digest(keys);
        let mut bytes = Vec::new();
        digest.encode(&mut bytes);
        assert_eq!(StateDigest::decode(&bytes), Ok(Some(digest.clone())));
        for len in (0..bytes.len()).filter(|len| *len < 42 || !(len - 42).is_multiple_of(12)) {
            assert!(StateDigest::decode(&bytes[..len]).is_err(), "{len}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(StateDigest::decode(&longer).is_err());
        bytes[41] = 2;
        assert!(StateDigest::decode(&bytes).is_err(), "no such form");
        bytes[0] = 2;
        assert_eq!(StateDigest::decode(&bytes), Ok(None), "of another version");
    }
}

#[test]
fn the_bytes_are_these() {
    let mut bytes = Vec::new();
    digest(Some(vec![(0x0102, 0x0304)])).encode(&mut bytes);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let numbers =
        ["010100000000000000", "feffffffffffffff", "0300000000000000", "ffffffffffffffff"];
    let rest = ["0500000000000000", "01", "0201000000000000", "04030000"];
    assert_eq!(hex, [numbers.concat(), rest.concat()].concat());
}
