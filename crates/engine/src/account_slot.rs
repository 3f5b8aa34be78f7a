//! The shell around the ledger, shared by every host. It unpacks an account, decides on a command or on what is due,
//! logs the Change, packs and stores the account, and arms a timer. A host only defines where its accounts are stored
//! and where Changes go; the order of the steps is defined here alone.

use crate::account_parts::{AccountParts, NeededParts};
use crate::outcome::LoadError;
use crate::working_account::WorkingAccount;
use crate::{Outcome, WrongType};
use scurry_codec::{ChangeError, decode_change, decode_foreign_account};
use scurry_ledger::{Account, Bound, Change, Code, Command, Decision, Op, Rejection, Time, apply};

/// Storage of one account between two commands: a slot of a shard's table, or a key of a Valkey server.
///
/// A host implements the methods without a body. It calls the others, and overrides none.
pub trait AccountSlot {
    /// Returns the working account of the host.
    fn working(&mut self) -> &mut WorkingAccount;

    /// Returns the working account, and its annex if it is kept in parts.
    fn parts(&mut self) -> (&mut WorkingAccount, Option<&mut AccountParts>);

    /// Stores an annex with the account; None removes it.
    fn keep_annex(&mut self, annex: Option<AccountParts>);

    /// Unpacks the account into the working account, None when no account is stored. The annex of an
    /// account that is kept in parts is not loaded.
    fn load(&mut self) -> Result<(), WrongType>;

    /// Reports whether the host is out of memory, so that commands that need more are refused.
    fn refuses_memory(&mut self) -> bool;

    /// Passes a Change on, to the log or to replicas. The working account already has the Change; the
    /// stored account is still the one before it.
    fn emit_change(&mut self, change: &Change);

    /// Passes on that the image of the working account replaces the account.
    fn emit_image(&mut self);

    /// Subtracts the account from the totals as it was when loaded, and adds it as it is now.
    fn count(&mut self);

    /// Stores the image of the working account, in place or as a new entry. `due` is the next time something in it is
    /// due, for the timer.
    fn put(&mut self, due: Option<Time>);

    /// Removes the stored account, if any: it was deleted.
    fn remove(&mut self);

    /// Arms a timer for the stored account at `due`.
    fn arm(&mut self, due: Option<Time>);

    /// Runs a command. When memory is full, a command that would change something is refused; a duplicate still gets
    /// its stored answer.
    #[expect(clippy::inline_always, reason = "nearly all commands come by one call of it")]
    #[inline(always)]
    fn run(&mut self, now: Time, command: &Command<'_>) -> Outcome {
        if self.load().is_err() {
            return Outcome::WrongType;
        }
        self.prepare(now, command);
        match self.working().decide(command, now) {
            Decision::Replay(answer) => Outcome::Answer { answer, replayed: true },
            Decision::Reject(rejection) => Outcome::Reject(rejection),
            Decision::Commit(change, _) if self.refuses_memory() => {
                self.working().reuse(change);
                Outcome::OutOfMemory
            }
            Decision::Commit(change, _)
                if self.working().is_in_parts() && self.is_full(command, &change) =>
            {
                self.working().reuse(change);
                Outcome::Reject(self.full(now))
            }
            Decision::Commit(change, answer) => {
                self.commit(change);
                Outcome::Answer { answer, replayed: false }
            }
        }
    }

    /// Prepares the loaded account for a decision on a command.
    #[inline]
    fn prepare(&mut self, now: Time, command: &Command<'_>) {
        if self.working().is_in_parts() {
            self.load_parts_for(command, now);
        }
        self.working().remember();
    }

    /// Decides on one command of a chain as if it were alone. The account is loaded.
    fn decide_link(&mut self, now: Time, command: &Command<'_>) -> Decision {
        self.prepare(now, command);
        match self.working().decide(command, now) {
            Decision::Commit(change, _)
                if self.working().is_in_parts() && self.is_full(command, &change) =>
            {
                self.working().reuse(change);
                Decision::Reject(self.full(now))
            }
            decision => decision,
        }
    }

    /// Decides again on a command that another command of its chain denies.
    fn decide_denied(&mut self, now: Time, command: &Command<'_>) -> Decision {
        self.load().expect("it was loaded before");
        self.prepare(now, command);
        self.working().decide_denied(command, now)
    }

    /// Passes a Change on and stores the account after it.
    #[inline]
    fn commit(&mut self, change: Change) {
        self.emit_change(&change);
        self.store();
        self.working().reuse(change);
    }

    /// Loads the needed parts of the account in their state at `now`: due expiries count as processed, and nothing is
    /// written.
    fn view(&mut self, now: Time, needed: &NeededParts<'_>) -> Result<(), WrongType> {
        self.load()?;
        match self.parts() {
            (WorkingAccount { account: Some(account), .. }, Some(annex)) if needed.all => {
                annex.copy_to(account);
                self.working().note_whole();
            }
            (_, Some(_)) => self.load_parts(needed, now),
            (_, None) => {}
        }
        self.working().view(now);
        Ok(())
    }

    /// Commits the expiries that are due at `at`. When nothing is due yet, returns None and arms the timer for later.
    /// The host has disarmed the timer before.
    fn tick(&mut self, at: Time) -> Result<Option<Change>, WrongType> {
        self.load()?;
        match self.working().next_due() {
            Some(due) if due <= at => {
                if self.working().is_in_parts() {
                    self.load_parts(&NeededParts::default(), at);
                }
                let working = self.working();
                working.remember();
                let change = working.tick(at).expect("what is due gives a Change");
                self.emit_change(&change);
                self.store();
                Ok(Some(change))
            }
            due => {
                self.arm(due);
                Ok(None)
            }
        }
    }

