//! Decides whether service continues when one more node is lost. It looks at what an election would need, not at
//! connections: the remaining nodes must be a majority, reach each other, store, agree on the voters, and include one
//! that could lead.

use crate::replica::NodeId;
use crate::shard::health::Health;

/// Maximum number of voters whose subsets are examined; a group has at most five.
const VOTERS_MAX: usize = 16;

/// A node with a vote.
#[derive(Clone, Debug)]
pub struct Voter<'h> {
    /// The node.
    pub id: NodeId,
    /// The node's health; None when it has sent none for as long as an election waits.
    pub health: Option<&'h Health>,
    /// True when it lacks entries for longer than an election waits for a leader.
    pub is_behind: bool,
    /// True when it lacks entries and has stored none of them for a second.
    pub stands_still: bool,
}

impl Voter<'_> {
    fn is(&self, what: impl FnOnce(&Health) -> bool) -> bool {
        self.health.is_some_and(what)
    }

    fn stores(&self) -> bool {
        !self.stands_still && self.is(|health| health.stores)
    }

    fn could_lead(&self) -> bool {
        self.is(|health| health.could_lead)
    }

    fn hears(&self, other: &Voter<'_>) -> bool {
        self.id == other.id || self.is(|health| health.hears.contains(&other.id))
    }
}

/// The voters of a group and their leader.
#[derive(Clone, Debug)]
pub struct LostNodeCheck<'h> {
    /// The node that leads.
    pub leader: NodeId,
    /// All nodes that have a vote, ascending by id.
    pub voters: Vec<Voter<'h>>,
}

impl LostNodeCheck<'_> {
    /// Returns why losing one more node would end service; None when service continues without any one of them.
    pub fn why_not(&self) -> Option<String> {
        if self.voters.iter().all(|voter| self.goes_on_without(voter.id)) {
            return None;
        }
        Some(self.reason())
    }

    /// Returns whether the other nodes continue to serve, or elect a leader, when a node is lost.
    fn goes_on_without(&self, lost: NodeId) -> bool {
        let needed = self.voters.len() / 2 + 1;
        let rest = self.voters.iter().filter(|voter| voter.id != lost && self.counts(voter));
        if lost != self.leader {
            // The leader stays: it needs a majority of nodes that it hears and that hear it.
            let rest: Vec<_> = rest.collect();
            let leader = rest.iter().find(|voter| voter.id == self.leader && voter.could_lead());
            return leader.is_some_and(|leader| {
                rest.iter().filter(|voter| hear_each_other(leader, voter)).count() >= needed
            });
        }
        // The node with the longest log will lead, and it cannot be known now: each of them must be able to lead.
        let able: Vec<_> = rest.filter(|voter| voter.could_lead()).take(VOTERS_MAX).collect();
        // Looks for a majority of able nodes that all hear each other, among all subsets.
        (0_u32..1 << able.len()).any(|set| {
            let those: Vec<_> = (0..able.len()).filter(|at| set >> at & 1 == 1).collect();
            let all = |of: &dyn Fn(usize) -> bool| those.iter().all(|at| of(*at));
            those.len() >= needed && all(&|a| all(&|b| hear_each_other(able[a], able[b])))
        })
    }

    /// Returns whether a node would vote for the right leader and store its entries.
    fn counts(&self, voter: &Voter<'_>) -> bool {
        voter.stores() && !voter.is_behind && self.agrees(voter)
    }

    /// Returns whether a node names the same voters as this group.
    fn agrees(&self, voter: &Voter<'_>) -> bool {
        voter.is(|health| health.voters.iter().eq(self.voters.iter().map(|voter| &voter.id)))
    }

    /// Returns the first problem found, causes before their consequences.
    fn reason(&self) -> String {
        let those = |is: &dyn Fn(&Voter<'_>) -> bool| -> Option<String> {
            let ids =
                self.voters.iter().filter(|voter| is(voter)).map(|voter| voter.id.to_string());
            let ids = ids.collect::<Vec<_>>().join(", ");
            (!ids.is_empty()).then_some(ids)
        };
        if let Some(ids) = those(&|voter| voter.health.is_none()) {
            return format!(
                "nothing was heard of node {ids} lately: it stands still, or is cut off"
            );
        }
        if let Some(ids) = those(&|voter| voter.stands_still) {
            return format!(
                "node {ids} has stored nothing for a second: its disk is full or stands still"
            );
        }
        if let Some(ids) = those(&|voter| !voter.stores()) {
            return format!("the disk of node {ids} is full or stands still");
        }
        if let Some((one, other)) = self.apart() {
            return format!("nodes {one} and {other} do not hear each other");
        }
        if let Some(ids) = those(&|voter| !self.agrees(voter)) {
            return format!("node {ids} does not know yet who has a vote: a change is under way");
        }
        if let Some(ids) = those(&|voter| voter.is_behind) {
            return format!("node {ids} lacks entries of some time ago: it is catching up");
        }
        let ids = those(&|voter| !voter.could_lead()).unwrap_or_else(|| "none".to_owned());
        format!("node {ids} could not lead now: it has still to make its memory")
    }

    /// Returns the first two nodes that do not hear each other.
    fn apart(&self) -> Option<(NodeId, NodeId)> {
        let pairs = self
            .voters
            .iter()
            .enumerate()
            .flat_map(|(at, one)| self.voters[at + 1..].iter().map(move |other| (one, other)));
        let mut apart = pairs.filter(|(one, other)| !hear_each_other(one, other));
        apart.next().map(|(one, other)| (one.id, other.id))
    }
}

