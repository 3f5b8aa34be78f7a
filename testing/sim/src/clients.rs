//! What clients ask: on accounts by the generators of the model, on other keys by draws from
//! few keys and values. Every answer must be the model's.

use crate::run::{Checked, Done, Pending, Sim};
use crate::world::{ACCOUNTS, KEYS};
use scurry_engine::{EntityDelete, EntityPut, Expiry, Outcome, Version, WriteError, WrongType};
use scurry_ledger::{Answer, Command, Create, Status, Time, next_due};
use scurry_model::{Came, EntityOp, Event, Held, Op, Refused, Until, What};

const VALUES: [&[u8]; 5] = [b"", b"one", b"two", &[7; 300], &[9; 1_500]];

fn same<T: PartialEq + std::fmt::Debug>(what: &str, shard: &T, model: &T) -> Checked {
    if shard == model { Ok(()) } else { Err(format!("{what}: shard {shard:?}, model {model:?}")) }
}

fn refused(error: WriteError) -> Refused {
    match error {
        WriteError::VersionAhead => Refused::Ahead,
        _ => Refused::WrongType,
    }
}

fn expiry(until: Until) -> Expiry {
    match until {
        Until::Forever => Expiry::Never,
        Until::Keep => Expiry::Keep,
        Until::At(time) => Expiry::At(Time(time)),
    }
}

/// The id by which a duplicate is known: that of a transaction, or session and request number.
fn id(op: &Op) -> Option<(&str, Option<u32>)> {
    match op {
        Op::TopUp { txn, .. }
        | Op::Adjust { txn, .. }
        | Op::Bucket { txn, .. }
        | Op::Debit { txn, .. }
        | Op::DebitItems { txn, .. }
        | Op::Refund { txn, .. }
        | Op::RefundItems { txn, .. }
        | Op::Counter { txn, .. }
        | Op::Limit { txn, .. } => Some((txn, None)),
        Op::Reserve(request) | Op::Update(request) | Op::Terminate(request) => {
            Some((&request.session, Some(request.request)))
        }
        _ => None,
    }
}

/// True when the answer to `old` is no longer the last one to such a request: an id that was
/// forgotten may be used again.
fn supersedes(new: &Op, old: &Op) -> bool {
    let session = new.request().map(|request| &request.session);
    old == new
        || id(new).is_some() && id(new) == id(old)
        || matches!(old, Op::Release { session: ended } if Some(ended) == session)
}

impl Sim {
    /// False while nothing may be written.
    pub(crate) fn is_open(&mut self) -> bool {
        let has_room = self.has_room();
        self.counts.no_room += u64::from(!has_room);
        has_room && !self.has_failed && !self.commits.is_full() && !self.disk.is_off()
    }

    /// A command on an account, or the same again.
    pub(crate) fn command(&mut self) -> Checked {
        if !self.is_open() {
            return Ok(());
        }
        if self.random.one_in(self.plan.clear_in) {
            return self.clear();
        }
        if self.random.one_in(8) {
            return self.repeat();
        }
        let index = self.random.below(ACCOUNTS.len());
        self.generators[index].set_clock(self.clock);
        let event = self.generators[index].next(&self.world.pairs[index]);
        self.clock = event.at;
        match event.what {
            What::Do(op) => self.execute(index, &op).map(|_| ()),
            What::Tick => self.tick(),
        }
    }

    /// A request whose answer was lost with the machine, or one that was answered.
    fn repeat(&mut self) -> Checked {
        if let Some((index, op)) = self.in_doubt.pop() {
            self.counts.duplicates += 1;
            return self.execute(index, &op).map(|_| ());
        }
        let back = self.random.below(self.done.len().min(20)) + 1;
        let Some(at) = self.done.len().checked_sub(back) else { return Ok(()) };
        self.again(&self.done[at].clone())
    }

    /// A request that was answered gets the same answer, as long as it is remembered.
    pub(crate) fn again(&mut self, done: &Done) -> Checked {
        self.counts.duplicates += 1;
        match self.execute(done.account, &done.op)? {
            Came::Replay(answer) if answer != done.answer && done.op.has_id() => {
                Err(format!("{:?} was answered {:?}, now {answer:?}", done.op, done.answer))
            }
            _ => Ok(()),
        }
    }

