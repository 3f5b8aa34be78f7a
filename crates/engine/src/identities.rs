//! Which accounts have an identity, and which identities no second account may have. It holds hashes
//! of identities and of keys alone, and nothing of accounts that have none; what it finds, the shard
//! compares with the accounts.

mod claims;

use crate::index::Index;
use crate::key::KeyHasher;
use claims::Claims;
use scurry_ledger::{Account, ID_LEN_MAX, NAME_LEN_MAX, Name};
use std::collections::VecDeque;
use std::sync::Arc;

/// Kinds of identities of which no two accounts may have the same, and what all shards of a server know
/// of them. The clones of one belong together.
#[derive(Clone, Debug)]
pub struct UniqueIdentities {
    kinds: Arc<[Name]>,
    claims: Arc<Claims>,
}

impl UniqueIdentities {
    /// Of these kinds.
    pub fn of(kinds: &[Name]) -> UniqueIdentities {
        UniqueIdentities { kinds: kinds.into(), claims: Arc::default() }
    }

    /// The kinds.
    pub fn kinds(&self) -> &[Name] {
        &self.kinds
    }
}

/// An identity as it stands in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hashed {
    hash: u64,
    is_unique: bool,
}

/// Accounts of a shard by their identities.
#[derive(Debug)]
pub(crate) struct Identities {
    index: Index,
    unique: Option<UniqueIdentities>,
    /// Claims that accounts of this shard have, those that are about to end included.
    claimed: u64,
    /// Claims that end when the record of this sequence is durable, in the order of sequences.
    ending: VecDeque<(u64, u64)>,
}

/// A claim in a B-tree that is two thirds full, bytes.
const CLAIM_BYTES: u64 = 24;

impl Identities {
    pub(crate) fn new(hasher: KeyHasher, unique: Option<UniqueIdentities>) -> Identities {
        Identities { index: Index::new(hasher), unique, claimed: 0, ending: VecDeque::new() }
    }

    /// True when some kind is unique.
    pub(crate) fn has_unique(&self) -> bool {
        self.unique.is_some()
    }

    /// The identities of an account, none where there is none.
    pub(crate) fn of(&self, account: Option<&Account>) -> Vec<Hashed> {
        let identities = account.map_or(&[][..], |account| &account.identities);
        let hashed = identities.iter().map(|identity| Hashed {
            hash: self.hash(identity.kind, identity.value.as_bytes()),
            is_unique: self.is_unique(identity.kind),
        });
        hashed.collect()
    }

    /// Hashes of keys whose accounts may have the identity.
    pub(crate) fn find(&self, kind: Name, value: &[u8]) -> impl Iterator<Item = u64> + use<'_> {
        self.index.find_hash(self.hash(kind, value), 0).map(|(hash, _)| hash)
    }

    pub(crate) fn insert(&mut self, identity: Hashed, key_hash: u64) {
        self.index.insert(identity.hash, key_hash);
    }

    pub(crate) fn remove(&mut self, identity: Hashed, key_hash: u64) {
        self.index.remove(identity.hash, key_hash);
    }

    /// Claims the identities that an account has afterwards and not before, as far as their kinds are
    /// unique: all of them, or none when another account has one. A claim that an account of this shard
    /// is about to give up passes on at once: the log has both in their order.
    pub(crate) fn claim(&mut self, before: &[Hashed], after: &[Hashed]) -> bool {
        let Some(unique) = &self.unique else { return true };
        let new = after.iter().filter(|one| one.is_unique && !before.contains(one));
        let (passed, free): (Vec<&Hashed>, Vec<&Hashed>) =
            new.partition(|one| self.endings(one.hash) > 0);
        // Accounts of other shards may have it all the same, from before its kind was unique.
        let is_had = |one: &&Hashed| unique.claims.count(one.hash) > self.endings(one.hash);
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

    /// Claims of an identity that are about to end.
    fn endings(&self, hash: u64) -> usize {
        self.ending.iter().filter(|(_, ending)| *ending == hash).count()
    }

    /// Notes what an account has that was read and not asked for: it may be what others have too.
    pub(crate) fn hold(&mut self, identity: Hashed) {
        if let Some(unique) = self.unique.as_ref().filter(|_| identity.is_unique) {
            unique.claims.hold(identity.hash);
            self.claimed += 1;
        }
    }

    /// Ends a claim when the record of this sequence is durable: else a crash could leave the identity
    /// with its old account and with a new one of another shard, whose log is further.
    pub(crate) fn end(&mut self, identity: Hashed, sequence: u64) {
        if self.unique.is_some() && identity.is_unique {
            self.ending.push_back((sequence, identity.hash));
        }
    }

    /// Ends the claims that may end when this sequence is durable.
    pub(crate) fn end_until(&mut self, durable: u64) {
        let Some(unique) = &self.unique else { return };
        while let Some((_, hash)) = self.ending.pop_front_if(|(sequence, _)| *sequence <= durable) {
            unique.claims.release(hash);
            self.claimed -= 1;
        }
        if self.ending.is_empty() {
            // All accounts may have gone at once.
            self.ending = VecDeque::new();
        }
    }

    /// True while claims wait for their end.
    #[inline]
    pub(crate) fn are_ending(&self) -> bool {
        !self.ending.is_empty()
    }

    /// Forgets where accounts are. Their claims end one by one.
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
        self.index.value_hash(word(&mut [0; WORD_LEN_MAX], kind, value))
    }
}

/// Bytes of kind, space and value.
const WORD_LEN_MAX: usize = NAME_LEN_MAX + 1 + ID_LEN_MAX;

/// Kind and value as one word. Neither has a space, so no two identities are the same word; a value
/// that is longer than any is cut, and found nowhere.
fn word<'r>(room: &'r mut [u8; WORD_LEN_MAX], kind: Name, value: &[u8]) -> &'r [u8] {
    let kind = kind.as_bytes();
    let value = &value[..value.len().min(ID_LEN_MAX)];
    let begin = kind.len() + 1;
    room[..kind.len()].copy_from_slice(kind);
    room[kind.len()] = b' ';
    room[begin..begin + value.len()].copy_from_slice(value);
    &room[..begin + value.len()]
}
