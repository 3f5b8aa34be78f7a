//! A shard: its table, its timers, its totals.

use crate::entry::{Kind, UNARMED};
use crate::table::Table;
use crate::timers::Timers;
use crate::{Config, Outcome, ReadError, Stats, WriteError, WrongType};
use scurry_codec::{decode_account, encode_account};
use scurry_ledger::{
    Account, Change, Code, Command, Decision, Portion, Status, Time, Totals, decide_in_place,
    next_due, tick_in_place, view_in_place,
};
use std::collections::BTreeSet;

/// One shard.
///
/// Invariant: every account in the table has been taken into `totals`, and a timer is armed no
/// later than the first thing that is due in it.
#[derive(Debug)]
pub struct Shard {
    config: Config,
    table: Table,
    timers: Timers,
    totals: Totals,
    stats: Stats,
    /// The account that a command works on, unpacked; its buffers are used again and again.
    scratch: Option<Account>,
    /// The image that a command makes.
    image: Vec<u8>,
}

/// Commits of one [`Shard::tick`] before it stops, so that commands get their turn.
const TICK_COMMITS_MAX: usize = 1_000;

impl Shard {
    /// An empty shard.
    pub fn new(config: Config) -> Shard {
        let table = Table::new(config.hash_seed);
        Shard {
            config,
            table,
            timers: Timers::default(),
            totals: Totals::default(),
            stats: Stats::default(),
            scratch: None,
            image: Vec::new(),
        }
    }

    /// Runs a command on an account. The host has checked that the id is one that
    /// docs/ledger.md section 1 allows.
    pub fn execute(&mut self, now: Time, account: &[u8], command: &Command<'_>) -> Outcome {
        let hash = self.table.hash(account);
        match self.load(hash, account) {
            Ok(true) => {}
            Ok(false) => self.scratch = None,
            Err(WrongType) => return Outcome::WrongType,
        }
        if takes_memory(command) && self.is_full() {
            self.stats.out_of_memory += 1;
            return Outcome::OutOfMemory;
        }
        let before = Portion::of(self.scratch.as_ref());
        match decide_in_place(&mut self.scratch, command, now, &self.config.limits) {
            Decision::Replay(answer) => {
                self.stats.replays += 1;
                Outcome::Answer { answer, replayed: true }
            }
            Decision::Reject(rejection) => {
                self.stats.rejects += 1;
                Outcome::Reject(rejection)
            }
            Decision::Commit(_change, answer) => {
                self.stats.commits += 1;
                self.stats.denials += u64::from(is_denial(&answer));
                self.store(hash, account, &before);
                Outcome::Answer { answer, replayed: false }
            }
        }
    }

    /// An account as it is at `now`: what is due is applied, nothing is written.
    pub fn account(&mut self, now: Time, account: &[u8]) -> Result<&Account, ReadError> {
        let hash = self.table.hash(account);
        match self.load(hash, account) {
            Ok(true) => {
                view_in_place(&mut self.scratch, now, &self.config.limits);
                self.scratch.as_ref().ok_or(ReadError::UnknownAccount)
            }
            Ok(false) => Err(ReadError::UnknownAccount),
            Err(WrongType) => Err(ReadError::WrongType),
        }
    }

    /// Sums over the accounts of this shard, without what is due and not yet committed.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Commits what is due, each at its own time and in the order (time, account id), a bounded
    /// number of Commits at once. Returns how many; when that is not 0 there may be more.
    pub fn tick(&mut self, now: Time) -> usize {
        self.tick_with(now, |_, _| {})
    }

    /// As [`Shard::tick`], and hands each account and its Change to the host.
    pub fn tick_with(&mut self, now: Time, mut committed: impl FnMut(&[u8], &Change)) -> usize {
        let mut commits = 0;
        let mut later = Vec::new();
        while commits < TICK_COMMITS_MAX {
            let Some((tick, hashes)) = self.timers.pop(Timers::tick_of(now)) else { break };
            let mut due = BTreeSet::new();
            for hash in hashes {
                let Some(entry) = self.table.find_armed(hash, tick) else { continue };
                let key = entry.key().to_vec();
                // At once, so that an account that stands in the list twice is taken once.
                self.set_armed(hash, &key, UNARMED);
                match self.due_of(hash, &key) {
                    Some(time) if time > now => later.push((time, key, hash)),
                    // The timer was early: the account's turn comes with that tick.
                    Some(time) if Timers::tick_of(time) > tick => self.arm(hash, &key, time),
                    Some(time) => drop(due.insert((time, key, hash))),
                    None => {}
                }
            }
            while let Some((time, key, hash)) = due.pop_first() {
                if commits == TICK_COMMITS_MAX {
                    later.push((time, key, hash));
                    continue;
                }
                if let Some(change) = self.expire(time, hash, &key) {
                    commits += 1;
                    committed(&key, &change);
                }
                // What the account has due next may come before the next account's.
                if let Some(next) = self.due_of(hash, &key)
                    && next <= now
                    && Timers::tick_of(next) <= tick
                {
                    self.set_armed(hash, &key, UNARMED);
                    due.insert((next, key, hash));
                }
            }
        }
        for (time, key, hash) in later {
            self.arm(hash, &key, time);
        }
        commits
    }

