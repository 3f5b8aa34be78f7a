//! One request to the nodes of an id: which nodes were asked, which have replied, and whether enough are left for a
//! quorum.

use crate::copy::not_a_node;
use crate::node::{EntityNode, NodeFailure};
use crate::quorum::Quorum;
use axum::body::Bytes;
use axum::http::StatusCode;
use futures_util::future::{BoxFuture, Either, select, select_all};
use redis::{RedisResult, Value};
use scurry_http::Problem;
use scurry_stores::{ASKED_AGAIN_MAX, Inbox, PipelinedConnection};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

/// The state of one request to several nodes.
pub(crate) struct QuorumRequest<'a> {
    nodes: &'a [Arc<EntityNode>],
    pub(crate) quorum: Quorum,
    /// Timeout of the whole request, and its end.
    patience: Duration,
    until: Instant,
    is_late: bool,
    inbox: Arc<Inbox>,
    /// Commands, each with the number of its request. They are kept to be sent again to a node that has closed the
    /// connection.
    asked: Vec<(usize, Bytes)>,
    /// Waits for nodes that cannot be asked yet, one for each number.
    absent: Vec<BoxFuture<'a, NodeReply>>,
    asked_again: usize,
    /// Number of nodes that have answered as they should.
    pub(crate) answered: usize,
    /// Number of replies that may still arrive.
    outstanding: usize,
    missing: usize,
    /// Number of missing nodes that have no index by value.
    without_index: usize,
    why: String,
}

/// Why a request has no answer.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// Too few nodes answered. The text says whether something may have been written.
    #[error("{answered} of the {asked} nodes that keep this id answered, and {ack} must: {why}")]
    NotEnough { answered: usize, asked: usize, ack: usize, why: String },
    /// The clocks or the versions are broken.
    #[error("no version is left that is greater than what the nodes know")]
    NoVersion,
    /// Too many nodes have no index of entities by value.
    #[error("{why}: servers list entities by value when they are started with --entity-index")]
    NoIndex { why: String },
    /// Listing the ids would take too long.
    #[error("a node has more than {0} entities to go through")]
    TooMany(usize),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        match failure {
            Failure::NoIndex { .. } => {
                Problem::new(StatusCode::NOT_IMPLEMENTED, "Not Implemented", failure)
            }
            Failure::TooMany(_) => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "Unprocessable Content", failure)
            }
            Failure::NotEnough { .. } | Failure::NoVersion => {
                // A write may have happened or not, and a read can be retried.
                Problem::new(StatusCode::GATEWAY_TIMEOUT, "Not Enough Replicas", failure)
            }
        }
    }
}

/// Possible effects of a failed request.
#[derive(Clone, Copy)]
pub(crate) enum Effect {
    /// Nothing: the request only reads.
    Read,
    /// Nothing: the request writes, but has not told any node yet.
    Unwritten,
    /// Nodes have been told to write. A node that did not answer may still do so.
    Unknown,
}

/// The number of a request, and the connection to its node once that is back.
type NodeReply = (usize, Result<PipelinedConnection, NodeFailure>);

