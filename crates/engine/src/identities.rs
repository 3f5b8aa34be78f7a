//! Index of accounts by identity, present and former ones apart, and claims on identities that only one account may have. It holds only hashes of
//! identities and keys, and nothing for accounts without identities. The shard compares what it finds with the
//! accounts.

mod claims;

use crate::index::Index;
use crate::key::KeyHasher;
use claims::ClaimedIdentities;
use scurry_ledger::{Account, ID_LEN_MAX, NAME_LEN_MAX, Name};
use std::collections::VecDeque;
use std::sync::Arc;

/// Kinds of identities that must be unique in a server, with the claims that all its shards share. Clones share their
/// claims.
#[derive(Clone, Debug)]
pub struct UniqueIdentities {
    kinds: Arc<[Name]>,
    claims: Arc<ClaimedIdentities>,
}

impl UniqueIdentities {
    /// Creates the claims for these kinds.
    pub fn with_kinds(kinds: &[Name]) -> UniqueIdentities {
        UniqueIdentities { kinds: kinds.into(), claims: Arc::default() }
    }

    /// Returns the kinds.
    pub fn kinds(&self) -> &[Name] {
        &self.kinds
    }
}

/// An identity of an account as it is stored in the index. A former one has another hash than a present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexedIdentity {
    hash: u64,
    is_unique: bool,
}

/// Accounts of a shard by identity.
#[derive(Debug)]
pub(crate) struct Identities {
    index: Index,
    unique: Option<UniqueIdentities>,
    /// Number of claims of this shard's accounts, including those that are about to end.
    claimed: u64,
    /// Claims that end when the record of this sequence is durable, with the identity's hash, in the order of
    /// sequences.
    ending: VecDeque<(u64, u64)>,
}

/// Bytes of a claim in a B-tree that is two thirds full.
const CLAIM_BYTES: u64 = 24;

impl Identities {
    pub(crate) fn new(hasher: KeyHasher, unique: Option<UniqueIdentities>) -> Identities {
        Identities { index: Index::new(hasher), unique, claimed: 0, ending: VecDeque::new() }
    }

    /// Reports whether some kind is unique.
    pub(crate) fn has_unique(&self) -> bool {
        self.unique.is_some()
    }

    /// Returns the identities of an account, empty for None.
    pub(crate) fn of(&self, account: Option<&Account>) -> Vec<IndexedIdentity> {
        let Some(account) = account else { return Vec::new() };
        let present = account.identities.iter().map(|identity| IndexedIdentity {
            hash: self.hash(identity.kind, identity.value.as_bytes()),
            is_unique: self.is_unique(identity.kind),
        });
        let former = account.former_identities.iter();
        let former =
            former.map(|one| self.former(one.identity.kind, one.identity.value.as_bytes()));
        present.chain(former).collect()
    }

    /// Returns a former identity, which no account claims.
    pub(crate) fn former(&self, kind: Name, value: &[u8]) -> IndexedIdentity {
        IndexedIdentity { hash: self.former_hash(kind, value), is_unique: false }
    }

