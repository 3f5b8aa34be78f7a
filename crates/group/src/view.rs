//! What a node knows of its group, for STATUS, INFO, metrics and clients of the cluster protocol.

use scurry_consensus::replica::NodeId;
use scurry_consensus::shard::{Health, LostNodeCheck, ShardView, Voter};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, RwLock};

/// Greatest age of a view, ms. An older one means that the host thread has stalled.
const SHOWN_MS_MAX: i64 = 1_000;

/// The addresses of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// For the other nodes.
    pub peer: SocketAddr,
    /// For clients: the IP of all ports below.
    pub ip: IpAddr,
    /// The main port.
    pub main: u16,
    /// The port of each thread.
    pub cores: Vec<u16>,
}

/// A node of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: NodeId,
    /// Its addresses.
    pub addresses: Addresses,
    /// False for a learner: a node that receives entries and has no vote yet in the members in force.
    pub votes: bool,
    /// True for a learner that is to have no vote, as far as it has told this process.
    pub observes: bool,
    /// True for this node, and for a node that is connected in both directions.
    pub is_connected: bool,
    /// True for a node that has sent its health before and has stopped sending it, although it is still connected.
    pub is_silent: bool,
    /// The last health that it sent. None if that is too long ago.
    pub health: Option<Health>,
    /// Entries that it lacks, over all shards, as far as the leader knows. None if this node does not lead.
    pub lag: Option<u64>,
    /// Whether it lacks entries and has stored none of them for a second, as far as this node knows.
    pub has_stalled: bool,
    /// Whether it lacks entries for longer than an election waits for a leader, as far as this node knows.
    pub is_behind: bool,
}

impl Member {
    /// Reports whether this is the own node, or a connected one that is not silent.
    pub(crate) fn is_reached(&self) -> bool {
        self.is_connected && !self.is_silent
    }

    fn as_voter(&self) -> Voter<'_> {
        let Member { id, is_behind, has_stalled: stands_still, .. } = *self;
        let health = self.health.as_ref().filter(|_| self.is_connected);
        Voter { id, health, is_behind, stands_still }
    }
}

/// Returns why a node cannot be removed: without it, no majority of the voters is reached. `voters` are all nodes with
/// a vote, each with whether this node reaches it.
pub(crate) fn too_few_without(
    gone: NodeId,
    voters: impl Iterator<Item = (NodeId, bool)>,
) -> Option<String> {
    let left: Vec<bool> =
        voters.filter(|(id, _)| *id != gone).map(|(_, is_reached)| is_reached).collect();
    let (of, reached) = (left.len(), left.iter().filter(|is_reached| **is_reached).count());
    (reached <= of / 2).then(|| {
        format!(
            "without it {reached} of {of} nodes with a vote are reached, which is no majority: no node would \
             serve. Start the others first"
        )
    })
}

/// The group as one node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The node that has this view.
    pub node: NodeId,
    /// When the view was made, ms of uptime.
    pub shown_ms: i64,
    /// Milliseconds of a tick.
    pub tick_ms: u64,
    /// By how much this node's wall clock is ahead of the middle one of all nodes' clocks, ms.
    pub clock_off_ms: i64,
    /// The version of the protocol between nodes that each node of the group has to speak.
    pub required: u16,
    /// Why a leader waits with what is new in a later version. None if it does not wait, or this node does not lead.
    pub waits: Option<String>,
    /// All nodes, including this one, in ascending order of their ids.
    pub members: Vec<Member>,
    /// One entry per shard, which is one per thread.
    pub shards: Vec<ShardView>,
}

impl View {
    /// Returns a member by its id.
    pub fn member(&self, id: NodeId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    /// Returns the member that leads a shard. None without a leader, or if the leader is not a member here.
    pub fn leader(&self, shard: u16) -> Option<&Member> {
        self.member(self.shards.get(usize::from(shard))?.leader?)
    }

    /// Returns how long ago the leader of a shard had no more than this node shows, ms. 0 where this node serves, None
    /// while it is not known.
    pub fn age_ms(&self, shard: u16) -> Option<u64> {
        Some(self.shards.get(usize::from(shard))?.age_ticks? * self.tick_ms)
    }

    /// Returns [`View::age_ms`] at a later time of the process, in ms of uptime.
    pub fn shown_age_ms(&self, shard: u16, now_ms: i64) -> Option<u64> {
        let later = u64::try_from(now_ms - self.shown_ms).unwrap_or(0);
        self.age_ms(shard).map(|age| age + later)
    }

    /// Returns the nodes with a vote.
    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.votes)
    }

    /// Returns how many nodes with a vote this node reaches, including itself.
    pub fn reached(&self) -> usize {
        self.voters().filter(|member| member.is_reached()).count()
    }

    /// Returns why a node cannot be removed: without it, no majority of the voters is reached. None if it can.
    pub fn too_few_without(&self, gone: NodeId) -> Option<String> {
        too_few_without(gone, self.voters().map(|member| (member.id, member.is_reached())))
    }

    /// Returns how many nodes with a vote make a majority.
    pub fn needed(&self) -> usize {
        self.voters().count() / 2 + 1
    }

    /// Reports whether this node serves all shards.
    pub fn serves_all(&self) -> bool {
        !self.shards.is_empty() && self.shards.iter().all(|shard| shard.serves)
    }

    /// Reports whether this node leads the first shard: then it leads all, or soon will.
    pub fn leads(&self) -> bool {
        self.shards.first().is_some_and(|shard| shard.leader == Some(self.node))
    }

    /// Returns why no node leads: no majority is reached, or an election is in progress.
    pub fn no_leader_reason(&self) -> String {
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

    /// Returns why service would end if one more node were lost. None if it continues without any one node. Only the
    /// leader knows it: the other nodes do not know which entries each node lacks. `now_ms` is the present uptime.
    pub fn cannot_lose(&self, now_ms: i64) -> Option<String> {
        let age_ms = now_ms - self.shown_ms;
        if age_ms > SHOWN_MS_MAX {
            return Some(format!("this node has not looked at its group for {age_ms} ms"));
        }
        if let Some(shard) = self.shards.iter().position(|shard| shard.leader.is_none()) {
            return Some(format!("shard {shard} has no leader"));
        }
        // Only the leader of a shard knows what others lack of it, so all shards need the same leader here.
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
        let outlook =
            LostNodeCheck { leader, voters: self.voters().map(Member::as_voter).collect() };
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

/// The newest view. The host thread replaces it, and other threads read it.
#[derive(Debug)]
pub(crate) struct CurrentView {
    view: RwLock<Arc<View>>,
}

impl CurrentView {
    pub(crate) fn new(view: View) -> CurrentView {
        CurrentView { view: RwLock::new(Arc::new(view)) }
    }

    /// Returns the newest view.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Replaces the view.
    pub(crate) fn show(&self, view: View) {
        *self.view.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(view);
    }
}
