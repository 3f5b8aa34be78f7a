//! Two shards with the same records, one of which is altered behind the records' back.

use super::*;
use crate::entry::Head;
use crate::{Config, EntityDelete, EntityPut, Expiry, LogId, Version};
use scurry_codec::{LogFormat, checked_frame};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemRequest, Name, NewBucket, SessionOptions, SessionRequest,
};

const LOG: LogId = LogId { id: 7, core: 0 };
const START: Time = Time(1_700_000_000_000);
const NODE: u64 = 3;
/// Entries of each kind.
const EACH: usize = 40;
/// The entity that is deleted, and remembered.
const DELETED: usize = 4;

struct Pair {
    leader: Shard,
    follower: Shard,
    /// Greatest cost of a digest.
    cost: usize,
}

impl Pair {
    /// Creates a leader with accounts, whole and in parts, values and entities, and a follower with its records.
    fn new() -> Pair {
        let config = || Config { apart_len: 200, ..Config::default() };
        let (leader, follower) = (Shard::new(config()), Shard::new(config()));
        let mut pair = Pair { leader, follower, cost: usize::MAX };
        pair.leader.keep_journal_in(LOG, LogFormat::Replicated, 1);
        for number in 0..EACH {
            pair.fill(number);
        }
        assert_eq!(pair.follow(), []);
        pair
    }

    fn fill(&mut self, number: usize) {
        let name = |text: &str| Name::new(text.as_bytes()).expect("a name");
        let shard = &mut self.leader;
        let account = format!("account-{number}");
        let key = shard.hasher();
        let key = key.key(account.as_bytes());
        let attributes = BucketAttributes::default();
        let bucket =
            NewBucket { bucket: name("main"), unit: name("octets"), amount: 10_000, attributes };
        let buckets = [bucket];
        let create = Create::active(&buckets);
        shard.execute(START, key, &Command::Create(create));
        let items = [ItemRequest {
            key: 1.into(),
            unit: name("octets"),
            used: None,
            requested: Some(10),
            min: None,
        }];
        let reserve = SessionRequest {
            session: b"s",
            request: 0,
            items: &items,
            options: SessionOptions { tcc_ms: Some(9_000), ..SessionOptions::default() },
            ..SessionRequest::default()
        };
        shard.execute(START, key, &Command::Reserve(reserve));
        // Every fourth account is kept in parts.
        for txn in 0..if number.is_multiple_of(4) { 30 } else { 1 } {
            let txn = format!("debit-{txn}");
            let (unit, amount) = (name("octets"), 1);
            shard.execute(START, key, &Command::Debit { txn: txn.as_bytes(), unit, amount });
        }
        let value = format!("value-{number}");
        let expiry =
            if number.is_multiple_of(2) { Expiry::Never } else { Expiry::At(START.plus_ms(100)) };
        shard.set(START, shard.key(value.as_bytes()), b"some bytes", expiry).expect("a value");
        let entity = format!("entity-{number}");
        let key = shard.key(entity.as_bytes());
        shard.entity_put(START, key, b"200", EntityPut::default()).expect("an entity");
        if number == DELETED {
            shard.entity_del(START, key, EntityDelete::default()).expect("an entity");
        }
    }

    /// Gives the follower what the leader has written. Returns the comparisons.
    fn follow(&mut self) -> Vec<Compared> {
        let journal = self.leader.journal().expect("it keeps one");
        journal.seal(0, START);
        let mut bytes = Vec::new();
        journal.take_sealed(&mut bytes);
        let frame = checked_frame(LOG.seal_in(LogFormat::Replicated), &bytes).expect("a frame");
        self.follower.apply_frame(&frame).expect("it fits");
        self.follower.take_compared()
    }

    /// Compares both, in digests of some entries each.
    fn compare(&mut self, at: Time, has_keys: bool) -> Vec<Compared> {
        let mut from = 0;
        loop {
            let limit = WalkLimit { entries: 10, cost: self.cost };
            let digest = self.leader.digest((NODE, at), from, limit, has_keys);
            let mut bytes = Vec::new();
            digest.encode(&mut bytes);
            self.leader.journal().expect("it keeps one").digest(&bytes);
            from = digest.to;
            if from == 0 {
                return self.follow();
            }
        }
    }

    /// Compares both, and returns the keys that differ.
    fn differing(&mut self) -> Vec<String> {
        let all = self.compare(START, true);
        assert!(all.iter().all(|one| (one.own != one.digest.sum) != one.keys.is_empty()));
        let copies = all.iter().flat_map(|one| &one.differing);
        copies.map(|copy| String::from_utf8_lossy(&copy.key).into_owned()).collect()
    }

    /// Alters an entry of the follower, and returns what is found; then takes it back.
    fn altered(&mut self, key: &str, change: impl Fn(&mut TableEntry)) -> Vec<String> {
        let key = self.follower.hasher().key(key.as_bytes()).hash();
        let place = self.follower.table.guess(key).expect("it is there");
        self.follower.table.update(place, &change);
        let found = self.differing();
        let place = self.follower.table.guess(key).expect("it is there");
        self.follower.table.update(place, change);
        found
    }
}

/// Flips a bit of an entry's value.
fn flip(bit: usize) -> impl Fn(&mut TableEntry) {
    move |entry| {
        let mut value = entry.value().to_vec();
        value[bit / 8] ^= 1 << (bit % 8);
        entry.set_value(&value);
    }
}

