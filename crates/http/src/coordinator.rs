//! Reads and writes of entities over several nodes. As in the register of Attiya, Bar-Noy and
//! Dolev: a write is done when a quorum has it, and a read makes sure that a quorum has what it
//! shows before it shows it.

use crate::clock::{Clock, now};
use crate::copy::{Content, Copy};
use crate::node::Node;
use crate::placement::Placement;
use crate::quorum::Quorum;
use crate::round::Round;
use axum::body::Bytes;
use scurry_engine::Version;
use scurry_ledger::Time;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::timeout;

/// How often a write takes a greater version because a node knows a later one.
const REWRITES_MAX: usize = 16;

/// The nodes of entities, all equal.
pub(crate) struct Coordinator {
    pub(crate) nodes: Vec<Arc<Node>>,
    placement: Placement,
    clock: Clock,
    /// How long an entity that has expired is kept as its own tombstone, ms.
    tombstone_ms: i64,
    /// How long the nodes may take to answer one request.
    patience: Duration,
}

/// What a client is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) version: Version,
    pub(crate) bytes: Bytes,
    pub(crate) expires: Option<Time>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// What was written may be kept or not.
    #[error("{answered} of the {asked} nodes that keep this id answered, and {ack} must: {why}")]
    NotEnough { answered: usize, asked: usize, ack: usize, why: String },
    /// Clocks or versions are broken.
    #[error("no version is left that is greater than what the nodes know")]
    NoVersion,
    /// Nodes that are needed list no entities by value.
    #[error("{why}: servers list entities by value when they are started with --entity-index")]
    NoIndex { why: String },
    /// It would take too long to list them.
    #[error("a node has more than {0} entities to go through")]
    TooMany(usize),
}

impl Coordinator {
    pub(crate) fn new(
        nodes: Vec<Arc<Node>>,
        number: u16,
        tombstone_ms: i64,
        patience: Duration,
    ) -> Coordinator {
        let placement = Placement::new(nodes.iter().map(|node| &*node.address));
        Coordinator { nodes, placement, clock: Clock::new(number), tombstone_ms, patience }
    }

    /// The entity as the newest of `ack` copies has it. None when that is deleted, expired or
    /// when nobody knows it.
    pub(crate) async fn get(&self, id: &[u8], quorum: Quorum) -> Result<Option<Shown>, Failure> {
        let mut round = Round::new(&self.nodes, quorum);
        match timeout(self.patience, self.read(id, &mut round)).await {
            Ok(Some(newest)) => Ok(self.show(newest)),
            Ok(None) => Err(round.failure()),
            Err(_) => Err(round.late(self.patience)),
        }
    }

    /// The newest of `ack` copies, once a quorum has it. None when too few answer.
    async fn read(&self, id: &[u8], round: &mut Round<'_>) -> Option<Copy> {
        let (ack, from) = (round.quorum.ack(), round.quorum.from());
        let question = Bytes::from(Copy::question_packed(id));
        for node in self.placement.nodes(id, from) {
            round.ask(node, &question);
        }
        let mut newest = Copy::NOTHING;
        let mut versions = Vec::with_capacity(ack);
        while versions.len() < ack {
            let (node, answer) = round.next(ack - versions.len()).await?;
            let Some(copy) = Copy::of_answer(answer) else {
                round.is_foreign(node);
                continue;
            };
            versions.push((node, copy.version));
            round.answered += 1;
            if copy.version > newest.version {
                newest = copy;
            }
        }
        if newest.version > Version::ABSENT {
            self.clock.see(newest.version);
            self.repair(id, &newest, &versions, round).await?;
        }
        Some(newest)
    }

    /// Waits until a quorum has the newest copy: those that answered with less are told, and
    /// those that have not answered yet may have it. None when too few do.
    async fn repair(
        &self,
        id: &[u8],
        newest: &Copy,
        versions: &[(usize, Version)],
        round: &mut Round<'_>,
    ) -> Option<()> {
        let behind = versions.iter().filter(|(_, version)| *version < newest.version);
        let behind: Vec<usize> = behind.map(|&(node, _)| node).collect();
        let mut have = versions.len() - behind.len();
        if have >= round.quorum.ack() {
            return Some(());
        }
        let order = Bytes::from(newest.order(id).get_packed_command());
        // What is told has numbers of its own.
        let told = |node: usize| node + self.nodes.len();
        for node in behind {
            round.ask(told(node), &order);
        }
        while have < round.quorum.ack() {
            round.answered = have;
            let (number, answer) = round.next(1).await?;
            if number >= self.nodes.len() {
                match Copy::version_after(&answer) {
                    Some(version) if version >= newest.version => have += 1,
                    Some(_) => round.forgets(number),
                    None => round.is_foreign(number),
                }
                continue;
            }
            match Copy::of_answer(answer) {
                Some(copy) if copy.version >= newest.version => have += 1,
                Some(_) => round.ask(told(number), &order),
                None => round.is_foreign(number),
            }
        }
        Some(())
    }

    fn show(&self, copy: Copy) -> Option<Shown> {
        let Content::Value { bytes, forget_at } = copy.content else { return None };
        let expires = forget_at.map(|time| time.plus_ms(-self.tombstone_ms));
        let lives = expires.is_none_or(|time| time > now());
        lives.then_some(Shown { version: copy.version, bytes, expires })
    }

    /// Writes a value; with `expires`, until then. The version that it has.
    pub(crate) async fn put(
        &self,
        id: &[u8],
        bytes: Bytes,
        expires: Option<Time>,
        quorum: Quorum,
    ) -> Result<Version, Failure> {
        // What has expired must still win over a copy that is older: nodes keep it as long as
        // they remember a deletion.
        let forget_at = expires.map(|time| time.plus_ms(self.tombstone_ms));
        self.write(id, Content::Value { bytes, forget_at }, quorum).await
    }

    /// Deletes; the version of the deletion.
    pub(crate) async fn delete(&self, id: &[u8], quorum: Quorum) -> Result<Version, Failure> {
        self.write(id, Content::Gone, quorum).await
    }

    async fn write(&self, id: &[u8], content: Content, quorum: Quorum) -> Result<Version, Failure> {
        let nodes = self.placement.nodes(id, quorum.from());
        for _ in 0..REWRITES_MAX {
            let version = self.clock.next().ok_or(Failure::NoVersion)?;
            let copy = Copy { version, content: content.clone() };
            let order = Bytes::from(copy.order(id).get_packed_command());
            let mut round = Round::new(&self.nodes, quorum);
            let written = self.write_once(&order, version, &nodes, &mut round);
            match timeout(self.patience, written).await {
                Ok(Some(true)) => return Ok(version),
                Ok(Some(false)) => {}
                Ok(None) => return Err(round.failure()),
                Err(_) => return Err(round.late(self.patience)),
            }
        }
        Err(Failure::NoVersion)
    }

    /// False when a node knows a later version, which the clock has seen then; none when too few
    /// answer. All nodes are told, and nobody waits for more of them than must have it.
    async fn write_once(
        &self,
        order: &Bytes,
        version: Version,
        nodes: &[usize],
        round: &mut Round<'_>,
    ) -> Option<bool> {
        for &node in nodes {
            round.ask(node, order);
        }
        while round.answered < round.quorum.ack() {
            let (node, answer) = round.next(round.quorum.ack() - round.answered).await?;
            match Copy::version_after(&answer) {
                Some(known) if known == version => round.answered += 1,
                Some(known) if known > version => {
                    self.clock.see(known);
                    return Some(false);
                }
                Some(_) => round.forgets(node),
                None => round.is_foreign(node),
            }
        }
        Some(true)
    }
}
