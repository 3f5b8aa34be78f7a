//! The account that a host works on, between the image that it was and the image that it becomes.
//! A host has one slate for all its commands, so that no command allocates what another had.

use scurry_codec::{
    ChangeError, Facts, decode_part, encode_account_over, is_apart, mark_apart, read_change,
};
use scurry_ledger::{
    Account, Change, Command, Decision, Limits, Named, Op, Portion, Status, Time, apply_op,
    decide_with, next_due, seal, tick_in_place, view_in_place,
};
use std::mem;

/// Bytes of an open session in an image but for its answers and its blob, about.
const SESSION_LEN: usize = 100;

/// The account that a host works on, unpacked, and the buffers that this takes.
#[derive(Debug, Default)]
pub struct Slate {
    /// The account; none where there is none.
    pub account: Option<Account>,
    /// Bounds and defaults of the ledger.
    limits: Limits,
    apart_len: usize,
    /// The account's share of the totals before it was changed.
    before: Portion,
    /// The account is kept in parts: what is on the slate is what its image has, and what was brought in.
    is_apart: bool,
    /// Room for the image, longer than it.
    image: Vec<u8>,
    /// Bytes of the image.
    image_len: usize,
    /// Room for the facts of a Change.
    ops: Vec<Op>,
    /// The sessions that the facts of a Change name.
    named: Named,
}

impl Slate {
    /// An empty slate of a host with these limits, which keeps accounts in parts whose sessions,
    /// tombstones and transactions take more than `apart_len` bytes.
    pub fn new(limits: Limits, apart_len: usize) -> Slate {
        Slate { limits, apart_len, ..Slate::default() }
    }

    /// Unpacks an image that this program has written or looked through; none wipes the slate.
    #[inline]
    pub fn unpack(&mut self, image: Option<&[u8]>) {
        match image {
            Some(image) => {
                self.set_apart(false);
                unpack(image, &mut self.account);
                self.is_apart = is_apart(image);
            }
            None => (self.account, self.is_apart) = (None, false),
        }
    }

    /// True when the account is kept in parts.
    #[inline]
    pub fn is_apart(&self) -> bool {
        self.is_apart
    }

    /// Says whether the account is kept in parts.
    #[inline]
    pub(crate) fn set_apart(&mut self, is_apart: bool) {
        if self.is_apart
            && !is_apart
            && let Some(account) = &mut self.account
        {
            account.elsewhere = None;
        }
        self.is_apart = is_apart;
    }

    /// An account to unpack another image into, whatever was there.
    pub fn account_mut(&mut self) -> &mut Account {
        emptied(&mut self.account)
    }

    /// Remembers the account's share of the totals, before it is changed.
    #[inline]
    pub fn remember(&mut self) {
        self.before.set(self.account.as_ref());
    }

    /// The account's share of the totals when it was remembered.
    pub fn before(&self) -> &Portion {
        &self.before
    }

    /// The image that the account was packed into last.
    #[inline]
    pub fn image(&self) -> &[u8] {
        &self.image[..self.image_len]
    }

    /// When something comes due in the account.
    pub fn next_due(&self) -> Option<Time> {
        self.account.as_ref().and_then(next_due)
    }

    /// Makes the image of the account, if there is an account.
    #[inline]
    pub(crate) fn pack(&mut self) {
        if let Some(account) = &self.account {
            self.image_len = encode_account_over(account, &mut self.image);
            if self.is_apart {
                mark_apart(&mut self.image);
            }
        }
    }

    #[inline]
    pub(crate) fn decide(&mut self, command: &Command<'_>, now: Time) -> Decision {
        decide_with(&mut self.ops, &mut self.account, command, now, &self.limits)
    }

    /// Takes the facts of a Change back when all have seen them.
    #[inline]
    pub(crate) fn reuse(&mut self, change: Change) {
        self.ops = change.ops;
    }

    /// Bytes of sessions, tombstones and transactions above which an account is kept in parts.
    pub(crate) fn apart_len(&self) -> usize {
        self.apart_len
    }

    /// True when the account was packed as a whole and would better be kept in parts.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.image_len > self.apart_len && !self.is_apart && self.parts_len() > self.apart_len
    }

    /// Bytes of what a busy account keeps apart, where it lies in the image.
    fn parts_len(&self) -> usize {
        let Some(account) = &self.account else { return 0 };
        let sessions = account
            .sessions
            .iter()
            .map(|session| session.answers.as_bytes().len() + session.blob.len() + SESSION_LEN);
        sessions.sum::<usize>()
            + account.tombstones.as_bytes().len()
            + account.transactions.as_bytes().len()
    }

    /// Carries out the bytes of a Change. After an error the account is not one that ever was.
    pub(crate) fn apply(&mut self, change: &[u8]) -> Result<(), ChangeError> {
        self.named.clear();
        let Slate { account, named, .. } = self;
        let mut applied = Applied { account, named, at: Time(0) };
        read_change(change, &mut applied)?;
        seal(applied.account, applied.at);
        Ok(())
    }

    /// Does what is due, without a Change.
    pub(crate) fn view(&mut self, now: Time) {
        view_in_place(&mut self.account, now, &self.limits);
    }

    pub(crate) fn tick(&mut self, at: Time) -> Option<Change> {
        tick_in_place(&mut self.account, at, &self.limits)
    }
}

/// Unpacks an image that this program has written or looked through, into an account whose buffers
/// are used again.
#[inline]
pub fn unpack(image: &[u8], account: &mut Option<Account>) {
    if let Err(error) = decode_part(image, emptied(account)) {
        // Only hosts write images, each into its own memory, and those from outside are looked through.
        panic!("the image of an account in memory is broken: {error}");
    }
}

fn emptied(account: &mut Option<Account>) -> &mut Account {
    account.get_or_insert_with(|| Account::empty(Status::Active))
}

/// An account whose facts are read.
struct Applied<'s> {
    account: &'s mut Option<Account>,
    named: &'s mut Named,
    at: Time,
}

impl Facts for Applied<'_> {
    fn begin(&mut self, at: Time) {
        self.at = at;
    }

    #[expect(clippy::inline_always, reason = "where an op is read its kind is known")]
    #[inline(always)]
    fn take(&mut self, op: Op) {
        apply_op(self.account, self.named, &op, self.at);
        match op {
            Op::SetBlob(..) | Op::StoreAnswer { .. } | Op::Bury(_) | Op::Remember(_) => drop(op),
            // The others own nothing; a call to find that out would cost more than most of them.
            op => mem::forget(op),
        }
    }
}