fn hear_each_other(one: &Voter<'_>, other: &Voter<'_>) -> bool {
    one.hears(other) && other.hears(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    /// Returns the health of this many nodes that are well and hear each other.
    fn well(count: u64) -> Vec<Health> {
        let all: Vec<NodeId> = (1..=count).map(node).collect();
        let health = |own: &NodeId| Health {
            stores: true,
            could_lead: true,
            observes: false,
            voters: all.clone(),
            hears: all.iter().copied().filter(|other| other != own).collect(),
        };
        all.iter().map(health).collect()
    }

    /// Returns the reason for these nodes when the first leads.
    fn why_not(healths: &[Option<Health>]) -> Option<String> {
        with(healths, |_| {})
    }

    fn with(healths: &[Option<Health>], change: impl FnOnce(&mut [Voter<'_>])) -> Option<String> {
        let voter = |(number, health): (u64, &'static Option<Health>)| Voter {
            id: node(number),
            health: health.as_ref(),
            is_behind: false,
            stands_still: false,
        };
        let healths: &'static [Option<Health>] = Vec::leak(healths.to_vec());
        let mut voters: Vec<Voter<'_>> = (1..).zip(healths).map(voter).collect();
        change(&mut voters);
        LostNodeCheck { leader: node(1), voters }.why_not()
    }

    /// Returns the reason for three nodes of which one was changed.
    fn three(which: usize, change: impl FnOnce(&mut Health)) -> Option<String> {
        let mut healths = well(3);
        change(&mut healths[which - 1]);
        why_not(&healths.into_iter().map(Some).collect::<Vec<_>>())
    }

    #[test]
    fn three_that_are_well_can_lose_any_one() {
        assert_eq!(three(1, |_| {}), None);
    }

    #[test]
    fn whatever_an_election_would_lack_is_said() {
        let says = |said: Option<String>, words: &str| {
            let said = said.expect("it cannot");
            assert!(said.contains(words), "{said}");
        };
        let mut healths: Vec<_> = well(3).into_iter().map(Some).collect();
        healths[2] = None;
        says(why_not(&healths), "nothing was heard of node 0000000000000003");
        for which in 1..=3 {
            says(three(which, |health| health.stores = false), "the disk of node");
            says(three(which, |health| health.could_lead = false), "could not lead now");
            says(three(which, |health| health.voters.clear()), "who has a vote");
            says(three(which, |health| health.voters.truncate(2)), "who has a vote");
        }
        // Two followers are cut off from each other, in both directions or in one.
        let cut = "nodes 0000000000000002 and 0000000000000003 do not hear each other";
        says(three(2, |health| health.hears.retain(|other| *other != node(3))), cut);
        says(three(3, |health| health.hears.retain(|other| *other != node(2))), cut);
        says(three(1, |health| health.hears.clear()), "do not hear each other");
        let all: Vec<_> = well(3).into_iter().map(Some).collect();
        says(with(&all, |voters| voters[2].is_behind = true), "it is catching up");
        says(with(&all, |voters| voters[1].stands_still = true), "stored nothing for a second");
    }

    #[test]
    fn of_five_one_may_be_away_or_cut_off_or_without_memory() {
        let all: Vec<_> = well(5).into_iter().map(Some).collect();
        assert_eq!(why_not(&all), None);
        let mut one = all.clone();
        one[4] = None;
        assert_eq!(why_not(&one), None);
        one[3] = None;
        assert!(why_not(&one).is_some());
        let mut unable = all.clone();
        unable[4].as_mut().unwrap().could_lead = false;
        assert_eq!(why_not(&unable), None);
        unable[3].as_mut().unwrap().could_lead = false;
        assert!(why_not(&unable).is_some(), "the longest log may be theirs");
        // The followers are split in two halves: without the leader neither has three nodes.
        let mut halves = all;
        for (own, others) in [(1, [4, 5]), (2, [4, 5]), (3, [2, 3]), (4, [2, 3])] {
            let hears = &mut halves[own].as_mut().unwrap().hears;
            hears.retain(|id| !others.iter().any(|other| node(*other) == *id));
        }
        assert!(why_not(&halves).is_some());
    }
}
