//! Tests of scans of keys and of the index while the table grows, splits, shrinks and merges: a key that exists from
//! the first call to the last is visited exactly once, and each call is bounded.

use scurry_engine::{
    Config, EntityDelete, EntityPut, Expiry, HashKey, Key, KeyKind, Outcome, Shard,
};
use scurry_ledger::{Command, Create, Status, Time};
use std::collections::BTreeMap;

const NOW: Time = Time(1_700_000_000_000);

fn shard(hash_seed: u64) -> Shard {
    Shard::new(Config {
        hash_key: HashKey::known(hash_seed),
        entity_index: true,
        ..Config::default()
    })
}

fn set(shard: &mut Shard, key: &str) {
    shard.set(NOW, shard.key(key.as_bytes()), b"v", Expiry::Never).expect("a plain value");
}

fn put(shard: &mut Shard, key: &str, value: &[u8]) {
    let key = shard.key(key.as_bytes());
    shard.entity_put(NOW, key, value, EntityPut::default()).expect("an entity");
}

/// Number of visits of each key.
#[derive(Default)]
struct Shown(BTreeMap<Vec<u8>, u32>);

impl Shown {
    fn note(&mut self, key: &[u8]) {
        *self.0.entry(key.to_vec()).or_default() += 1;
    }

    /// Counts the visited keys of this prefix, and checks that each was visited once.
    fn once(&self, prefix: &str) -> usize {
        let keys = self.0.iter().filter(|(key, _)| key.starts_with(prefix.as_bytes()));
        keys.inspect(|(key, times)| assert_eq!(**times, 1, "{}", String::from_utf8_lossy(key)))
            .count()
    }
}

#[test]
fn a_scan_shows_every_key_that_stays_while_the_table_grows() {
    for seed in 0..4 {
        let mut shard = shard(seed);
        (0..1_000).for_each(|n| set(&mut shard, &format!("stay:{n}")));
        let (mut shown, mut cursor, mut calls) = (Shown::default(), 0, 0);
        loop {
            cursor = shard.scan(NOW, cursor, 7, |key, kind| {
                assert_eq!(kind, KeyKind::Value);
                shown.note(key);
            });
            if cursor == 0 {
                break;
            }
            assert!(cursor < 1 << 48, "room for the number of a shard");
            // Grows the table from three segments to more than a hundred between the pages.
            if calls < 200 {
                (0..200).for_each(|n| set(&mut shard, &format!("new:{calls}:{n}")));
            }
            calls += 1;
            assert!(calls < 6_500, "the scan ends");
        }
        assert_eq!(shown.once("stay:"), 1_000, "seed {seed}");
        shown.once("new:");
        assert!(shard.len() > 40_000, "the table grew while it was scanned: {}", shard.len());
    }
}

#[test]
fn a_scan_shows_every_key_that_stays_while_the_table_shrinks() {
    for seed in 0..4 {
        let mut shard = shard(seed);
        (0..300).for_each(|n| set(&mut shard, &format!("stay:{n}")));
        (0..30_000).for_each(|n| set(&mut shard, &format!("go:{n}")));
        let (mut shown, mut cursor, mut gone) = (Shown::default(), 0, 0);
        loop {
            cursor = shard.scan(NOW, cursor, 50, |key, _| shown.note(key));
            if cursor == 0 {
                break;
            }
            for _ in 0..500 {
                let key = format!("go:{gone}");
                shard.del(NOW, shard.key(key.as_bytes())).expect("a plain value");
                gone += 1;
            }
        }
        assert_eq!(shown.once("stay:"), 300, "seed {seed}");
        shown.once("go:");
    }
}

