//! Identities that somebody has, of all shards of a server: the one thing that they share. Only a
//! command that gives or takes an identity of a unique kind comes here, and holds the lock while it
//! looks up a few numbers (docs/adr/0026-accounts-by-identity.md).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hashes of identities, each with how many accounts have it: one, but where more had it before its kind
/// was unique.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<BTreeMap<u64, u32>>);

impl Claims {
    /// Claims all of them, or none when one is claimed.
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

    /// How many accounts have it.
    pub(crate) fn count(&self, hash: u64) -> usize {
        self.lock().get(&hash).map_or(0, |count| *count as usize)
    }

    /// Claims one more time, whoever has it.
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
