//! The account that a host works on, between its old image and its new one. A host uses one of them for
//! all its commands, so that buffers are reused and not allocated per command.

use scurry_codec::{
    ChangeError, ChangeVisitor, decode_part, encode_account_over, is_in_parts, mark_in_parts,
    read_change,
};
use scurry_ledger::{
    Account, AccountContribution, Change, Command, Decision, Limits, NamedSessions, Op, Status,
    Time, apply_op, decide_denied_with, decide_with, next_due, seal, tick_in_place, view_in_place,
};

/// Most bytes of a buffer that is kept for the next account: few accounts are longer.
const ROOM_LEN_MAX: usize = 1 << 20;

/// The unpacked account that a host works on, and reusable buffers.
#[derive(Debug, Default)]
pub struct WorkingAccount {
    /// The account, None when none exists.
    pub account: Option<Account>,
    /// Limits and defaults of the ledger.
    limits: Limits,
    apart_len: usize,
    account_len_max: usize,
    /// The account's share of the totals before it was changed.
    before: AccountContribution,
    /// The account had former identities before it was changed.
    had_former_identities: bool,
    /// The account is kept in parts: it has what its image has, and the parts that were loaded.
    is_in_parts: bool,
    /// The account needs larger buffers than most.
    is_long: bool,
    /// Buffer for the image, longer than the image.
    image: Vec<u8>,
    /// Bytes of the image.
    image_len: usize,
    /// Buffer for the facts of a Change.
    ops: Vec<Op>,
    /// The sessions that the facts of a Change name.
    named: NamedSessions,
}

impl WorkingAccount {
    /// Creates an empty working account with these limits. Accounts whose sessions, tombstones and transactions take
    /// more than `apart_len` bytes are kept in parts, and none may take more than `account_len_max`.
    pub fn new(limits: Limits, apart_len: usize, account_len_max: usize) -> WorkingAccount {
        WorkingAccount { limits, apart_len, account_len_max, ..WorkingAccount::default() }
    }

    /// Unpacks an image that this program has written or validated. None leaves no account.
    #[inline]
    pub fn unpack(&mut self, image: Option<&[u8]>) {
        if self.is_long {
            self.shrink_buffers();
        }
        match image {
            Some(image) => {
                self.set_in_parts(false);
                unpack(image, &mut self.account);
                self.is_in_parts = is_in_parts(image);
            }
            None => (self.account, self.is_in_parts) = (None, false),
        }
    }

    /// Frees the buffers of an unusually large account, if there was one.
    pub fn rest(&mut self) {
        if self.is_long {
            self.shrink_buffers();
        }
    }

    /// Frees the buffers of an unusually large account.
    #[cold]
    fn shrink_buffers(&mut self) {
        (self.account, self.image, self.is_long) = (None, Vec::new(), false);
    }

    /// Notes that an account that is kept in parts is loaded as a whole.
    pub(crate) fn note_whole(&mut self) {
        self.is_long = true;
    }

    /// Reports whether the account is kept in parts.
    #[inline]
    pub fn is_in_parts(&self) -> bool {
        self.is_in_parts
    }

    /// Sets whether the account is kept in parts.
    #[inline]
    pub(crate) fn set_in_parts(&mut self, is_in_parts: bool) {
        if self.is_in_parts
            && !is_in_parts
            && let Some(account) = &mut self.account
        {
            account.unloaded = None;
        }
        self.is_in_parts = is_in_parts;
    }

    /// Returns an emptied account to decode another image into.
    pub fn account_mut(&mut self) -> &mut Account {
        let account = emptied(&mut self.account);
        // It belongs to the previous account and no image contains it.
        account.unloaded = None;
        account
    }

    /// Remembers the account's share of the totals, before the account is changed.
    #[inline]
    pub fn remember(&mut self) {
        self.before.set(self.account.as_ref());
        self.had_former_identities =
            self.account.as_ref().is_some_and(|account| !account.former_identities.is_empty());
    }

    /// Returns the account's share of the totals when it was remembered.
    pub fn before(&self) -> &AccountContribution {
        &self.before
    }

    /// Reports whether the account had former identities when it was remembered.
    #[inline]
    pub(crate) fn had_former_identities(&self) -> bool {
        self.had_former_identities
    }

    /// Returns the image that the account was last packed into.
    #[inline]
    pub fn image(&self) -> &[u8] {
        &self.image[..self.image_len]
    }

    /// Returns when something in the account is next due.
    #[inline]
    pub fn next_due(&self) -> Option<Time> {
        self.account.as_ref().and_then(next_due)
    }

