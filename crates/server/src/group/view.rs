//! What a node knows of its group, for whoever shows it: clients of the cluster protocol, INFO, metrics.

use scurry_consensus::replica::NodeId;
use scurry_consensus::shard::{Health, Outlook, ShardView, Voter};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, RwLock};

/// A view that is older was shown by a node that stands still, or stood, ms.
const SHOWN_MS_MAX: i64 = 1_000;

/// Where a node is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// By the other nodes.
    pub(crate) peer: SocketAddr,
    /// By clients: the machine of all ports below.
    pub(crate) ip: IpAddr,
    /// The main port.
    pub(crate) main: u16,
    /// The port of each thread.
    pub(crate) cores: Vec<u16>,
}

/// A node of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) id: NodeId,
    pub(crate) addresses: Addresses,
    /// False for a node that takes entries and has no vote yet, by the members in force.
    pub(crate) votes: bool,
    /// True for this node, and for one whose connection stands.
    pub(crate) is_connected: bool,
    /// True for one that has told something before, and tells nothing any more although its connection stands.
    pub(crate) is_silent: bool,
    /// The health that it has told; none where that is too long ago.
    pub(crate) health: Option<Health>,
    /// Entries that the leader knows it to lack, over all shards; none where this node does not lead.
    pub(crate) lag: Option<u64>,
    /// Whether it lacks entries, and has stored none of them for a second, as far as this node knows.
    pub(crate) stands_still: bool,
}

impl Member {
    /// True for this node, and for one that is connected and has not fallen silent.
    pub(crate) fn is_reached(&self) -> bool {
        self.is_connected && !self.is_silent
    }

    fn as_voter(&self) -> Voter<'_> {
        let Member { id, lag, stands_still, .. } = *self;
        let health = self.health.as_ref().filter(|_| self.is_connected);
        Voter { id, health, lag, stands_still }
    }
}

/// Why a node cannot go: too few of those with a vote that stay are reached. `voters` are all, each with
/// whether this node reaches it.
pub(crate) fn too_few_without(
    gone: NodeId,
    voters: impl Iterator<Item = (NodeId, bool)>,
) -> Option<String> {
    let left: Vec<bool> =
        voters.filter(|(id, _)| *id != gone).map(|(_, is_reached)| is_reached).collect();
    let (of, reached) = (left.len(), left.iter().filter(|is_reached| **is_reached).count());
    (reached <= of / 2).then(|| {
        format!(
            "without it {reached} of {of} nodes with a vote are reached, which is no majority: nobody would \
             serve. Start the others first"
        )
    })
}

/// A node's view of its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// The node whose view it is.
    pub(crate) node: NodeId,
    /// When it was shown, ms of uptime.
    pub(crate) shown_ms: i64,
    /// By how much its wall clock is ahead of the middle one of the nodes' clocks, ms.
    pub(crate) clock_off_ms: i64,
    /// All nodes, this one among them, ascending by id.
    pub(crate) members: Vec<Member>,
    /// By shard, which is by thread.
    pub(crate) shards: Vec<ShardView>,
}

impl View {
    /// A member.
    pub(crate) fn member(&self, id: NodeId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    /// The member that leads a shard.
    pub(crate) fn leader(&self, shard: u16) -> Option<&Member> {
        self.member(self.shards.get(usize::from(shard))?.leader?)
    }

    /// Nodes that have a vote.
    pub(crate) fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.votes)
    }

    /// Nodes with a vote that this one reaches, itself included.
    pub(crate) fn reached(&self) -> usize {
        self.voters().filter(|member| member.is_reached()).count()
    }

    /// Why a node cannot be removed: see [`too_few_without`].
    pub(crate) fn too_few_without(&self, gone: NodeId) -> Option<String> {
        too_few_without(gone, self.voters().map(|member| (member.id, member.is_reached())))
    }

    /// Nodes with a vote that have to agree.
    pub(crate) fn needed(&self) -> usize {
        self.voters().count() / 2 + 1
    }

    /// True when all shards are served here.
    pub(crate) fn serves_all(&self) -> bool {
        !self.shards.is_empty() && self.shards.iter().all(|shard| shard.serves)
    }

    /// True when this node leads the first shard, and so all, or is about to.
    pub(crate) fn leads(&self) -> bool {
        self.shards.first().is_some_and(|shard| shard.leader == Some(self.node))
    }

    /// Why nobody leads: a majority that is not there, or an election.
    pub(crate) fn why_nobody(&self) -> String {
        let (reached, needed) = (self.reached(), self.needed());
        if reached < needed {
            let all = self.voters().count();
            return format!(
                "this node reaches {reached} of the {all} nodes that have a vote, itself included, and \
                 {needed} are needed: start the others"
            );
        }
        "an election is under way: try again".to_owned()
    }

    /// Why service would end with one more node lost; none when it goes on without any one of them. Known to the leader:
    /// another node does not know who lacks what. `now_ms` is the uptime at which it is asked.
    pub(crate) fn cannot_lose(&self, now_ms: i64) -> Option<String> {
        let age_ms = now_ms - self.shown_ms;
        if age_ms > SHOWN_MS_MAX {
            return Some(format!("this node has not looked at its group for {age_ms} ms"));
        }
        if let Some(shard) = self.shards.iter().position(|shard| shard.leader.is_none()) {
            return Some(format!("shard {shard} has no leader"));
        }
        // What others lack of a shard is known where it is led.
        if self.shards.iter().any(|shard| shard.leader != self.shards[0].leader) {
            return Some(
                "the shards have different leaders until one node leads them all".to_owned(),
            );
        }
        let voters = self.voters().count();
        if voters < 3 {
            return Some(format!("{voters} of 3 nodes have a vote: let others join"));
        }
        let leader = self.shards.first().and_then(|shard| shard.leader)?;
        let outlook = Outlook { leader, voters: self.voters().map(Member::as_voter).collect() };
        let why = outlook.why_not()?;
        let away: Vec<String> = self
            .voters()
            .filter(|member| !member.is_connected)
            .map(|member| member.id.to_string())
            .collect();
        if away.is_empty() {
            return Some(why);
        }
        Some(format!("no connection to node {}", away.join(", ")))
    }
}

/// The newest view, which one thread writes and others read.
#[derive(Debug)]
pub(crate) struct Board {
    view: RwLock<Arc<View>>,
}

impl Board {
    pub(crate) fn new(view: View) -> Board {
        Board { view: RwLock::new(Arc::new(view)) }
    }

    /// The newest.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Puts another in its place.
    pub(crate) fn show(&self, view: View) {
        *self.view.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(view);
    }
}
