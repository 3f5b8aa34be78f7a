//! Digests of what is in memory, which the nodes of a group compare with each other at the same sequence
//! (docs/adr/0049-memory-is-compared.md).

use super::{Shard, is_entry_in_parts};
use crate::WalkLimit;
use crate::account_parts::AccountParts;
use crate::entry::{TableEntry, TableEntryKind, UNARMED};
use crate::timers::{NEAR, tick_of};
use scurry_codec::{StateDigest, decode_part};
use scurry_ledger::{Account, Status, Time, next_due};

/// Bytes of sessions and remembered ids above which those of a busy account are not compared: to read them would hold up
/// other commands.
const PARTS_LEN_MAX: usize = 256 << 10;
/// How many times as long a byte of them takes as one of an entry.
const PARTS_COST: usize = 4;
/// Most entries that are copied where two nodes differ.
const COPIES_MAX: usize = 64;

/// An entry as this node has it in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCopy {
    /// Hash of the key.
    pub hash: u64,
    /// The key.
    pub key: Box<[u8]>,
    /// The value or image, and what belongs to it, as text.
    pub text: String,
}

/// A comparison of a digest in the log with this node's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Sequence of the record: the comparison is of the state after it.
    pub sequence: u64,
    /// The digest in the log.
    pub digest: StateDigest,
    /// The sum of this node.
    pub own: u64,
    /// This node's copies of some entries that differ, where the digest has keys.
    pub differing: Vec<EntryCopy>,
    /// Hashes of the keys that differ, those that this node lacks included.
    pub keys: Vec<u64>,
}

impl Shard {
    /// Returns the digest of the entries at `at` from a position on, up to a limit. With `has_keys` it names each entry.
    pub fn digest(
        &self,
        (node, at): (u64, Time),
        from: u64,
        limit: WalkLimit,
        has_keys: bool,
    ) -> StateDigest {
        let mut scratch = None;
        let mut keys = Vec::new();
        let mut sum = 0_u64;
        let cost = |entry: &TableEntry| self.cost_of(entry);
        let to = self.table.walk_entries(from, limit, cost, |hash, entry| {
            if entry.is_over(at) {
                return;
            }
            let digest = self.digest_of(hash, entry, &mut scratch);
            sum = sum.wrapping_add(u64::from(digest));
            if has_keys {
                keys.push((hash, digest));
            }
        });
        StateDigest { node, at, from, to, sum, keys: has_keys.then_some(keys) }
    }

    /// Compares a digest of another node with this shard, which shows the same records.
    pub(super) fn compare(&self, sequence: u64, digest: StateDigest) -> Compared {
        let mut scratch = None;
        let mut own = 0_u64;
        let mut found: Vec<(u64, u32)> = Vec::new();
        self.table.walk_between(digest.from, digest.to, |hash, entry| {
            if entry.is_over(digest.at) {
                return;
            }
            let of_it = self.digest_of(hash, entry, &mut scratch);
            own = own.wrapping_add(u64::from(of_it));
            if digest.keys.is_some() {
                found.push((hash, of_it));
            }
        });
        let (mut keys, mut differing) = (Vec::new(), Vec::new());
        if own != digest.sum
            && let Some(theirs) = &digest.keys
        {
            let (mut theirs, mut ours) = (theirs.clone(), found);
            theirs.sort_unstable();
            ours.sort_unstable();
            let lacks = |all: &[(u64, u32)], one: &(u64, u32)| all.binary_search(one).is_err();
            keys = theirs.iter().filter(|one| lacks(&ours, one)).map(|one| one.0).collect();
            keys.extend(ours.iter().filter(|one| lacks(&theirs, one)).map(|one| one.0));
            keys.sort_unstable();
            keys.dedup();
            differing = self.copies(&keys[..keys.len().min(COPIES_MAX)]);
        }
        Compared { sequence, digest, own, differing, keys }
    }

    /// Returns copies of the entries whose keys have these hashes.
    pub fn copies(&self, hashes: &[u64]) -> Vec<EntryCopy> {
        let entries = hashes
            .iter()
            .flat_map(|&hash| self.table.of_hash(hash).map(move |entry| (hash, entry)));
        entries.map(|(hash, entry)| self.copy(hash, entry)).collect()
    }

