//! Compares everything that a shard can show with the expected state.

use crate::world::{ACCOUNTS, CheckResult, KEYS, World};
use scurry_codec::{ChunkWriter, Chunked, Positions, Seal, SnapshotEntry, read_chunk};
use scurry_engine::{EntityState, KeyKind, Shard, checksum};
use scurry_ledger::{AccountContribution, Name, Time, Totals, validate, view};
use scurry_model::KeyContent;
use std::collections::{BTreeMap, BTreeSet};

fn same<T: PartialEq + std::fmt::Debug>(what: &str, shard: &T, model: &T) -> CheckResult {
    if shard == model { Ok(()) } else { Err(format!("{what}: shard {shard:?}, model {model:?}")) }
}

/// Compares accounts, identities, totals, keys, the index of entities and the memory counts.
pub(crate) fn audit(shard: &mut Shard, world: &World, now: Time) -> CheckResult {
    let mut totals = Totals::default();
    for (pair, id) in world.pairs.iter().zip(ACCOUNTS) {
        totals.replace(&AccountContribution::default(), pair.account.as_ref());
        let seen = pair.account.as_ref().map(|account| view(account, now, &pair.limits));
        let key = shard.hasher();
        let found = shard.account(now, key.key(id)).ok();
        same(&format!("account {}", id.escape_ascii()), &found, &seen.as_deref())?;
        if let Some(account) = found {
            let at = account.changed_at.max(now);
            validate(account, at).map_err(|violation| violation.to_string())?;
        }
    }
    by_identity(shard, world)?;
    let others = world.keys.held.values().filter(|held| **held == KeyContent::Account).count();
    // Accounts under the other keys have no buckets, so they change only the number of accounts.
    totals.accounts += others as u64;
    same("totals", &rows(shard.totals())?, &rows(&totals)?)?;
    for bytes in KEYS {
        let held = world.keys.at(now.0, bytes).cloned();
        same(&format!("key {bytes:?}"), &read(shard, now, bytes), &held)?;
    }
    same("keys", &scanned(shard, now), &shown(world, now))?;
    let values: BTreeSet<&Vec<u8>> =
        world.keys.held.values().filter_map(|held| entity_value(held)).collect();
    for value in values {
        let is_so = |held: &KeyContent| entity_value(held) == Some(value);
        let expected: BTreeSet<Vec<u8>> = world
            .keys
            .shown(now.0)
            .filter(|(_, held)| is_so(held))
            .map(|(key, _)| key.to_vec())
            .collect();
        same("entities of a value", &found(shard, now, value)?, &expected)?;
    }
    let stats = shard.stats();
    same("memory", &stats.memory.sum(), &stats.memory_bytes)
}

/// Checks that each identity finds exactly the accounts that have it.
fn by_identity(shard: &mut Shard, world: &World) -> CheckResult {
    let mut expected: BTreeMap<(&str, &[u8]), BTreeSet<Vec<u8>>> = BTreeMap::new();
    for (pair, id) in world.pairs.iter().zip(ACCOUNTS) {
        for identity in pair.account.iter().flat_map(|account| &account.identities) {
            let identity = (identity.kind.as_str(), identity.value.as_bytes());
            expected.entry(identity).or_default().insert(id.to_vec());
        }
    }
    for ((kind, value), ids) in expected {
        let (mut found, name) = (BTreeSet::new(), Name::new(kind.as_bytes()));
        let name = name.ok_or("a kind is no name")?;
        shard.find_accounts(name, value, usize::MAX, |id| {
            found.insert(id.to_vec());
        });
        same(&format!("accounts of {kind} {}", value.escape_ascii()), &found, &ids)?;
    }
    Ok(())
}

fn entity_value(held: &KeyContent) -> Option<&Vec<u8>> {
    match held {
        KeyContent::Entity { value, .. } => Some(value),
        _ => None,
    }
}

/// Reads a key's content; None if the key does not exist.
pub(crate) fn read(shard: &mut Shard, now: Time, bytes: &[u8]) -> Option<KeyContent> {
    let hasher = shard.hasher();
    let key = hasher.key(bytes);
    if let Ok(value) = shard.value(now, key) {
        return value.map(|value| KeyContent::Value {
            bytes: value.bytes.to_vec(),
            expires: value.expires.map(|time| time.0),
        });
    }
    if let Ok(entity) = shard.entity(now, key) {
        return entity.map(|entity| match entity.state {
            EntityState::Live { value, expires } => KeyContent::Entity {
                value: value.to_vec(),
                version: entity.version.get(),
                expires: expires.map(|time| time.0),
            },
            EntityState::Deleted { at, forget_at } => KeyContent::Tombstone {
                version: entity.version.get(),
                at: at.0,
                expires: Some(forget_at.0),
            },
        });
    }
    shard.account(now, key).ok().map(|_| KeyContent::Account)
}

