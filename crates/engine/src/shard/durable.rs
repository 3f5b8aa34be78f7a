//! A shard's side of durability: commits go to the journal, and recovery restores them from snapshot and log without
//! running a rule again.

use super::Shard;
use super::values::value_head;
use crate::account_parts::AccountParts;
use crate::entry::{Head, TableEntry, TableEntryKind};
use crate::log_id::LogId;
use crate::timers::{TimerGroup, tick_of};
use crate::{Key, PreparedEntry, Preparer, Version};
use scurry_codec::{
    ChangeError, ChunkWriter, FrameWriter, HashKey, ImageError, LogFormat, Record, RecordError,
    SnapshotEntry, decode_account,
};
use scurry_ledger::{AccountContribution, Time, Totals};
use thiserror::Error;

/// Entries of a snapshot whose table slots are loaded into the cache together.
const RESTORED_TOGETHER: usize = 64;

/// Why a record or a snapshot entry cannot be applied. The bytes passed their checksum, so this is a bug, or files of
/// two stores were mixed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// An account image cannot be read.
    #[error("account {account}: {error}")]
    Image {
        /// The id.
        account: String,
        /// The fault.
        error: ImageError,
    },
    /// A Change cannot be read.
    #[error("account {account}: {error}")]
    Change {
        /// The account's id.
        account: String,
        /// The fault.
        error: ChangeError,
    },
    /// The balances recorded with a Change cannot be read.
    #[error("account {account}: {error}")]
    Record {
        /// The account's id.
        account: String,
        /// The fault.
        error: RecordError,
    },
    /// A Change leaves another balance now than when it was committed.
    #[error("account {account}: bucket {bucket} has {found} and had {wanted}")]
    Balance {
        /// The account's id.
        account: String,
        /// The bucket's number.
        bucket: String,
        /// Available and held after the replay.
        found: String,
        /// Available and held when the Change was committed.
        wanted: String,
    },
    /// The key holds another kind of entry than the record is for.
    #[error("key {0} holds another kind of value")]
    WrongType(String),
    /// An entity's version is out of range.
    #[error("key {0} has a version out of range")]
    Version(String),
    /// A record of a frame cannot be read.
    #[error(transparent)]
    Frame(RecordError),
    /// A frame that does not follow the last applied one.
    #[error("a frame of other sequences: {wanted} is the next")]
    Order {
        /// The sequence that is expected.
        wanted: u64,
    },
}

impl Shard {
    /// Starts a journal: every commit from now on is recorded there. `next` is the sequence of the next record.
    pub fn keep_journal(&mut self, log: LogId, next: u64) {
        self.keep_journal_in(log, LogFormat::Single, next);
    }

    /// Starts a journal as [`Shard::keep_journal`] does, in frames of the given format.
    pub fn keep_journal_in(&mut self, log: LogId, format: LogFormat, next: u64) {
        self.journal = Some(FrameWriter::new(log.seal_in(format), next));
    }

    /// Moves the journal past records that another node has written and this shard has applied. `next` is the sequence
    /// of the next record, and no later frame is older than `at`.
    ///
    /// # Panics
    /// When the journal has records that were not taken.
    pub fn follow_to(&mut self, next: u64, at: Time) {
        if let Some(journal) = &mut self.journal {
            journal.skip_to(next, at);
        }
    }

    /// Returns the journal, if one is kept.
    pub fn journal(&mut self) -> Option<&mut FrameWriter> {
        self.journal.as_mut()
    }