    /// Loads an account from another store, with its sessions, remembered answers and everything else in its image. An
    /// existing account is replaced only when `replace` is set.
    fn load_image(&mut self, image: &[u8], replace: bool) -> Result<(), LoadError> {
        self.load().map_err(|WrongType| LoadError::WrongType)?;
        if self.working().account.is_some() && !replace {
            return Err(LoadError::Exists);
        }
        if self.refuses_memory() {
            return Err(LoadError::OutOfMemory);
        }
        if let (WorkingAccount { account: Some(account), .. }, Some(annex)) = self.parts() {
            annex.copy_to(account);
        }
        if self.working().account.as_ref().is_some_and(Account::has_transfers) {
            return Err(LoadError::Transfer);
        }
        self.load().map_err(|WrongType| LoadError::WrongType)?;
        let working = self.working();
        working.remember();
        decode_foreign_account(image, working.account_mut()).map_err(LoadError::Image)?;
        if working.account.as_ref().is_some_and(Account::has_transfers) {
            return Err(LoadError::Transfer);
        }
        self.make_whole();
        // Encodes the image with this version's writer, whichever version wrote the input.
        self.working().pack();
        self.emit_image();
        self.store();
        Ok(())
    }

    /// Reports whether an account that is kept in parts has reached its length limit and the command may make it
    /// longer. Any command may, by late use of a session that is not open.
    fn is_full(&mut self, command: &Command<'_>, change: &Change) -> bool {
        let makes_room = matches!(
            command,
            Command::Terminate(_)
                | Command::Release { txn: None, .. }
                | Command::Status { txn: None, .. }
                | Command::Delete { .. }
        ) && !change.ops.iter().any(|op| matches!(op, Op::NoteLate(_)));
        let (working, annex) = self.parts();
        !makes_room && annex.is_some_and(|annex| annex.bytes() >= working.account_len_max())
    }

    /// Returns the rejection for an account at its length limit.
    fn full(&mut self, now: Time) -> Rejection {
        let (working, annex) = self.parts();
        let first = annex.and_then(|annex| annex.sums().next_due());
        Rejection {
            code: Code::Busy,
            why: "the account remembers as much as one may: retry then with the same id",
            bound: Some(Bound {
                name: "account_len_max",
                max: working.account_len_max(),
                wait_ms: first.map(|first| first.0.saturating_sub(now.0).max(0)),
            }),
            expired_ms: None,
        }
    }

    /// Stops keeping the account in parts: all of it is in the working account and replaces the annex.
    fn make_whole(&mut self) {
        if self.working().is_in_parts() {
            self.working().set_in_parts(false);
            self.keep_annex(None);
        }
    }

    /// Loads the parts that a command needs of an account that is kept in parts.
    fn load_parts_for(&mut self, command: &Command<'_>, now: Time) {
        if let Some(account) = &self.working().account {
            let needed = NeededParts::by(command, account);
            self.load_parts(&needed, now);
        }
    }

    /// Loads the needed parts of an account that is kept in parts.
    fn load_parts(&mut self, needed: &NeededParts<'_>, now: Time) {
        let (WorkingAccount { account: Some(account), .. }, Some(annex)) = self.parts() else {
            return;
        };
        annex.load_parts(account, needed, now.on(Some(account)));
        if needed.all {
            self.working().note_whole();
        }
    }

    /// Applies an encoded Change to the loaded account. After an error the working account is invalid.
    fn apply(&mut self, change: &[u8]) -> Result<(), ChangeError> {
        if !self.working().is_in_parts() {
            return self.working().apply(change);
        }
        let mut facts = Change { at: Time(0), ops: Vec::new() };
        decode_change(change, &mut facts)?;
        self.load_parts(&NeededParts::by_facts(&facts.ops), facts.at);
        apply(&mut self.working().account, &facts);
        self.unload_parts();
        Ok(())
    }

    /// Moves the parts back into the annex, or switches between whole and in parts when the size calls for it.
    fn unload_parts(&mut self) {
        if let (working, Some(annex)) = self.parts() {
            let apart_len = working.apart_len();
            // Without an account it was deleted.
            if let Some(account) = &mut working.account {
                annex.unload_parts(account);
                // A quarter of the threshold, so that an account near it does not switch back and forth.
                if annex.bytes() >= apart_len / 4 || annex.has_many_items() {
                    return;
                }
                annex.copy_to(account);
            }
            self.make_whole();
        } else {
            let working = self.working();
            let apart_len = working.apart_len();
            if let Some(account) = &mut working.account {
                let annex = AccountParts::of(account, apart_len);
                working.set_in_parts(true);
                self.keep_annex(Some(annex));
            }
        }
    }

    /// Stores the working account after a Commit, and updates totals and timers. The account was loaded from here,
    /// and its share of the totals was remembered before the change.
    fn store(&mut self) {
        if self.working().is_in_parts() {
            self.unload_parts();
        }
        // Packs the image first: it is written in narrower stores than the copy reads, so the stores should reach the
        // cache before the copy. The work in between gives them time.
        let working = self.working();
        working.pack();
        if working.is_busy() {
            self.unload_parts();
            self.working().pack();
        }
        self.count();
        let working = self.working();
        if working.account.is_some() {
            let due = working.next_due();
            self.put(due);
        } else {
            self.remove();
        }
    }
}
