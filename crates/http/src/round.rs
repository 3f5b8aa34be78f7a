//! What becomes of the nodes that are asked for one request, and whether enough are left.

use crate::coordinator::Failure;
use crate::node::{Missing, Node};
use crate::quorum::Quorum;

/// The nodes of one request that will not answer it.
pub(crate) struct Round {
    pub(crate) quorum: Quorum,
    missing: usize,
    /// Of those that are missing, how many can list nothing by value.
    without_index: usize,
    why: String,
}

impl Round {
    pub(crate) fn new(quorum: Quorum) -> Round {
        Round { quorum, missing: 0, without_index: 0, why: String::new() }
    }

    pub(crate) fn missed(&mut self, node: &Node, missing: Missing) {
        let why = match missing {
            Missing::NotReady => "not ready".to_owned(),
            Missing::Failed(error) => error.to_string(),
            Missing::NoIndex(why) => {
                self.without_index += 1;
                why
            }
        };
        self.missed_because(format!("{}: {why}", node.address));
    }

    pub(crate) fn missed_because(&mut self, why: String) {
        self.missing += 1;
        if !self.why.is_empty() {
            self.why.push_str("; ");
        }
        self.why.push_str(&why);
    }

    /// Too few are left for a quorum.
    pub(crate) fn is_lost(&self) -> bool {
        self.missing > self.spare()
    }

    /// How many may be missing.
    fn spare(&self) -> usize {
        self.quorum.from() - self.quorum.ack()
    }

    pub(crate) fn failure(&self, answered: usize) -> Failure {
        let why = self.why.clone();
        if self.without_index > self.spare() {
            return Failure::NoIndex { why };
        }
        let (asked, ack) = (self.quorum.from(), self.quorum.ack());
        Failure::NotEnough { answered, asked, ack, why }
    }
}
