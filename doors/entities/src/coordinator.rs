//! Reads and writes of entities over several nodes, after the register of Attiya, Bar-Noy and Dolev with several
//! writers. A write asks a quorum for its versions, takes a greater one, and is done when a quorum has stored it. A
//! read returns a value only after a quorum has it.

use crate::clock::Clock;
use crate::copy::{Content, EntityCopy};
use crate::node::EntityNode;
use crate::placement::Placement;
use crate::quorum::Quorum;
use crate::round::{Effect, Failure, QuorumRequest};
use axum::body::Bytes;
use redis::Value;
use scurry_engine::Version;
use scurry_http::now;
use scurry_ledger::Time;
use std::sync::Arc;
use std::time::Duration;

/// The coordinator of one door over its nodes, which all have the same role.
pub(crate) struct Coordinator {
    pub(crate) nodes: Vec<Arc<EntityNode>>,
    placement: Placement,
    clock: Clock,
    /// How long a node keeps an expired entity as its own tombstone, ms.
    tombstone_ms: i64,
    /// Timeout of the nodes for one request.
    pub(crate) patience: Duration,
}

/// An entity as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntityView {
    /// Entity tag, with its quotes.
    pub(crate) tag: String,
    pub(crate) bytes: Bytes,
    pub(crate) expires: Option<Time>,
}

impl Coordinator {
    pub(crate) fn new(
        nodes: Vec<Arc<EntityNode>>,
        number: u16,
        tombstone_ms: i64,
        patience: Duration,
    ) -> Coordinator {
        let placement = Placement::new(nodes.iter().map(|node| &*node.address));
        Coordinator { nodes, placement, clock: Clock::new(number), tombstone_ms, patience }
    }

    /// Returns the newest of `ack` copies. None when that copy is deleted or expired, or when no node that answered has
    /// one.
    pub(crate) async fn get(
        &self,
        id: &[u8],
        quorum: Quorum,
    ) -> Result<Option<EntityView>, Failure> {
        let mut round = QuorumRequest::new(&self.nodes, quorum, self.patience);
        match self.read(id, &mut round).await {
            Some(newest) => Ok(self.show(newest)),
            None => Err(round.failure(Effect::Read)),
        }
    }

    /// Reads the newest of `ack` copies, and returns it once a quorum has it. None when too few nodes answer.
    async fn read(&self, id: &[u8], round: &mut QuorumRequest<'_>) -> Option<EntityCopy> {
        let (newest, copies) = self.newest(id, round).await?;
        if newest.version > Version::ABSENT {
            self.repair(id, &newest, &copies, round).await?;
        }
        Some(newest)
    }

    /// Reads the copies of `ack` nodes. Returns the newest, which the clock has then seen, and the copy of each node.
    /// None when too few nodes answer.
    async fn newest(
        &self,
        id: &[u8],
        round: &mut QuorumRequest<'_>,
    ) -> Option<(EntityCopy, Vec<(usize, EntityCopy)>)> {
        let (ack, from) = (round.quorum.ack(), round.quorum.from());
        let question = Bytes::from(EntityCopy::question_packed(id));
        for node in self.placement.nodes(id, from) {
            round.ask(node, &question);
        }
        let mut copies = Vec::with_capacity(ack);
        while copies.len() < ack {
            let (node, answer) = round.next(ack - copies.len()).await?;
            match EntityCopy::of_answer(answer) {
                Some(copy) => copies.push((node, copy)),
                None => round.is_foreign(node),
            }
            round.answered = copies.len();
        }
        let newest = copies.iter().map(|(_, copy)| copy).max().cloned()?;
        self.clock.see(newest.version);
        Some((newest, copies))
    }