/// Accounts are created, deleted and changed between the pages.
#[test]
fn a_list_shows_every_account_that_stays_once_and_as_it_is() {
    for seed in 0..4 {
        let mut shard = shard(seed);
        let run = |shard: &mut Shard, id: &str, command: &Command<'_>| {
            let outcome = shard.execute(NOW, shard.key(id.as_bytes()), command);
            assert!(matches!(outcome, Outcome::Answer { .. }), "{id}: {outcome:?}");
        };
        let create = Command::Create(Create::active(&[]));
        let status = |status| Command::Status { txn: None, status, identities: &[] };
        for n in 0..600 {
            run(&mut shard, &format!("stay:{n}"), &create);
            run(&mut shard, &format!("go:{n}"), &create);
            run(&mut shard, &format!("go:{n}"), &status(Status::Closed));
            set(&mut shard, &format!("plain:{n}"));
            put(&mut shard, &format!("entity:{n}"), b"x");
        }
        let (mut shown, mut cursor, mut step) = (Shown::default(), 0, 0);
        loop {
            let mut listed = 0;
            let mut found = Vec::new();
            cursor = shard.scan_accounts(cursor, 40, |id, status, version| {
                shown.note(id);
                found.push((id.to_vec(), status, version));
                listed += 1;
            });
            assert!(listed <= 42, "{listed} listed in one step");
            for (id, status, version) in found {
                let key = shard.key(&id);
                let account = shard.account(NOW, key).expect("it was listed");
                assert_eq!((status, version), (account.status, account.version));
            }
            if cursor == 0 {
                break;
            }
            run(&mut shard, &format!("go:{step}"), &Command::Delete { force: true, if_txn: None });
            run(&mut shard, &format!("stay:{step}"), &status(Status::Suspended));
            (0..20).for_each(|n| run(&mut shard, &format!("new:{step}:{n}"), &create));
            step += 1;
        }
        assert_eq!(shown.once("stay:"), 600, "seed {seed}");
        assert!(step > 10, "the list was long: {step} steps");
        shown.once("go:");
        shown.once("new:");
        assert_eq!((shown.once("plain:"), shown.once("entity:")), (0, 0));
    }
}

#[test]
fn one_call_of_a_scan_is_bounded() {
    let mut shard = shard(1);
    (0..20_000).for_each(|n| set(&mut shard, &format!("key:{n}")));
    let (mut cursor, mut calls) = (0, 0);
    loop {
        let mut visited = 0;
        cursor = shard.scan(NOW, cursor, 10, |_, _| visited += 1);
        assert!(visited <= 12, "{visited} visited");
        calls += 1;
        if cursor == 0 {
            break;
        }
    }
    assert!((2_000..2_500).contains(&calls), "{calls} calls");
    let mut all = 0;
    while {
        cursor = shard.scan(NOW, cursor, usize::MAX, |_, _| all += 1);
        cursor != 0
    } {}
    assert_eq!(all, 20_000);
}

#[test]
fn what_is_not_a_key_is_not_shown() {
    let mut shard = shard(2);
    set(&mut shard, "plain");
    put(&mut shard, "entity", b"x");
    put(&mut shard, "deleted", b"x");
    shard.entity_del(NOW, shard.key(b"deleted"), EntityDelete::default()).expect("an entity");
    let soon = Expiry::At(NOW.plus_ms(5));
    shard.set(NOW, shard.key(b"expired"), b"v", soon).expect("a plain value");
    let mut shown = vec![];
    let cursor = shard.scan(NOW.plus_ms(5), 0, 100, |key, kind| shown.push((key.to_vec(), kind)));
    shown.sort();
    let expected = [(b"entity".to_vec(), KeyKind::Entity), (b"plain".to_vec(), KeyKind::Value)];
    assert_eq!((cursor, shown), (0, expected.to_vec()));
}

