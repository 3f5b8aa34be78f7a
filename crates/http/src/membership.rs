//! Which nodes count. A task per node keeps its connection, reads its mark, and brings it up to
//! date before its answers count.
//!
//! A write is on a quorum. A node that was emptied has lost its part of that, so it counts again
//! only when it has read so many others that every quorum of which it was one is among them. A
//! node that was away longer than deletions are remembered may hold what was deleted since: what
//! nobody else knows is taken from it first.

use crate::clock::now;
use crate::coordinator::Coordinator;
use crate::inbox::ended;
use crate::line::{Line, Terms};
use crate::mark::Mark;
use crate::node::{LOOK_EVERY, Lack, Link, Node, NotReady, pause};
use crate::quorum::Quorum;
use crate::sync;
use redis::RedisError;
use scurry_ledger::Time;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Keeps the links of all nodes.
pub(crate) struct Membership {
    pub(crate) coordinator: Arc<Coordinator>,
    pub(crate) patience: Duration,
    /// How long nodes remember deletions, ms.
    pub(crate) tombstone_ms: i64,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// Old marks are good ones.
    pub(crate) trust_old_nodes: bool,
}

impl Membership {
    /// Keeps one node's link, for ever.
    pub(crate) async fn keep(self: Arc<Membership>, number: usize) {
        let node = Arc::clone(&self.coordinator.nodes[number]);
        loop {
            let error = match self.connect(&node.address).await {
                Ok(connection) => self.look_after(number, &node, connection).await,
                Err(error) => error,
            };
            if self.set(number, Link::Away(error.to_string())) {
                tracing::warn!(node = node.address, %error, "a node is away");
            }
            sleep(pause(node.absence())).await;
        }
    }

    /// Sets a node's link. When that makes a difference others that do not count are looked at again:
    /// they may have waited for it. True when it does.
    fn set(&self, number: usize, link: Link) -> bool {
        let nodes = &self.coordinator.nodes;
        let has_changed = nodes[number].set(link, now());
        if has_changed {
            let others = nodes.iter().enumerate().filter(|(other, _)| *other != number);
            let waiting = others.filter(|(_, node)| matches!(node.link(), Link::NotReady(_)));
            waiting.for_each(|(_, node)| node.look.notify_one());
        }
        has_changed
    }

    async fn connect(&self, address: &str) -> Result<Line, RedisError> {
        let terms = Terms {
            user: self.user.as_deref(),
            password: self.password.as_deref(),
            patience: self.patience,
        };
        Line::connect(address, terms).await
    }

    /// Looks at a node until its connection is broken; the reason.
    async fn look_after(&self, number: usize, node: &Node, connection: Line) -> RedisError {
        loop {
            match self.look(number, node, &connection).await {
                Ok(Looked::Changed) => continue,
                Ok(Looked::AsBefore) => {}
                Err(error) => return error,
            }
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = node.look.notified() => {}
                () = connection.ended() => return ended(),
            }
        }
    }

    async fn look(
        &self,
        number: usize,
        node: &Node,
        connection: &Line,
    ) -> Result<Looked, RedisError> {
        let begin = now();
        let lack = match Mark::read(connection).await? {
            Mark::Whole(at) if self.trusts(at, begin) => {
                if !matches!(node.link(), Link::Ready(_)) {
                    self.set(number, Link::Ready(connection.clone()));
                    tracing::info!(node = node.address, "a node is ready");
                }
                // So that no deletion that it has missed is forgotten by those who know it.
                let old = begin.0 - at.0 > self.tombstone_ms / 8;
                let others = if old { self.enough_beside(number) } else { None };
                return self.bring_up(connection, others, begin).await;
            }
            Mark::Whole(_) => Lack::Deletions,
            Mark::Forming => Lack::Forming,
            Mark::None => Lack::Everything,
        };
        self.set(number, Link::NotReady(NotReady { lack, connection: connection.clone() }));
        match lack {
            Lack::Forming => {
                let formed = self.others(number, |link| match link {
                    Link::Ready(connection) => Some(connection),
                    Link::NotReady(other) if other.lack == Lack::Forming => Some(other.connection),
                    _ => None,
                });
                self.bring_up(connection, formed, begin).await
            }
            Lack::Everything | Lack::Deletions => {
                let others = self.enough(number);
                if let (Lack::Deletions, Some(others)) = (lack, &others) {
                    sync::purge(connection, others, begin).await?;
                }
                if lack == Lack::Everything && self.are_new(number) {
                    Mark::form(connection).await?;
                    return Ok(Looked::Changed);
                }
                self.bring_up(connection, others, begin).await
            }
        }
    }

    /// Reads all of the others, if they are known, and marks the node as whole.
    async fn bring_up(
        &self,
        connection: &Line,
        others: Option<Vec<Line>>,
        begin: Time,
    ) -> Result<Looked, RedisError> {
        let Some(others) = others else { return Ok(Looked::AsBefore) };
        let forgotten = begin.plus_ms(-self.tombstone_ms);
        sync::bring_up(connection, &others, forgotten).await?;
        Mark::set_whole(connection, begin).await?;
        Ok(Looked::Changed)
    }

    /// A mark that is younger than half of the time for which deletions are remembered.
    fn trusts(&self, mark: Time, now: Time) -> bool {
        self.trust_old_nodes || now.0 - mark.0 <= self.tombstone_ms / 2
    }

    /// Other nodes that are ready, when every majority without `number` has one of them: what it
    /// has missed is known to one of these.
    fn enough_beside(&self, number: usize) -> Option<Vec<Line>> {
        let quorum = Quorum::majority(self.coordinator.nodes.len());
        let ready = self.ready(number);
        (ready.len() >= quorum.from() - quorum.ack()).then_some(ready)
    }

    /// Other nodes that are ready, when every majority with `number` has one of them beside it:
    /// what it has lost is known to one of these.
    fn enough(&self, number: usize) -> Option<Vec<Line>> {
        let quorum = Quorum::majority(self.coordinator.nodes.len());
        let ready = self.ready(number);
        (ready.len() > quorum.from() - quorum.ack()).then_some(ready)
    }

    fn ready(&self, number: usize) -> Vec<Line> {
        let nodes = self.coordinator.nodes.iter().enumerate();
        let others = nodes.filter(|(other, _)| *other != number);
        let link = |(_, node): (usize, &Arc<Node>)| match node.link() {
            Link::Ready(connection) => Some(connection),
            _ => None,
        };
        others.filter_map(link).collect()
    }

    /// True when no node knows more than this one, which knows nothing.
    fn are_new(&self, number: usize) -> bool {
        let new = self.others(number, |link| match link {
            Link::NotReady(other) if other.lack != Lack::Deletions => Some(other.connection),
            _ => None,
        });
        new.is_some()
    }

    /// The connections of all other nodes, when each has one.
    fn others(
        &self,
        number: usize,
        connection: impl Fn(Link) -> Option<Line>,
    ) -> Option<Vec<Line>> {
        let nodes = self.coordinator.nodes.iter().enumerate();
        let others = nodes.filter(|(other, _)| *other != number);
        others.map(|(_, node)| connection(node.link())).collect()
    }
}

/// Outcome of a look at a node.
enum Looked {
    AsBefore,
    /// A node whose mark has changed: it is worth another look.
    Changed,
}
