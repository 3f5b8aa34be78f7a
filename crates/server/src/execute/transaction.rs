//! Transactions: MULTI queues commands, EXEC has the core of their keys execute all of them in one step, and WATCH
//! makes that depend on the values of keys.
//!
//! The step is atomic because nothing else runs on a core meanwhile, the log gets the commits of one step in one frame,
//! and all keys belong to one core. So there are no locks and nothing is rolled back. The state of a watched key is
//! remembered as a fingerprint, so that writes need not know which clients watch.

use crate::mail::bundle::{BESIDE_LEN, Fingerprint, Queue, TRANSACTION_LEN_MAX, WatchedKey};
use scurry_engine::{Key, Shard};
use scurry_ledger::Time;
use scurry_resp::Args;
use scurry_resp::table::Spec;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Commands and watched keys of a connection since MULTI or WATCH.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// The core of all its keys; None before the first.
    pub(crate) core: Option<u16>,
    guards: Vec<WatchedKey>,
    /// Bytes of the guards that count against [`TRANSACTION_LEN_MAX`].
    guards_len: usize,
    /// None before MULTI.
    queue: Option<Queue>,
    /// A command was refused since MULTI, so EXEC will be refused.
    pub(crate) spoilt: bool,
}

impl Transaction {
    /// Begins to queue commands, for MULTI.
    pub(crate) fn begin(&mut self) {
        self.queue = Some(Queue::default());
    }

    /// Reports whether MULTI was sent.
    pub(crate) fn is_queueing(&self) -> bool {
        self.queue.is_some()
    }

    /// Queues a command; false when there is no room for it.
    pub(crate) fn push(&mut self, spec: &'static Spec, args: Args<'_>) -> bool {
        let Some(queue) = &mut self.queue else { return false };
        let len: usize = args.iter_from(0).map(<[u8]>::len).sum();
        if queue.len_counted() + len + BESIDE_LEN > TRANSACTION_LEN_MAX {
            return false;
        }
        queue.push(spec, args);
        true
    }

    /// Reports whether one of the commands is refused when no memory is left.
    pub(crate) fn takes_memory(&self) -> bool {
        self.queue.as_ref().is_some_and(Queue::takes_memory)
    }

    /// Reserves room for keys to be watched; false when there is none.
    pub(crate) fn reserve(&mut self, args: Args<'_>) -> bool {
        let len: usize = args.iter_from(1).map(|key| key.len() + BESIDE_LEN).sum();
        if self.guards_len + len > TRANSACTION_LEN_MAX {
            return false;
        }
        self.guards_len += len;
        true
    }

    /// Adds guards of watched keys.
    pub(crate) fn guard(&mut self, guards: Vec<WatchedKey>) {
        self.guards.extend(guards);
    }

    /// Returns the commands that EXEC executes, and the guards that they depend on.
    pub(crate) fn into_parts(self) -> (Queue, Vec<WatchedKey>) {
        (self.queue.unwrap_or_default(), self.guards)
    }

    /// Returns the approximate memory, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let queued = self.queue.as_ref().map_or(0, Queue::memory_bytes);
        (size_of::<Transaction>() + queued + self.guards_len) as u64
    }
}

/// The secret seeds of one core's fingerprints.
#[derive(Debug, Default)]
pub(crate) struct FingerprintSeeds([RandomState; 2]);

impl FingerprintSeeds {
    /// Returns the fingerprint of a key's state at a time.
    pub(crate) fn fingerprint(&self, shard: &mut Shard, now: Time, key: Key<'_>) -> Fingerprint {
        let mut hashers = self.0.each_ref().map(RandomState::build_hasher);
        for hasher in &mut hashers {
            shard.hash_state(now, key, hasher);
        }
        hashers.map(|hasher| hasher.finish())
    }
}
