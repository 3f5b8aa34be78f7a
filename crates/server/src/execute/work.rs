//! Executes the requests of a bundle, which a connection of this core or of another has put together.

use crate::execute::dispatch;
use crate::execute::node::{LOOKAHEAD_MAX, Node};
use crate::execute::timing::Origin;
use crate::mail::bundle::{Bundle, Transaction, WatchedKey};
use scurry_resp::table::{CommandId, Spec, TransactionId};
use scurry_resp::{Args, Protocol, Reply};

/// Length of replies at which execution pauses, bytes; it continues once the replies were taken.
const REPLIES_LEN_MAX: usize = 256 * 1024;
/// When the replies of a transaction are longer than this, its remaining reads are not executed, bytes.
const TRANSACTION_REPLIES_LEN_MAX: usize = 64 * 1024 * 1024;
const TOO_MANY_REPLIES: &str = "ERR the replies of this transaction are too long to read more";
const TOO_MANY_RECORDS: &str =
    "ERR this transaction has written too much into the log to write more";

impl Bundle {
    /// Executes the remaining requests, as long as the replies and the log's frame may grow. A transaction is executed
    /// in one step, if the keys that it watches are unchanged.
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
            // A transaction is never cut short: [`Bundle::excess`] bounds its replies instead.
            most = usize::MAX;
            let guards = std::mem::take(&mut self.guards);
            // When the log has failed nothing may be shown, not even whether a key was changed.
            let refuses = node.durable.trouble_is_final() || !node.durable.executes();
            if !refuses && !guards.iter().all(|guard| holds(guard, node)) {
                self.transaction = Transaction::Refused;
                self.executed = self.requests.len();
            }
        }
        node.requests_began();
        'all: while self.executed < self.requests.len() && self.replies.len() < most {
            let first = self.executed;
            let last = self.requests.len().min(first + LOOKAHEAD_MAX);
            let mut hashes = [None; LOOKAHEAD_MAX];
            for (hash, index) in hashes.iter_mut().zip(first..last) {
                *hash = node.hash_ahead(self.specs[index], self.requests.get(index));
            }
            node.touch(hashes.into_iter().flatten());
            while self.executed < last && self.replies.len() < most {
                // Long frames are closed between requests, but a transaction stays in one frame.
                if !whole && node.is_frame_long() {
                    break 'all;
                }
                let (spec, args) = (self.specs[self.executed], self.requests.get(self.executed));
                // The state of the key is taken here, in order with the other requests.
                if spec.id == CommandId::Transaction(TransactionId::Watch) {
                    self.guards.extend(args.iter_from(1).map(|key| guard(node, key)));
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
        node.requests_ended(Origin::Core(&self.caller));
        node.look_at_commits();
    }

    /// Returns why a transaction has no room for this command: it has read or written too much in one step.
    fn excess(&self, node: &mut Node, spec: &Spec, args: Args<'_>) -> Option<&'static str> {
        let is = |flag| spec.flags.contains(&flag);
        if self.replies.len() > TRANSACTION_REPLIES_LEN_MAX && is("readonly") {
            return Some(TOO_MANY_REPLIES);
        }
        let len = args.iter_from(0).map(<[u8]>::len).sum();
        let fits = !is("write") || node.durable.has_transaction_room(&mut node.shard, len);
        (!fits).then_some(TOO_MANY_RECORDS)
    }
}

/// Returns the guard of a key of this core, with its present state.
fn guard(node: &mut Node, key: &[u8]) -> WatchedKey {
    let (now, hashed) = (node.now.time, node.shard.key(key));
    let state = node.fingerprint_seeds.fingerprint(&mut node.shard, now, hashed);
    WatchedKey { key: key.into(), state }
}

/// Reports whether the key still has that state.
fn holds(known: &WatchedKey, node: &mut Node) -> bool {
    guard(node, &known.key).state == known.state
}