    fn copy(&self, hash: u64, entry: &TableEntry) -> EntryCopy {
        let mut account = None;
        let is_readable = self.account_of(entry, &mut account).is_some();
        let value = if is_readable { self.whole_image(entry) } else { entry.value().into() };
        let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        let timer = if self.is_timed_right(hash, entry, &mut account) { "right" } else { "wrong" };
        let text = format!(
            "{:?} {:?} version {} expires {:?} timer {timer} value {hex}",
            entry.key().escape_ascii().to_string(),
            entry.kind(),
            entry.version().get(),
            entry.expires().map(|time| time.0),
        );
        EntryCopy { hash, key: entry.key().into(), text }
    }

    /// Returns the digest of everything that an entry has on each node alike, and of whether its timer is right.
    fn digest_of(&self, hash: u64, entry: &TableEntry, scratch: &mut Option<Account>) -> u32 {
        let mut head = [0; 17];
        head[0] = entry.kind() as u8;
        head[1..9].copy_from_slice(&entry.expires().map_or(i64::MAX, |time| time.0).to_le_bytes());
        head[9..].copy_from_slice(&entry.version().get().to_le_bytes());
        let digest = crc32c::crc32c_append(crc32c::crc32c(&head), entry.key());
        let is_right = self.is_timed_right(hash, entry, scratch);
        // Where the image cannot be read, its bytes are compared and no annex.
        let whole = if is_right { self.parts_to_compare(entry) } else { None };
        let digest = crc32c::crc32c_append(digest, whole.as_deref().unwrap_or(entry.value()));
        if is_right { digest } else { !digest }
    }

    /// Returns the work of comparing an entry, in bytes that are read once: parts are decoded and encoded.
    fn cost_of(&self, entry: &TableEntry) -> usize {
        let parts = if is_entry_in_parts(entry) { self.annexes.get(entry.key()) } else { None };
        let compared = parts.map_or(0, AccountParts::bytes);
        entry.len() + if compared <= PARTS_LEN_MAX { PARTS_COST * compared } else { 0 }
    }

    /// Returns the whole image of an account that is kept in parts, unless these are too many to be compared.
    fn parts_to_compare(&self, entry: &TableEntry) -> Option<Vec<u8>> {
        if !is_entry_in_parts(entry) {
            return None;
        }
        let parts = self.annexes.get(entry.key())?;
        (parts.bytes() <= PARTS_LEN_MAX).then(|| parts.whole_image(entry.value()))
    }

    /// Reports whether an entry has a timer that fires no later than something in it is due. An image that cannot be
    /// read is not right either.
    fn is_timed_right(&self, hash: u64, entry: &TableEntry, account: &mut Option<Account>) -> bool {
        let due = if entry.kind() == TableEntryKind::Account {
            match self.account_of(entry, account) {
                Some(due) => due,
                None => return false,
            }
        } else {
            entry.expires()
        };
        let armed = entry.armed();
        if armed.tick == UNARMED {
            return due.is_none();
        }
        // An early timer is right: it is armed again when it fires.
        self.timers.is_of(armed, hash)
            && due.is_none_or(|due| match armed.tick {
                NEAR => self.timers.near_time(armed) <= due,
                tick => tick <= tick_of(due),
            })
    }

    /// Decodes an account, and returns when something in it is due next. None when it cannot be read.
    fn account_of(
        &self,
        entry: &TableEntry,
        account: &mut Option<Account>,
    ) -> Option<Option<Time>> {
        if entry.kind() != TableEntryKind::Account {
            return Some(None);
        }
        let account = account.get_or_insert_with(|| Account::empty(Status::Active));
        account.unloaded = None;
        decode_part(entry.value(), account).ok()?;
        let mut due = next_due(account);
        if is_entry_in_parts(entry) {
            let apart = self.annexes.get(entry.key())?.sums().next_due();
            due = due.into_iter().chain(apart).min();
        }
        Some(due)
    }
}

#[cfg(test)]
mod tests;
