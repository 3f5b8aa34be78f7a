//! Tests that the directory and the sums stay consistent after any history of inserts and removals.

use super::*;
use crate::entry::Head;
use scurry_codec::HashKey;
use std::collections::BTreeMap;

/// Checks all that the rest of the table relies on, recomputed from the entries.
fn validate(table: &Table) {
    let used: Vec<u32> = {
        let mut used = table.directory.clone();
        used.sort_unstable();
        used.dedup();
        used
    };
    assert_eq!(table.directory.len(), 1 << table.depth);
    assert_eq!(used.len() + table.free.len(), table.segments.len());
    let (mut sums, mut slots) = ([KindSum::default(); TableEntryKind::COUNT], 0);
    let mut at_depth = [0; DEPTH_MAX as usize + 1];
    for &segment in &used {
        let depth = u32::from(table.depths[segment as usize]);
        at_depth[depth as usize] += 1;
        let named = table.directory.iter().filter(|&&other| other == segment).count();
        assert_eq!(named, 1 << (table.depth - depth), "slots of segment {segment}");
        let entries = &table.segments[segment as usize];
        assert!(entries.len() <= SEGMENT_LEN_MAX);
        assert!(entries.num_buckets() <= SEGMENT_SLOTS_MAX, "{} slots", entries.num_buckets());
        slots += slot_bytes(entries);
        for entry in entries {
            let hash = table.hasher.hash(entry.key());
            assert_eq!(table.segment_of(hash), segment, "an entry lies where it is looked for");
            let sum = &mut sums[entry.kind() as usize];
            sum.entries += 1;
            sum.bytes += entry.memory_bytes();
        }
    }
    assert_eq!((sums, slots, at_depth), (table.sums, table.slot_bytes, table.at_depth));
    assert!(table.depth == 0 || at_depth[table.depth as usize] > 0, "the directory is no larger");
}

fn put(table: &mut Table, key: &str) {
    let entry = TableEntry::new(Head::plain(TableEntryKind::Value), key.as_bytes(), b"v");
    table.insert(table.hasher().hash(key.as_bytes()), entry);
}

fn take(table: &mut Table, key: &str) {
    let place = table.find(table.hasher().key(key.as_bytes())).expect("it was put");
    assert_eq!(table.remove(place).key(), key.as_bytes());
}

#[test]
fn segments_split_and_merge_and_no_entry_is_lost() {
    for seed in 0..4 {
        let mut table = Table::new(KeyHasher::new(HashKey::known(seed)));
        for round in [20_000, 3_000, 9_000] {
            for n in 0..round {
                put(&mut table, &format!("{n}"));
                if n % 1_777 == 0 {
                    validate(&table);
                }
            }
            assert_eq!(table.len(), round);
            let wide = table.directory.len();
            assert!(wide >= round / SEGMENT_LEN_MAX, "{wide} slots");
            for n in 0..round {
                take(&mut table, &format!("{n}"));
                if n % 1_777 == 0 {
                    validate(&table);
                }
            }
            validate(&table);
            assert_eq!((table.len(), table.directory.len()), (0, 1), "all is merged again");
            assert!(table.slot_bytes <= 1_000, "{} bytes of slots", table.slot_bytes);
        }
    }
}

/// An insert moves the entries of one segment at most, whatever the table holds.
#[test]
fn an_insert_moves_few_entries() {
    let mut table = Table::new(KeyHasher::new(HashKey::known(5)));
    let lens = |table: &Table| -> BTreeMap<u32, usize> {
        let segments = table.directory.iter();
        segments.map(|&segment| (segment, table.segments[segment as usize].len())).collect()
    };
    let (mut splits, mut before) = (0, lens(&table));
    for n in 0..8_000 {
        put(&mut table, &format!("{n}"));
        let after = lens(&table);
        let changed = after.iter().filter(|(segment, len)| before.get(*segment) != Some(*len));
        assert!(changed.count() <= 2, "one segment, or what it was split into");
        splits += after.len() - before.len();
        before = after;
    }
    assert!((18..60).contains(&splits), "{splits} splits");
}

/// Removed keys leave marks in slots, which must not make segments larger.
#[test]
fn slots_of_removed_entries_do_not_make_segments_grow() {
    let mut table = Table::new(KeyHasher::new(HashKey::known(8)));
    (0..3_000).for_each(|n| put(&mut table, &format!("{n}")));
    for n in 3_000..60_000 {
        put(&mut table, &format!("{n}"));
        take(&mut table, &format!("{}", n - 3_000));
    }
    validate(&table);
    assert!(table.slots_memory_bytes() / 3_000 < 160, "{} bytes", table.slots_memory_bytes());
}

/// The memory of slots shrinks when most entries are removed.
#[test]
fn slots_are_given_back() {
    let mut table = Table::new(KeyHasher::new(HashKey::known(6)));
    (0..40_000).for_each(|n| put(&mut table, &format!("{n}")));
    let full = table.slots_memory_bytes();
    (0..40_000).filter(|n| n % 16 != 0).for_each(|n| take(&mut table, &format!("{n}")));
    validate(&table);
    let left = table.slots_memory_bytes();
    assert!(full / 40_000 < 40, "{full} bytes for 40,000");
    assert!(left / 2_500 < 160, "{left} bytes for 2,500");
}

#[test]
fn keys_of_one_hash_lie_side_by_side() {
    let mut table = Table::new(KeyHasher::new(HashKey::known(7)));
    (0..1_000).for_each(|n| put(&mut table, &format!("{n}")));
    let key = table.hasher().key(b"17");
    assert_eq!(table.of_hash(key.hash()).count(), 1);
    let place = table.find(key).expect("it was put");
    assert_eq!((table.at(place).key(), table.guess(key.hash()).is_some()), (&b"17"[..], true));
    assert_eq!(table.find(table.hasher().key(b"no such key")), None);
}

#[test]
fn a_table_that_was_made_for_so_many_moves_few_and_is_the_same_otherwise() {
    for entries in [0_u64, 400, 448, 5_000, 30_000] {
        let mut table = Table::new(KeyHasher::new(HashKey::known(entries)));
        table.make_room(entries);
        validate(&table);
        let made = table.segments.len();
        for n in 0..entries {
            let hash = table.hasher().hash(format!("{n}").as_bytes());
            table.touch_slots(&[hash]);
            put(&mut table, &format!("{n}"));
        }
        validate(&table);
        assert!(made <= 1 || table.segments.len() <= made + made / 4, "{entries}");
        assert!(made <= 1 || entries / made as u64 > SEGMENT_LEN_MADE / 2, "{entries}");
        for n in 0..entries {
            assert!(table.find(table.hasher().key(format!("{n}").as_bytes())).is_some());
        }
        // Existing entries stay.
        table.make_room(1_000_000);
        assert_eq!(table.len() as u64, entries);
        for n in 0..entries {
            take(&mut table, &format!("{n}"));
        }
        validate(&table);
    }
}
