//! The shell around the ledger, the same for every host: an account is unpacked, a command or a
//! moment is decided on, what comes of it is handed on, packed and stored, and a timer is armed. A
//! host says where its accounts lie and whom it tells; the order of the steps stands here alone.

use crate::annex::{Annex, Needed};
use crate::outcome::LoadError;
use crate::slate::Slate;
use crate::{Outcome, WrongType};
use scurry_codec::{ChangeError, decode_change, decode_foreign_account};
use scurry_ledger::{Bound, Change, Code, Command, Decision, Op, Rejection, Time, apply};

/// The home of one account, where its image lies between two commands: a slot of a shard's table,
/// or a key of a server.
///
/// A host writes the methods without a body. It calls the others, and overrides none.
pub trait Home {
    /// The slate of the host.
    fn slate(&mut self) -> &mut Slate;

    /// The slate, and the annex of the account on it, where it is kept in parts.
    fn parts(&mut self) -> (&mut Slate, Option<&mut Annex>);

    /// Keeps an annex with the account, or none any more.
    fn keep_annex(&mut self, annex: Option<Annex>);

    /// Unpacks the account onto the slate, none where nothing is at home. Of an account that is kept in
    /// parts nothing is brought in.
    fn load(&mut self) -> Result<(), WrongType>;

    /// True when the command may take no memory, and the host has none left.
    fn refuses_memory(&mut self) -> bool;

    /// Hands a Change on, to the log or to replicas. The slate has the account after it; what is at
    /// home is still the account before it.
    fn hand_on(&mut self, change: &Change);

    /// Hands on that the account is replaced by the image on the slate.
    fn hand_on_image(&mut self);

    /// Takes the account out of the totals as the slate remembers it, and in as it is.
    fn count(&mut self);

    /// Puts the slate's image where the account lies, or makes a place for it; `due` is when
    /// something comes due in it, for the timer.
    fn put(&mut self, due: Option<Time>);

    /// Takes away what lies there, if anything does. The account is deleted.
    fn remove(&mut self);

    /// Sees to it that what lies there is looked at when it is due.
    fn arm(&mut self, due: Option<Time>);

    /// Runs a command. Without memory what would change something comes to nothing; a duplicate gets
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

    /// Makes the account that was loaded ready for a decision on a command.
    #[inline]
    fn prepare(&mut self, now: Time, command: &Command<'_>) {
        if self.slate().is_apart() {
            self.bring_for(command, now);
        }
        self.slate().remember();
    }

    /// Decides on a command of a chain as if it were alone. The account was loaded.
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

    /// Decides anew on a command that another one of its chain denies.
    fn decide_denied(&mut self, now: Time, command: &Command<'_>) -> Decision {
        self.load().expect("it was loaded before");
        self.prepare(now, command);
        self.slate().decide_denied(command, now)
    }

    /// Hands a Change on and stores the account after it.
    #[inline]
    fn commit(&mut self, change: Change) {
        self.hand_on(&change);
        self.store();
        self.slate().reuse(change);
    }

    /// Shows on the slate what is needed of the account as it is at `now`: what is due counts as done,
    /// and nothing is written.
    fn view(&mut self, now: Time, needed: &Needed<'_>) -> Result<(), WrongType> {
        self.load()?;
        match self.parts() {
            (Slate { account: Some(account), .. }, Some(annex)) if needed.all => {
                annex.copy_to(account);
                self.slate().note_whole();
            }
            (_, Some(_)) => self.bring(needed, now),
            (_, None) => {}
        }
        self.slate().view(now);
        Ok(())
    }

    /// Commits what is due at `at`. A timer that was early gives nothing, and is armed for later. The
    /// host has disarmed it.
    fn tick(&mut self, at: Time) -> Result<Option<Change>, WrongType> {
        self.load()?;
        match self.slate().next_due() {
            Some(due) if due <= at => {
                if self.slate().is_apart() {
                    self.bring(&Needed::default(), at);
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

    /// Takes an account from another store: with its sessions, its remembered answers and all else
    /// that its image holds. Where there is an account already it is replaced only when told so.
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
        // Bytes of this version's writer, whoever has written those that came.
        self.slate().pack();
        self.hand_on_image();
        self.store();
        Ok(())
    }

    /// True when an account that is kept in parts is as long as it may be, and the command may make it
    /// longer: late use of a session that is not open does, whatever the command.
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

    /// The refusal of an account that is full.
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

    /// Ends to keep the account in parts: all of it is on the slate, and replaces what is kept apart.
    fn make_whole(&mut self) {
        if self.slate().is_apart() {
            self.slate().set_apart(false);
            self.keep_annex(None);
        }
    }

    /// Brings in what a command needs of an account that is kept in parts.
    fn bring_for(&mut self, command: &Command<'_>, now: Time) {
        if let Some(account) = &self.slate().account {
            let needed = Needed::by(command, account);
            self.bring(&needed, now);
        }
    }

    /// Brings in what a command or a Change needs of an account that is kept in parts.
    fn bring(&mut self, needed: &Needed<'_>, now: Time) {
        let (Slate { account: Some(account), .. }, Some(annex)) = self.parts() else { return };
        annex.bring(account, needed, now.on(Some(account)));
        if needed.all {
            self.slate().note_whole();
        }
    }

    /// Carries out the bytes of a Change on the account that was loaded. After an error the account is
    /// not one that ever was.
    fn apply(&mut self, change: &[u8]) -> Result<(), ChangeError> {
        if !self.slate().is_apart() {
            return self.slate().apply(change);
        }
        let mut facts = Change { at: Time(0), ops: Vec::new() };
        decode_change(change, &mut facts)?;
        self.bring(&Needed::by_facts(&facts.ops), facts.at);
        apply(&mut self.slate().account, &facts);
        self.take_back();
        Ok(())
    }

    /// Takes back the parts of an account that is kept so, or begins or ends to keep it so.
    fn take_back(&mut self) {
        if let (slate, Some(annex)) = self.parts() {
            let apart_len = slate.apart_len();
            // Else it was deleted.
            if let Some(account) = &mut slate.account {
                annex.take_back(account);
                // A quarter: an account at the bound does not go to and fro.
                if annex.bytes() >= apart_len / 4 {
                    return;
                }
                annex.copy_to(account);
            }
            self.make_whole();
        } else {
            let slate = self.slate();
            if let Some(account) = &mut slate.account {
                let annex = Annex::of(account);
                slate.set_apart(true);
                self.keep_annex(Some(annex));
            }
        }
    }

    /// Stores the account of the slate after a Commit, and keeps totals and timers right. The account
    /// was loaded from here, and remembered in between.
    fn store(&mut self) {
        if self.slate().is_apart() {
            self.take_back();
        }
        // The image first: it is copied by wider words than it is written, and what was written has
        // to reach the cache before. Meanwhile there is other work.
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