    /// Waits until a quorum has the newest copy. Writes it to the nodes that answered with an older one; nodes that
    /// have not answered yet may have it already. None when too few nodes confirm it.
    async fn repair(
        &self,
        id: &[u8],
        newest: &EntityCopy,
        copies: &[(usize, EntityCopy)],
        round: &mut QuorumRequest<'_>,
    ) -> Option<()> {
        let behind = copies.iter().filter(|(_, copy)| copy < newest);
        let behind: Vec<usize> = behind.map(|&(node, _)| node).collect();
        let mut have = copies.len() - behind.len();
        if have >= round.quorum.ack() {
            return Some(());
        }
        let order = Bytes::from(newest.write_command(id).get_packed_command());
        // Replies to writes have their own numbers: the node's number plus the number of nodes.
        let told = |node: usize| node + self.nodes.len();
        for node in behind {
            round.ask(told(node), &order);
        }
        while have < round.quorum.ack() {
            round.answered = have;
            let (number, answer) = round.next(1).await?;
            // A reply to a write, not to the question.
            if number >= self.nodes.len() {
                have += usize::from(knows(newest.version, number, &answer, round));
                continue;
            }
            match EntityCopy::of_answer(answer) {
                Some(copy) if copy >= *newest => have += 1,
                // A late answer shows an older copy: this node is written to as well.
                Some(_) => round.ask(told(number), &order),
                None => round.is_foreign(number),
            }
        }
        Some(())
    }

    fn show(&self, copy: EntityCopy) -> Option<EntityView> {
        let tag = copy.tag();
        let Content::Value { bytes, forget_at } = copy.content else { return None };
        let expires = forget_at.map(|time| time.plus_ms(-self.tombstone_ms));
        let lives = expires.is_none_or(|time| time > now());
        lives.then_some(EntityView { tag, bytes, expires })
    }

    /// Writes a value that lives until `expires`, or for ever without it. Returns the copy that was written.
    pub(crate) async fn put(
        &self,
        id: &[u8],
        bytes: Bytes,
        expires: Option<Time>,
        quorum: Quorum,
    ) -> Result<EntityCopy, Failure> {
        // An expired value must still win over an older copy: nodes keep it as long as they remember a deletion.
        let forget_at = expires.map(|time| time.plus_ms(self.tombstone_ms));
        self.write(id, Content::Value { bytes, forget_at }, quorum).await
    }

    /// Deletes an entity. Returns the deletion that was written.
    pub(crate) async fn delete(&self, id: &[u8], quorum: Quorum) -> Result<EntityCopy, Failure> {
        self.write(id, Content::Gone, quorum).await
    }

    /// Asks a quorum for its versions, takes a greater one, and sends the copy to all nodes of the id. The version is
    /// taken once and kept: as soon as one node has it, another client may have read it, so it is never replaced by a
    /// later version.
    async fn write(
        &self,
        id: &[u8],
        content: Content,
        quorum: Quorum,
    ) -> Result<EntityCopy, Failure> {
        let mut round = QuorumRequest::new(&self.nodes, quorum, self.patience);
        if self.newest(id, &mut round).await.is_none() {
            return Err(round.failure(Effect::Unwritten));
        }
        let version = self.clock.next().ok_or(Failure::NoVersion)?;
        let copy = EntityCopy { version, content };
        // The write has the rest of the request's time.
        let mut round = round.next_phase();
        match self.write_copies(id, &copy, &mut round).await {
            Some(()) => Ok(copy),
            None => Err(round.failure(Effect::Unknown)),
        }
    }

    /// Sends the copy to all nodes of the id, and waits until `ack` of them have it or a later one that was written
    /// meanwhile. Does not wait for the other nodes. None when too few nodes answer.
    async fn write_copies(
        &self,
        id: &[u8],
        copy: &EntityCopy,
        round: &mut QuorumRequest<'_>,
    ) -> Option<()> {
        let order = Bytes::from(copy.write_command(id).get_packed_command());
        for node in self.placement.nodes(id, round.quorum.from()) {
            round.ask(node, &order);
        }
        while round.answered < round.quorum.ack() {
            let (node, answer) = round.next(round.quorum.ack() - round.answered).await?;
            round.answered += usize::from(knows(copy.version, node, &answer, round));
        }
        Some(())
    }
}

/// Reports whether a node has this version or a later one after a write. Counts the node as missing otherwise.
fn knows(version: Version, number: usize, answer: &Value, round: &mut QuorumRequest<'_>) -> bool {
    match EntityCopy::version_after(answer) {
        Some(known) if known >= version => return true,
        Some(_) => round.forgets(number),
        None => round.is_foreign(number),
    }
    false
}
