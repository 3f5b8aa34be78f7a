//! Tests with keys that were chosen to collide. An attacker knows all constants of the public hash functions, but not
//! this table's secret: a look-up must compare as few of these keys as of any others. Steps are counted; nothing is
//! timed.

use scurry_engine::{Config, Expiry, HashKey, PROBE_LEN_MAX, Shard};
use scurry_ledger::Time;

const NOW: Time = Time(1_700_000_000_000);
/// Keys of one attack: a linear search would compare this many.
const KEYS: u32 = 2_000;

/// Words that make known hash functions lose preceding input: a product with 0 is 0, and a word combined with itself is
/// 0. They are the constants of foldhash, wyhash and rapidhash, xxh3, ahash, FxHash and FNV, and words of one bit or
/// none.
const WORDS: [u64; 26] = [
    0xc0ac_29b7_c97c_50dd, // foldhash 0.2, the first of its six shared seeds
    0x3f84_d5b5_b547_0917,
    0x9216_d5d9_8979_fb1b,
    0xd131_0ba6_98df_b5ac,
    0x2ffd_72db_d01a_dfb7,
    0xb8e1_afed_6a26_7e96,
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
    0xbe54_66cf_34e9_0c6c,
    0xa076_1d64_78bd_642f, // wyhash
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
    0x2d35_8dcc_aa6c_78a5, // rapidhash
    0x8bb8_4b93_962e_acc9,
    0x4b33_a62e_d433_d4a3,
    0xbe4b_a423_396c_feb8, // xxh3's secret
    0x5851_f42d_4c95_7f2d, // ahash without AES
    0x517c_c1b7_2722_0a95, // FxHash
    0xcbf2_9ce4_8422_2325, // FNV-1a
    0,
    u64::MAX,
    1 << 63,
];

/// Returns the most keys that one look-up compares while these keys are written and read.
fn longest_probe(secret: HashKey, keys: impl Iterator<Item = Vec<u8>>) -> u32 {
    let mut shard = Shard::new(Config { hash_key: secret, ..Config::default() });
    for key in keys {
        let key = shard.key(&key);
        shard.set(NOW, key, b"v", Expiry::Never).expect("there is room");
        assert!(shard.exists(NOW, key));
    }
    shard.stats().longest_probe
}

/// Builds a key of this length from a pattern, with a number at offset `at`.
fn around(number: u32, pattern: [u64; 2], len: usize, at: usize) -> Vec<u8> {
    let pattern = pattern.map(u64::to_le_bytes).concat();
    let mut key: Vec<u8> = pattern.iter().copied().cycle().take(len).collect();
    key[at..at + 4].copy_from_slice(&number.to_le_bytes());
    key
}

/// foldhash's fast hash of keys of 17 to 31 bytes multiplies twice with their last sixteen bytes. When these are its
/// first shared seed twice, both products are 0, whatever precedes them and whatever the table's seed is.
#[test]
fn one_pattern_makes_all_keys_collide_in_no_table() {
    for secret in 0..4 {
        let keys = (0..KEYS).map(|number| {
            let mut key = number.to_le_bytes().to_vec();
            key.extend([WORDS[0]; 2].map(u64::to_le_bytes).concat());
            key
        });
        let longest = longest_probe(HashKey::known(secret), keys);
        assert!(longest <= PROBE_LEN_MAX, "secret {secret}: a look-up compares {longest} keys");
    }
}

/// The same for every constant, alone and in pairs, at each length up to 40 bytes and each offset of the number.
#[test]
fn no_public_constant_makes_keys_collide() {
    let mut places = (0..).map(|seed: u64| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
    let mut next = |below: usize| usize::try_from(places.next().unwrap_or(0)).unwrap_or(0) % below;
    for (first, &word) in WORDS.iter().enumerate() {
        for pattern in [[word; 2], [word, WORDS[next(WORDS.len())]]] {
            for len in [8, 16, 20, 31, 32, 40] {
                let at = next(len - 3);
                let keys = (0..KEYS / 4).map(|number| around(number, pattern, len, at));
                let longest = longest_probe(HashKey::known(first as u64), keys);
                assert!(
                    longest <= PROBE_LEN_MAX,
                    "{pattern:x?}, {len} bytes, a number at {at}: a look-up compares {longest} keys"
                );
            }
        }
    }
}

/// Keys that collide under one secret, found by search, do not under another: what an attacker learns of a table is
/// worthless after a restart.
#[test]
fn keys_that_collide_under_a_known_secret_do_not_under_another() {
    let (known, other) = (HashKey::known(1), HashKey::known(2));
    let hasher = scurry_engine::KeyHasher::new(known);
    // The lowest bits choose the slot, the highest seven are the tag.
    let chosen = |hash: u64| hash & 0x1f == 0 && hash >> 59 == 0;
    let keys = || {
        let keys = (0_u32..).map(|number| number.to_string().into_bytes());
        keys.filter(|key| chosen(hasher.key(key).hash())).take(400)
    };
    let (under_known, under_other) = (longest_probe(known, keys()), longest_probe(other, keys()));
    assert!(under_known > PROBE_LEN_MAX, "these do collide: {under_known}");
    assert!(under_other <= PROBE_LEN_MAX, "a look-up compares {under_other} keys");
}
