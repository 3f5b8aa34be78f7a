//! The shell around the ledger, shared by every host. It unpacks an account, decides on a command or on what is due,
//! logs the Change, packs and stores the account, and arms a timer. A host only defines where its accounts are stored
//! and where Changes go; the order of the steps is defined here alone.

use crate::account_parts::{AccountParts, NeededParts};
use crate::outcome::LoadError;
use crate::working_account::WorkingAccount;
use crate::{Outcome, WrongType};
use scurry_codec::{ChangeError, decode_change, decode_foreign_account};
use scurry_ledger::{Bound, Change, Code, Command, Decision, Op, Rejection, Time, apply};

/// Storage of one account between two commands: a slot of a shard's table, or a key of a Valkey server.
///
/// A host implements the methods without a body. It calls the others, and overrides none.
pub trait AccountSlot {
    /// Returns the slate of the host.
    fn slate(&mut self) -> &mut WorkingAccount;

    /// Returns the slate, and the annex of its account if that is kept in parts.
    fn parts(&mut self) -> (&mut WorkingAccount, Option<&mut AccountParts>);

    /// Stores an annex with the account; None removes it.
    fn keep_annex(&mut self, annex: Option<AccountParts>);

    /// Unpacks the account onto the slate, None when no account is stored. The parts of an account that is kept in
    /// parts are not brought in.
    fn load(&mut self) -> Result<(), WrongType>;

    /// Reports whether the host is out of memory, so that commands that need more are refused.
    fn refuses_memory(&mut self) -> bool;

    /// Passes a Change on, to the log or to replicas. At this time the slate has the account after the Change; the
    /// stored account is still the one before it.
    fn hand_on(&mut self, change: &Change);

    /// Passes on that the image on the slate replaces the account.
    fn hand_on_image(&mut self);

    /// Subtracts the account from the totals as the slate remembers it, and adds it as it is now.
    fn count(&mut self);

