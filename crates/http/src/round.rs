//! One request to the nodes of an id: who was asked, what came back, and whether enough are left.

use crate::copy::not_a_node;
use crate::inbox::Inbox;
use crate::line::Line;
use crate::node::{ASKED_AGAIN_MAX, Missing, Node};
use crate::problem::Problem;
use crate::quorum::Quorum;
use axum::body::Bytes;
use axum::http::StatusCode;
use futures_util::future::{BoxFuture, Either, select, select_all};
use redis::{RedisResult, Value};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

/// The nodes of one request, and those of them that will not answer it.
pub(crate) struct Round<'a> {
    nodes: &'a [Arc<Node>],
    pub(crate) quorum: Quorum,
    /// How long the nodes may take, and when that is over.
    patience: Duration,
    until: Instant,
    is_late: bool,
    inbox: Arc<Inbox>,
    /// Requests, each with the number of its node: a node that has ended the connection meanwhile is
    /// asked again.
    asked: Vec<(usize, Bytes)>,
    /// Nodes that are waited for before they are asked, each for one number.
    absent: Vec<BoxFuture<'a, Back>>,
    asked_again: usize,
    /// Nodes that have answered as they should.
    pub(crate) answered: usize,
    /// Replies that may still come.
    outstanding: usize,
    missing: usize,
    /// Of those that are missing, how many can list nothing by value.
    without_index: usize,
    why: String,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The text says whether something may have been written.
    #[error("{answered} of the {asked} nodes that keep this id answered, and {ack} must: {why}")]
    NotEnough { answered: usize, asked: usize, ack: usize, why: String },
    /// Clocks or versions are broken.
    #[error("no version is left that is greater than what the nodes know")]
    NoVersion,
    /// Nodes that are needed list no entities by value.
    #[error("{why}: servers list entities by value when they are started with --entity-index")]
    NoIndex { why: String },
    /// Ids that would take too long to list.
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
            Failure::NotEnough { .. } | Failure::NoVersion => Problem::not_enough_replicas(failure),
        }
    }
}

/// Changes that a request that fails has made.
#[derive(Clone, Copy)]
pub(crate) enum Effect {
    /// A request that only reads.
    Read,
    /// A request that would write, and no node has been told.
    Unwritten,
    /// Nodes have been told what to write, and those that gave no answer may do it too.
    Unknown,
}

/// A number, and the connection to its node once that is back.
type Back = (usize, Result<Line, Missing>);

impl<'a> Round<'a> {
    pub(crate) fn new(nodes: &'a [Arc<Node>], quorum: Quorum, patience: Duration) -> Round<'a> {
        Round {
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

    /// The next round of the same request, which has what is left of the time.
    pub(crate) fn follow(self) -> Round<'a> {
        Round { until: self.until, ..Round::new(self.nodes, self.quorum, self.patience) }
    }

    /// Sends a command, as it stands on the wire, to one of the nodes. Its reply comes with this
    /// number, of which the remainder by the nodes is the node. It may be sent more than once.
    pub(crate) fn ask(&mut self, number: usize, command: &Bytes) {
        self.asked.push((number, command.clone()));
        match self.node(number).line() {
            Some(line) => self.send(number, &line),
            None => self.wait(number),
        }
    }

    fn node(&self, number: usize) -> &'a Arc<Node> {
        &self.nodes[number % self.nodes.len()]
    }

    fn send(&mut self, number: usize, line: &Line) {
        let asked = self.asked.iter().find(|(asked, _)| *asked == number);
        if let Some((_, command)) = asked {
            line.send(command, self.inbox.ticket(number));
            self.outstanding += 1;
        }
    }

    /// Asks the node of this number when its answers count again.
    fn wait(&mut self, number: usize) {
        let node = self.node(number);
        self.absent.push(Box::pin(async move { (number, node.wait().await) }));
    }

    /// The next reply, with its number, once there are `wanted` of them: with fewer nobody could go
    /// on. When too few are left, or the time is over, those that have come are given out all the same,
    /// so that they are counted, and then none.
    pub(crate) async fn next(&mut self, wanted: usize) -> Option<(usize, Value)> {
        while self.outstanding + self.absent.len() > 0 {
            let event = if self.is_over() {
                Either::Left(self.inbox.take()?)
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
                Err(error)
                    if error.is_connection_dropped()
                        && self.asked_again < ASKED_AGAIN_MAX
                        && !self.is_over() =>
                {
                    self.asked_again += 1;
                    self.wait(number);
                }
                Err(error) => self.missed(self.node(number), Missing::Failed(error)),
            }
        }
        None
    }

    /// A reply, or that a node is back or given up.
    async fn event(&mut self, wanted: usize) -> Either<(usize, RedisResult<Value>), Back> {
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

    pub(crate) fn missed(&mut self, node: &Node, missing: Missing) {
        let why = match missing {
            Missing::NotReady(why) => why,
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
        self.missed(self.node(number), Missing::Failed(not_a_node()));
    }

    /// A node that was told, and knows less: it is not what it seems.
    pub(crate) fn forgets(&mut self, number: usize) {
        self.missed_because(&self.node(number).address, "it forgets what it is told");
    }

    fn missed_because(&mut self, node: &str, why: &str) {
        self.missing += 1;
        self.add(&format!("{node}: {why}"));
    }

    /// Too few are left for a quorum.
    pub(crate) fn is_lost(&self) -> bool {
        self.missing > self.spare()
    }

    /// Nobody is waited for any more.
    fn is_over(&self) -> bool {
        self.is_late || self.is_lost()
    }

    /// How many may be missing.
    fn spare(&self) -> usize {
        self.quorum.from() - self.quorum.ack()
    }

    /// Too few are left, or the time is over: what is known of the nodes, and what may have come of it.
    pub(crate) fn failure(mut self, effect: Effect) -> Failure {
        if self.is_late && self.outstanding + self.absent.len() > 0 {
            let ms = self.patience.as_millis();
            self.add(&format!("the others did not answer within {ms} ms"));
        } else if self.outstanding > 0 {
            let open = self.outstanding;
            self.add(&format!("{open} more had been asked, and nobody waited for their answers"));
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
