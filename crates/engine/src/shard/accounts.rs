//! Commands on accounts: the shard as a host of the ledger.

use super::identities::is_identifying;
use super::{Shard, is_entry_in_parts};
use crate::account_parts::{AccountParts, NeededParts};
use crate::entry::{Head, TableEntry, TableEntryKind};
use crate::table::TablePosition;
use crate::transfer_name::TransferName;
use crate::working_account::WorkingAccount;
use crate::{AccountSlot, Key, Outcome, ReadError, WrongType};
use scurry_ledger::{Account, Answer, Change, Code, Command, Time};
use std::borrow::Cow;

impl Shard {
    /// Runs a command on an account without a memory limit. The host has checked that the id is allowed by
    /// docs/ledger.md, section 1.
    pub fn execute(&mut self, now: Time, key: Key<'_>, command: &Command<'_>) -> Outcome {
        self.run(now, key, command, false)
    }

    /// Runs a command as [`Shard::execute`] does, but refuses changes when memory is full. A duplicate gets its stored
    /// answer.
    pub fn execute_in_bounds(&mut self, now: Time, key: Key<'_>, command: &Command<'_>) -> Outcome {
        self.run(now, key, command, true)
    }

    fn run(&mut self, now: Time, key: Key<'_>, command: &Command<'_>, is_bounded: bool) -> Outcome {
        let place = self.expire(now, key);
        let outcome = if is_identifying(command) {
            self.run_identifying(now, key, place, (command, is_bounded))
        } else {
            self.slot(key, place).in_bounds(is_bounded).run(now, command)
        };
        self.forget_identities();
        // Repeated, it makes the host try again.
        if let (Command::Transfer(transfer), Outcome::Answer { answer, .. }) = (command, &outcome)
            && answer.code() == Code::Ok
        {
            self.transfers.push_back(TransferName::new(key.bytes(), transfer.id));
        }
        match &outcome {
            Outcome::Answer { replayed: true, .. } => self.stats.replays += 1,
            Outcome::Answer { answer, .. } => {
                self.stats.commits += 1;
                self.count_denial(answer);
            }
            Outcome::Reject(_) => self.stats.rejects += 1,
            Outcome::WrongType | Outcome::OutOfMemory => {}
        }
        outcome
    }

    #[inline]
    pub(super) fn count_denial(&mut self, answer: &Answer) {
        if answer.code() != Code::Ok {
            self.stats.denials.count(answer.cause());
        }
    }

    /// Returns an account in its state at `now`: due expiries are applied, and nothing is written.
    pub fn account(&mut self, now: Time, key: Key<'_>) -> Result<&Account, ReadError> {
        self.account_in_part(now, key, &NeededParts::all())
    }

    /// Returns an account as [`Shard::account`] does; of one that is kept in parts, only the needed parts are included.
    pub fn account_in_part(
        &mut self,
        now: Time,
        key: Key<'_>,
        needed: &NeededParts<'_>,
    ) -> Result<&Account, ReadError> {
        let place = self.find(now, key);
        self.slot(key, place).view(now, needed).map_err(|WrongType| ReadError::WrongType)?;
        self.working.account.as_ref().ok_or(ReadError::UnknownAccount)
    }

    /// Returns the slot of a key, at which its account is or will be stored.
    pub(super) fn slot<'s>(&'s mut self, key: Key<'s>, place: Option<TablePosition>) -> Slot<'s> {
        Slot { shard: self, key, place, is_bounded: false }
    }

    /// Unpacks the account at a place into the working account, which is cleared without a place.
    pub(super) fn load(&mut self, place: Option<TablePosition>) -> Result<(), WrongType> {
        let entry = place.map(|place| self.table.at(place));
        if entry.is_some_and(|entry| entry.kind() != TableEntryKind::Account) {
            return Err(WrongType);
        }
        self.working.unpack(entry.map(TableEntry::value));
        if self.working.is_in_parts()
            && let (Some(entry), Some(account)) = (entry, &mut self.working.account)
        {
            **account.unloaded.get_or_insert_default() = self.annexes.parts_of(entry.key()).sums();
        }
        Ok(())
    }

    /// Returns the whole image of the account, also when it is kept in parts.
    pub(super) fn whole_image<'e>(&self, entry: &'e TableEntry) -> Cow<'e, [u8]> {
        if is_entry_in_parts(entry) {
            Cow::Owned(self.annexes.parts_of(entry.key()).whole_image(entry.value()))
        } else {
            Cow::Borrowed(entry.value())
        }
    }
}

/// A slot of a shard's table, where one account is stored.
pub(super) struct Slot<'s> {
    shard: &'s mut Shard,
    key: Key<'s>,
    /// The place of the existing entry.
    place: Option<TablePosition>,
    /// Whether the memory limit applies.
    is_bounded: bool,
}

impl Slot<'_> {
    /// Sets whether the memory limit applies.
    pub(super) fn in_bounds(self, is_bounded: bool) -> Self {
        Slot { is_bounded, ..self }
    }
}

impl AccountSlot for Slot<'_> {
    fn working(&mut self) -> &mut WorkingAccount {
        &mut self.shard.working
    }

    fn parts(&mut self) -> (&mut WorkingAccount, Option<&mut AccountParts>) {
        let Shard { working, annexes, .. } = &mut *self.shard;
        let annex = if working.is_in_parts() { annexes.get_mut(self.key.bytes()) } else { None };
        (working, annex)
    }

    fn keep_annex(&mut self, annex: Option<AccountParts>) {
        self.shard.annexes.set(self.key.bytes(), annex);
    }

    fn load(&mut self) -> Result<(), WrongType> {
        self.shard.load(self.place)
    }

    fn refuses_memory(&mut self) -> bool {
        self.is_bounded && self.shard.refuses_memory()
    }

    fn emit_change(&mut self, change: &Change) {
        if let Some(journal) = &mut self.shard.journal {
            journal.account(self.key.bytes(), change, self.shard.working.account.as_ref());
        }
        if self.shard.working.had_former_identities() {
            self.shard.note_forgotten(self.key.hash(), change);
        }
    }

    fn emit_image(&mut self) {
        if let Some(journal) = &mut self.shard.journal {
            journal.image(self.key.bytes(), self.shard.working.image());
        }
    }

    fn count(&mut self) {
        let Shard { working, totals, .. } = &mut *self.shard;
        totals.replace(working.before(), working.account.as_ref());
    }

    fn put(&mut self, due: Option<Time>) {
        self.shard.changes(self.key.bytes());
        let Shard { working, table, blocks, annexes, .. } = &mut *self.shard;
        if working.is_in_parts() {
            annexes.measure(self.key.bytes());
        }
        let image = working.image();
        let place = match self.place {
            Some(place) => {
                table.update(place, |entry| entry.set_value_among(image, blocks));
                place
            }
            None => {
                let entry =
                    TableEntry::new(Head::plain(TableEntryKind::Account), self.key.bytes(), image);
                table.insert(self.key.hash(), entry)
            }
        };
        if let Some(due) = due {
            self.shard.arm(self.key.hash(), place, due);
        }
    }

    fn remove(&mut self) {
        if let Some(place) = self.place {
            self.shard.remove(self.key.hash(), place);
        }
    }

    fn arm(&mut self, due: Option<Time>) {
        if let (Some(place), Some(due)) = (self.place, due) {
            self.shard.arm(self.key.hash(), place, due);
        }
    }
}
