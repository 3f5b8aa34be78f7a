//! The health that each node sends to the others periodically, so that the leader knows what an election without it
//! would need. docs/formats/between-nodes.md has the bytes.

use crate::replica::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of nodes in each list of a health.
const NODES_MAX: usize = 64;
/// Flags of an encoded health.
const STORES: u8 = 1;
const COULD_LEAD: u8 = 2;
const OBSERVES: u8 = 4;

/// Health of a node, as it reports it to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// True while its devices complete their orders.
    pub stores: bool,
    /// True while its memory shows all that is committed, or nearly all: it would serve at once if elected.
    pub could_lead: bool,
    /// True for a node that is to have no vote.
    pub observes: bool,
    /// The voters by which the node would be elected, ascending; empty while it knows of a change of members in
    /// progress.
    pub voters: Vec<NodeId>,
    /// The nodes from which it has received something lately.
    pub hears: Vec<NodeId>,
}

impl Health {
    /// Returns its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |is: bool, flag| if is { flag } else { 0 };
        let mut out = vec![
            flag(self.stores, STORES)
                | flag(self.could_lead, COULD_LEAD)
                | flag(self.observes, OBSERVES),
        ];
        for nodes in [&self.voters, &self.hears] {
            let nodes = &nodes[..nodes.len().min(NODES_MAX)];
            // NODES_MAX fits a byte.
            out.push(u8::try_from(nodes.len()).unwrap_or(u8::MAX));
            nodes.iter().for_each(|node| out.extend(node.get().to_le_bytes()));
        }
        out
    }

    /// Decodes a health; None when the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<Health> {
        let (&flags, rest) = bytes.split_first()?;
        let (voters, rest) = nodes(rest)?;
        let (hears, rest) = nodes(rest)?;
        let is_known = flags & !(STORES | COULD_LEAD | OBSERVES) == 0 && rest.is_empty();
        is_known.then_some(Health {
            stores: flags & STORES != 0,
            could_lead: flags & COULD_LEAD != 0,
            observes: flags & OBSERVES != 0,
            voters,
            hears,
        })
    }
}

fn nodes(bytes: &[u8]) -> Option<(Vec<NodeId>, &[u8])> {
    let (&count, rest) = bytes.split_first()?;
    let count = usize::from(count);
    if count > NODES_MAX {
        return None;
    }
    let (list, rest) = rest.split_at_checked(count * 8)?;
    let node = |bytes: &[u8]| NodeId::new(u64::from_le_bytes(bytes.try_into().ok()?));
    Some((list.chunks_exact(8).map(node).collect::<Option<_>>()?, rest))
}

/// The newest health of each other node, with the time of its arrival.
#[derive(Debug)]
pub struct HealthTable {
    /// Age in ns above which a health no longer counts.
    within_ns: u64,
    now_ns: u64,
    told: BTreeMap<NodeId, (u64, Health)>,
    /// Nodes whose last health said that they are to have no vote, however old it is.
    observers: BTreeSet<NodeId>,
}

impl HealthTable {
    /// Creates an empty collection. A health counts for `within_ns`: as long as an election waits for a leader.
    pub fn new(within_ns: u64) -> HealthTable {
        HealthTable { within_ns, now_ns: 0, told: BTreeMap::new(), observers: BTreeSet::new() }
    }

    /// Sets the present time of a monotonic clock.
    pub fn is_now(&mut self, now_ns: u64) {
        assert!(now_ns >= self.now_ns, "a monotonic clock goes back");
        self.now_ns = now_ns;
    }

    /// Records the health that a node has sent.
    pub fn note(&mut self, node: NodeId, health: Health) {
        match health.observes {
            true => self.observers.insert(node),
            false => self.observers.remove(&node),
        };
        self.told.insert(node, (self.now_ns, health));
    }

    /// Removes a node that is no longer connected.
    pub fn forget(&mut self, node: NodeId) {
        self.told.remove(&node);
    }

    /// Returns the health of a node; None when it has sent none lately.
    pub fn health_of(&self, node: NodeId) -> Option<&Health> {
        let (told_ns, health) = self.told.get(&node)?;
        (self.now_ns.saturating_sub(*told_ns) <= self.within_ns).then_some(health)
    }

    /// Returns true for a node that is to have no vote, as far as it has told, also while it is not heard.
    pub fn observes(&self, node: NodeId) -> bool {
        self.observers.contains(&node)
    }

    /// Returns true for a node that has sent its health before, but not within so many times the usual age. A node that
    /// never did may run a release that does not send it.
    pub fn is_silent(&self, node: NodeId, times: u64) -> bool {
        let is_old = |told_ns| self.now_ns.saturating_sub(told_ns) > times * self.within_ns;
        self.told.get(&node).is_some_and(|(told_ns, _)| is_old(*told_ns))
    }

    /// Returns the nodes that have sent their health lately.
    pub fn heard(&self) -> Vec<NodeId> {
        self.told.keys().copied().filter(|node| self.health_of(*node).is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    #[test]
    fn a_health_comes_back_and_no_other_bytes_are_one() {
        let health = Health {
            stores: true,
            could_lead: false,
            observes: true,
            voters: vec![node(1), node(2), node(u64::MAX)],
            hears: vec![node(2)],
        };
        let bytes = health.encode();
        assert_eq!(bytes.len(), 1 + 1 + 3 * 8 + 1 + 8);
        assert_eq!(bytes[..10], [5, 3, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Health::decode(&bytes), Some(health));
        for len in 0..bytes.len() {
            assert_eq!(Health::decode(&bytes[..len]), None, "{len} bytes");
        }
        let with = |at: usize, byte: u8| {
            let mut other = bytes.clone();
            other[at] = byte;
            Health::decode(&other)
        };
        assert_eq!(with(0, 8), None, "a flag that nobody knows");
        assert_eq!(with(1, 200), None, "more nodes than there can be");
        assert_eq!(with(2, 0), None, "node 0");
        assert_eq!(Health::decode(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(Health::decode(&Health::default().encode()), Some(Health::default()));
    }

    #[test]
    fn what_was_told_counts_for_a_while_and_only_while_connected() {
        let mut healths = HealthTable::new(300);
        healths.is_now(1_000);
        healths.note(node(2), Health::default());
        assert!(!healths.is_silent(node(3), 1), "it never told anything");
        healths.is_now(1_300);
        assert_eq!(healths.heard(), [node(2)]);
        healths.is_now(1_301);
        assert_eq!((healths.health_of(node(2)), healths.is_silent(node(2), 1)), (None, true));
        assert!(healths.heard().is_empty() && !healths.is_silent(node(2), 2));
        healths.note(node(3), Health { observes: true, ..Health::default() });
        healths.forget(node(3));
        assert!(
            healths.observes(node(3)) && !healths.observes(node(2)),
            "it is known when it is lost"
        );
        healths.note(node(3), Health::default());
        healths.forget(node(3));
        assert!(!healths.observes(node(3)), "it was started without the option");
        healths.note(node(2), Health::default());
        assert_eq!((healths.heard(), healths.is_silent(node(2), 1)), (vec![node(2)], false));
        healths.forget(node(2));
        assert_eq!((healths.health_of(node(2)), healths.is_silent(node(2), 1)), (None, false));
    }
}
