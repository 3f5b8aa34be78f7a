//! What commands work with, one after the other: the settings, and room that is used again.

use crate::account::{APPLY, AccountValue};
use crate::account_totals;
use crate::options::Options;
use crate::server::{Context, Exclusive, OpenKey, WrongType};
use crate::timers;
use scurry_codec::encode_change;
use scurry_ledger::{Account, Change, Op, Portion, next_due};
use scurry_resp::Scratch;

/// One of them works for all of the node's commands: the server runs one at a time.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) options: Options,
    /// The server sets a flag for the client that imports slots, and it means that.
    pub(crate) knows_slot_import: bool,
    /// The account that a command works on.
    pub(crate) account: Option<Account>,
    /// Where its facts are recorded.
    pub(crate) ops: Vec<Op>,
    /// What the account was, for the totals.
    before: Portion,
    /// Its version then, 0 where there was none.
    version_before: u64,
    /// Where the lists of a command are.
    pub(crate) scratch: Scratch<'static>,
    /// Where an image is made.
    image: Vec<u8>,
    /// The bytes of a Change.
    bytes: Vec<u8>,
    /// The Change that is applied; its buffer is used again.
    pub(crate) change: Option<Change>,
}

static DESK: Exclusive<Desk> = Exclusive::new();

/// Lays out a desk for these settings.
pub(crate) fn lay_out(context: &Context, options: Options, knows_slot_import: bool) {
    at(context, |desk| *desk = Desk { options, knows_slot_import, ..Desk::default() });
}

/// Works at the desk; none while somebody does already.
pub(crate) fn at<R>(context: &Context, work: impl FnOnce(&mut Desk) -> R) -> Option<R> {
    DESK.with(context, work)
}

impl Desk {
    /// Unpacks the account of a key, none where there is none.
    pub(crate) fn load(&mut self, key: &mut OpenKey<'_>) -> Result<(), WrongType> {
        match key.value::<AccountValue>()? {
            Some(value) => value.unpack(&mut self.account),
            None => self.account = None,
        }
        Ok(())
    }

    /// Remembers what the account is before a command.
    pub(crate) fn remember(&mut self) {
        self.before.set(self.account.as_ref());
        self.version_before = self.account.as_ref().map_or(0, |account| account.version);
    }

    /// After a Commit: packs the account back, and keeps totals and timers right. The key is the
    /// one that it was loaded from, and [`Desk::remember`] was called in between.
    pub(crate) fn store(&mut self, key: &mut OpenKey<'_>) {
        let (context, name) = (key.context(), key.name());
        let database = context.database();
        let due = self.account.as_ref().and_then(next_due);
        let Ok(mut held) = key.value::<AccountValue>() else {
            unreachable!("the account was loaded from this key")
        };
        let is_there = held.is_some();
        if let (Some(account), Some(value)) = (&self.account, &mut held) {
            account_totals::replace(&self.before, Some(account));
            value.replace(account, &mut self.image);
            timers::arm(context, database, name.bytes(), value.armed(), due);
        }
        drop(held);
        match &self.account {
            Some(account) if !is_there => {
                account_totals::replace(&self.before, Some(account));
                let mut value = AccountValue::new(account, &mut self.image);
                timers::arm(context, database, name.bytes(), value.armed(), due);
                key.set(value);
            }
            // What it was leaves the totals when the server frees it.
            None if is_there => key.delete(),
            _ => {}
        }
        context.signal_modified(name);
    }

    /// The version of the account when it was remembered, 0 where there was none.
    pub(crate) fn version_before(&self) -> u64 {
        self.version_before
    }

    /// Tells replicas and files what was committed, and to which version of the account.
    pub(crate) fn replicate(&mut self, key: &OpenKey<'_>, change: &Change) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&self.version_before.to_le_bytes());
        encode_change(change, &mut self.bytes);
        key.context().replicate(APPLY, key.name(), &self.bytes);
    }
}