    /// Encodes the account into the image, if there is an account.
    #[inline]
    pub(crate) fn pack(&mut self) {
        if let Some(account) = &self.account {
            self.image_len = encode_account_over(account, &mut self.image);
            if self.is_in_parts {
                mark_in_parts(&mut self.image);
            }
            self.is_long |= self.image.len() > ROOM_LEN_MAX;
        }
    }

    #[inline]
    pub(crate) fn decide(&mut self, command: &Command<'_>, now: Time) -> Decision {
        decide_with(&mut self.ops, &mut self.account, command, now, &self.limits)
    }

    pub(crate) fn decide_denied(&mut self, command: &Command<'_>, now: Time) -> Decision {
        decide_denied_with(&mut self.ops, &mut self.account, command, now, &self.limits)
    }

    /// Takes back the buffer of a Change's facts for reuse.
    #[inline]
    pub(crate) fn reuse(&mut self, change: Change) {
        self.ops = change.ops;
    }

    /// Returns the bytes of sessions, tombstones and transactions above which an account is kept in parts.
    pub(crate) fn apart_len(&self) -> usize {
        self.apart_len
    }

    /// Reports whether the account was packed whole but is large enough to be kept in parts.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        // An image of this length has room for the items of a session that has many.
        self.image_len / ITEM_LEN > items_apart(self.apart_len)
            && !self.is_in_parts
            && self.account.as_ref().is_some_and(|account| is_for_parts(account, self.apart_len))
    }

    /// Returns the most bytes that an account's sessions, tombstones and transactions may take.
    pub(crate) fn account_len_max(&self) -> usize {
        self.account_len_max
    }

    /// Applies an encoded Change. After an error the working account is invalid.
    pub(crate) fn apply(&mut self, change: &[u8]) -> Result<(), ChangeError> {
        self.named.clear();
        let WorkingAccount { account, named, .. } = self;
        let mut applied = Applied { account, named, at: Time(0) };
        read_change(change, &mut applied)?;
        seal(applied.account, applied.at);
        Ok(())
    }

    /// Applies the expiries that are due at `now`, without producing a Change.
    pub(crate) fn view(&mut self, now: Time) {
        view_in_place(&mut self.account, now, &self.limits);
    }

    pub(crate) fn tick(&mut self, at: Time) -> Option<Change> {
        tick_in_place(&mut self.account, at, &self.limits)
    }
}

/// Unpacks an image that this program has written or validated, into an account whose buffers are reused.
#[inline]
pub fn unpack(image: &[u8], account: &mut Option<Account>) {
    if let Err(error) = decode_part(image, emptied(account)) {
        // Only hosts write images, each into its own memory, and images from outside are validated first.
        panic!("the image of an account in memory is broken: {error}");
    }
}

fn emptied(account: &mut Option<Account>) -> &mut Account {
    account.get_or_insert_with(|| Account::empty(Status::Active))
}

/// Approximate bytes of an open session in an image, without its answers and blob.
const SESSION_LEN: usize = 100;
/// One in so many of the bytes above which an account is kept in parts is the number of items above which a session has many: such a session makes its account
/// one that is kept in parts, however few bytes it has.
const APART_LEN_PER_ITEM: usize = 256;
/// Least bytes of an item in an image.
const ITEM_LEN: usize = 16;

/// Returns the number of items above which a session has many, of the bytes above which an account is kept in parts.
pub(crate) fn items_apart(apart_len: usize) -> usize {
    apart_len / APART_LEN_PER_ITEM
}

/// Reports whether an account is to be kept in parts: its parts exceed `apart_len` bytes, or a session has many items.
pub(crate) fn is_for_parts(account: &Account, apart_len: usize) -> bool {
    let items_max = items_apart(apart_len);
    account.sessions.iter().any(|session| session.items.len() > items_max)
        || parts_len(account) > apart_len
}

/// Returns the approximate bytes of the parts that a busy account keeps in its annex.
fn parts_len(account: &Account) -> usize {
    let sessions = account.sessions.iter();
    sessions
        .map(|session| session.answers.as_bytes().len() + session.blob.len() + SESSION_LEN)
        .sum::<usize>()
        + account.tombstones.as_bytes().len()
        + account.transactions.as_bytes().len()
}

/// An account to which facts are applied as they are decoded.
struct Applied<'s> {
    account: &'s mut Option<Account>,
    named: &'s mut NamedSessions,
    at: Time,
}

impl ChangeVisitor for Applied<'_> {
    fn begin(&mut self, at: Time) {
        self.at = at;
    }

    #[expect(clippy::inline_always, reason = "where an op is read its kind is known")]
    #[inline(always)]
    fn visit(&mut self, op: Op) {
        apply_op(self.account, self.named, &op, self.at);
        op.discard();
    }
}
