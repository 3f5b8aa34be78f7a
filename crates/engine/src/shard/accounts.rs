//! Commands on accounts: the shard as a host of the ledger.

use super::Shard;
use crate::entry::{Entry, Head, Kind};
use crate::table::Place;
use crate::{Key, Outcome, ReadError, WrongType};
use scurry_codec::{decode_account, encode_account_over};
use scurry_ledger::{
    Account, Answer, Code, Command, Decision, Status, Time, decide_with, next_due, view_in_place,
};

impl Shard {
    /// Runs a command on an account, whatever memory that takes. The host has checked that the id
    /// is one that docs/ledger.md section 1 allows.
    pub fn execute(&mut self, now: Time, key: Key<'_>, command: &Command<'_>) -> Outcome {
        self.run(now, key, command, false)
    }

    /// As [`Shard::execute`], and where no memory is left what would change something comes to
    /// nothing. A duplicate gets its stored answer.
    pub fn execute_in_bounds(&mut self, now: Time, key: Key<'_>, command: &Command<'_>) -> Outcome {
        self.run(now, key, command, true)
    }

    fn run(&mut self, now: Time, key: Key<'_>, command: &Command<'_>, is_bounded: bool) -> Outcome {
        let place = self.settle(now, key);
        if self.load(place).is_err() {
            return Outcome::WrongType;
        }
        self.before.set(self.scratch.as_ref());
        let limits = &self.config.limits;
        match decide_with(&mut self.spare_ops, &mut self.scratch, command, now, limits) {
            Decision::Replay(answer) => {
                self.stats.replays += 1;
                Outcome::Answer { answer, replayed: true }
            }
            Decision::Reject(rejection) => {
                self.stats.rejects += 1;
                Outcome::Reject(rejection)
            }
            Decision::Commit(change, _) if is_bounded && self.refuses_memory() => {
                self.spare_ops = change.ops;
                Outcome::OutOfMemory
            }
            Decision::Commit(change, answer) => {
                self.stats.commits += 1;
                self.count_denial(&answer);
                self.record(key, &change);
                self.store(key, place);
                self.spare_ops = change.ops;
                Outcome::Answer { answer, replayed: false }
            }
        }
    }

    #[inline]
    fn count_denial(&mut self, answer: &Answer) {
        let code = code_of(answer);
        self.stats.denials += u64::from(code != Code::Ok);
        self.stats.service_denials += u64::from(code == Code::ServiceDenied);
    }

    /// An account as it is at `now`: what is due is applied, nothing is written.
    pub fn account(&mut self, now: Time, key: Key<'_>) -> Result<&Account, ReadError> {
        let place = self.find(now, key);
        self.load(place).map_err(|WrongType| ReadError::WrongType)?;
        view_in_place(&mut self.scratch, now, &self.config.limits);
        self.scratch.as_ref().ok_or(ReadError::UnknownAccount)
    }

    /// Unpacks the account at a place into the scratch, none where there is no place.
    pub(super) fn load(&mut self, place: Option<Place>) -> Result<(), WrongType> {
        let Some(place) = place else {
            self.scratch = None;
            return Ok(());
        };
        let entry = self.table.at(place);
        if entry.kind() != Kind::Account {
            return Err(WrongType);
        }
        let scratch = self.scratch.get_or_insert_with(|| Account::empty(Status::Active));
        if let Err(error) = decode_account(entry.value(), scratch) {
            // Only this shard writes images, and only into its own memory.
            panic!("the image of an account in memory is broken: {error}");
        }
        Ok(())
    }

    /// Packs the scratch back after a Commit, and keeps totals and timers right. What the
    /// account was is in `before`.
    pub(super) fn store(&mut self, key: Key<'_>, place: Option<Place>) {
        // The image first: it is copied by wider words than it is written, and what was written has
        // to reach the cache before. Meanwhile there is other work.
        let len = self.scratch.as_ref().map(|it| encode_account_over(it, &mut self.image));
        self.totals.replace(&self.before, self.scratch.as_ref());
        let (Some(account), Some(len)) = (&self.scratch, len) else {
            if let Some(place) = place {
                self.remove(key.hash(), place);
            }
            return;
        };
        if let Some(changed) = &mut self.changed {
            changed.push(key.bytes());
        }
        let due = next_due(account);
        let image = &self.image[..len];
        let place = match place {
            Some(place) => {
                let blocks = &mut self.blocks;
                self.table.update(place, |entry| entry.set_value_among(image, blocks));
                place
            }
            None => {
                let entry = Entry::new(Head::plain(Kind::Account), key.bytes(), image);
                self.table.insert(key.hash(), entry)
            }
        };
        if let Some(due) = due {
            self.arm(key.hash(), place, due);
        }
    }
}

fn code_of(answer: &Answer) -> Code {
    match answer {
        Answer::Account { code, .. }
        | Answer::Amount { code, .. }
        | Answer::Session { code, .. } => *code,
    }
}