    /// Returns the hashes of keys whose accounts may have the identity.
    pub(crate) fn find(&self, kind: Name, value: &[u8]) -> impl Iterator<Item = u64> + use<'_> {
        self.index.find_hash(self.hash(kind, value), 0).map(|(hash, _)| hash)
    }

    /// Returns the hashes of keys whose accounts may have given the identity up.
    pub(crate) fn find_former(&self, kind: Name, value: &[u8]) -> impl Iterator<Item = u64> {
        self.index.find_hash(self.former_hash(kind, value), 0).map(|(hash, _)| hash)
    }

    pub(crate) fn insert(&mut self, identity: IndexedIdentity, key_hash: u64) {
        self.index.insert(identity.hash, key_hash);
    }

    pub(crate) fn remove(&mut self, identity: IndexedIdentity, key_hash: u64) {
        self.index.remove(identity.hash, key_hash);
    }

    /// Claims the identities of unique kinds that an account has after a command but not before: all of them, or none
    /// when another account has one. A claim that another account of this shard is about to give up is transferred at
    /// once: the log has both changes in order.
    pub(crate) fn claim(&mut self, before: &[IndexedIdentity], after: &[IndexedIdentity]) -> bool {
        let Some(unique) = &self.unique else { return true };
        let new = after.iter().filter(|one| one.is_unique && !before.contains(one));
        let (passed, free): (Vec<&IndexedIdentity>, Vec<&IndexedIdentity>) =
            new.partition(|one| self.endings(one.hash) > 0);
        // Accounts of other shards may also have it, from before its kind was made unique.
        let is_had =
            |one: &&IndexedIdentity| unique.claims.count(one.hash) > self.endings(one.hash);
        if passed.iter().any(is_had)
            || !unique.claims.claim(&free.iter().map(|one| one.hash).collect::<Vec<_>>())
        {
            return false;
        }
        self.claimed += free.len() as u64;
        for one in passed {
            let at = self.ending.iter().position(|(_, hash)| *hash == one.hash);
            at.and_then(|at| self.ending.remove(at));
        }
        true
    }

    /// Counts the claims of an identity that are about to end.
    fn endings(&self, hash: u64) -> usize {
        self.ending.iter().filter(|(_, ending)| *ending == hash).count()
    }

    /// Claims an identity of an account that was restored or replayed: other accounts may have it too.
    pub(crate) fn hold(&mut self, identity: IndexedIdentity) {
        if let Some(unique) = self.unique.as_ref().filter(|_| identity.is_unique) {
            unique.claims.hold(identity.hash);
            self.claimed += 1;
        }
    }

    /// Schedules the end of a claim for when the record of this sequence is durable. Earlier, a crash could leave the
    /// identity with both its old account and a new one in another shard, whose log reaches further.
    pub(crate) fn end(&mut self, identity: IndexedIdentity, sequence: u64) {
        if self.unique.is_some() && identity.is_unique {
            self.ending.push_back((sequence, identity.hash));
        }
    }

    /// Ends the claims whose record is durable at this sequence.
    pub(crate) fn end_until(&mut self, durable: u64) {
        let Some(unique) = &self.unique else { return };
        while let Some((_, hash)) = self.ending.pop_front_if(|(sequence, _)| *sequence <= durable) {
            unique.claims.release(hash);
            self.claimed -= 1;
        }
        if self.ending.is_empty() {
            // Frees the buffer, which is large after a clear of all accounts.
            self.ending = VecDeque::new();
        }
    }

    /// Reports whether claims wait to be ended.
    #[inline]
    pub(crate) fn are_ending(&self) -> bool {
        !self.ending.is_empty()
    }

    /// Empties the index. The claims of its accounts are ended one by one.
    pub(crate) fn clear(&mut self, hasher: KeyHasher) {
        self.index = Index::new(hasher);
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let ending = self.ending.capacity() * size_of::<(u64, u64)>();
        self.index.memory_bytes() + self.claimed * CLAIM_BYTES + ending as u64
    }

    fn is_unique(&self, kind: Name) -> bool {
        self.unique.as_ref().is_some_and(|unique| unique.kinds.contains(&kind))
    }

    fn hash(&self, kind: Name, value: &[u8]) -> u64 {
        self.index.value_hash(word(&mut [0; WORD_LEN_MAX], &[], kind, value))
    }

    fn former_hash(&self, kind: Name, value: &[u8]) -> u64 {
        self.index.value_hash(word(&mut [0; WORD_LEN_MAX], FORMER, kind, value))
    }
}

/// Start of the key of a former identity's hash. No kind begins with it.
const FORMER: &[u8] = b" ";
/// Longest key of the hash in bytes: start, kind, space and value.
const WORD_LEN_MAX: usize = FORMER.len() + NAME_LEN_MAX + 1 + ID_LEN_MAX;

/// Joins a start, the kind, a space and the value. Neither kind nor value contains a space, so distinct identities give
/// distinct results. A value that is longer than allowed is cut, and matches no account.
fn word<'r>(room: &'r mut [u8; WORD_LEN_MAX], start: &[u8], kind: Name, value: &[u8]) -> &'r [u8] {
    let value = &value[..value.len().min(ID_LEN_MAX)];
    let mut len = 0;
    for part in [start, kind.as_bytes(), b" ", value] {
        room[len..len + part.len()].copy_from_slice(part);
        len += part.len();
    }
    &room[..len]
}