    fn execute(&mut self, index: usize, op: &Op) -> Result<Came, String> {
        let (now, before) = (self.now(), self.shard.sequence());
        let key = self.shard.hasher();
        let key = key.key(ACCOUNTS[index]);
        let outcome = op.with(|command| self.shard.execute(now, key, command));
        let event = Event { at: now.0, what: What::Do(op.clone()) };
        let came = self.world.pairs[index].step(&event)?;
        self.disk.note(|| format!("{op:?} at {}: {outcome:?}", now.0));
        let agrees = match (&came, &outcome) {
            (Came::Replay(expected), Outcome::Answer { answer, replayed: true })
            | (Came::Commit(expected), Outcome::Answer { answer, replayed: false }) => {
                expected == answer
            }
            (Came::Reject(expected), Outcome::Reject(found)) => *expected == found.code,
            _ => false,
        };
        if !agrees {
            return Err(format!("{op:?}: model {came:?}, shard {outcome:?}"));
        }
        let answer = match &came {
            Came::Commit(answer) => Some(answer.clone()),
            _ => None,
        };
        self.answered(index, op, answer.as_ref());
        let records = u64::from(answer.is_some());
        self.wrote(before, records..=records)?;
        self.wait(Some((index, op.clone(), answer)), 0);
        Ok(came)
    }

    /// Answers to such a request that were given before are not the last ones any more.
    pub(crate) fn answered(&mut self, index: usize, op: &Op, answer: Option<&Answer>) {
        if answer.is_some() {
            self.done.retain(|done| done.account != index || !supersedes(op, &done.op));
            for Pending { request, .. } in &mut self.pending {
                if let Some((account, old, answer)) = request
                    && *account == index
                    && supersedes(op, old)
                {
                    *answer = None;
                }
            }
        }
    }

    /// Takes what a command has left into the history.
    pub(crate) fn wrote(&mut self, before: u64, records: std::ops::RangeInclusive<u64>) -> Checked {
        let now = self.latest;
        let sequence = self.shard.sequence();
        if !records.contains(&(sequence - before)) {
            return Err(format!("{} records were written, not {records:?}", sequence - before));
        }
        if sequence > before {
            self.counts.commits += 1;
            self.world.at = now;
            self.history.entry(sequence).or_default().push(self.world.clone());
            // As a host does with a frame that has become long.
            let synced = self.commits.synced();
            if self.random.one_in(4)
                && let Some(journal) = self.shard.journal()
            {
                journal.seal(synced, Time(now));
            }
        }
        Ok(())
    }

    /// The answer has to wait for what it shows.
    fn wait(&mut self, request: Option<(usize, Op, Option<Answer>)>, version: u64) {
        let sequence = self.shard.sequence();
        self.pending.push_back(Pending { sequence, request, version });
    }

    fn clear(&mut self) -> Checked {
        if self.random.one_in(2) {
            self.abandon_snapshot();
        }
        self.now();
        let before = self.shard.sequence();
        self.shard.clear();
        self.world.clear();
        self.disk.note(|| "clear".to_owned());
        self.wrote(before, 1..=1)?;
        self.wait(None, 0);
        Ok(())
    }

    /// A read of one key: its answer waits like any other.
    pub(crate) fn read(&mut self) -> Checked {
        if self.has_failed {
            return Ok(());
        }
        let now = self.now();
        let key = self.random.pick(&KEYS);
        self.audit_key(key, now)?;
        self.wait(None, 0);
        Ok(())
    }

    /// Timers run: each release is the first of all that are due, and none comes early.
    pub(crate) fn tick(&mut self) -> Checked {
        if !self.is_open() {
            return Ok(());
        }
        let now = self.now();
        let mut sequence = self.shard.sequence();
        let steps = self.random.pick(&[1, 2, 4, 128]);
        let mut released = Vec::new();
        self.shard.tick_some(now, steps, |id, change| released.push((change.at, id.to_vec())));
        for release in &released {
            let due = self.world.pairs.iter().zip(ACCOUNTS).filter_map(|(pair, id)| {
                let due = pair.account.as_ref().and_then(next_due)?;
                Some((due, id.to_vec())).filter(|_| due <= now)
            });
            let first = due.min();
            if first.as_ref() != Some(release) {
                return Err(format!("I9: {first:?} is due first, released was {release:?}"));
            }
            let index = ACCOUNTS.iter().position(|id| *id == release.1).unwrap_or(0);
            let event = Event { at: release.0.0, what: What::Tick };
            self.world.pairs[index].step(&event)?;
            sequence += 1;
            self.world.at = now.0;
            self.history.entry(sequence).or_default().push(self.world.clone());
            self.counts.releases += 1;
            self.counts.commits += 1;
        }
        self.disk.note(|| format!("tick at {}: {released:?}", now.0));
        same("records of a tick", &self.shard.sequence(), &sequence)
    }

