//! Runs each command on a shard and on its models, and compares the answers and the states.

use crate::Trace;
use crate::audit::read;
use crate::world::{ACCOUNTS, CheckResult, KEYS, World};
use scurry_codec::LogFormat;
use scurry_engine::{
    ChainOutcome, EntityDelete, EntityPut, Expiry, Outcome, Shard, Version, WriteError, WrongType,
};
use scurry_ledger::{Answer, Command, Create, Limits, Status, Time, next_due};
use scurry_model::{
    ChainOp, ChainResult, CommandOrTick, EntityOp, Event, KeyContent, Op, PairedAccounts, Random,
    Refused, StepResult, WriteExpiry, with_links,
};

const VALUES: [&[u8]; 5] = [b"", b"one", b"two", &[7; 300], &[9; 1_500]];

fn same<T: PartialEq + std::fmt::Debug>(what: &str, shard: &T, model: &T) -> CheckResult {
    if shard == model { Ok(()) } else { Err(format!("{what}: shard {shard:?}, model {model:?}")) }
}

fn refused(error: WriteError) -> Refused {
    match error {
        WriteError::VersionAhead => Refused::Ahead,
        _ => Refused::WrongType,
    }
}

fn expiry(until: WriteExpiry) -> Expiry {
    match until {
        WriteExpiry::Forever => Expiry::Never,
        WriteExpiry::Keep => Expiry::Keep,
        WriteExpiry::At(time) => Expiry::At(Time(time)),
    }
}

/// Returns the id of an account as text.
pub(crate) fn id(index: usize) -> String {
    String::from_utf8_lossy(ACCOUNTS[index]).into_owned()
}

/// A shard, its models, and the time of the command.
pub(crate) struct ModelCheckedShard<'a> {
    pub(crate) shard: &'a mut Shard,
    pub(crate) world: &'a mut World,
    pub(crate) random: &'a mut Random,
    pub(crate) trace: Trace,
    pub(crate) now: Time,
}

