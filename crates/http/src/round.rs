//! One request to the nodes of an id: who was asked, what came back, and whether enough are left.

use crate::coordinator::Failure;
use crate::copy::not_a_node;
use crate::inbox::Inbox;
use crate::node::{Missing, Node};
use crate::quorum::Quorum;
use redis::Value;
use std::sync::Arc;
use std::time::Duration;

/// The nodes of one request, and those of them that will not answer it.
pub(crate) struct Round<'a> {
    nodes: &'a [Arc<Node>],
    pub(crate) quorum: Quorum,
    inbox: Arc<Inbox>,
    /// Nodes that have answered as they should.
    pub(crate) answered: usize,
    /// Replies that may still come.
    outstanding: usize,
    missing: usize,
    /// Of those that are missing, how many can list nothing by value.
    without_index: usize,
    why: String,
}

impl<'a> Round<'a> {
    pub(crate) fn new(nodes: &'a [Arc<Node>], quorum: Quorum) -> Round<'a> {
        Round {
            nodes,
            quorum,
            inbox: Arc::default(),
            answered: 0,
            outstanding: 0,
            missing: 0,
            without_index: 0,
            why: String::new(),
        }
    }

    /// Sends a command, as it stands on the wire, to one of the nodes. Its reply comes with this
    /// number, of which the remainder by the nodes is the node.
    pub(crate) fn ask(&mut self, number: usize, command: &[u8]) {
        let node = number % self.nodes.len();
        match self.nodes[node].line() {
            Some(line) => {
                line.send(command, self.inbox.ticket(number));
                self.outstanding += 1;
            }
            None => self.missed(&self.nodes[node], Missing::NotReady),
        }
    }

    /// The next reply, with its number, once there are `wanted` of them: with fewer nobody could go
    /// on. None when too few are left, or none that could come.
    pub(crate) async fn next(&mut self, wanted: usize) -> Option<(usize, Value)> {
        while self.outstanding > 0 && !self.is_lost() {
            let wanted = wanted.min(self.outstanding);
            let (number, reply) = self.inbox.next(wanted).await;
            self.outstanding -= 1;
            let node = &self.nodes[number % self.nodes.len()];
            match reply.and_then(Value::extract_error) {
                Ok(value) => return Some((number, value)),
                Err(error) => {
                    let missing = node.failed(error);
                    self.missed(node, missing);
                }
            }
        }
        None
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
        self.missed_because(&node.address, &why);
    }

    /// The node with the reply of this number says what no node says.
    pub(crate) fn is_foreign(&mut self, number: usize) {
        let node = &self.nodes[number % self.nodes.len()];
        self.missed(node, Missing::Failed(not_a_node()));
    }

    /// It was told, and knows less: it is not what it seems.
    pub(crate) fn forgets(&mut self, number: usize) {
        let node = &self.nodes[number % self.nodes.len()];
        self.missed_because(&node.address, "it forgets what it is told");
    }

    fn missed_because(&mut self, node: &str, why: &str) {
        self.missing += 1;
        if !self.why.is_empty() {
            self.why.push_str("; ");
        }
        self.why.push_str(node);
        self.why.push_str(": ");
        self.why.push_str(why);
    }

    /// Too few are left for a quorum.
    pub(crate) fn is_lost(&self) -> bool {
        self.missing > self.spare()
    }

    /// How many may be missing.
    fn spare(&self) -> usize {
        self.quorum.from() - self.quorum.ack()
    }

    pub(crate) fn failure(&self) -> Failure {
        let why = self.why.clone();
        if self.without_index > self.spare() {
            return Failure::NoIndex { why };
        }
        let (asked, ack) = (self.quorum.from(), self.quorum.ack());
        Failure::NotEnough { answered: self.answered, asked, ack, why }
    }

    /// The time is over.
    pub(crate) fn late(mut self, patience: Duration) -> Failure {
        let others = format!("the others did not answer within {} ms", patience.as_millis());
        if !self.why.is_empty() {
            self.why.push_str("; ");
        }
        self.why.push_str(&others);
        self.failure()
    }
}
