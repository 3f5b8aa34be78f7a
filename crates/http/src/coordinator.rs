//! Reads and writes of entities over several nodes. As in the register of Attiya, Bar-Noy and
//! Dolev: a write is done when a quorum has it, and a read makes sure that a quorum has what it
//! shows before it shows it.

use crate::clock::{Clock, now};
use crate::copy::{Content, Copy};
use crate::node::{Missing, Node};
use crate::placement::Placement;
use crate::quorum::Quorum;
use crate::round::Round;
use futures_util::stream::{FuturesUnordered, StreamExt};
use scurry_engine::Version;
use scurry_ledger::Time;
use std::sync::Arc;
use thiserror::Error;

/// How often a write takes a greater version because a node knows a later one.
const REWRITES_MAX: usize = 16;

/// The nodes of entities, all equal.
pub(crate) struct Coordinator {
    pub(crate) nodes: Vec<Arc<Node>>,
    placement: Placement,
    clock: Clock,
    /// How long an entity that has expired is kept as its own tombstone, ms.
    tombstone_ms: i64,
}

/// What a client is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) version: Version,
    pub(crate) bytes: Arc<[u8]>,
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
    #[error("a node has more than {0} entities of this value")]
    TooMany(usize),
}

impl Coordinator {
    pub(crate) fn new(nodes: Vec<Arc<Node>>, number: u16, tombstone_ms: i64) -> Coordinator {
        let placement = Placement::new(nodes.iter().map(|node| &*node.address));
        Coordinator { nodes, placement, clock: Clock::new(number), tombstone_ms }
    }

    /// The entity as the newest of `ack` copies has it. None when that is deleted, expired or
    /// when nobody knows it.
    pub(crate) async fn get(&self, id: &[u8], quorum: Quorum) -> Result<Option<Shown>, Failure> {
        let nodes = self.placement.nodes(id, quorum.from());
        let mut round = Round::new(quorum);
        let mut copies: Vec<(usize, Copy)> = Vec::with_capacity(quorum.ack());
        let mut asked: FuturesUnordered<_> = nodes
            .iter()
            .map(|&node| async move { (node, self.nodes[node].read(id).await) })
            .collect();
        while copies.len() < quorum.ack() {
            match asked.next().await {
                Some((node, Ok(copy))) => copies.push((node, copy)),
                Some((node, Err(missing))) => round.missed(&self.nodes[node], missing),
                None => return Err(round.failure(copies.len())),
            }
            if round.is_lost() {
                return Err(round.failure(copies.len()));
            }
        }
        let newest = copies.iter().map(|(_, copy)| copy).max_by_key(|copy| copy.version);
        let Some(newest) = newest.filter(|copy| copy.version > Version::ABSENT).cloned() else {
            return Ok(None);
        };
        self.clock.see(newest.version);
        self.repair(id, &newest, &copies, asked, &mut round).await?;
        Ok(self.show(newest))
    }

    /// Waits until a quorum has the newest copy: those that answered with less are told, and
    /// those that have not answered yet may have it.
    async fn repair(
        &self,
        id: &[u8],
        newest: &Copy,
        copies: &[(usize, Copy)],
        mut asked: FuturesUnordered<impl Future<Output = (usize, Result<Copy, Missing>)>>,
        round: &mut Round,
    ) -> Result<(), Failure> {
        let behind = copies.iter().filter(|(_, copy)| copy.version < newest.version);
        let tell = |node: usize| async move {
            self.nodes[node].write(id, newest).await.map_err(|m| (node, m))
        };
        let mut told: FuturesUnordered<_> = behind.map(|&(node, _)| tell(node)).collect();
        let mut have = copies.len() - told.len();
        while have < round.quorum.ack() {
            tokio::select! {
                Some(outcome) = told.next() => match outcome {
                    Ok(version) if version >= newest.version => have += 1,
                    // It was told, and knows less: it is not what it seems.
                    Ok(_) => round.missed_because("a node forgets what it is told".to_owned()),
                    Err((node, missing)) => round.missed(&self.nodes[node], missing),
                },
                Some((node, outcome)) = asked.next() => match outcome {
                    Ok(copy) if copy.version >= newest.version => have += 1,
                    Ok(_) => told.push(tell(node)),
                    Err(missing) => round.missed(&self.nodes[node], missing),
                },
                else => return Err(round.failure(have)),
            }
            if round.is_lost() {
                return Err(round.failure(have));
            }
        }
        Ok(())
    }

    fn show(&self, copy: Copy) -> Option<Shown> {
        let Content::Value { bytes, forget_at } = copy.content else { return None };
        let expires = forget_at.map(|time| time.plus_ms(-self.tombstone_ms));
        let lives = expires.is_none_or(|time| time > now());
        lives.then_some(Shown { version: copy.version, bytes, expires })
    }

    /// Writes a value; with `expires`, until then. The version that it has.
    pub(crate) async fn put(
        self: &Arc<Coordinator>,
        id: Vec<u8>,
        bytes: Arc<[u8]>,
        expires: Option<Time>,
        quorum: Quorum,
    ) -> Result<Version, Failure> {
        // What has expired must still win over a copy that is older: nodes keep it as long as
        // they remember a deletion.
        let forget_at = expires.map(|time| time.plus_ms(self.tombstone_ms));
        self.write(id, Content::Value { bytes, forget_at }, quorum).await
    }

    /// Deletes; the version of the deletion.
    pub(crate) async fn delete(
        self: &Arc<Coordinator>,
        id: Vec<u8>,
        quorum: Quorum,
    ) -> Result<Version, Failure> {
        self.write(id, Content::Gone, quorum).await
    }

    async fn write(
        self: &Arc<Coordinator>,
        id: Vec<u8>,
        content: Content,
        quorum: Quorum,
    ) -> Result<Version, Failure> {
        let nodes = self.placement.nodes(&id, quorum.from());
        let id: Arc<[u8]> = id.into();
        for _ in 0..REWRITES_MAX {
            let version = self.clock.next().ok_or(Failure::NoVersion)?;
            let copy = Arc::new(Copy { version, content: content.clone() });
            if self.write_once(&id, copy, &nodes, quorum).await? {
                return Ok(version);
            }
        }
        Err(Failure::NoVersion)
    }

    /// False when a node knows a later version, which the clock has seen then.
    async fn write_once(
        self: &Arc<Coordinator>,
        id: &Arc<[u8]>,
        copy: Arc<Copy>,
        nodes: &[usize],
        quorum: Quorum,
    ) -> Result<bool, Failure> {
        let mut round = Round::new(quorum);
        let version = copy.version;
        let mut asked: FuturesUnordered<_> = nodes
            .iter()
            .map(|&node| {
                let (all, id, copy) = (Arc::clone(self), Arc::clone(id), Arc::clone(&copy));
                async move { (node, all.nodes[node].write(&id, &copy).await) }
            })
            .collect();
        let mut have = 0;
        let mut later = false;
        while have < quorum.ack() && !later {
            match asked.next().await {
                Some((_, Ok(known))) if known == version => have += 1,
                Some((_, Ok(known))) if known > version => {
                    self.clock.see(known);
                    later = true;
                }
                Some((_, Ok(_))) => {
                    round.missed_because("a node forgets what it is told".to_owned())
                }
                Some((node, Err(missing))) => round.missed(&self.nodes[node], missing),
                None => return Err(round.failure(have)),
            }
            if round.is_lost() {
                return Err(round.failure(have));
            }
        }
        // The others are to have it too, and nobody waits for them.
        if !asked.is_empty() {
            tokio::spawn(async move { while asked.next().await.is_some() {} });
        }
        Ok(!later)
    }
}
