//! Plain values, entities, tombstones and the index of a shard compared with a naive map: after every step, whatever
//! timers ran, both show the same.

use scurry_engine::{
    Config, EntityDelete, EntityPut, EntityState, Expiry, HashKey, KeyKind, Shard, Version,
    WriteError, WrongType,
};
use scurry_ledger::{Command, Create, Status, Time};
use scurry_model::{EntityOp, KeyContent, Keys, Random, Refused, WriteExpiry};
use std::collections::BTreeSet;

const SEEDS: u64 = 400;
const STEPS: usize = 250;
const KEYS: [&[u8]; 6] = [b"a", b"b", b"c", b"", b"key:with:a:longer:name", b"f"];
const VALUES: [&[u8]; 4] = [b"", b"one", b"two", &[7; 300]];
/// Most that a timer may be late, which is its tick, ms.
const LATE_MS_MAX: i64 = 16;

struct Both {
    shard: Shard,
    model: Keys,
    random: Random,
    now: i64,
}

impl Both {
    fn new(seed: u64) -> Both {
        let mut random = Random::new(seed);
        let (tombstone_ms, ahead_ms) = (random.pick(&[1, 40, 500]), random.pick(&[0, 20, 1_000]));
        let node = u16::try_from(random.below(512)).expect("small");
        let config = Config {
            hash_key: HashKey::known(seed),
            node,
            entity_index: true,
            entity_tombstone_ms: tombstone_ms,
            version_ahead_ms_max: ahead_ms,
            ..Config::default()
        };
        let model = Keys::new(node.into(), tombstone_ms, ahead_ms);
        Both { shard: Shard::new(config), model, random, now: 1_700_000_000_000 }
    }

    /// Draws a time near now: before it, now, within a tick, later, or the end of time.
    fn time(&mut self) -> i64 {
        let after = self.random.pick(&[-5, 0, 1, 2, 15, 16, 17, 40, 500, i64::MAX]);
        self.now.saturating_add(after)
    }

    fn until(&mut self) -> WriteExpiry {
        match self.random.below(5) {
            0 | 1 => WriteExpiry::Forever,
            2 => WriteExpiry::Keep,
            _ => WriteExpiry::At(self.time()),
        }
    }

    fn step(&mut self) -> Result<(), String> {
        let (now, at) = (Time(self.now), self.now);
        let (bytes, value) = (self.random.pick(&KEYS), self.random.pick(&VALUES));
        let key = self.shard.key(bytes);
        match self.random.below(13) {
            0..=2 => {
                let until = self.until();
                let found = self.shard.set(now, key, value, expiry(until)).map_err(refused);
                same("SET", &found, &self.model.set(at, bytes, value, until))
            }
            3 => {
                let found = self.shard.append(now, key, value).map_err(refused);
                same("APPEND", &found, &self.model.append(at, bytes, value))
            }
            4 => {
                let found = self.shard.del(now, key).map_err(|WrongType| Refused::WrongType);
                same("DEL", &found, &self.model.del(at, bytes))
            }
            5 => {
                let time = (!self.random.one_in(3)).then(|| self.time());
                let found = self.shard.set_expiry(now, key, time.map(Time));
                let found = found.map_err(|WrongType| Refused::WrongType);
                same("EXPIRE", &found, &self.model.expire(at, bytes, time))
            }
            6..=9 => self.write(bytes, value),
            10 => self.account(bytes),
            _ => {
                self.now += self.random.pick(&[0, 1, 2, 14, 15, 16, 17, 100]);
                self.tick()
            }
        }
    }

    fn write(&mut self, bytes: &[u8], value: &[u8]) -> Result<(), String> {
        let stored = match self.model.at(self.now, bytes) {
            Some(KeyContent::Entity { version, .. } | KeyContent::Tombstone { version, .. }) => {
                *version
            }
            _ => 0,
        };
        let near = u64::try_from(self.now + self.random.pick(&[-20, 0, 20, 21, 900])).expect("now");
        let versions =
            [0, 1, stored.saturating_sub(1), stored, stored + 1, near * 1024 * 512 + 511];
        let op = EntityOp {
            value: (!self.random.one_in(4)).then(|| value.to_vec()),
            version: self.random.one_in(2).then(|| self.random.pick(&versions)),
            if_version: self.random.one_in(4).then(|| self.random.pick(&versions)),
            until: self.until(),
        };
        let (now, key) = (Time(self.now), self.shard.key(bytes));
        let number = |version: Option<u64>| version.map(|v| Version::new(v).expect("63 bits"));
        let (version, if_version) = (number(op.version), number(op.if_version));
        let found = match &op.value {
            Some(value) => {
                let options = EntityPut { version, if_version, expiry: expiry(op.until) };
                self.shard.entity_put(now, key, value, options)
            }
            None => self.shard.entity_del(now, key, EntityDelete { version, if_version }),
        };
        let found = found.map(|w| (w.applied, w.version.get(), w.existed)).map_err(refused);
        same(&format!("{op:?}"), &found, &self.model.write(self.now, bytes, &op))
    }

