//! Which nodes count. One task per node keeps its connection, reads its mark, and brings it up to date before its
//! answers count.
//!
//! A write is on a quorum. A node that was emptied has lost its copy, so it counts again only after it has read from
//! enough other nodes: at least one of every quorum that it was part of. A node that was away for longer than deletions
//! are remembered may hold entities that were deleted since: entities that no other node knows are removed from it
//! first.

use crate::coordinator::Coordinator;
use crate::node::{EntityNode, MissingData, NodeLink, NotReady};
use crate::quorum::Quorum;
use crate::sync;
use crate::sync_mark::SyncMark;
use redis::RedisError;
use scurry_http::now;
use scurry_ledger::Time;
use scurry_stores::{ConnectOptions, LOOK_EVERY, PipelinedConnection, ended, pause};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The tasks that look after the nodes, and their settings.
pub(crate) struct Membership {
    pub(crate) coordinator: Arc<Coordinator>,
    pub(crate) patience: Duration,
    /// How long nodes remember deletions, ms.
    pub(crate) tombstone_ms: i64,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// Trusts a mark of any age.
    pub(crate) trust_old_nodes: bool,
}

impl Membership {
    /// Connects to one node and looks after it, for ever. Reconnects after a pause.
    pub(crate) async fn keep(self: Arc<Membership>, number: usize) {
        let node = Arc::clone(&self.coordinator.nodes[number]);
        loop {
            let error = match self.connect(&node.address).await {
                Ok(connection) => self.look_after(number, &node, connection).await,
                Err(error) => error,
            };
            if self.set(number, NodeLink::Away(error.to_string())) {
                tracing::warn!(node = node.address, %error, "a node is away");
            }
            sleep(pause(node.absence())).await;
        }
    }

    /// Sets the link of a node, and returns true when its state changed. Then the other nodes that do not count are
    /// looked at again: they may have waited for this one.
    fn set(&self, number: usize, link: NodeLink) -> bool {
        let nodes = &self.coordinator.nodes;
        let has_changed = nodes[number].set(link, now());
        if has_changed {
            let others = nodes.iter().enumerate().filter(|(other, _)| *other != number);
            let waiting = others.filter(|(_, node)| matches!(node.link(), NodeLink::NotReady(_)));
            waiting.for_each(|(_, node)| node.look.notify_one());
        }
        has_changed
    }

    async fn connect(&self, address: &str) -> Result<PipelinedConnection, RedisError> {
        let terms = ConnectOptions {
            user: self.user.as_deref(),
            password: self.password.as_deref(),
            patience: self.patience,
        };
        PipelinedConnection::connect(address, terms).await
    }

