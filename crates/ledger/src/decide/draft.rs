//! The draft of an account during a command, and the facts recorded so far.

use super::mark::{self, ReplacedMark};
use crate::apply::{NamedSessions, apply_op, seal};
use crate::{
    Account, Allowance, Answer, Bound, Bucket, BucketNo, Change, Code, DebtRule, Decision, Denial,
    Id, Item, ItemAt, ItemKey, Limits, Name, Op, Posting, Rejection, Session, SessionAt,
    SessionTerms, Time,
};
use alloc::boxed::Box;
use alloc::vec::Vec;

pub(crate) struct Draft<'a> {
    account: &'a mut Option<Account>,
    ops: Vec<Op>,
    /// Sessions that the facts name.
    named: NamedSessions,
    told: Told,
    replaced_mark: Option<ReplacedMark>,
    pub(crate) now: Time,
    pub(crate) limits: &'a Limits,
}

/// What the facts have named so far for readers of the log.
#[derive(Clone, Debug, Default)]
struct Told {
    identities: bool,
    /// Items of the session that was named last, a bit for each position.
    items: [u64; 4],
}

impl Told {
    /// Notes an item. Reports whether it was not named before.
    fn add_item(&mut self, position: u8) -> bool {
        let (word, bit) = (&mut self.items[usize::from(position / 64)], 1 << (position % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// A point to roll back to.
pub(super) struct Mark {
    account: Option<Account>,
    ops: usize,
    named: NamedSessions,
    told: Told,
}

pub(super) const OVERFLOW: Rejection =
    Rejection { code: Code::Overflow, why: OVERFLOWS, bound: None, expired_ms: None };
const OVERFLOWS: &str = "a sum would leave the range of 64 bits: use a smaller amount";

impl<'a> Draft<'a> {
    /// Starts a draft. The facts go into `ops`, which is emptied first.
    pub(crate) fn new(
        account: &'a mut Option<Account>,
        mut ops: Vec<Op>,
        now: Time,
        limits: &'a Limits,
    ) -> Draft<'a> {
        ops.drain(..).for_each(Op::discard);
        let (named, told) = (NamedSessions::default(), Told::default());
        Draft { account, ops, named, told, replaced_mark: None, now, limits }
    }

    pub(super) fn account_exists(&self) -> bool {
        self.account.is_some()
    }

    /// Returns the account. Every command but CREATE runs only on an existing account.
    pub(super) fn account(&self) -> &Account {
        self.account.as_ref().expect("the command runs on an account")
    }

    #[inline(always)]
    pub(super) fn session(&self, at: SessionAt) -> &Session {
        &self.account().sessions[self.named.place(at)]
    }

    #[inline(always)]
    pub(super) fn item(&self, at: ItemAt) -> &Item {
        self.session(at.session).item(at.item).expect("the host has loaded the item")
    }

    /// Returns the position of a loaded item of a session.
    #[inline]
    pub(super) fn item_at(&self, session: SessionAt, index: usize) -> ItemAt {
        ItemAt { session, item: self.session(session).position_of(index) }
    }

    /// Returns the bucket of a slice or of the burn order, which always exists.
    pub(super) fn bucket(&self, no: BucketNo) -> &Bucket {
        self.account().bucket_no(no).expect("a slice's bucket is never removed (I2)")
    }

    /// Returns the version that the account will have after the Commit.
    pub(super) fn next_version(&self) -> u64 {
        self.account().version + 1
    }

    /// Records a fact and applies it. Inlined, as `apply_op` is: where the caller knows the kind of fact, the compiler
    /// keeps only the code for that kind.
    #[inline(always)]
    pub(super) fn record(&mut self, op: Op) {
        apply_op(self.account, &mut self.named, &op, self.now);
        self.ops.push(op);
    }

    /// Names the session at this position of the account's order, for facts about it.
    #[inline]
    pub(super) fn name(&mut self, place: usize) -> SessionAt {
        self.told.items = [0; 4];
        self.ops.push(Op::NameSession(self.account().sessions[place].id.clone()));
        let at = self.named.add(place);
        if !self.account().sessions[place].blob.is_empty() {
            self.ops.push(Op::NameBlob(at, self.account().sessions[place].blob.clone()));
        }
        at
    }

    /// Opens a session, for facts about it.
    pub(super) fn open(&mut self, id: Id, terms: SessionTerms) -> SessionAt {
        self.name_identities();
        self.told.items = [0; 4];
        self.record(Op::OpenSession { id, terms });
        self.named.last()
    }

    /// Names an item for readers of the log, unless a fact has named it.
    #[inline]
    pub(super) fn name_item(&mut self, at: ItemAt) {
        if self.told.add_item(at.item) {
            let Item { key, unit, .. } = *self.item(at);
            self.ops.push(Op::NameItem { at, key, unit });
        }
    }

    /// Names the item of no session that the facts after it are about, for readers of the log.
    pub(super) fn name_key(&mut self, key: ItemKey) {
        self.ops.push(Op::NameKey(key));
    }

    /// Adds an item to a session.
    pub(super) fn add_item(&mut self, at: ItemAt, key: ItemKey, unit: Name) {
        self.record(Op::AddItem { session: at.session, key, unit });
        self.name_item(at);
    }

    /// Names the identities of the account for readers of the log, once.
    #[inline]
    pub(super) fn name_identities(&mut self) {
        if !self.account().identities.is_empty() && !self.told.identities {
            self.told.identities = true;
            self.ops.push(Op::NameIdentities(self.account().identities.as_slice().into()));
        }
    }

    /// Records denials for readers of the log, as many as one command may.
    pub(super) fn note_denials(&mut self, denials: impl Iterator<Item = Denial>) {
        let (mut kept, mut left_out) = (Vec::new(), 0);
        for denial in denials {
            match kept.len() < self.limits.denials_max {
                true => kept.push(denial),
                false => left_out += 1,
            }
        }
        let Some(last) = kept.last_mut() else { return };
        last.left_out = left_out;
        self.name_identities();
        kept.into_iter().for_each(|denial| self.ops.push(Op::Deny(Box::new(denial))));
    }

    /// Records a credit or a refund, if the bucket's totals have room for it.
    pub(super) fn record_inflow(
        &mut self,
        op: fn(Posting) -> Op,
        posting: Posting,
    ) -> Result<(), Rejection> {
        let bucket = self.bucket(posting.bucket);
        let inflow = i128::from(bucket.credited) + i128::from(bucket.refunded);
        let to_come = self.still_to_come(posting.bucket);
        if inflow + to_come + i128::from(posting.amount) > i128::from(i64::MAX) {
            return Err(OVERFLOW);
        }
        self.record(op(posting));
        Ok(())
    }

    /// Returns the most that refills may bring which expires beside a debt that stays: those of an allowance that carries
    /// debts.
    fn still_to_expire(&self, no: BucketNo) -> i128 {
        match self.account().allowance(no) {
            Some(allowance) if allowance.debt == DebtRule::Carry => self.still_to_come(no),
            _ => 0,
        }
    }

    fn still_to_come(&self, no: BucketNo) -> i128 {
        self.account().allowance(no).map_or(0, |allowance| allowance.still_to_come(self.bucket(no)))
    }

    /// Records the new allowance of a bucket, if its totals have room for all that the allowance will ever bring (I18).
    pub(super) fn record_allowance(&mut self, allowance: Allowance) -> Result<(), Rejection> {
        if self.account().allowance(allowance.bucket) != Some(&allowance) {
            self.record(Op::SetAllowance(allowance));
        }
        let bucket = self.bucket(allowance.bucket);
        let inflow = i128::from(bucket.credited) + i128::from(bucket.refunded);
        if inflow + allowance.still_to_come(bucket) > i128::from(i64::MAX) {
            return Err(OVERFLOW);
        }
        let outflow = bucket.outflow() + self.still_to_expire(allowance.bucket);
        if outflow > i128::from(i64::MAX) { Err(OVERFLOW) } else { Ok(()) }
    }

    /// Records a debit from `available`, if the bucket's totals have room for it. With this check and that of inflows,
    /// no later expiry or refill can overflow.
    pub(super) fn record_outflow(
        &mut self,
        op: impl FnOnce(Posting) -> Op,
        posting: Posting,
    ) -> Result<(), Rejection> {
        self.check_outflow(&posting)?;
        self.record(op(posting));
        Ok(())
    }

    /// Records an amount that comes in and expires at once: both totals must have room for it.
    pub(super) fn record_expired_inflow(
        &mut self,
        op: fn(Posting) -> Op,
        posting: Posting,
    ) -> Result<(), Rejection> {
        self.check_outflow(&posting)?;
        self.record_inflow(op, posting)
    }

    fn check_outflow(&self, posting: &Posting) -> Result<(), Rejection> {
        let bucket = self.bucket(posting.bucket);
        let outflow = bucket.outflow() + self.still_to_expire(posting.bucket);
        if outflow + i128::from(posting.amount) > i128::from(i64::MAX) {
            return Err(OVERFLOW);
        }
        Ok(())
    }

    /// Removes the threshold event that this command has recorded for a limit. A [`Mark`] set after that event stays
    /// valid: only grants follow such a mark, and grants use nothing of a limit.
    pub(super) fn take_back_threshold(&mut self, limit: Name) -> bool {
        let len = self.ops.len();
        self.ops.retain(|op| !matches!(op, Op::ReachThreshold { limit: of, .. } if *of == limit));
        self.ops.len() < len
    }

    /// Returns a point to roll back to, if one may be needed. It costs a copy of the account.
    pub(super) fn mark_if(&self, needed: bool) -> Option<Box<Mark>> {
        needed.then(|| self.mark())
    }

    #[cold]
    fn mark(&self) -> Box<Mark> {
        Box::new(Mark {
            account: self.account.clone(),
            ops: self.ops.len(),
            named: self.named.clone(),
            told: self.told.clone(),
        })
    }

    /// Undoes the opening of a session that was granted nothing; the opening must be the last recorded facts.
    pub(super) fn unopen(&mut self, at: SessionAt) {
        let opened = |op: &Op| matches!(op, Op::OpenSession { .. });
        let from = self.ops.iter().rposition(opened).unwrap_or(self.ops.len());
        let of_opening = |op: &Op| matches!(op, Op::AddItem { .. } | Op::FallShort(..));
        debug_assert!(self.ops[from..].iter().skip(1).all(of_opening));
        self.ops.truncate(from);
        if let Some(account) = self.account {
            account.sessions.truncate(self.named.place(at));
        }
        self.named.pop();
    }

    pub(super) fn roll_back(&mut self, mark: Box<Mark>) {
        let Mark { account, ops, named, told } = *mark;
        *self.account = account;
        (self.named, self.told) = (named, told);
        self.ops.truncate(ops);
    }

    /// Returns a BUSY rejection. `first` is when the first object that counts towards the bound ends.
    pub(super) fn busy<T>(
        &self,
        (name, max): (&'static str, usize),
        first: Option<Time>,
        why: &'static str,
    ) -> Result<T, Rejection> {
        let wait_ms = first.map(|first| first.0.saturating_sub(self.now.0));
        let bound = Some(Bound { name, max, wait_ms });
        Err(Rejection { code: Code::Busy, why, bound, expired_ms: None })
    }

    /// Notes that the command gives a bucket another mark.
    pub(super) fn replace_mark(&mut self, bucket: &Bucket, mark: Option<i64>) {
        if mark != bucket.mark {
            self.replaced_mark = Some(ReplacedMark { bucket: bucket.no, mark: bucket.mark });
        }
    }

    /// Records the marks that the Commit as a whole crosses. Nothing may be recorded afterwards.
    #[inline]
    fn note_crossings(&mut self) {
        let has_mark = |account: &Account| account.buckets.iter().any(|of| of.mark.is_some());
        if self.account.as_ref().is_some_and(has_mark) {
            let crossings = mark::crossings(self.account(), &self.ops, self.replaced_mark);
            if !crossings.is_empty() {
                self.name_identities();
                self.ops.extend(crossings);
            }
        }
    }

    pub(super) fn commit(mut self, answer: Answer) -> Decision {
        self.note_crossings();
        seal(self.account, self.now);
        Decision::Commit(Change { at: self.now, ops: self.ops }, answer)
    }

    /// Returns the buffer of the facts, which the caller discards.
    pub(super) fn give_up(self) -> Vec<Op> {
        self.ops
    }

    pub(crate) fn finish_if_changed(mut self) -> Option<Change> {
        if self.ops.is_empty() {
            return None;
        }
        self.note_crossings();
        seal(self.account, self.now);
        Some(Change { at: self.now, ops: self.ops })
    }
}

/// Returns a sum, or `OVERFLOW` if it leaves 64 bits.
pub(super) fn sum(a: i64, b: i64) -> Result<i64, Rejection> {
    a.checked_add(b).ok_or(OVERFLOW)
}