    /// Stores the slate's image, in place or as a new entry. `due` is the next time something in the account is due,
    /// for the timer.
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
        match self.slate().decide(command, now) {
            Decision::Replay(answer) => Outcome::Answer { answer, replayed: true },
            Decision::Reject(rejection) => Outcome::Reject(rejection),
            Decision::Commit(change, _) if self.refuses_memory() => {
                self.slate().reuse(change);
                Outcome::OutOfMemory
            }
            Decision::Commit(change, _)
                if self.slate().is_apart() && self.is_full(command, &change) =>
            {
                self.slate().reuse(change);
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
        if self.slate().is_apart() {
            self.load_parts_for(command, now);
        }
        self.slate().remember();
    }

    /// Decides on one command of a chain as if it were alone. The account is loaded.
    fn decide_link(&mut self, now: Time, command: &Command<'_>) -> Decision {
        self.prepare(now, command);
        match self.slate().decide(command, now) {
            Decision::Commit(change, _)
                if self.slate().is_apart() && self.is_full(command, &change) =>
            {
                self.slate().reuse(change);
                Decision::Reject(self.full(now))
            }
            decision => decision,
        }
    }

    /// Decides again on a command that another command of its chain denies.
    fn decide_denied(&mut self, now: Time, command: &Command<'_>) -> Decision {
        self.load().expect("it was loaded before");
        self.prepare(now, command);
        self.slate().decide_denied(command, now)
    }

    /// Passes a Change on and stores the account after it.
    #[inline]
    fn commit(&mut self, change: Change) {
        self.hand_on(&change);
        self.store();
        self.slate().reuse(change);
    }

    /// Loads the needed parts of the account in their state at `now`: due expiries count as processed, and nothing is
    /// written.
    fn view(&mut self, now: Time, needed: &NeededParts<'_>) -> Result<(), WrongType> {
        self.load()?;
        match self.parts() {
            (WorkingAccount { account: Some(account), .. }, Some(annex)) if needed.all => {
                annex.copy_to(account);
                self.slate().note_whole();
            }
            (_, Some(_)) => self.bring(needed, now),
            (_, None) => {}
        }
        self.slate().view(now);
        Ok(())
    }

    /// Commits the expiries that are due at `at`. When nothing is due yet, returns None and arms the timer for later.
    /// The host has disarmed the timer before.
    fn tick(&mut self, at: Time) -> Result<Option<Change>, WrongType> {
        self.load()?;
        match self.slate().next_due() {
            Some(due) if due <= at => {
                if self.slate().is_apart() {
                    self.bring(&NeededParts::default(), at);
                }
                let slate = self.slate();
                slate.remember();
                let change = slate.tick(at).expect("what is due gives a Change");
                self.hand_on(&change);
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
        if self.slate().account.is_some() && !replace {
            return Err(LoadError::Exists);
        }
        if self.refuses_memory() {
            return Err(LoadError::OutOfMemory);
        }
        let slate = self.slate();
        slate.remember();
        decode_foreign_account(image, slate.account_mut()).map_err(LoadError::Image)?;
        self.make_whole();
        // Encodes the image with this version's writer, whichever version wrote the input.
        self.slate().pack();
        self.hand_on_image();
        self.store();
        Ok(())
    }

    /// Reports whether an account that is kept in parts has reached its length limit and the command may make it
    /// longer. Any command may, by late use of a session that is not open.
    fn is_full(&mut self, command: &Command<'_>, change: &Change) -> bool {
        let makes_room = matches!(
            command,
            Command::Terminate(_)
                | Command::Release { .. }
                | Command::Status { txn: None, .. }
                | Command::Delete { .. }
        ) && !change.ops.iter().any(|op| matches!(op, Op::NoteLate(_)));
        let (slate, annex) = self.parts();
        !makes_room && annex.is_some_and(|annex| annex.bytes() >= slate.account_len_max())
    }

    /// Returns the rejection for an account at its length limit.
    fn full(&mut self, now: Time) -> Rejection {
        let (slate, annex) = self.parts();
        let first = annex.and_then(|annex| annex.sums().next_due());
        Rejection {
            code: Code::Busy,
            why: "the account remembers as much as one may: retry then with the same id",
            bound: Some(Bound {
                name: "account_len_max",
                max: slate.account_len_max(),
                wait_ms: first.map(|first| first.0.saturating_sub(now.0).max(0)),
            }),
            expired_ms: None,
        }
    }

    /// Stops keeping the account in parts: all of it is on the slate and replaces the annex.
    fn make_whole(&mut self) {
        if self.slate().is_apart() {
            self.slate().set_apart(false);
            self.keep_annex(None);
        }
    }

    /// Brings onto the slate the parts that a command needs of an account that is kept in parts.
    fn load_parts_for(&mut self, command: &Command<'_>, now: Time) {
        if let Some(account) = &self.slate().account {
            let needed = NeededParts::by(command, account);
            self.bring(&needed, now);
        }
    }

    /// Brings onto the slate the needed parts of an account that is kept in parts.
    fn bring(&mut self, needed: &NeededParts<'_>, now: Time) {
        let (WorkingAccount { account: Some(account), .. }, Some(annex)) = self.parts() else {
            return;
        };
        annex.bring(account, needed, now.on(Some(account)));
        if needed.all {
            self.slate().note_whole();
        }
    }

    /// Applies an encoded Change to the loaded account. After an error the account on the slate is invalid.
    fn apply(&mut self, change: &[u8]) -> Result<(), ChangeError> {
        if !self.slate().is_apart() {
            return self.slate().apply(change);
        }
        let mut facts = Change { at: Time(0), ops: Vec::new() };
        decode_change(change, &mut facts)?;
        self.bring(&NeededParts::by_facts(&facts.ops), facts.at);
        apply(&mut self.slate().account, &facts);
        self.take_back();
        Ok(())
    }

    /// Moves the parts back into the annex, or switches between whole and in parts when the size calls for it.
    fn take_back(&mut self) {
        if let (slate, Some(annex)) = self.parts() {
            let apart_len = slate.apart_len();
            // Without an account it was deleted.
            if let Some(account) = &mut slate.account {
                annex.take_back(account);
                // A quarter of the threshold, so that an account near it does not switch back and forth.
                if annex.bytes() >= apart_len / 4 {
                    return;
                }
                annex.copy_to(account);
            }
            self.make_whole();
        } else {
            let slate = self.slate();
            if let Some(account) = &mut slate.account {
                let annex = AccountParts::of(account);
                slate.set_apart(true);
                self.keep_annex(Some(annex));
            }
        }
    }

    /// Stores the account of the slate after a Commit, and updates totals and timers. The account was loaded from here,
    /// and its share of the totals was remembered before the change.
    fn store(&mut self) {
        if self.slate().is_apart() {
            self.take_back();
        }
        // Packs the image first: it is written in narrower stores than the copy reads, so the stores should reach the
        // cache before the copy. The work in between gives them time.
        let slate = self.slate();
        slate.pack();
        if slate.is_busy() {
            self.take_back();
            self.slate().pack();
        }
        self.count();
        let slate = self.slate();
        if slate.account.is_some() {
            let due = slate.next_due();
            self.put(due);
        } else {
            self.remove();
        }
    }
}