    /// Looks at a node until its connection breaks. Returns the error.
    async fn look_after(
        &self,
        number: usize,
        node: &EntityNode,
        connection: PipelinedConnection,
    ) -> RedisError {
        loop {
            match self.look(number, node, &connection).await {
                Ok(NodeCheck::Changed) => continue,
                Ok(NodeCheck::AsBefore) => {}
                Err(error) => return error,
            }
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = node.look.notified() => {}
                () = connection.ended() => return ended(),
            }
        }
    }

    /// Reads the mark of a node, and does the next step towards an up-to-date node.
    async fn look(
        &self,
        number: usize,
        node: &EntityNode,
        connection: &PipelinedConnection,
    ) -> Result<NodeCheck, RedisError> {
        let begin = now();
        let lack = match SyncMark::read(connection).await? {
            SyncMark::Whole(at) if self.trusts(at, begin) => {
                if !matches!(node.link(), NodeLink::Ready(_)) {
                    self.set(number, NodeLink::Ready(connection.clone()));
                    tracing::info!(node = node.address, "a node is ready");
                }
                // Refresh the node early, so that the others do not forget a deletion before this node has read it.
                let old = begin.0 - at.0 > self.tombstone_ms / 8;
                let others = if old { self.enough_beside(number) } else { None };
                return self.bring_up(connection, others, begin).await;
            }
            SyncMark::Whole(_) => MissingData::Deletions,
            SyncMark::Forming => MissingData::Forming,
            SyncMark::None => MissingData::Everything,
        };
        self.set(number, NodeLink::NotReady(NotReady { lack, connection: connection.clone() }));
        match lack {
            MissingData::Forming => {
                // The nodes are all new: each becomes whole when all have been seen, forming or ready.
                let formed = self.others(number, |link| match link {
                    NodeLink::Ready(connection) => Some(connection),
                    NodeLink::NotReady(other) if other.lack == MissingData::Forming => {
                        Some(other.connection)
                    }
                    _ => None,
                });
                self.bring_up(connection, formed, begin).await
            }
            MissingData::Everything | MissingData::Deletions => {
                let others = self.enough(number);
                // The node may hold entities of forgotten deletions: remove them first.
                if let (MissingData::Deletions, Some(others)) = (lack, &others) {
                    sync::purge(connection, others, begin).await?;
                }
                if lack == MissingData::Everything && self.are_new(number) {
                    SyncMark::form(connection).await?;
                    return Ok(NodeCheck::Changed);
                }
                self.bring_up(connection, others, begin).await
            }
        }
    }

    /// Copies newer data from the other nodes to this one, then marks it as whole since `begin`. Does nothing when
    /// `others` is None.
    async fn bring_up(
        &self,
        connection: &PipelinedConnection,
        others: Option<Vec<PipelinedConnection>>,
        begin: Time,
    ) -> Result<NodeCheck, RedisError> {
        let Some(others) = others else { return Ok(NodeCheck::AsBefore) };
        let forgotten = begin.plus_ms(-self.tombstone_ms);
        sync::bring_up(connection, &others, forgotten).await?;
        SyncMark::set_whole(connection, begin).await?;
        Ok(NodeCheck::Changed)
    }

    /// Reports whether a mark is young enough, at most half the time for which deletions are remembered, or is trusted
    /// at any age.
    fn trusts(&self, mark: Time, now: Time) -> bool {
        self.trust_old_nodes || now.0 - mark.0 <= self.tombstone_ms / 2
    }

    /// Returns the other ready nodes if every majority without `number` includes one of them. These nodes together know
    /// every write that `number` has missed.
    fn enough_beside(&self, number: usize) -> Option<Vec<PipelinedConnection>> {
        let quorum = Quorum::majority(self.coordinator.nodes.len());
        let ready = self.ready(number);
        (ready.len() >= quorum.from() - quorum.ack()).then_some(ready)
    }

    /// Returns the other ready nodes if every majority with `number` includes one of them. These nodes together know
    /// every write that `number` has lost.
    fn enough(&self, number: usize) -> Option<Vec<PipelinedConnection>> {
        let quorum = Quorum::majority(self.coordinator.nodes.len());
        let ready = self.ready(number);
        (ready.len() > quorum.from() - quorum.ack()).then_some(ready)
    }

    fn ready(&self, number: usize) -> Vec<PipelinedConnection> {
        let nodes = self.coordinator.nodes.iter().enumerate();
        let others = nodes.filter(|(other, _)| *other != number);
        let link = |(_, node): (usize, &Arc<EntityNode>)| match node.link() {
            NodeLink::Ready(connection) => Some(connection),
            _ => None,
        };
        others.filter_map(link).collect()
    }

    /// Reports whether this empty node and all others are new, so that no data was lost.
    fn are_new(&self, number: usize) -> bool {
        let new = self.others(number, |link| match link {
            NodeLink::NotReady(other) if other.lack != MissingData::Deletions => {
                Some(other.connection)
            }
            _ => None,
        });
        new.is_some()
    }

    /// Returns the connections of all other nodes, or None when `connection` returns None for one of them.
    fn others(
        &self,
        number: usize,
        connection: impl Fn(NodeLink) -> Option<PipelinedConnection>,
    ) -> Option<Vec<PipelinedConnection>> {
        let nodes = self.coordinator.nodes.iter().enumerate();
        let others = nodes.filter(|(other, _)| *other != number);
        others.map(|(_, node)| connection(node.link())).collect()
    }
}

/// Result of a look at a node.
enum NodeCheck {
    AsBefore,
    /// The mark has changed: look again at once.
    Changed,
}
