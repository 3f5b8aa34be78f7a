//! Reads and writes of entities over several nodes. As in the register of Attiya, Bar-Noy and
//! Dolev, with several writers: a write asks a quorum for its versions, takes a greater one, and is
//! done when a quorum has it; a read makes sure that a quorum has what it shows before it shows it.

use crate::clock::{Clock, now};
use crate::copy::{Content, Copy};
use crate::node::Node;
use crate::placement::Placement;
use crate::quorum::Quorum;
use crate::round::{Effect, Failure, Round};
use axum::body::Bytes;
use redis::Value;
use scurry_engine::Version;
use scurry_ledger::Time;
use std::sync::Arc;
use std::time::Duration;

/// The nodes of entities, all equal.
pub(crate) struct Coordinator {
    pub(crate) nodes: Vec<Arc<Node>>,
    placement: Placement,
    clock: Clock,
    /// How long an entity that has expired is kept as its own tombstone, ms.
    tombstone_ms: i64,
    /// How long the nodes may take to answer one request.
    pub(crate) patience: Duration,
}

/// Entity as a client is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Entity tag.
    pub(crate) tag: String,
    pub(crate) bytes: Bytes,
    pub(crate) expires: Option<Time>,
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
        let mut round = Round::new(&self.nodes, quorum, self.patience);
        match self.read(id, &mut round).await {
            Some(newest) => Ok(self.show(newest)),
            None => Err(round.failure(Effect::Read)),
        }
    }

    /// The newest of `ack` copies, once a quorum has it. None when too few answer.
    async fn read(&self, id: &[u8], round: &mut Round<'_>) -> Option<Copy> {
        let (newest, copies) = self.newest(id, round).await?;
        if newest.version > Version::ABSENT {
            self.repair(id, &newest, &copies, round).await?;
        }
        Some(newest)
    }

    /// The newest of the copies of `ack` nodes, and what each of these has. The clock has seen it
    /// then. None when too few answer.
    async fn newest(&self, id: &[u8], round: &mut Round<'_>) -> Option<(Copy, Vec<(usize, Copy)>)> {
        let (ack, from) = (round.quorum.ack(), round.quorum.from());
        let question = Bytes::from(Copy::question_packed(id));
        for node in self.placement.nodes(id, from) {
            round.ask(node, &question);
        }
        let mut copies = Vec::with_capacity(ack);
        while copies.len() < ack {
            let (node, answer) = round.next(ack - copies.len()).await?;
            match Copy::of_answer(answer) {
                Some(copy) => copies.push((node, copy)),
                None => round.is_foreign(node),
            }
            round.answered = copies.len();
        }
        let newest = copies.iter().map(|(_, copy)| copy).max().cloned()?;
        self.clock.see(newest.version);
        Some((newest, copies))
    }

    /// Waits until a quorum has the newest copy: those that answered with less are told, and
    /// those that have not answered yet may have it. None when too few do.
    async fn repair(
        &self,
        id: &[u8],
        newest: &Copy,
        copies: &[(usize, Copy)],
        round: &mut Round<'_>,
    ) -> Option<()> {
        let behind = copies.iter().filter(|(_, copy)| copy < newest);
        let behind: Vec<usize> = behind.map(|&(node, _)| node).collect();
        let mut have = copies.len() - behind.len();
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
                have += usize::from(knows(newest.version, number, &answer, round));
                continue;
            }
            match Copy::of_answer(answer) {
                Some(copy) if copy >= *newest => have += 1,
                Some(_) => round.ask(told(number), &order),
                None => round.is_foreign(number),
            }
        }
        Some(())
    }

    fn show(&self, copy: Copy) -> Option<Shown> {
        let tag = copy.tag();
        let Content::Value { bytes, forget_at } = copy.content else { return None };
        let expires = forget_at.map(|time| time.plus_ms(-self.tombstone_ms));
        let lives = expires.is_none_or(|time| time > now());
        lives.then_some(Shown { tag, bytes, expires })
    }

    /// Writes a value; with `expires`, until then. What was written.
    pub(crate) async fn put(
        &self,
        id: &[u8],
        bytes: Bytes,
        expires: Option<Time>,
        quorum: Quorum,
    ) -> Result<Copy, Failure> {
        // What has expired must still win over a copy that is older: nodes keep it as long as
        // they remember a deletion.
        let forget_at = expires.map(|time| time.plus_ms(self.tombstone_ms));
        self.write(id, Content::Value { bytes, forget_at }, quorum).await
    }

    /// Deletes; the deletion that was written.
    pub(crate) async fn delete(&self, id: &[u8], quorum: Quorum) -> Result<Copy, Failure> {
        self.write(id, Content::Gone, quorum).await
    }

    /// Asks a quorum what it knows, takes a version above that, and tells all. The version is taken
    /// once: from the moment that one node has it others may have been shown it, so it is never
    /// given up for a later one.
    async fn write(&self, id: &[u8], content: Content, quorum: Quorum) -> Result<Copy, Failure> {
        let mut round = Round::new(&self.nodes, quorum, self.patience);
        if self.newest(id, &mut round).await.is_none() {
            return Err(round.failure(Effect::Unwritten));
        }
        let version = self.clock.next().ok_or(Failure::NoVersion)?;
        let copy = Copy { version, content };
        let mut round = round.follow();
        match self.tell(id, &copy, &mut round).await {
            Some(()) => Ok(copy),
            None => Err(round.failure(Effect::Unknown)),
        }
    }

    /// Until `ack` nodes have the copy or a later one, which was written meanwhile. All nodes are
    /// told, and nobody waits for more of them than must have it. None when too few answer.
    async fn tell(&self, id: &[u8], copy: &Copy, round: &mut Round<'_>) -> Option<()> {
        let order = Bytes::from(copy.order(id).get_packed_command());
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

/// Whether the node that was told of a version knows it now, or a later one.
fn knows(version: Version, number: usize, answer: &Value, round: &mut Round<'_>) -> bool {
    match Copy::version_after(answer) {
        Some(known) if known >= version => return true,
        Some(_) => round.forgets(number),
        None => round.is_foreign(number),
    }
    false
}
