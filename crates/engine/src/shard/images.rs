//! Whole accounts that are moved from one store to another.

use super::Shard;
use super::durable::{ReplayError, shown};
use crate::entry::TableEntryKind;
use crate::outcome::LoadError;
use crate::{AccountSlot, Key, ReadError};
use scurry_codec::decode_account;
use scurry_ledger::Time;
use std::borrow::Cow;

impl Shard {
    /// Returns the image of an account as its last Commit left it. Whatever has become due since is done by the store
    /// that loads the image.
    pub fn image(&self, now: Time, key: Key<'_>) -> Result<Cow<'_, [u8]>, ReadError> {
        let place = self.find(now, key).ok_or(ReadError::UnknownAccount)?;
        let entry = self.table.at(place);
        if entry.kind() == TableEntryKind::Account {
            Ok(self.whole_image(entry))
        } else {
            Err(ReadError::WrongType)
        }
    }

    /// Loads an account from another store, with its sessions, remembered answers and everything else in its image. An
    /// existing account is replaced only when `replace` is set. The host has checked that the id is allowed by
    /// docs/ledger.md, section 1.
    pub fn load_image(
        &mut self,
        now: Time,
        key: Key<'_>,
        image: &[u8],
        replace: bool,
    ) -> Result<(), LoadError> {
        let place = self.expire(now, key);
        let before = self.identities_at(place);
        let wanted = self.identities_of_image(place, image, replace);
        if !self.identities.claim(&before, &wanted) {
            return Err(LoadError::IdentityExists);
        }
        let loaded = self.slot(key, place).in_bounds(true).load_image(image, replace);
        self.identities_decided(key, &before, &wanted, loaded.is_ok());
        loaded?;
        self.stats.commits += 1;
        Ok(())
    }

    /// Replays [`Shard::load_image`] from its record.
    pub(super) fn replay_image(&mut self, id: &[u8], image: &[u8]) -> Result<(), ReplayError> {
        let key = self.table.hasher().key(id);
        let place = self.begin_replay(key)?;
        decode_account(image, self.working.account_mut())
            .map_err(|error| ReplayError::Image { account: shown(id), error })?;
        self.slot(key, place).make_whole();
        self.store_replayed(key, place);
        Ok(())
    }
}