    /// Creates an account, or deletes an existing one.
    fn account(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (now, key) = (Time(self.now), self.shard.key(bytes));
        let buckets = [];
        let create = Create::active(&buckets);
        let command = match self.model.at(self.now, bytes) {
            Some(KeyContent::Account) => {
                let closed = Command::Status { txn: None, status: Status::Closed, identities: &[] };
                self.shard.execute(now, key, &closed);
                Command::Delete { force: true, if_txn: None }
            }
            _ => Command::Create(create),
        };
        let found = match self.shard.execute(now, key, &command) {
            scurry_engine::Outcome::Answer { .. } => Ok(()),
            scurry_engine::Outcome::WrongType => Err(Refused::WrongType),
            other => return Err(format!("{command:?}: {other:?}")),
        };
        let expected = match self.model.at(self.now, bytes) {
            None => {
                self.model.held.insert(bytes.to_vec(), KeyContent::Account);
                Ok(())
            }
            Some(KeyContent::Account) => {
                self.model.held.remove(bytes);
                Ok(())
            }
            Some(_) => Err(Refused::WrongType),
        };
        same("CREATE or DELETE", &found, &expected)
    }

    /// Runs timers. Existing entries stay; entries that expired long ago are gone, with their timers.
    fn tick(&mut self) -> Result<(), String> {
        while self.shard.tick(Time(self.now)) > 0 {}
        let stats = self.shard.stats();
        let entries = stats.keys + stats.tombstones;
        let alive = |since: i64| {
            let held = self.model.held.values();
            held.filter(move |held| held.expires().is_none_or(|expires| expires > since))
        };
        let (least, most) = (alive(self.now).count(), alive(self.now - LATE_MS_MAX));
        let most = most.count();
        if entries < least as u64 || entries > most as u64 {
            return Err(format!("{entries} entries, but {least} to {most} of the model"));
        }
        let timed = alive(self.now - LATE_MS_MAX).filter(|held| held.expires().is_some()).count();
        if stats.timers > timed as u64 {
            return Err(format!("{} timers for {timed} entries that expire", stats.timers));
        }
        Ok(())
    }

    /// Compares everything that can be read.
    fn look(&mut self) -> Result<(), String> {
        let (now, at) = (Time(self.now), self.now);
        for bytes in KEYS {
            let held = self.model.at(at, bytes).cloned();
            let name = String::from_utf8_lossy(bytes);
            same(
                &format!("kind of {name}"),
                &self.shard.kind(now, self.shard.key(bytes)),
                &kind(&held),
            )?;
            same(&format!("{name}"), &read(&mut self.shard, now, bytes), &held)?;
        }
        let shown: BTreeSet<_> = self
            .model
            .shown(at)
            .map(|(key, held)| (key.to_vec(), kind(&Some(held.clone()))))
            .collect();
        let (mut scanned, mut cursor) = (BTreeSet::new(), 0);
        loop {
            cursor = self.shard.scan(now, cursor, 2, |key, kind| {
                scanned.insert((key.to_vec(), Some(kind)));
            });
            if cursor == 0 {
                break;
            }
        }
        same("SCAN", &scanned, &shown)?;
        for value in VALUES {
            let has = |held: &KeyContent| matches!(held, KeyContent::Entity { value: v, .. } if v == value);
            let shown = self.model.shown(at).filter(|(_, held)| has(held));
            let expected: BTreeSet<Vec<u8>> = shown.map(|(key, _)| key.to_vec()).collect();
            same("FIND", &find(&self.shard, now, value), &expected)?;
        }
        let stats = self.shard.stats();
        same("memory", &stats.memory.sum(), &stats.memory_bytes)?;
        same("index", &(stats.memory.index > 0), &(stats.entities > 0))
    }
}

fn find(shard: &Shard, now: Time, value: &[u8]) -> BTreeSet<Vec<u8>> {
    let (mut found, mut cursor) = (BTreeSet::new(), 0);
    loop {
        let visit = |key: &[u8]| assert!(found.insert(key.to_vec()), "found twice");
        cursor = shard.entities_with_value(now, value, cursor, 1, visit).expect("an index");
        if cursor == 0 {
            return found;
        }
    }
}

fn read(shard: &mut Shard, now: Time, bytes: &[u8]) -> Option<KeyContent> {
    let key = shard.key(bytes);
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

fn kind(held: &Option<KeyContent>) -> Option<KeyKind> {
    match held {
        None | Some(KeyContent::Tombstone { .. }) => None,
        Some(KeyContent::Account) => Some(KeyKind::Account),
        Some(KeyContent::Value { .. }) => Some(KeyKind::Value),
        Some(KeyContent::Entity { .. }) => Some(KeyKind::Entity),
    }
}

fn expiry(until: WriteExpiry) -> Expiry {
    match until {
        WriteExpiry::Forever => Expiry::Never,
        WriteExpiry::Keep => Expiry::Keep,
        WriteExpiry::At(time) => Expiry::At(Time(time)),
    }
}

fn refused(error: WriteError) -> Refused {
    match error {
        WriteError::VersionAhead => Refused::Ahead,
        _ => Refused::WrongType,
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, shard: &T, model: &T) -> Result<(), String> {
    if shard == model { Ok(()) } else { Err(format!("{what}: shard {shard:?}, model {model:?}")) }
}

#[test]
fn keys_expire_and_entities_win_as_the_model_says() {
    let (mut expired, mut tombstones) = (0, 0);
    for seed in 0..SEEDS {
        let mut both = Both::new(seed);
        for step in 0..STEPS {
            let done = both.step().and_then(|()| both.look());
            assert!(done.is_ok(), "seed {seed}, step {step}: {}", done.unwrap_err());
        }
        let stats = both.shard.stats();
        (expired, tombstones) = (expired + stats.expired, tombstones + stats.tombstones);
    }
    assert!(expired > SEEDS && tombstones > SEEDS / 10, "enough of both: {expired}, {tombstones}");
}
