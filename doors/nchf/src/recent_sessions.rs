//! The sessions whose requests this door has answered last. Of several doors before a store, the one that knows a
//! session notifies its consumer first, and the others see that the consumer has asked.

use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Sessions that are remembered at most; 8 bytes for each.
const SESSIONS_MAX: usize = 1 << 16;

/// A table of digests. One of a later session may take the place of an earlier one.
#[derive(Debug)]
pub(crate) struct RecentSessions(Box<[AtomicU64]>);

impl Default for RecentSessions {
    fn default() -> RecentSessions {
        RecentSessions((0..SESSIONS_MAX).map(|_| AtomicU64::new(0)).collect())
    }
}

impl RecentSessions {
    /// Notes that a request of this session was answered.
    pub(crate) fn note(&self, account: &[u8], session: &[u8]) {
        let (place, digest) = self.place(account, session);
        place.store(digest, Ordering::Relaxed);
    }

    /// Reports whether the session is remembered.
    pub(crate) fn has(&self, account: &[u8], session: &[u8]) -> bool {
        let (place, digest) = self.place(account, session);
        place.load(Ordering::Relaxed) == digest
    }

    fn place(&self, account: &[u8], session: &[u8]) -> (&AtomicU64, u64) {
        let digest = xxh3_64_with_seed(session, xxh3_64_with_seed(account, 0)).max(1);
        let at = usize::try_from(digest).unwrap_or_default() % SESSIONS_MAX;
        (&self.0[at], digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_known_by_account_and_id() {
        let recent = RecentSessions::default();
        recent.note(b"alice", b"one");
        assert!(recent.has(b"alice", b"one"));
        assert!(!recent.has(b"alice", b"two") && !recent.has(b"bob", b"one"));
    }
}