#[test]
fn the_same_records_give_the_same_digests() {
    let mut pair = Pair::new();
    assert!(pair.follower.entries() == 3 * EACH);
    for has_keys in [false, true] {
        let all = pair.compare(START, has_keys);
        assert!(!all.is_empty() && all.iter().all(|one| one.own == one.digest.sum), "{all:?}");
        assert_eq!(all.iter().filter(|one| one.digest.to == 0).count(), 1);
    }
    let named: usize = pair
        .compare(START, true)
        .iter()
        .map(|one| one.digest.keys.as_ref().map_or(0, Vec::len))
        .sum();
    assert_eq!(named, 3 * EACH);
}

/// A digest ends within a segment when its entries have cost enough; each entry is in one digest.
#[test]
fn a_digest_of_costly_entries_is_short() {
    let mut pair = Pair::new();
    let whole = pair.compare(START, true).len();
    pair.cost = 5_000;
    let parts = pair.compare(START, true);
    assert!(parts.len() > 5 * whole, "{} digests, and {whole} before", parts.len());
    assert!(parts.iter().all(|one| one.own == one.digest.sum));
    let named = parts.iter().map(|one| one.digest.keys.as_ref().map_or(0, Vec::len));
    assert_eq!(named.sum::<usize>(), 3 * EACH);
    let cost = |one: &Compared| {
        let keys = one.digest.keys.iter().flatten();
        let entries = keys.flat_map(|(hash, _)| pair.follower.table.of_hash(*hash));
        let costs: Vec<usize> = entries.map(|entry| pair.follower.cost_of(entry)).collect();
        costs.iter().sum::<usize>() - costs.iter().max().copied().unwrap_or(0)
    };
    assert!(parts.iter().map(cost).all(|cost| cost <= 5_000), "and at most one entry more");
}

#[test]
fn every_bit_of_every_kind_of_entry_is_compared() {
    let mut pair = Pair::new();
    for key in ["value-1", "entity-2", "account-1", "account-4"] {
        let hash = pair.follower.hasher().key(key.as_bytes()).hash();
        let place = pair.follower.table.guess(hash).expect("it is there");
        let bits = pair.follower.table.at(place).value().len() * 8;
        for bit in 0..bits {
            assert_eq!(pair.altered(key, flip(bit)), [key], "bit {bit} of {bits}");
        }
    }
    assert_eq!(pair.differing(), Vec::<String>::new());
}

#[test]
fn a_deleted_entity_is_compared() {
    let mut pair = Pair::new();
    let key = format!("entity-{DELETED}");
    let place = pair.follower.table.find(pair.follower.key(key.as_bytes())).expect("it is there");
    pair.follower.table.update(place, |entry| {
        assert_eq!(entry.kind(), TableEntryKind::Tombstone);
        let version = Version::new(entry.version().get() + 1).expect("in range");
        entry.set_head(Head { kind: entry.kind(), expires: entry.expires(), version });
    });
    assert_eq!(pair.differing(), [key]);
}

#[test]
fn what_an_account_keeps_apart_is_compared() {
    let mut pair = Pair::new();
    let key = pair.follower.key(b"account-4");
    let place = pair.follower.table.find(key).expect("it is there");
    assert!(is_entry_in_parts(pair.follower.table.at(place)));
    let entry = |shard: &Shard| shard.table.at(place).value().to_vec();
    let before = entry(&pair.follower);
    let txn = Command::Debit {
        txn: b"other",
        unit: Name::new(b"octets").expect("a name"),
        amount: 99_999,
    };
    // It is denied, so only what is remembered differs, and the version.
    pair.follower.execute(START, pair.follower.key(b"account-4"), &txn);
    pair.follower.table.update(place, |entry| entry.set_value(&before));
    assert_eq!(pair.differing(), ["account-4"]);
}

#[test]
fn a_key_that_a_node_lacks_or_has_alone_is_compared() {
    let mut pair = Pair::new();
    pair.follower.del(START, pair.follower.key(b"value-1")).expect("a value");
    let all = pair.compare(START, true);
    let keys: Vec<u64> = all.iter().flat_map(|one| one.keys.clone()).collect();
    assert_eq!(keys, [pair.follower.key(b"value-1").hash()]);
    assert!(all.iter().all(|one| one.differing.is_empty()), "there is nothing to copy");
    pair.follower.set(START, pair.follower.key(b"alone"), b"x", Expiry::Never).expect("a value");
    assert_eq!(pair.differing(), ["alone"]);
}

#[test]
fn a_timer_that_is_missing_or_late_is_compared_and_an_early_one_is_right() {
    for key in ["account-1", "account-4", "value-1"] {
        let mut pair = Pair::new();
        let hash = pair.follower.key(key.as_bytes()).hash();
        let place = pair.follower.table.guess(hash).expect("it is there");
        pair.follower.arm(hash, place, START);
        assert_eq!(pair.differing(), Vec::<String>::new(), "an early timer is armed again");
        pair.follower.disarm(place);
        assert_eq!(pair.differing(), [key]);
        pair.follower.arm(hash, place, START.plus_ms(100_000_000));
        assert_eq!(pair.differing(), [key]);
    }
}

/// A snapshot leaves out what has expired, so a node may lack it before a record removes it.
#[test]
fn what_has_expired_is_left_out() {
    let mut pair = Pair::new();
    pair.follower.del(START, pair.follower.key(b"value-1")).expect("a value");
    let sums = |all: Vec<Compared>| all.iter().filter(|one| one.own != one.digest.sum).count();
    assert_eq!(sums(pair.compare(START.plus_ms(99), false)), 1);
    assert_eq!(sums(pair.compare(START.plus_ms(100), false)), 0);
}