impl ModelCheckedShard<'_> {
    /// Executes a command on an account, and compares the results of shard and model.
    pub(crate) fn execute(&mut self, index: usize, op: &Op) -> Result<StepResult, String> {
        let now = self.now;
        let key = self.shard.hasher();
        let key = key.key(ACCOUNTS[index]);
        let outcome = op.with(|command| self.shard.execute(now, key, command));
        let event = Event { at: now.0, what: CommandOrTick::Do(op.clone()) };
        let came = self.world.pairs[index].step(&event)?;
        self.trace.add(format!("{op:?} at {}: {outcome:?}", now.0));
        let agrees = match (&came, &outcome) {
            (StepResult::Replay(expected), Outcome::Answer { answer, replayed: true })
            | (StepResult::Commit(expected), Outcome::Answer { answer, replayed: false }) => {
                expected == answer
            }
            (StepResult::Reject(expected), Outcome::Reject(found)) => *expected == found.code,
            _ => false,
        };
        match agrees {
            true => Ok(came),
            false => Err(format!("{op:?}: model {came:?}, shard {outcome:?}")),
        }
    }

    /// Executes a chain of commands on accounts, and returns its answers.
    pub(crate) fn chain(
        &mut self,
        limits: &Limits,
        chain: &ChainOp,
    ) -> Result<(ChainResult, Vec<Answer>), String> {
        let now = self.now;
        let mut answers = Vec::new();
        let outcome = with_links(chain, |links| self.shard.execute_chain(now, links, &mut answers));
        let outcome = outcome.ok_or("the commands were not borrowed")?;
        self.trace.add(format!("{chain:?} at {}: {outcome:?} {answers:?}", now.0));
        let pairs = self.world.pairs.iter().cloned().enumerate();
        let mut books =
            PairedAccounts::of(limits.clone(), pairs.map(|(index, pair)| (id(index), pair)));
        let came = books.chain(now.0, chain)?;
        for (index, pair) in self.world.pairs.iter_mut().enumerate() {
            *pair = books.pairs.remove(&id(index)).ok_or("an account is gone")?;
        }
        let agrees = match (&came, &outcome) {
            (ChainResult::Replay(expected), ChainOutcome::Answers { replayed: true })
            | (ChainResult::Commit(expected), ChainOutcome::Answers { replayed: false }) => {
                *expected == answers
            }
            (ChainResult::Reject(link, code), ChainOutcome::Reject(refused)) => {
                *link == refused.link && *code == refused.rejection.code
            }
            _ => false,
        };
        match agrees {
            true => Ok((came, answers)),
            false => Err(format!("{chain:?}: model {came:?}, shard {outcome:?} {answers:?}")),
        }
    }

    /// Reads one of the other keys.
    pub(crate) fn read(&mut self) -> CheckResult {
        let bytes = self.random.pick(&KEYS);
        let held = self.world.keys.at(self.now.0, bytes).cloned();
        same(&format!("key {bytes:?}"), &read(self.shard, self.now, bytes), &held)
    }

    /// Runs the timers. Each released account must be the first of all that are due, and none is released early. Calls
    /// `each` after every record, with its sequence and the expected state.
    pub(crate) fn tick(&mut self, mut each: impl FnMut(u64, &World)) -> CheckResult {
        let now = self.now;
        let mut sequence = self.shard.sequence();
        let format = self.shard.journal().map(|journal| journal.format());
        let (mut all, steps) = (0, self.random.pick(&[1, 2, 4, 128]));
        for _ in 0..steps {
            let mut released = Vec::new();
            let taken = self.shard.tick_some(now, 1, |id, change| {
                released.push((change.at, id.to_vec()));
            });
            for release in &released {
                self.released(release)?;
                sequence += 1;
                each(sequence, self.world);
            }
            all += released.len();
            // In a group a separate record removes expired entries. Clients see the same state before and after it.
            if format == Some(LogFormat::Replicated) && self.shard.sequence() > sequence {
                sequence += 1;
                self.world.at = now.0;
                each(sequence, self.world);
            }
            if taken == 0 {
                break;
            }
        }
        self.trace.add(format!("tick at {}: {all} released", now.0));
        same("records of a tick", &self.shard.sequence(), &sequence)
    }

    /// Checks that a released account was the first of all that were due (I9), and ticks its model.
    fn released(&mut self, release: &(Time, Vec<u8>)) -> CheckResult {
        let now = self.now;
        let due = self.world.pairs.iter().zip(ACCOUNTS).filter_map(|(pair, id)| {
            let due = pair.account.as_ref().and_then(next_due)?;
            Some((due, id.to_vec())).filter(|_| due <= now)
        });
        let first = due.min();
        if first.as_ref() != Some(release) {
            return Err(format!("I9: {first:?} is due first, released was {release:?}"));
        }
        self.trace.add(format!("released {release:?}"));
        let index = ACCOUNTS.iter().position(|id| *id == release.1).unwrap_or(0);
        let event = Event { at: release.0.0, what: CommandOrTick::Tick };
        self.world.pairs[index].step(&event)?;
        self.world.at = now.0;
        Ok(())
    }

    /// Executes a random command on one of the other keys. Returns the version that an entity was given, or 0.
    pub(crate) fn key_command(&mut self) -> Result<u64, String> {
        let now = self.now;
        let (bytes, value) = (self.random.pick(&KEYS), self.random.pick(&VALUES));
        let hasher = self.shard.hasher();
        let (key, at) = (hasher.key(bytes), now.0);
        let mut version = 0;
        match self.random.below(14) {
            0..3 => {
                let until = self.until(at);
                let found = self.shard.set(now, key, value, expiry(until)).map_err(refused);
                self.trace.add(format!("SET {bytes:?} {until:?} at {at}: {found:?}"));
                same("SET", &found, &self.world.keys.set(at, bytes, value, until))?;
            }
            3..6 => {
                let found = self.shard.append(now, key, value).map_err(refused);
                self.trace.add(format!("APPEND {bytes:?} at {at}: {found:?}"));
                same("APPEND", &found, &self.world.keys.append(at, bytes, value))?;
            }
            6 => {
                let found = self.shard.del(now, key).map_err(|WrongType| Refused::WrongType);
                self.trace.add(format!("DEL {bytes:?} at {at}: {found:?}"));
                same("DEL", &found, &self.world.keys.del(at, bytes))?;
            }
            7 => {
                let time = (!self.random.one_in(3)).then(|| self.time(at));
                let found = self.shard.set_expiry(now, key, time.map(Time));
                let found = found.map_err(|WrongType| Refused::WrongType);
                self.trace.add(format!("EXPIRE {bytes:?} {time:?} at {at}: {found:?}"));
                same("EXPIRE", &found, &self.world.keys.expire(at, bytes, time))?;
            }
            8..13 => version = self.entity(bytes, value, now)?,
            _ => self.account_among_keys(bytes, now)?,
        }
        Ok(version)
    }

    fn time(&mut self, at: i64) -> i64 {
        at.saturating_add(self.random.pick(&[-5, 0, 1, 2, 15, 17, 40, 500, i64::MAX]))
    }

    fn until(&mut self, at: i64) -> WriteExpiry {
        match self.random.below(5) {
            0 | 1 => WriteExpiry::Forever,
            2 => WriteExpiry::Keep,
            _ => WriteExpiry::At(self.time(at)),
        }
    }

    /// Writes or deletes an entity. Returns the version that it was given, or 0 if the write was refused.
    fn entity(&mut self, bytes: &[u8], value: &[u8], now: Time) -> Result<u64, String> {
        let stored = match self.world.keys.at(now.0, bytes) {
            Some(KeyContent::Entity { version, .. } | KeyContent::Tombstone { version, .. }) => {
                *version
            }
            _ => 0,
        };
        let near = u64::try_from(now.0 + self.random.pick(&[-20, 0, 20, 21, 900])).unwrap_or(0);
        // The last one is near the clock: milliseconds, a counter (10 bits) of 0, and the greatest node (9 bits).
        let versions =
            [0, 1, stored.saturating_sub(1), stored, stored + 1, near * 1024 * 512 + 511];
        let op = EntityOp {
            value: (!self.random.one_in(4)).then(|| value.to_vec()),
            version: self.random.one_in(2).then(|| self.random.pick(&versions)),
            if_version: self.random.one_in(4).then(|| self.random.pick(&versions)),
            until: self.until(now.0),
        };
        let hasher = self.shard.hasher();
        let key = hasher.key(bytes);
        let (version, if_version) =
            (op.version.and_then(Version::new), op.if_version.and_then(Version::new));
        let found = match &op.value {
            Some(value) => {
                let options = EntityPut { version, if_version, expiry: expiry(op.until) };
                self.shard.entity_put(now, key, value, options)
            }
            None => self.shard.entity_del(now, key, EntityDelete { version, if_version }),
        };
        let found = found.map(|w| (w.applied, w.version.get(), w.existed)).map_err(refused);
        let len = op.value.as_ref().map(Vec::len);
        let short = (len, op.version, op.if_version, op.until);
        self.trace.add(format!("ENTITY {bytes:?} {short:?} at {}: {found:?}", now.0));
        same("entity", &found, &self.world.keys.write(now.0, bytes, &op))?;
        Ok(found.map_or(0, |(_, version, _)| version))
    }

    /// Takes an account through its life: creates it if the key is free, closes it, then deletes it.
    fn account_among_keys(&mut self, bytes: &[u8], now: Time) -> CheckResult {
        let buckets = [];
        let create = Create::active(&buckets);
        let held = self.world.keys.at(now.0, bytes).cloned();
        let is_closed = self.world.closed.contains(bytes);
        let command = match held {
            Some(KeyContent::Account) if is_closed => Command::Delete { force: true, if_txn: None },
            Some(KeyContent::Account) => {
                Command::Status { txn: None, status: Status::Closed, identities: &[] }
            }
            _ => Command::Create(create),
        };
        let hasher = self.shard.hasher();
        let found = match self.shard.execute(now, hasher.key(bytes), &command) {
            Outcome::Answer { .. } => Ok(()),
            Outcome::WrongType => Err(Refused::WrongType),
            other => return Err(format!("{command:?}: {other:?}")),
        };
        self.trace.add(format!("account {bytes:?}, closed {is_closed}: {found:?}"));
        let expected = match held {
            None => {
                self.world.keys.held.insert(bytes.to_vec(), KeyContent::Account);
                Ok(())
            }
            Some(KeyContent::Account) if is_closed => {
                self.world.keys.held.remove(bytes);
                self.world.closed.remove(bytes);
                Ok(())
            }
            Some(KeyContent::Account) => {
                self.world.closed.insert(bytes.to_vec());
                Ok(())
            }
            Some(_) => Err(Refused::WrongType),
        };
        same("an account among the keys", &found, &expected)
    }
}