    /// No timer has to run before this.
    pub fn next_due(&self) -> Option<Time> {
        self.timers.next()
    }

    /// A plain value.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, WrongType> {
        match self.table.find(self.table.hash(key), key) {
            Some(entry) if entry.kind() == Kind::Account => Err(WrongType),
            found => Ok(found.map(|entry| entry.value())),
        }
    }

    /// Sets a plain value. The host bounds keys and values (65,535 bytes and 4 GiB at most).
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), WriteError> {
        let hash = self.table.hash(key);
        if self.table.find(hash, key).is_some_and(|entry| entry.kind() == Kind::Account) {
            return Err(WriteError::WrongType);
        }
        if self.is_full() {
            self.stats.out_of_memory += 1;
            return Err(WriteError::OutOfMemory);
        }
        self.table.set(hash, Kind::Value, key, value);
        Ok(())
    }

    /// Deletes a plain value; true when there was one.
    pub fn del(&mut self, key: &[u8]) -> Result<bool, WrongType> {
        let hash = self.table.hash(key);
        match self.table.find(hash, key).map(|entry| entry.kind()) {
            Some(Kind::Account) => Err(WrongType),
            Some(Kind::Value) => {
                self.table.remove(hash, key);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// True when the key holds anything.
    pub fn exists(&self, key: &[u8]) -> bool {
        self.table.find(self.table.hash(key), key).is_some()
    }

    /// Keys that exist.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True when no key exists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.table.clear();
        self.timers.clear();
        self.totals = Totals::default();
    }

    /// Counts.
    pub fn stats(&self) -> Stats {
        Stats {
            memory_bytes: self.memory_bytes(),
            keys: self.table.len() as u64,
            accounts: self.table.accounts(),
            ..self.stats
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes() + self.timers.memory_bytes()
    }

    fn is_full(&self) -> bool {
        self.config.memory_max.is_some_and(|max| self.memory_bytes() >= max)
    }

    /// Unpacks an account into the scratch; false when nothing is at the key.
    fn load(&mut self, hash: u64, key: &[u8]) -> Result<bool, WrongType> {
        let Some(entry) = self.table.find(hash, key) else { return Ok(false) };
        if entry.kind() != Kind::Account {
            return Err(WrongType);
        }
        let scratch = self.scratch.get_or_insert_with(|| Account::empty(Status::Active));
        if let Err(error) = decode_account(entry.value(), scratch) {
            // Only this shard writes images, and only into its own memory.
            panic!("the image of an account in memory is broken: {error}");
        }
        Ok(true)
    }

    /// Packs the scratch back after a Commit, and keeps totals and timers right.
    fn store(&mut self, hash: u64, key: &[u8], before: &Portion) {
        self.totals.replace(before, self.scratch.as_ref());
        let Some(account) = &self.scratch else {
            self.table.remove(hash, key);
            return;
        };
        self.image.clear();
        encode_account(account, &mut self.image);
        let due = next_due(account);
        self.table.set(hash, Kind::Account, key, &self.image);
        if let Some(due) = due {
            self.arm(hash, key, due);
        }
    }

    /// Arms the account's timer, unless it is armed for sooner.
    fn arm(&mut self, hash: u64, key: &[u8], due: Time) {
        let tick = Timers::tick_of(due);
        if let Some(entry) = self.table.find_mut(hash, key)
            && tick < entry.armed()
        {
            entry.arm(tick);
            self.timers.arm(tick, hash);
        }
    }

    fn set_armed(&mut self, hash: u64, key: &[u8], tick: u64) {
        if let Some(entry) = self.table.find_mut(hash, key) {
            entry.arm(tick);
        }
    }

    fn due_of(&mut self, hash: u64, key: &[u8]) -> Option<Time> {
        match self.load(hash, key) {
            Ok(true) => self.scratch.as_ref().and_then(next_due),
            _ => None,
        }
    }

    fn expire(&mut self, at: Time, hash: u64, key: &[u8]) -> Option<Change> {
        if self.load(hash, key) != Ok(true) {
            return None;
        }
        let before = Portion::of(self.scratch.as_ref());
        let change = tick_in_place(&mut self.scratch, at, &self.config.limits)?;
        self.stats.commits += 1;
        self.stats.expiries += 1;
        self.store(hash, key, &before);
        Some(change)
    }
}

/// True for commands that may need more memory. What ends or corrects something always runs.
fn takes_memory(command: &Command<'_>) -> bool {
    matches!(
        command,
        Command::Create(_)
            | Command::TopUp { .. }
            | Command::Debit { .. }
            | Command::Counter { .. }
            | Command::Reserve(_)
    )
}

fn is_denial(answer: &scurry_ledger::Answer) -> bool {
    use scurry_ledger::Answer;
    let (Answer::Account { code, .. } | Answer::Amount { code, .. } | Answer::Session { code, .. }) =
        answer;
    *code != Code::Ok
}
