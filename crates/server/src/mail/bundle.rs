//! Requests of one connection for one core, their sender, and their replies.

use crate::object_pool::MemorySize;
use crate::ticket::Sender;
use scurry_resp::table::{Memory, Spec};
use scurry_resp::{Args, Protocol, Requests};
use std::net::SocketAddr;

/// Maximum length of the commands of one transaction, and of its watched keys, bytes.
pub(crate) const TRANSACTION_LEN_MAX: usize = 16 * 1024 * 1024;
/// Bytes that each command counts besides its arguments.
pub(crate) const BESIDE_LEN: usize = 64;
/// A bundle that has grown beyond this is not used again, bytes.
const ROOM_MAX: usize = 256 * 1024;

/// Requests that travel to a core and return with replies. An emptied bundle keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Bundle {
    pub(crate) caller: Caller,
    pub(crate) requests: Requests,
    pub(crate) specs: Vec<&'static Spec>,
    /// Number of requests that were executed.
    pub(crate) executed: usize,
    pub(crate) replies: Vec<u8>,
    /// End of each reply in `replies`.
    pub(crate) ends: Vec<usize>,
    /// Number of replies that were taken.
    pub(crate) taken: usize,
    /// The state of the keys that the requests watch; in a transaction, the state that they must still have.
    pub(crate) guards: Vec<WatchedKey>,
    pub(crate) transaction: Transaction,
    /// Memory that it had when it was sent away, bytes.
    pub(crate) room_away: usize,
}

impl MemorySize for Box<Bundle> {
    fn memory_bytes(&self) -> usize {
        size_of::<Bundle>()
            + self.requests.room()
            + size_of::<&Spec>() * self.specs.capacity()
            + self.guards.iter().map(WatchedKey::memory_bytes).sum::<usize>()
            + self.replies_room()
    }
}

/// Whether a bundle's requests are one transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transaction {
    #[default]
    No,
    Yes,
    /// A watched key was changed, so nothing was executed.
    Refused,
}

impl Bundle {
    /// Appends a request whose command and arity have been checked.
    pub(crate) fn push<'a>(
        &mut self,
        spec: &'static Spec,
        arguments: impl Iterator<Item = &'a [u8]>,
    ) {
        self.specs.push(spec);
        self.requests.push(arguments);
    }

    /// Makes the empty bundle carry this transaction and nothing else.
    pub(crate) fn become_transaction(&mut self, queue: Queue, guards: Vec<WatchedKey>) {
        debug_assert!(self.specs.is_empty(), "a transaction has its bundle for itself");
        (self.requests, self.specs) = queue.into_parts();
        self.guards = guards;
        self.transaction = Transaction::Yes;
    }

    /// Reports whether requests are left to execute, or guards to check.
    pub(crate) fn is_cut(&self) -> bool {
        let guarded = self.transaction == Transaction::Yes && !self.guards.is_empty();
        self.executed < self.requests.len() || guarded
    }

    /// Reports whether this is a transaction that was not executed because a watched key was changed.
    pub(crate) fn is_refused(&self) -> bool {
        self.transaction == Transaction::Refused
    }

    /// Returns the memory of its replies, bytes.
    pub(crate) fn replies_room(&self) -> usize {
        self.replies.capacity() + size_of::<usize>() * self.ends.capacity()
    }

    /// Returns all replies.
    pub(crate) fn replies(&self) -> &[u8] {
        &self.replies
    }

    /// Takes the next reply; None when all were taken or the next one is not there yet.
    pub(crate) fn next_reply(&mut self) -> Option<&[u8]> {
        let end = *self.ends.get(self.taken)?;
        let start = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.taken += 1;
        Some(&self.replies[start..end])
    }

    /// Empties the bundle, and reports whether it is small enough to be used again.
    pub(crate) fn clear(&mut self) -> bool {
        self.requests.clear();
        self.specs.clear();
        self.executed = 0;
        self.replies.clear();
        self.ends.clear();
        self.taken = 0;
        self.guards.clear();
        self.transaction = Transaction::No;
        self.requests.room() + self.replies.capacity() <= ROOM_MAX
    }

    /// Does what `execute` would do if these were the replies to all requests.
    #[cfg(test)]
    pub(crate) fn answer_with(&mut self, replies: &[&str], at_once: usize) {
        assert_eq!(self.requests.len(), replies.len());
        self.replies.clear();
        self.ends.clear();
        self.taken = 0;
        for reply in replies.iter().skip(self.executed).take(at_once) {
            self.replies.extend_from_slice(reply.as_bytes());
            self.ends.push(self.replies.len());
            self.executed += 1;
        }
    }
}

/// Commands that wait for EXEC.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    requests: Requests,
    specs: Vec<&'static Spec>,
}

impl Queue {
    /// Adds a command.
    pub(crate) fn push(&mut self, spec: &'static Spec, args: Args<'_>) {
        self.specs.push(spec);
        self.requests.push(args.iter_from(0));
    }

    pub(crate) fn len(&self) -> usize {
        self.specs.len()
    }

    pub(crate) fn takes_memory(&self) -> bool {
        self.specs.iter().any(|spec| spec.memory == Memory::Taken)
    }

    pub(crate) fn len_counted(&self) -> usize {
        self.requests.bytes_len() + BESIDE_LEN * self.specs.len()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.requests.room() + size_of::<&Spec>() * self.specs.capacity()
    }

    pub(crate) fn into_parts(self) -> (Requests, Vec<&'static Spec>) {
        (self.requests, self.specs)
    }
}

/// A watched key and the fingerprint of its state.
#[derive(Debug)]
pub(crate) struct WatchedKey {
    pub(crate) key: Box<[u8]>,
    pub(crate) state: Fingerprint,
}

/// 128 bits that are equal for equal states, and differ for different states but for a negligible chance.
pub(crate) type Fingerprint = [u64; 2];

impl WatchedKey {
    /// Returns its memory, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<WatchedKey>() + self.key.len()
    }
}

/// The sender of a request, as seen by a core that executes it for another core.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    pub(crate) protocol: Protocol,
    pub(crate) peer: Option<SocketAddr>,
    /// None for a client that does not track.
    pub(crate) tracker: Option<Tracker>,
}

/// A tracking client, as seen by a core that executes its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tracker {
    pub(crate) sender: Sender,
    /// True when the reads of the request are tracked.
    pub(crate) tracks: bool,
    /// True when the client is not notified of its own changes.
    pub(crate) noloop: bool,
}
