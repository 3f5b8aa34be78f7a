//! Transactions: MULTI queues commands, EXEC has the core of their keys execute all of them in one
//! step, and WATCH makes that depend on what keys hold.
//!
//! One step, because nothing else runs on a core meanwhile, because the log gets what one step has
//! committed in one frame, and because all keys are one core's. So there are no locks and nothing is
//! undone. What a key holds is remembered as a fingerprint, so that writes need not know who watches.

use crate::node::Node;
use scurry_resp::table::Spec;
use scurry_resp::{Args, Requests};
use std::hash::{BuildHasher, RandomState};

/// Commands of one transaction at most, bytes; so are watched keys.
pub(crate) const TRANSACTION_LEN_MAX: usize = 16 * 1024 * 1024;
/// What each one counts besides its arguments.
const BESIDE_LEN: usize = 64;

/// What a connection has begun with MULTI or WATCH.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// The core of all its keys; none before the first.
    pub(crate) core: Option<u16>,
    guards: Vec<Guard>,
    /// What counts against [`TRANSACTION_LEN_MAX`] of the guards.
    guards_len: usize,
    /// None before MULTI.
    queue: Option<Queue>,
    /// Something was refused since MULTI: EXEC will be.
    pub(crate) spoilt: bool,
}

impl Transaction {
    /// MULTI.
    pub(crate) fn begin(&mut self) {
        self.queue = Some(Queue::default());
    }

    /// True since MULTI.
    pub(crate) fn is_queueing(&self) -> bool {
        self.queue.is_some()
    }

    /// Adds a command; false when there is no room for it.
    pub(crate) fn push(&mut self, spec: &'static Spec, args: Args<'_>) -> bool {
        let Some(queue) = &mut self.queue else { return false };
        let len: usize = args.iter_from(0).map(<[u8]>::len).sum();
        if queue.len_counted() + len + BESIDE_LEN > TRANSACTION_LEN_MAX {
            return false;
        }
        queue.specs.push(spec);
        queue.requests.push(args.iter_from(0));
        true
    }

    /// Makes room for keys to be watched; false when there is none.
    pub(crate) fn reserve(&mut self, args: Args<'_>) -> bool {
        let len: usize = args.iter_from(1).map(|key| key.len() + BESIDE_LEN).sum();
        if self.guards_len + len > TRANSACTION_LEN_MAX {
            return false;
        }
        self.guards_len += len;
        true
    }

    /// Adds what watched keys hold.
    pub(crate) fn guard(&mut self, guards: &mut Vec<Guard>) {
        self.guards.append(guards);
    }

    /// What EXEC executes, and on what it depends.
    pub(crate) fn into_parts(self) -> (Queue, Vec<Guard>) {
        (self.queue.unwrap_or_default(), self.guards)
    }

    /// Bytes that it takes, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let queued = self.queue.as_ref().map_or(0, Queue::room);
        (size_of::<Transaction>() + queued + self.guards_len) as u64
    }
}

/// Commands that wait for EXEC.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    requests: Requests,
    specs: Vec<&'static Spec>,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.specs.len()
    }

    fn len_counted(&self) -> usize {
        self.requests.bytes_len() + BESIDE_LEN * self.specs.len()
    }

    fn room(&self) -> usize {
        self.requests.room() + size_of::<&Spec>() * self.specs.capacity()
    }

    pub(crate) fn into_parts(self) -> (Requests, Vec<&'static Spec>) {
        (self.requests, self.specs)
    }
}

/// A watched key and what it held.
#[derive(Debug)]
pub(crate) struct Guard {
    key: Box<[u8]>,
    state: Fingerprint,
}

/// 128 bits that are the same for the same state, and by no accident for another.
type Fingerprint = [u64; 2];

/// The secret of one core's fingerprints.
#[derive(Debug, Default)]
pub(crate) struct FingerprintSeeds([RandomState; 2]);

impl Guard {
    /// What a key of this core holds now.
    pub(crate) fn of(node: &mut Node, key: &[u8]) -> Guard {
        Guard { key: key.into(), state: fingerprint(node, key) }
    }

    /// What it takes, bytes.
    pub(crate) fn room(&self) -> usize {
        size_of::<Guard>() + self.key.len()
    }

    /// True while the key holds that.
    pub(crate) fn holds(&self, node: &mut Node) -> bool {
        fingerprint(node, &self.key) == self.state
    }
}

fn fingerprint(node: &mut Node, key: &[u8]) -> Fingerprint {
    use std::hash::Hasher;
    let (now, key) = (node.now.time, node.shard.key(key));
    let FingerprintSeeds(seeds) = &node.fingerprint_seeds;
    let mut hashers = seeds.each_ref().map(RandomState::build_hasher);
    for hasher in &mut hashers {
        node.shard.hash_state(now, key, hasher);
    }
    hashers.map(|hasher| hasher.finish())
}