/// A million entities may share a value: its pages stay correct while entities are created, removed and change their
/// value.
#[test]
fn pages_of_one_value_show_every_entity_that_keeps_it() {
    for seed in 0..4 {
        let mut shard = shard(seed);
        for n in 0..3_000 {
            put(&mut shard, &format!("stay:{n}"), b"red");
            put(&mut shard, &format!("go:{n}"), b"red");
            put(&mut shard, &format!("other:{n}"), b"blue");
        }
        let (mut shown, mut cursor, mut page) = (Shown::default(), 0, 0);
        loop {
            let visit = |key: &[u8]| shown.note(key);
            cursor = shard.entities_with_value(NOW, b"red", cursor, 40, visit).expect("an index");
            if cursor == 0 {
                break;
            }
            for n in page * 20..page * 20 + 20 {
                put(&mut shard, &format!("new:{n}"), b"red");
                put(&mut shard, &format!("go:{n}"), b"green");
                let key = format!("go:{}", 2_999 - n);
                let options = EntityDelete::default();
                shard.entity_del(NOW, shard.key(key.as_bytes()), options).expect("an entity");
            }
            page += 1;
        }
        assert_eq!((shown.once("stay:"), shown.once("other:")), (3_000, 0), "seed {seed}");
        shown.once("go:");
    }
}

#[test]
fn the_index_holds_what_lives_and_nothing_else() {
    let mut shard = shard(3);
    let find = |shard: &Shard, now, value: &[u8]| {
        let mut found = 0;
        let cursor = shard.entities_with_value(now, value, 0, 10_000, |_| found += 1);
        assert_eq!(cursor, Ok(0));
        found
    };
    for n in 0..1_000 {
        let key = format!("{n}");
        let expiry = if n % 2 == 0 { Expiry::Never } else { Expiry::At(NOW.plus_ms(100)) };
        let options = EntityPut { expiry, ..EntityPut::default() };
        shard.entity_put(NOW, shard.key(key.as_bytes()), b"red", options).expect("an entity");
    }
    assert_eq!(find(&shard, NOW.plus_ms(99), b"red"), 1_000);
    assert_eq!(find(&shard, NOW.plus_ms(100), b"red"), 500, "what has expired is not found");
    let full = shard.stats().memory.index;
    while shard.tick(NOW.plus_ms(200)) > 0 {}
    assert_eq!(shard.stats().memory.index, full / 2, "timers take out of the index too");
    for n in (0..1_000).step_by(2) {
        put(&mut shard, &format!("{n}"), if n % 4 == 0 { b"blue" } else { b"red" });
    }
    assert_eq!((find(&shard, NOW, b"red"), find(&shard, NOW, b"blue")), (250, 250));
    assert_eq!(shard.stats().memory.index, full / 2, "an old value leaves the index");
    for n in (0..1_000).step_by(2) {
        let key = format!("{n}");
        let options = EntityDelete::default();
        shard.entity_del(NOW, shard.key(key.as_bytes()), options).expect("an entity");
    }
    assert_eq!((shard.stats().memory.index, find(&shard, NOW, b"red")), (0, 0));
}

#[test]
fn without_an_index_find_is_refused() {
    let shard = Shard::new(Config::default());
    assert!(shard.entities_with_value(NOW, b"x", 0, 10, |_| ()).is_err());
}

/// Touching only preloads, for any keys and any number of them.
#[test]
fn keys_may_be_touched_before_they_are_used() {
    let mut shard = shard(4);
    (0..2_000).for_each(|n| set(&mut shard, &format!("key:{n}")));
    let names: Vec<String> = (0..200).map(|n| format!("key:{}", n * 20)).collect();
    let keys: Vec<_> = names.iter().map(|name| shard.key(name.as_bytes())).collect();
    let hashes: Vec<_> = keys.iter().map(Key::hash).collect();
    let before = shard.stats();
    shard.touch(&hashes);
    shard.touch(&[]);
    assert_eq!(shard.stats(), before);
    let other = Shard::new(Config { hash_key: HashKey::known(4), ..Config::default() });
    let same = names.iter().zip(&keys).all(|(name, key)| {
        other.key(name.as_bytes()).hash() == key.hash()
            && shard.hasher().key(name.as_bytes()).hash() == key.hash()
    });
    assert!(same, "shards of one seed share their keys");
    let found = keys.iter().filter(|key| shard.exists(NOW, **key)).count();
    assert_eq!(found, 100, "those below 2,000");
}