impl<'a> QuorumRequest<'a> {
    pub(crate) fn new(
        nodes: &'a [Arc<EntityNode>],
        quorum: Quorum,
        patience: Duration,
    ) -> QuorumRequest<'a> {
        QuorumRequest {
            nodes,
            quorum,
            patience,
            until: Instant::now() + patience,
            is_late: false,
            inbox: Arc::default(),
            asked: Vec::with_capacity(quorum.from()),
            absent: Vec::new(),
            asked_again: 0,
            answered: 0,
            outstanding: 0,
            missing: 0,
            without_index: 0,
            why: String::new(),
        }
    }

    /// Returns the next round of the same request, with the rest of its time.
    pub(crate) fn next_phase(self) -> QuorumRequest<'a> {
        QuorumRequest {
            until: self.until,
            ..QuorumRequest::new(self.nodes, self.quorum, self.patience)
        }
    }

    /// Sends a command, given as bytes of RESP, to the node `number` modulo the number of nodes. Its reply has the same
    /// number. The command may be sent more than once.
    pub(crate) fn ask(&mut self, number: usize, command: &Bytes) {
        self.asked.push((number, command.clone()));
        match self.node(number).line() {
            Some(line) => self.send(number, &line),
            None => self.wait(number),
        }
    }

    fn node(&self, number: usize) -> &'a Arc<EntityNode> {
        &self.nodes[number % self.nodes.len()]
    }

    fn send(&mut self, number: usize, line: &PipelinedConnection) {
        let asked = self.asked.iter().find(|(asked, _)| *asked == number);
        if let Some((_, command)) = asked {
            line.send(command, self.inbox.ticket(number));
            self.outstanding += 1;
        }
    }

    /// Waits until the answers of this number's node count again, to ask it then.
    fn wait(&mut self, number: usize) {
        let node = self.node(number);
        self.absent.push(Box::pin(async move { (number, node.wait().await) }));
    }

    /// Returns the next reply and its number, after `wanted` replies have arrived: with fewer the caller cannot
    /// continue. When too few nodes are left or the time is over, returns the replies that have already arrived, so
    /// that they are counted, and then None.
    pub(crate) async fn next(&mut self, wanted: usize) -> Option<(usize, Value)> {
        while self.outstanding + self.absent.len() > 0 {
            let event = if self.is_over() {
                // Take the replies that have arrived, and wait for no more.
                Either::Left(self.inbox.try_next()?)
            } else if let Ok(event) = timeout_at(self.until, self.event(wanted)).await {
                event
            } else {
                self.is_late = true;
                continue;
            };
            let (number, reply) = match event {
                Either::Left(reply) => reply,
                Either::Right((number, Ok(line))) => {
                    self.send(number, &line);
                    continue;
                }
                Either::Right((number, Err(missing))) => {
                    self.missed(self.node(number), missing);
                    continue;
                }
            };
            self.outstanding -= 1;
            match reply.and_then(Value::extract_error) {
                Ok(value) => return Some((number, value)),
                // The node closed the connection without answering: ask again when it is back.
                Err(error)
                    if error.is_connection_dropped()
                        && self.asked_again < ASKED_AGAIN_MAX
                        && !self.is_over() =>
                {
                    self.asked_again += 1;
                    self.wait(number);
                }
                Err(error) => self.missed(self.node(number), NodeFailure::Failed(error)),
            }
        }
        None
    }

    /// Waits for a reply, or for an absent node that is back or given up.
    async fn event(&mut self, wanted: usize) -> Either<(usize, RedisResult<Value>), NodeReply> {
        let replies = self.inbox.next(wanted.min(self.outstanding));
        if self.absent.is_empty() {
            return Either::Left(replies.await);
        }
        let backs = select_all(self.absent.iter_mut());
        let (back, at) = match select(pin!(replies), backs).await {
            Either::Left((reply, _)) => return Either::Left(reply),
            Either::Right(((back, at, _), _)) => (back, at),
        };
        drop(self.absent.swap_remove(at));
        Either::Right(back)
    }

    /// Counts a node as missing, for this reason.
    pub(crate) fn missed(&mut self, node: &EntityNode, missing: NodeFailure) {
        let why = match missing {
            NodeFailure::NotReady(why) => why,
            NodeFailure::Failed(error) => error.to_string(),
            NodeFailure::NoIndex(why) => {
                self.without_index += 1;
                why
            }
        };
        self.missed_because(&node.address, &why);
    }

    /// Counts a node as missing after a reply that no node of entities gives.
    pub(crate) fn is_foreign(&mut self, number: usize) {
        self.missed(self.node(number), NodeFailure::Failed(not_a_node()));
    }

    /// Counts a node as missing that has an older version than it was told to store.
    pub(crate) fn forgets(&mut self, number: usize) {
        self.missed_because(&self.node(number).address, "it forgets what it is told");
    }

    fn missed_because(&mut self, node: &str, why: &str) {
        self.missing += 1;
        self.add(&format!("{node}: {why}"));
    }

    /// Reports whether too few nodes are left for a quorum.
    pub(crate) fn is_lost(&self) -> bool {
        self.missing > self.spare()
    }

    /// Reports whether to stop waiting for replies.
    fn is_over(&self) -> bool {
        self.is_late || self.is_lost()
    }

    /// Returns how many nodes may be missing.
    fn spare(&self) -> usize {
        self.quorum.from() - self.quorum.ack()
    }

    /// Returns why the request failed: what happened at each node, and what may have been written.
    pub(crate) fn failure(mut self, effect: Effect) -> Failure {
        if self.is_late && self.outstanding + self.absent.len() > 0 {
            let ms = self.patience.as_millis();
            self.add(&format!("the others did not answer within {ms} ms"));
        } else if self.outstanding > 0 {
            let open = self.outstanding;
            self.add(&format!(
                "{open} more had been asked, and no request waited for their answers"
            ));
        }
        match effect {
            Effect::Read => {}
            Effect::Unwritten => self.add("nothing was written"),
            Effect::Unknown => self.add("the write may take effect or not"),
        }
        if self.without_index > self.spare() {
            return Failure::NoIndex { why: self.why };
        }
        let (asked, ack) = (self.quorum.from(), self.quorum.ack());
        Failure::NotEnough { answered: self.answered, asked, ack, why: self.why }
    }

    fn add(&mut self, why: &str) {
        if !self.why.is_empty() {
            self.why.push_str("; ");
        }
        self.why.push_str(why);
    }
}

#[cfg(test)]
mod tests;