    /// Returns the sequence of the last record, 0 without any.
    pub fn sequence(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.next() - 1)
    }

    /// Returns how often everything was cleared: a snapshot must not contain entries from before and after a clear.
    pub fn clears(&self) -> u64 {
        self.clears
    }

    /// Removes keys of any kind without a record, when recovery discards the entries that it has read.
    pub fn discard(&mut self, is_one: impl Fn(&[u8]) -> bool) {
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        self.table.walk(0, usize::MAX, |entry| {
            if is_one(entry.key()) {
                keys.push(entry.key().into());
            }
        });
        for key in keys {
            let key = self.table.hasher().key(&key);
            let Some(place) = self.table.find(key) else { continue };
            let mut identities = Vec::new();
            if self.load(Some(place)).is_ok() {
                let before = AccountContribution::of(self.working.account.as_ref());
                self.totals.replace(&before, None);
                identities = self.identities.of(self.working.account.as_ref());
            }
            self.remove(key.hash(), place);
            self.identities_changed(key.hash(), &identities, &[]);
        }
    }

    /// Returns the secret hash key, which determines the order of snapshots.
    pub(crate) fn hash_key(&self) -> HashKey {
        self.config.hash_key
    }

    /// Returns the greatest version of an entity that was issued or seen.
    pub fn version_last(&self) -> Version {
        self.version_last
    }

    /// Raises the last version, so that no smaller one is issued.
    pub fn note_version(&mut self, version: Version) {
        self.version_last = self.version_last.max(version);
    }

    /// Copies entries for a snapshot: those at position `from` and later, about `len` bytes of them. Returns the first
    /// position not copied, 0 at the end.
    pub fn copy_chunk(&self, from: u64, len: usize, chunk: &mut ChunkWriter) -> u64 {
        self.table.walk(from, len, |entry| {
            let (key, value, version) = (entry.key(), entry.value(), entry.version().get());
            let whole;
            let expires = entry.expires();
            chunk.entry(&match entry.kind() {
                TableEntryKind::Value => SnapshotEntry::Value { key, expires, value },
                TableEntryKind::Account => {
                    whole = self.whole_image(entry);
                    SnapshotEntry::Account { id: key, image: &whole }
                }
                TableEntryKind::Entity => SnapshotEntry::Entity { key, version, expires, value },
                TableEntryKind::Tombstone => {
                    SnapshotEntry::Tombstone { key, version, forget_at: expires.unwrap_or(Time(0)) }
                }
            });
        })
    }

    /// Sizes an empty table for this many entries of a snapshot.
    pub fn make_room(&mut self, entries: u64) {
        self.table.make_room(entries);
    }

    /// Returns a preparer of snapshot entries for this shard, for use on another thread.
    pub fn preparer(&self) -> Preparer {
        Preparer::new(self.hasher(), self.config.apart_len)
    }

    /// Restores prepared entries of a snapshot, none of whose keys is in the table, with the totals that were counted
    /// for them.
    pub fn restore_all(
        &mut self,
        entries: &[SnapshotEntry<'_>],
        prepared: &[PreparedEntry],
        totals: &Totals,
    ) -> Result<(), ReplayError> {
        assert_eq!(entries.len(), prepared.len(), "each was prepared");
        self.totals.add(totals);
        let mut hashes = Vec::with_capacity(RESTORED_TOGETHER);
        let mut made = Vec::with_capacity(RESTORED_TOGETHER);
        let prepared = prepared.chunks(RESTORED_TOGETHER);
        for (entries, prepared) in entries.chunks(RESTORED_TOGETHER).zip(prepared) {
            hashes.clear();
            hashes.extend(prepared.iter().map(|one| one.hash));
            self.table.touch_slots(&hashes);
            for (one, entry) in prepared.iter().zip(entries) {
                made.push((one.hash, self.make(one, entry)?));
            }
            // The inserts run back to back, so that their cache misses overlap.
            for (hash, entry) in made.drain(..) {
                self.table.insert(hash, entry);
            }
        }
        Ok(())
    }

    /// Restores an entry of a snapshot whose key is not in the table.
    pub fn restore(&mut self, entry: &SnapshotEntry<'_>) -> Result<(), ReplayError> {
        let prepared = PreparedEntry { hash: self.table.hasher().hash(entry.key()), counted: None };
        self.restore_all(std::slice::from_ref(entry), &[prepared], &Totals::default())
    }

    /// Builds the table entry for an entry of a snapshot, and updates timers, index, identities and totals for it.
    fn make(
        &mut self,
        prepared: &PreparedEntry,
        entry: &SnapshotEntry<'_>,
    ) -> Result<TableEntry, ReplayError> {
        let hash = prepared.hash;
        let (key, head, value) = match *entry {
            SnapshotEntry::Value { key, expires, value } => (key, value_head(expires), value),
            SnapshotEntry::Account { id, image } => {
                (id, Head::plain(TableEntryKind::Account), image)
            }
            SnapshotEntry::Entity { key, version, expires, value } => {
                let version = version_of(version, key)?;
                (key, Head { kind: TableEntryKind::Entity, expires, version }, value)
            }
            SnapshotEntry::Tombstone { key, version, forget_at } => {
                let version = version_of(version, key)?;
                let expires = Some(forget_at);
                (key, Head { kind: TableEntryKind::Tombstone, expires, version }, &[][..])
            }
        };
        let part;
        let mut value = value;
        let mut due = head.expires;
        if let Some(counted) = prepared.counted {
            due = counted;
        } else if head.kind == TableEntryKind::Account {
            decode_account(value, self.working.account_mut())
                .map_err(|error| ReplayError::Image { account: shown(key), error })?;
            self.totals.replace(&AccountContribution::default(), self.working.account.as_ref());
            due = self.working.next_due();
            let identities = self.identities.of(self.working.account.as_ref());
            if value.len() > self.config.apart_len {
                if let (image, Some(annex)) =
                    AccountParts::divided(self.working.account_mut(), self.config.apart_len)
                {
                    self.annexes.set(key, Some(annex));
                    part = image;
                    value = &part;
                }
                self.working.unpack(None);
            }
            self.identities_replayed(hash, &[], &identities);
        }
        if let Some(index) = self.index.as_mut().filter(|_| head.kind == TableEntryKind::Entity) {
            index.insert(index.value_hash(value), hash);
        }
        self.note_version(head.version);
        let mut entry = TableEntry::new(head, key, value);
        if let Some(due) = due {
            entry.arm(self.timers.arm(TimerGroup::of(head.kind), hash, tick_of(due)));
        }
        Ok(entry)
    }

    /// Applies a record of the log. It overrides the current state without checks: it was decided when it was
    /// committed.
    pub fn replay(&mut self, record: &Record<'_>) -> Result<(), ReplayError> {
        match *record {
            Record::Account { id, change, balances, .. } => {
                self.replay_one(id, change, balances)?;
            }
            Record::Value { key, expires, value } => {
                let key = self.table.hasher().key(key);
                self.put(key, value_head(expires), value);
            }
            Record::Append { key, tail } => {
                let key = self.table.hasher().key(key);
                match self.table.find(key) {
                    Some(place) if self.table.at(place).kind() == TableEntryKind::Value => {
                        self.table.update(place, |entry| entry.append(tail));
                    }
                    _ => return Err(ReplayError::WrongType(shown(key.bytes()))),
                }
            }
            Record::Expiry { key, expires } => {
                let key = self.table.hasher().key(key);
                match self.table.find(key) {
                    Some(place) if self.table.at(place).kind() == TableEntryKind::Value => {
                        self.put_expiry(key, place, expires);
                    }
                    _ => return Err(ReplayError::WrongType(shown(key.bytes()))),
                }
            }
            Record::Remove { key } => {
                let key = self.table.hasher().key(key);
                if let Some(place) = self.table.find(key) {
                    self.remove(key.hash(), place);
                }
            }
            Record::Entity { key, version, expires, value } => {
                let version = version_of(version, key)?;
                self.note_version(version);
                let key = self.table.hasher().key(key);
                self.put(key, Head { kind: TableEntryKind::Entity, expires, version }, value);
            }
            Record::Tombstone { key, version, forget_at } => {
                let version = version_of(version, key)?;
                self.note_version(version);
                let key = self.table.hasher().key(key);
                let head =
                    Head { kind: TableEntryKind::Tombstone, expires: Some(forget_at), version };
                self.put(key, head, b"");
            }
            Record::Clear => self.clear(),
            Record::Group { .. } | Record::Digest { .. } => {}
            Record::Image { id, image } => self.replay_image(id, image)?,
        }
        Ok(())
    }

    pub(super) fn record_removal(&mut self, key: Key<'_>) {
        if let Some(journal) = &mut self.journal {
            journal.remove(key.bytes());
        }
    }

    /// Overwrites the entry of a key that is not an account.
    fn put(&mut self, key: Key<'_>, head: Head, value: &[u8]) {
        let place = self.table.find(key);
        if matches!(head.kind, TableEntryKind::Entity | TableEntryKind::Tombstone) {
            self.write_entity(key, place, head, value);
        } else {
            let old = place.and_then(|place| self.value_hash(self.table.at(place)));
            self.write(key, place, head, value);
            if let Some(old) = old {
                self.unindex(key.hash(), old);
            }
        }
    }
}

pub(super) fn shown(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}

fn version_of(number: u64, key: &[u8]) -> Result<Version, ReplayError> {
    Version::new(number).ok_or_else(|| ReplayError::Version(shown(key)))
}
