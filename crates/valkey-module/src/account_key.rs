//! Stores accounts in the keys of a server: the module as a host of the ledger.

use crate::account::{APPLY, AccountValue, IMAGE};
use crate::account_totals;
use crate::command_state::CommandState;
use crate::server::{Context, OpenKey};
use crate::timers;
use scurry_codec::encode_change;
use scurry_engine::{AccountParts, AccountSlot, WorkingAccount, WrongType};
use scurry_ledger::{Change, Time};

/// An open key with its account.
pub(crate) struct AccountKey<'d, 'c> {
    state: &'d mut CommandState,
    key: &'d mut OpenKey<'c>,
    /// Version of the account when it was loaded, 0 if it did not exist.
    version_before: u64,
    /// Annex that is not stored in a value yet.
    annex: Option<Box<AccountParts>>,
    /// True if this command is refused here when memory is full. The server does not refuse it before.
    is_bounded: bool,
}

impl<'d, 'c> AccountKey<'d, 'c> {
    pub(crate) fn new(state: &'d mut CommandState, key: &'d mut OpenKey<'c>) -> AccountKey<'d, 'c> {
        AccountKey { state, key, version_before: 0, annex: None, is_bounded: false }
    }

    /// Sets whether the memory bound applies.
    pub(crate) fn in_bounds(self, is_bounded: bool) -> AccountKey<'d, 'c> {
        AccountKey { is_bounded, ..self }
    }

    /// Returns the key for a command that was already decided on the working account.
    pub(crate) fn resumed(self) -> AccountKey<'d, 'c> {
        let decided = self.state.working.account.as_ref();
        let version_before = decided.map_or(0, |account| account.version.saturating_sub(1));
        AccountKey { version_before, ..self }
    }

    /// Returns the version of the account when it was loaded, 0 if it did not exist.
    pub(crate) fn version_before(&self) -> u64 {
        self.version_before
    }

    fn context(&self) -> &'c Context {
        self.key.context()
    }
}

impl AccountSlot for AccountKey<'_, '_> {
    fn working(&mut self) -> &mut WorkingAccount {
        &mut self.state.working
    }

    fn parts(&mut self) -> (&mut WorkingAccount, Option<&mut AccountParts>) {
        let working = &mut self.state.working;
        if !working.is_in_parts() {
            return (working, None);
        }
        if self.annex.is_some() {
            return (working, self.annex.as_deref_mut());
        }
        let value = self.key.value::<AccountValue>().ok().flatten();
        let address = value.map_or(std::ptr::null_mut(), |value| value.address());
        // SAFETY: the value of the key owns the annex. The caller has borrowed the key, and no other reference exists.
        (working, unsafe { address.as_mut() })
    }

    fn keep_annex(&mut self, annex: Option<AccountParts>) {
        if annex.is_none()
            && let Ok(Some(mut value)) = self.key.value::<AccountValue>()
        {
            drop(value.take_annex());
        }
        self.annex = annex.map(Box::new);
    }

    fn load(&mut self) -> Result<(), WrongType> {
        let value = self.key.value::<AccountValue>()?;
        let working = &mut self.state.working;
        working.unpack(value.as_ref().map(|value| value.image()));
        if let (Some(account), Some(annex)) =
            (&mut working.account, value.as_ref().and_then(|value| value.annex()))
        {
            **account.unloaded.get_or_insert_default() = annex.sums();
        }
        self.version_before = working.account.as_ref().map_or(0, |account| account.version);
        Ok(())
    }

    fn refuses_memory(&mut self) -> bool {
        self.is_bounded && self.context().is_out_of_memory()
    }

    fn emit_change(&mut self, change: &Change) {
        let bytes = &mut self.state.bytes;
        bytes.clear();
        bytes.extend_from_slice(&self.version_before.to_le_bytes());
        encode_change(change, bytes);
        self.key.context().replicate(APPLY, self.key.name(), bytes);
    }

    fn emit_image(&mut self) {
        let words = [IMAGE, self.state.working.image()];
        self.key.context().replicate_words(APPLY, self.key.name(), &words);
    }

    fn count(&mut self) {
        let working = &self.state.working;
        // A deleted account leaves the totals when the server frees its value.
        if let Some(account) = &working.account {
            account_totals::replace(working.before(), Some(account));
        }
    }

    fn put(&mut self, due: Option<Time>) {
        let (context, name) = (self.context(), self.key.name());
        let (database, working) = (context.database(), &self.state.working);
        if let Ok(Some(mut value)) = self.key.value::<AccountValue>() {
            value.replace(working, self.annex.take());
            timers::arm(context, database, name.bytes(), value.armed(), due);
        } else {
            let mut value = AccountValue::new(working, self.annex.take());
            timers::arm(context, database, name.bytes(), value.armed(), due);
            self.key.set(value);
        }
        context.signal_modified(name);
    }

    fn remove(&mut self) {
        if matches!(self.key.value::<AccountValue>(), Ok(Some(_))) {
            self.key.delete();
        }
        self.context().signal_modified(self.key.name());
    }

    fn arm(&mut self, due: Option<Time>) {
        let (context, name) = (self.context(), self.key.name());
        if let Ok(Some(mut value)) = self.key.value::<AccountValue>() {
            timers::arm(context, context.database(), name.bytes(), value.armed(), due);
        }
    }
}
