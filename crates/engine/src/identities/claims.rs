//! Claims of unique identities, shared by all shards of a server: the only data that they share. Only commands that add
//! or remove an identity of a unique kind use it, and they hold the lock while they look up a few numbers
//! (docs/adr/0026-accounts-by-identity.md).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hashes of identities, each with the number of accounts that have it: one, unless several had it before its kind was
/// made unique.
#[derive(Debug, Default)]
pub(crate) struct ClaimedIdentities(Mutex<BTreeMap<u64, u32>>);

impl ClaimedIdentities {
    /// Claims all of them, or none when any is claimed already. Returns whether they were claimed.
    pub(crate) fn claim(&self, hashes: &[u64]) -> bool {
        if hashes.is_empty() {
            return true;
        }
        let mut claims = self.lock();
        if hashes.iter().any(|hash| claims.contains_key(hash)) {
            return false;
        }
        claims.extend(hashes.iter().map(|hash| (*hash, 1)));
        true
    }

    /// Returns how many accounts have the identity.
    pub(crate) fn count(&self, hash: u64) -> usize {
        self.lock().get(&hash).map_or(0, |count| *count as usize)
    }

    /// Adds a claim even if the identity is claimed already.
    pub(crate) fn hold(&self, hash: u64) {
        *self.lock().entry(hash).or_default() += 1;
    }

    /// Ends one claim.
    pub(crate) fn release(&self, hash: u64) {
        let mut claims = self.lock();
        if let Some(count) = claims.get_mut(&hash) {
            *count -= 1;
            if *count == 0 {
                claims.remove(&hash);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
