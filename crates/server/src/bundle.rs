//! Requests of one connection for one core, and their replies.

use crate::client::Caller;
use crate::dispatch;
use crate::node::Node;
use crate::watch::Origin;
use scurry_resp::Requests;
use scurry_resp::table::Spec;

/// Replies that travel at once, bytes: execution stops above it and goes on when they were taken.
const REPLIES_LEN_MAX: usize = 256 * 1024;
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

    /// Executes what was not executed yet, as long as the replies may grow.
    pub(crate) fn execute(&mut self, node: &mut Node) {
        self.replies.clear();
        self.ends.clear();
        self.taken = 0;
        if self.caller.tracker.is_some() {
            node.begin_tracking();
        }
        node.batch_began();
        while self.executed < self.requests.len() && self.replies.len() < REPLIES_LEN_MAX {
            let first = self.executed;
            let last = self.requests.len().min(first + dispatch::BATCH_MAX);
            let ahead = (first..last).map(|index| (self.specs[index], self.requests.get(index)));
            if last - first > 1 {
                dispatch::touch(node, ahead);
            }
            while self.executed < last && self.replies.len() < REPLIES_LEN_MAX {
                let (spec, args) = (self.specs[self.executed], self.requests.get(self.executed));
                dispatch::run_here(node, &self.caller, spec, args, &mut self.replies);
                self.ends.push(self.replies.len());
                self.executed += 1;
            }
        }
        node.batch_ended(Origin::Core(&self.caller));
    }

    /// True when there are requests left to execute.
    pub(crate) fn is_cut(&self) -> bool {
        self.executed < self.requests.len()
    }

    /// The next reply; none when there is none, or none yet.
    pub(crate) fn take(&mut self) -> Option<&[u8]> {
        let end = *self.ends.get(self.taken)?;
        let start = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.taken += 1;
        Some(&self.replies[start..end])
    }

    /// Empties it, and says whether it is small enough to be used again.
    pub(crate) fn clear(&mut self) -> bool {
        self.requests.clear();
        self.specs.clear();
        self.executed = 0;
        self.replies.clear();
        self.ends.clear();
        self.taken = 0;
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