fn scanned(shard: &Shard, now: Time) -> BTreeSet<(Vec<u8>, KeyKind)> {
    let (mut all, mut cursor) = (BTreeSet::new(), 0);
    loop {
        cursor = shard.scan(now, cursor, 3, |key, kind| {
            all.insert((key.to_vec(), kind));
        });
        if cursor == 0 {
            return all;
        }
    }
}

fn shown(world: &World, now: Time) -> BTreeSet<(Vec<u8>, KeyKind)> {
    let accounts = world.pairs.iter().zip(ACCOUNTS).filter(|(pair, _)| pair.account.is_some());
    let accounts = accounts.map(|(_, id)| (id.to_vec(), KeyKind::Account));
    let others = world.keys.shown(now.0).map(|(key, held)| {
        let kind = match held {
            KeyContent::Value { .. } => KeyKind::Value,
            KeyContent::Account => KeyKind::Account,
            KeyContent::Entity { .. } | KeyContent::Tombstone { .. } => KeyKind::Entity,
        };
        (key.to_vec(), kind)
    });
    accounts.chain(others).collect()
}

fn found(shard: &Shard, now: Time, value: &[u8]) -> Result<BTreeSet<Vec<u8>>, String> {
    let (mut all, mut cursor) = (BTreeSet::new(), 0);
    loop {
        let visit = |key: &[u8]| {
            all.insert(key.to_vec());
        };
        let next = shard.entities_with_value(now, value, cursor, 1, visit);
        cursor = next.map_err(|error| error.to_string())?;
        if cursor == 0 {
            return Ok(all);
        }
    }
}

type Rows = (u64, u64, BTreeMap<String, [i128; 9]>);

/// Returns the number of accounts, the number of sessions, and the sums of each unit that has a sum other than 0.
/// The order in which units were first seen does not matter. Checks I1.
fn rows(totals: &Totals) -> Result<Rows, String> {
    let mut rows = BTreeMap::new();
    for t in &totals.units {
        if !t.conserves() {
            return Err(format!("I1: the totals do not conserve: {t:?}"));
        }
        let sums = [
            t.available,
            t.held,
            t.credited,
            t.refunded,
            t.consumed,
            t.expired,
            t.voided,
            t.overdrawn,
            t.uncollected,
        ];
        if sums.iter().any(|&sum| sum != 0) {
            rows.insert(t.unit.as_str().to_owned(), sums);
        }
    }
    Ok((totals.accounts, totals.sessions, rows))
}

/// Returns the entries of a shard that have not expired, as a snapshot stores them, sorted so that no hash decides the
/// order. Expired entries are left out, because no record says that an entry has expired: one shard may have removed
/// it, and another not yet.
pub fn entries_of(shard: &Shard, now: Time) -> Vec<String> {
    let seal = Seal::new(checksum, 0);
    let mut chunk = ChunkWriter::new(seal);
    shard.copy_chunk(0, usize::MAX, &mut chunk);
    chunk.seal(Positions { from: 0, to: 0 }, 0);
    let mut bytes = Vec::new();
    chunk.take_sealed(&mut bytes);
    let Chunked::Chunk(chunk) = read_chunk(seal, &bytes) else { panic!("it was just sealed") };
    let entries = chunk.entries().map(|entry| entry.expect("it was just written"));
    let is_over = |entry: &SnapshotEntry<'_>| {
        match *entry {
            SnapshotEntry::Value { expires, .. } | SnapshotEntry::Entity { expires, .. } => expires,
            SnapshotEntry::Tombstone { forget_at, .. } => Some(forget_at),
            SnapshotEntry::Account { .. } => None,
        }
        .is_some_and(|expires| expires <= now)
    };
    let mut shown: Vec<String> =
        entries.filter(|entry| !is_over(entry)).map(|entry| format!("{entry:?}")).collect();
    shown.sort_unstable();
    shown
}
