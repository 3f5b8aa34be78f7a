//! Accounts as a whole, on their way from one store to another.

use super::Shard;
use super::durable::{ReplayError, shown};
use crate::entry::Kind;
use crate::outcome::LoadError;
use crate::{Key, ReadError};
use scurry_codec::{decode_account, decode_foreign_account, encode_account_over};
use scurry_ledger::{Account, Status, Time};

impl Shard {
    /// The image of an account, as its last Commit left it: what has become due since is still in
    /// it, and is due wherever it is loaded.
    pub fn image(&self, now: Time, key: Key<'_>) -> Result<&[u8], ReadError> {
        let place = self.find(now, key).ok_or(ReadError::UnknownAccount)?;
        let entry = self.table.at(place);
        if entry.kind() == Kind::Account { Ok(entry.value()) } else { Err(ReadError::WrongType) }
    }

    /// Takes an account from another store: with its sessions, its remembered answers and all else
    /// that its image holds. Where there is an account already it is replaced only when told so.
    /// The host has checked that the id is one that docs/ledger.md section 1 allows.
    pub fn load_image(
        &mut self,
        now: Time,
        key: Key<'_>,
        image: &[u8],
        replace: bool,
    ) -> Result<(), LoadError> {
        let place = self.settle(now, key);
        self.load(place).map_err(|_| LoadError::WrongType)?;
        if self.scratch.is_some() && !replace {
            return Err(LoadError::Exists);
        }
        if self.refuses_memory() {
            return Err(LoadError::OutOfMemory);
        }
        self.before.set(self.scratch.as_ref());
        decode_foreign_account(image, self.emptied_scratch()).map_err(LoadError::Image)?;
        self.stats.commits += 1;
        if let (Some(journal), Some(account)) = (&mut self.journal, &self.scratch) {
            // Bytes of this version's writer, whoever has written those that came.
            let len = encode_account_over(account, &mut self.image);
            journal.image(key.bytes(), &self.image[..len]);
        }
        self.store(key, place);
        Ok(())
    }

    /// As [`Shard::load_image`] did it when the record was written.
    pub(super) fn replay_image(&mut self, id: &[u8], image: &[u8]) -> Result<(), ReplayError> {
        let key = self.table.hasher().key(id);
        let place = self.begin_replay(key)?;
        decode_account(image, self.emptied_scratch())
            .map_err(|error| ReplayError::Image { account: shown(id), error })?;
        self.store(key, place);
        Ok(())
    }

    fn emptied_scratch(&mut self) -> &mut Account {
        self.scratch.get_or_insert_with(|| Account::empty(Status::Active))
    }
}