    /// A command on another key.
    pub(crate) fn key_command(&mut self) -> Checked {
        if !self.is_open() {
            return Ok(());
        }
        let now = self.now();
        let (bytes, value) = (self.random.pick(&KEYS), self.random.pick(&VALUES));
        let hasher = self.shard.hasher();
        let (key, at, before) = (hasher.key(bytes), now.0, self.shard.sequence());
        let mut version = 0;
        match self.random.below(14) {
            0..3 => {
                let until = self.until(at);
                let found = self.shard.set(now, key, value, expiry(until)).map_err(refused);
                self.disk.note(|| format!("SET {bytes:?} {until:?} at {at}: {found:?}"));
                same("SET", &found, &self.world.keys.set(at, bytes, value, until))?;
            }
            3..6 => {
                let found = self.shard.append(now, key, value).map_err(refused);
                self.disk.note(|| format!("APPEND {bytes:?} at {at}: {found:?}"));
                same("APPEND", &found, &self.world.keys.append(at, bytes, value))?;
            }
            6 => {
                let found = self.shard.del(now, key).map_err(|WrongType| Refused::WrongType);
                self.disk.note(|| format!("DEL {bytes:?} at {at}: {found:?}"));
                same("DEL", &found, &self.world.keys.del(at, bytes))?;
            }
            7 => {
                let time = (!self.random.one_in(3)).then(|| self.time(at));
                let found = self.shard.set_expiry(now, key, time.map(Time));
                let found = found.map_err(|WrongType| Refused::WrongType);
                self.disk.note(|| format!("EXPIRE {bytes:?} {time:?} at {at}: {found:?}"));
                same("EXPIRE", &found, &self.world.keys.expire(at, bytes, time))?;
            }
            8..13 => version = self.entity(bytes, value, now)?,
            _ => self.account_among_keys(bytes, now)?,
        }
        self.wrote(before, 0..=1)?;
        self.wait(None, version);
        Ok(())
    }

    fn time(&mut self, at: i64) -> i64 {
        at.saturating_add(self.random.pick(&[-5, 0, 1, 2, 15, 17, 40, 500, i64::MAX]))
    }

    fn until(&mut self, at: i64) -> Until {
        match self.random.below(5) {
            0 | 1 => Until::Forever,
            2 => Until::Keep,
            _ => Until::At(self.time(at)),
        }
    }

    /// A write of an entity; the version that it was given.
    fn entity(&mut self, bytes: &[u8], value: &[u8], now: Time) -> Result<u64, String> {
        let stored = match self.world.keys.at(now.0, bytes) {
            Some(Held::Entity { version, .. } | Held::Tombstone { version, .. }) => *version,
            _ => 0,
        };
        let near = u64::try_from(now.0 + self.random.pick(&[-20, 0, 20, 21, 900])).unwrap_or(0);
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
        self.disk.note(|| format!("ENTITY {bytes:?} {short:?} at {}: {found:?}", now.0));
        same("entity", &found, &self.world.keys.write(now.0, bytes, &op))?;
        Ok(found.map_or(0, |(_, version, _)| version))
    }

    /// An account comes where nothing is, is closed and goes again.
    fn account_among_keys(&mut self, bytes: &[u8], now: Time) -> Checked {
        let create = Create { txn: None, status: Status::Active, identities: &[], buckets: &[] };
        let held = self.world.keys.at(now.0, bytes).cloned();
        let is_closed = self.world.closed.contains(bytes);
        let command = match held {
            Some(Held::Account) if is_closed => Command::Delete { force: true },
            Some(Held::Account) => {
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
        self.disk.note(|| format!("account {bytes:?}, closed {is_closed}: {found:?}"));
        let expected = match held {
            None => {
                self.world.keys.held.insert(bytes.to_vec(), Held::Account);
                Ok(())
            }
            Some(Held::Account) if is_closed => {
                self.world.keys.held.remove(bytes);
                self.world.closed.remove(bytes);
                Ok(())
            }
            Some(Held::Account) => {
                self.world.closed.insert(bytes.to_vec());
                Ok(())
            }
            Some(_) => Err(Refused::WrongType),
        };
        same("an account among the keys", &found, &expected)
    }
}
