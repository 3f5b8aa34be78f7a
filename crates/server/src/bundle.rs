//! Requests of one connection for one core, and their replies.

use crate::client::Caller;
use crate::dispatch;
use crate::node::Node;
use crate::pool::Room;
use crate::transaction::{Guard, Queue};
use crate::watch::Origin;
use scurry_resp::table::{CommandId, Spec, TransactionId};
use scurry_resp::{Args, Protocol, Reply, Requests};

/// Replies that travel at once, bytes: execution stops above it and goes on when they were taken.
const REPLIES_LEN_MAX: usize = 256 * 1024;
/// When the replies of a transaction are longer, its remaining reads are not executed, bytes.
const TRANSACTION_REPLIES_LEN_MAX: usize = 64 * 1024 * 1024;
const TOO_MANY_REPLIES: &str = "ERR the replies of this transaction are too long to read more";
const TOO_MANY_RECORDS: &str =
    "ERR this transaction has written too much into the log to write more";
/// A bundle that has grown beyond this is not used again, bytes.
const ROOM_MAX: usize = 256 * 1024;

/// It travels to its core with requests and back with replies. Emptied, it keeps its room.
#[derive(Debug, Default)]
pub(crate) struct Bundle {
    pub(crate) caller: Caller,
    requests: Requests,
    specs: Vec<&'static Spec>,
    /// Requests that were executed.
    executed: usize,
    replies: Vec<u8>,
    /// Behind each reply.
    ends: Vec<usize>,
    /// Replies that were taken.
    taken: usize,
    /// What the keys hold that it has been asked to watch; what they have to hold still, in a
    /// transaction.
    guards: Vec<Guard>,
    transaction: Transaction,
    /// What it took when it was sent away, bytes.
    pub(crate) room_away: usize,
}

impl Room for Box<Bundle> {
    fn room(&self) -> usize {
        size_of::<Bundle>()
            + self.requests.room()
            + size_of::<&Spec>() * self.specs.capacity()
            + self.guards.iter().map(Guard::room).sum::<usize>()
            + self.replies_room()
    }
}

/// Whether a bundle's requests are one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Transaction {
    #[default]
    No,
    Yes,
    /// A watched key was changed: nothing was executed.
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

    /// From now on it is this transaction, and nothing else. It must be empty.
    pub(crate) fn become_transaction(&mut self, queue: Queue, guards: Vec<Guard>) {
        debug_assert!(self.specs.is_empty(), "a transaction has its bundle for itself");
        (self.requests, self.specs) = queue.into_parts();
        self.guards = guards;
        self.transaction = Transaction::Yes;
    }

    /// Executes what was not executed yet, as long as the replies and the frame of the log may grow;
    /// a transaction in one step, if the keys that it watches are as they were.
    pub(crate) fn execute(&mut self, node: &mut Node) {
        self.replies.clear();
        self.ends.clear();
        self.taken = 0;
        if self.caller.tracker.is_some() {
            node.begin_tracking();
        }
        let mut most = REPLIES_LEN_MAX;
        let whole = self.transaction == Transaction::Yes;
        if whole {
            most = usize::MAX;
            let guards = std::mem::take(&mut self.guards);
            // A failed log shows nothing, not even whether a key was changed.
            let refuses = node.durable.trouble_is_final();
            if !refuses && !guards.iter().all(|guard| guard.holds(node)) {
                self.transaction = Transaction::Refused;
                self.executed = self.requests.len();
            }
        }
        node.batch_began();
        'all: while self.executed < self.requests.len() && self.replies.len() < most {
            let first = self.executed;
            let last = self.requests.len().min(first + dispatch::BATCH_MAX);
            let mut hashes = [None; dispatch::BATCH_MAX];
            for (hash, index) in hashes.iter_mut().zip(first..last) {
                *hash = node.hash_ahead(self.specs[index], self.requests.get(index));
            }
            node.touch(hashes.into_iter().flatten());
            while self.executed < last && self.replies.len() < most {
                if !whole && node.is_frame_long() {
                    break 'all;
                }
                let (spec, args) = (self.specs[self.executed], self.requests.get(self.executed));
                if spec.id == CommandId::Transaction(TransactionId::Watch) {
                    self.guards.extend(args.iter_from(1).map(|key| Guard::of(node, key)));
                }
                node.first_hash = hashes[self.executed - first];
                match whole.then(|| self.excess(node, spec, args)).flatten() {
                    Some(why) => Reply::new(&mut self.replies, Protocol::default()).error(why),
                    None => dispatch::run_here(node, &self.caller, spec, args, &mut self.replies),
                }
                self.ends.push(self.replies.len());
                self.executed += 1;
            }
        }
        node.first_hash = None;
        node.batch_ended(Origin::Core(&self.caller));
        node.look_at_commits();
    }

    /// Why a transaction has no room for this command: in one step it has read or written too much.
    fn excess(&self, node: &mut Node, spec: &Spec, args: Args<'_>) -> Option<&'static str> {
        let is = |flag| spec.flags.contains(&flag);
        if self.replies.len() > TRANSACTION_REPLIES_LEN_MAX && is("readonly") {
            return Some(TOO_MANY_REPLIES);
        }
        let len = args.iter_from(0).map(<[u8]>::len).sum();
        let fits = !is("write") || node.durable.has_transaction_room(&mut node.shard, len);
        (!fits).then_some(TOO_MANY_RECORDS)
    }

    /// True when there are requests left to execute, or keys to look at that they depend on.
    pub(crate) fn is_cut(&self) -> bool {
        let guarded = self.transaction == Transaction::Yes && !self.guards.is_empty();
        self.executed < self.requests.len() || guarded
    }

    /// True for a transaction of which nothing was executed, because a watched key was changed.
    pub(crate) fn is_refused(&self) -> bool {
        self.transaction == Transaction::Refused
    }

    /// What its replies take, bytes.
    pub(crate) fn replies_room(&self) -> usize {
        self.replies.capacity() + size_of::<usize>() * self.ends.capacity()
    }

    /// All replies.
    pub(crate) fn replies(&self) -> &[u8] {
        &self.replies
    }

    /// The next reply, and what watched keys were found to hold; none when there is none, or none
    /// yet.
    pub(crate) fn take(&mut self) -> Option<(&[u8], &mut Vec<Guard>)> {
        let end = *self.ends.get(self.taken)?;
        let start = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.taken += 1;
        Some((&self.replies[start..end], &mut self.guards))
    }

    /// Empties it, and says whether it is small enough to be used again.
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

    /// What `execute` would do if these were the replies to all requests.
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
