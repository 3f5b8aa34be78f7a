//! One shard's group on this node: its replica, the end of its log, and the state of its core.

use crate::replica::{
    AppendError, Base, ByteCount, ChangeError, Effects, Entry, EntryKind, Index, Members, Message,
    NodeId, ReadTicket, ReceiveError, Recovered, ReplaceError, Replica, Role, RoleAndTerm,
    Sequence, Store, Term, Ticket,
};
use crate::shard::broken::StopReason;
use crate::shard::channel::{Epoch, FrameBytes, FromCore, HostEnd, RebuiltShard, ToCore, Turn};
use crate::shard::device::{Order, Stored, Task};
use crate::shard::entry_frames::{End, EntryFrames, frames_of};
use crate::shard::freshness::Freshness;
use crate::shard::offer::{SnapshotMessage, SnapshotOffer};
use crate::shard::outlet::HostActions;
use crate::shard::position::{LogPosition, Mark};
use crate::shard::shard_view::ShardView;
use crate::shard::state_check::{DigestReport, StateCheck};
use scurry_codec::GroupMembers;
use scurry_engine::{LogBase, SnapshotSequences, Vote};
use scurry_ledger::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Sender;

/// Ticks after which a pause is given up and its plans are dropped.
const PAUSE_TICKS_MAX: u32 = 40;
/// Ticks after which the engine has given up a transfer.
const TRANSFER_TICKS_MAX: u32 = 12;
/// Ticks between two automatic attempts to transfer leadership after one has failed: 3 s. Commands wait during each
/// attempt. An operator may retry earlier.
const DECLINED_TICKS: u32 = 100;
/// Ticks without an order to the device after which a mark is written: 0.1 s.
const QUIET_TICKS: u32 = 4;
/// Ticks without a completed order after which a device counts as stalled: 0.3 s.
const STALL_TICKS: u32 = 10;
/// Ticks after which a leader tells the others what is committed: 0.1 s.
const TOLD_TICKS: u32 = 3;
/// Age in ticks up to which a node compares its memory: 3 s.
const FRESH_TICKS: u64 = 100;
/// Ticks for which an election waits for a leader: 0.3 s. A node that lacks entries for longer counts as lost.
const PATIENCE_TICKS: usize = 10;
/// Ticks without a newly stored entry after which a node that lacks entries counts as stalled: 1 s.
const STILL_TICKS: u32 = 34;
/// Ticks without a commit after which a leader steps down, so that its clients get an answer instead of waiting: 5 s.
const STUCK_TICKS: u32 = 167;
/// Minimum ticks for which a node leads before it hands over by itself: 3 s, so that leadership does not go in circles
/// when all devices are slow.
const LEAD_TICKS_MIN: u32 = 100;
/// Ticks after which a snapshot that could not be sent is tried again.
const FAILED_TICKS: u32 = 40;
/// Ticks without a further entry after which a node that has received a snapshot is not waited for: ten seconds.
const CATCHING_UP_TICKS: u32 = 334;

/// A node that is sent a snapshot, and then the entries without which it cannot use it. The log keeps them.
struct CatchingUp {
    node: NodeId,
    /// The last sequence of which the snapshot has something.
    as_of: Sequence,
    /// The last entry that it has; None while the snapshot is sent.
    has: Option<Index>,
    /// Ticks since it had one more.
    ticks: u32,
}
/// Maximum number of committed records that a node may not have applied and still counts as able to lead: a fraction of
/// a second of them.
const BEHIND_MAX: u64 = 1 << 16;
/// Bytes of frames after which an order to apply is sent to a core.
const APPLY_LEN: ByteCount = ByteCount(1 << 20);

/// State of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoreState {
    /// The core applies committed entries; all up to the index `given` were sent to it.
    Follows { given: Index },
    /// The core executes commands.
    Leads(Epoch),
    /// The core was told to execute nothing; `is_still` when it has confirmed that.
    Pauses { epoch: Epoch, is_still: bool, ticks: u32 },
    /// The core was told that another node leads; everything up to this position was committed at that time.
    Resigns { committed: LogPosition },
    /// The core's shard shows uncommitted records, or lacks the content of a snapshot: it is rebuilt from the device
    /// once everything up to the sequence `shows` is committed.
    Rebuilds { under_way: bool, shows: Sequence },
}

/// An action for which the core must pause.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Transfer of leadership to another node.
    Transfer(NodeId),
    /// Change of the members.
    Change {
        /// The new members.
        members: Members,
        /// The record of the entry, with the addresses of the members.
        record: GroupMembers,
    },
}

/// Requests of the core that wait until the log accepts them.
enum Waiting {
    Frame { turn: Turn, is_last: bool, frame: Vec<u8> },
    Read { turn: Turn },
}

/// The group of a shard, as run by this node.
pub struct ShardGroup {
    /// The number of the shard.
    pub shard: u16,
    /// The replica of the log.
    pub replica: Replica,
    bodies: EntryFrames,
    core: HostEnd,
    store: Sender<Task>,
    part: CoreState,
    epochs: u64,
    /// Frames that were received or created, for entries that the replica has not returned in a store yet.
    incoming: BTreeMap<(Index, Term), FrameBytes>,
    waiting: VecDeque<Waiting>,
    /// Turns with all of their frames appended, and the index of the last one.
    turns: VecDeque<(Turn, Index)>,
    reads: VecDeque<(ReadTicket, Turn)>,
    /// Bytes of the core's appended frames by index, to count the uncommitted bytes.
    lens: VecDeque<(Index, ByteCount)>,
    plans: VecDeque<Plan>,
    standing: RoleAndTerm,
    committed: Index,
    /// Sequence of the last committed entry.
    committed_sequence: Sequence,
    /// The last sequence of this log on the device.
    stored_sequence: Sequence,
    /// The last order in progress that removes entries, and the last sequence that remains: later records on the device
    /// belong to another history.
    cut: Option<(Ticket, Sequence)>,
    elections: u64,
    /// The newest members that the log names, with their addresses.
    pub named: Option<GroupMembers>,
    membership_changed: bool,
    /// Ticks since another node was asked to take leadership over; None when no transfer is in progress.
    transfer_ticks: Option<u32>,
    /// Ticks since a transfer failed; None when the next may be tried.
    declined_ticks: Option<u32>,
    /// True when another shard of this node lacks memory: see [`ShardGroup::lacks_memory`].
    yields: bool,
    /// The reason why this node must stop.
    pub broken: Option<StopReason>,
    is_full: bool,
    /// Ticks since the device last completed an order, or was given one while idle; None while it is idle.
    device_ticks: Option<u32>,
    /// Ticket of the last order to the device.
    ordered: Option<Ticket>,
    /// Ticks since the last order to the device.
    quiet_ticks: u32,
    /// The last mark that was written.
    marked: Mark,
    /// Ticks for which this node has served without interruption.
    serving_ticks: u32,
    catching_up: Vec<CatchingUp>,
    /// Nodes without a vote that were sent a heartbeat in this tick.
    reminded: Vec<NodeId>,
    /// Ticks without a commit while something waits for one.
    stuck_ticks: u32,
    /// Nodes that lack entries: the last entry that each is known to have, and the ticks since that has grown.
    lacking: BTreeMap<NodeId, (Index, u32)>,
    /// The last entry of the log at each of the last ticks of this leadership, the oldest first.
    past: VecDeque<Index>,
    /// The newest snapshot that counts: its content is committed and on the device.
    snapshot: Option<SnapshotSequences>,
    /// No snapshot needs the log up to this sequence.
    unneeded_sequence: Sequence,
    /// The present base of the log.
    base: LogBase,
    /// Nodes to which a snapshot could not be sent, and the ticks since.
    failed: Vec<(NodeId, u32)>,
    /// A received snapshot that has not replaced the log yet.
    received_snapshot: Option<ReceivedSnapshot>,
    /// The replica that replaces this one when the base of its log is on the device.
    next: Option<(Replica, ReceivedSnapshot)>,
    /// Sender and number of the snapshot that has just replaced the log; the sender is still to be told.
    began: Option<(NodeId, u64)>,
    /// Comparison of the memory of the nodes.
    state_check: StateCheck,
    /// The age of what this node shows while another leads.
    freshness: Freshness,
    /// Ticks since the others were told what is committed.
    told_ticks: u32,
    /// Least ticks between two passes of the comparison; None while this node writes no digests.
    digest_ticks: Option<u32>,
    /// True when a digest was found in the log since this node was started.
    has_digests: bool,
    /// True when this node may end because its memory is wrong.
    may_end: bool,
}

/// A received snapshot that is on the device.
pub struct ReceivedSnapshot {
    /// The node that sent it.
    pub from: NodeId,
    /// The sender's number for it.
    pub number: u64,
    /// The offer with which it was sent.
    pub offer: Box<SnapshotOffer>,
    /// The base of the offer, in the replica's form.
    pub base: Base,
}

/// Initial state of a shard's group.
pub(crate) struct InitialState {
    pub(crate) shard: u16,
    pub(crate) replica: Replica,
    pub(crate) bodies: EntryFrames,
    pub(crate) core: HostEnd,
    pub(crate) store: Sender<Task>,
    /// The last position that the shard shows.
    pub(crate) applied: LogPosition,
    pub(crate) named: Option<GroupMembers>,
    pub(crate) base: LogBase,
    /// The newest snapshot.
    pub(crate) snapshot: Option<SnapshotSequences>,
    /// Set when the core has an empty shard and a snapshot is on the device that shows records up to this sequence.
    pub(crate) shows: Option<Sequence>,
}

impl ShardGroup {
    pub(crate) fn new(beginning: InitialState) -> ShardGroup {
        let InitialState {
            shard,
            mut replica,
            bodies,
            core,
            store,
            applied,
            named,
            base,
            snapshot,
            shows,
        } = beginning;
        // The only voter need not wait for an election timeout.
        let own = replica.id();
        if replica.membership().is_quorum(|node| node == own) {
            replica.campaign();
        }
        let standing = replica.standing();
        let stored_sequence = bodies.end().sequence;
        core.progress.commit(applied.sequence);
        if shows.is_some() {
            core.order(ToCore::Await);
        }
        let group = ShardGroup {
            shard,
            replica,
            bodies,
            core,
            store,
            part: match shows {
                None => CoreState::Follows { given: applied.index },
                Some(shows) => CoreState::Rebuilds { under_way: false, shows },
            },
            epochs: 0,
            incoming: BTreeMap::new(),
            waiting: VecDeque::new(),
            turns: VecDeque::new(),
            reads: VecDeque::new(),
            lens: VecDeque::new(),
            plans: VecDeque::new(),
            standing,
            committed: applied.index,
            committed_sequence: applied.sequence,
            stored_sequence,
            cut: None,
            elections: 0,
            named,
            membership_changed: true,
            transfer_ticks: None,
            declined_ticks: None,
            yields: false,
            broken: None,
            is_full: false,
            device_ticks: None,
            ordered: None,
            quiet_ticks: 0,
            marked: Mark { synced: stored_sequence, committed: applied.index },
            serving_ticks: 0,
            catching_up: Vec::new(),
            reminded: Vec::new(),
            stuck_ticks: 0,
            lacking: BTreeMap::new(),
            past: VecDeque::new(),
            snapshot,
            unneeded_sequence: Sequence(0),
            base,
            failed: Vec::new(),
            received_snapshot: None,
            next: None,
            began: None,
            state_check: StateCheck::new(own),
            freshness: Freshness::default(),
            told_ticks: 0,
            digest_ticks: None,
            has_digests: false,
            may_end: false,
        };
        group.check();
        group
    }

    /// Asserts what holds between two calls, while nothing has broken this node.
    fn check(&self) {
        if self.broken.is_some() {
            return;
        }
        let (committed, sequence, end) =
            (self.committed, self.committed_sequence, self.bodies.end());
        // base <= dropped frames <= committed <= end, as entries and as records
        let base = self.base.index;
        assert!(self.replica.base().index == base, "the replica's log begins elsewhere");
        assert!(self.bodies.before().index <= committed, "a frame is dropped before its commit");
        assert!(base <= committed, "entries are removed before they are committed");
        assert!(committed <= end.index, "more is committed than the log has");
        assert!(self.base.sequence <= sequence, "the base shows what is not committed");
        assert!(sequence <= end.sequence, "more records are committed than the log has");
        assert!(self.stored_sequence <= end.sequence, "more is stored than the log has");
        assert!(self.marked.synced <= self.stored_sequence, "a mark calls too much stored");
        assert!(self.marked.committed <= committed, "a mark calls too much committed");
        assert!(committed <= self.replica.committed(), "the replica has not committed as much");
        // A core sees a record when a majority has it and this device as well.
        let shown = self.core.progress.committed();
        assert!(shown <= sequence, "the core sees what is not committed");
        assert!(shown <= self.stored_sequence, "the core sees what is not stored here");
        // Replies wait while their entry is not committed, in the order of their turns.
        if let (Some(first), Some(last)) = (self.turns.front(), self.turns.back()) {
            assert!(first.1 > committed, "a committed turn waits");
            assert!(first.0 <= last.0 && first.1 <= last.1, "turns wait out of order");
        }
        if let (Some(first), Some(last)) = (self.reads.front(), self.reads.back()) {
            assert!(first.0 <= last.0 && first.1 <= last.1, "reads wait out of order");
        }
        if let (Some(first), Some(last)) = (self.lens.front(), self.lens.back()) {
            assert!(first.0 > committed, "bytes of a committed entry count as uncommitted");
            assert!(first.0 <= last.0, "lengths of entries are out of order");
        }
        let is_given = self.cut.is_none_or(|(ticket, _)| Some(ticket) <= self.ordered);
        assert!(is_given, "entries are to be removed by an order that was not given");
        self.check_part();
    }

    /// Asserts what holds in the present state of the core.
    fn check_part(&self) {
        match self.part {
            CoreState::Follows { given } => {
                assert!(given <= self.committed, "a core is given what is not committed");
                assert!(self.base.index <= given, "a core lacks entries that were removed");
            }
            CoreState::Leads(epoch) | CoreState::Pauses { epoch, .. } => {
                assert!(self.leads(), "a core executes commands and another node leads");
                assert!(epoch == Epoch(self.epochs), "a core leads in a leadership that has ended");
            }
            CoreState::Resigns { committed } => {
                assert!(committed.index <= self.committed, "a core resigns after the commit");
            }
            CoreState::Rebuilds { .. } => {}
        }
        assert!(
            self.transfer_ticks.is_none() || self.leads(),
            "another node's lead is handed over"
        );
    }

    /// Returns the group's state for status and metrics.
    pub fn view(&self) -> ShardView {
        ShardView {
            role: self.standing.role,
            term: self.standing.term,
            leader: self.standing.leader,
            serves: matches!(self.part, CoreState::Leads(_)),
            committed: self.committed_sequence,
            stored: self.stored_sequence,
            // A leading core executes ahead of the commit: the committed sequence is shown.
            applied: match self.part {
                CoreState::Follows { .. } | CoreState::Rebuilds { .. } => {
                    self.core.progress.applied()
                }
                _ => self.committed_sequence,
            },
            elections: self.elections,
            base: self.base.index,
            compared: self.state_check.agreed(),
            age_ticks: match self.part {
                CoreState::Leads(_) => Some(0),
                CoreState::Follows { .. } => self.freshness.age(),
                _ => None,
            },
        }
    }

    /// Returns true when this node is the leader.
    pub fn leads(&self) -> bool {
        self.standing.role == Role::Leader
    }

    /// Returns the leader; None when it is not known.
    pub fn leader(&self) -> Option<NodeId> {
        self.standing.leader
    }

    /// Returns true while commands are executed here, no plan is waiting and no change of members is in progress.
    pub fn is_settled(&self) -> bool {
        matches!(self.part, CoreState::Leads(_))
            && self.plans.is_empty()
            && !self.replica.membership().is_joint()
    }

    /// Returns true while the core's memory is being rebuilt from the device: this node could lead but not serve.
    pub fn lacks_memory(&self) -> bool {
        matches!(self.part, CoreState::Rebuilds { .. })
    }

    /// Sets whether other nodes should lead this shard if they can, because another shard of this node lacks memory.
    pub fn let_others_lead(&mut self, yields: bool) {
        self.yields = yields;
    }

    fn yield_or_not(&mut self) {
        self.replica.set_yielding(self.yields || self.lacks_memory());
    }

    /// Transfers leadership to another node. Does nothing when this node does not lead, when a transfer is in progress,
    /// or shortly after one has failed.
    pub fn hand_over_if_settled(&mut self, to: NodeId) {
        if !self.leads() || self.transfer_ticks.is_some() || self.declined_ticks.is_some() {
            return;
        }
        if self.is_settled() {
            self.plan(Plan::Transfer(to));
        } else if self.lacks_memory() {
            // Commands are not executed, so there is no pause to wait for.
            self.transfer_ticks = self.replica.transfer(to).is_ok().then_some(0);
        }
    }

    /// Returns true when this node has served for some seconds and its device is full or stalled: another node can lead
    /// better.
    pub fn is_device_stalled(&self) -> bool {
        let stands_still = self.device_ticks.is_some_and(|ticks| ticks > STALL_TICKS);
        self.serving_ticks > LEAD_TICKS_MIN && (self.is_full || stands_still)
    }

    /// Returns true while the device is neither full nor stalled.
    pub fn stores(&self) -> bool {
        !self.is_full && self.device_ticks.is_none_or(|ticks| ticks <= STALL_TICKS)
    }

    /// Returns true when this node serves, or would serve at once if elected: its memory shows all that is committed,
    /// or nearly all.
    pub fn could_lead(&self) -> bool {
        let behind =
            self.committed_sequence.get().saturating_sub(self.core.progress.applied().get());
        match self.part {
            CoreState::Leads(_) | CoreState::Pauses { .. } => true,
            CoreState::Follows { .. } => {
                !self.leads() && behind <= BEHIND_MAX && !self.is_exchanging()
            }
            CoreState::Resigns { .. } | CoreState::Rebuilds { .. } => false,
        }
    }

    /// Returns the voters that elect a leader; None during a change of members.
    pub fn voters(&self) -> Option<&[NodeId]> {
        let membership = self.replica.membership();
        (!membership.is_joint()).then(|| membership.members.voters())
    }

    /// Returns true once after each change of the members.
    pub fn take_membership_change(&mut self) -> bool {
        std::mem::take(&mut self.membership_changed)
    }

    /// Queues an action and pauses the core for it.
    pub fn plan(&mut self, plan: Plan) {
        self.plans.push_back(plan);
        self.pause();
    }

    /// Treats the core as paused: it has ended and sends nothing more.
    pub fn core_has_ended(&mut self) {
        if let CoreState::Leads(epoch) | CoreState::Pauses { epoch, .. } = self.part {
            self.part = CoreState::Pauses { epoch, is_still: true, ticks: 0 };
        }
    }

    /// Queues a transfer of leadership after the core has ended.
    pub fn hand_over(&mut self, to: NodeId) {
        if self.transfer_ticks.is_none() && self.plans.is_empty() {
            self.plans.push_back(Plan::Transfer(to));
        }
        // If there was no plan, the core was told to resume; it has ended and will not report that it has paused.
        self.core_has_ended();
    }

    fn pause(&mut self) {
        if let CoreState::Leads(epoch) = self.part {
            self.part = CoreState::Pauses { epoch, is_still: false, ticks: 0 };
            self.core.order(ToCore::Pause);
        }
    }

    /// Advances time by one tick.
    pub fn tick(&mut self) {
        // The replica is about to be replaced and is deaf until then (docs/adr/0037-base-of-a-log.md).
        if self.next.is_some() {
            self.freshness.tick_without_memory();
            return;
        }
        self.yield_or_not();
        self.reminded.clear();
        self.replica.tick();
        self.serving_ticks = if self.is_settled() { self.serving_ticks + 1 } else { 0 };
        self.device_ticks = self.device_ticks.map(|ticks| ticks + 1);
        self.mark();
        self.try_again();
        self.look_at_devices();
        self.look_at_nodes_behind();
        if let CoreState::Pauses { ticks, .. } = &mut self.part {
            *ticks += 1;
            // Without plans, `carry_on` resumes the core.
            if *ticks > PAUSE_TICKS_MAX {
                self.plans.clear();
            }
        }
        if let Some(ticks) = &mut self.transfer_ticks {
            *ticks += 1;
            if *ticks > TRANSFER_TICKS_MAX {
                tracing::warn!(shard = self.shard, "leadership was not taken over: it stays here");
                self.transfer_ticks = None;
                self.declined_ticks = Some(0);
            }
        }
        self.declined_ticks =
            self.declined_ticks.map(|ticks| ticks + 1).filter(|ticks| *ticks <= DECLINED_TICKS);
        match self.part {
            CoreState::Follows { .. } => self.freshness.tick(self.core.progress.applied()),
            CoreState::Rebuilds { .. } => self.freshness.tick_without_memory(),
            CoreState::Leads(_) | CoreState::Pauses { .. } | CoreState::Resigns { .. } => {
                self.freshness.clear();
            }
        }
        self.told_ticks += 1;
        let round_ticks = self.digest_ticks.filter(|_| self.is_settled());
        if let Some(order) = self.state_check.tick(round_ticks, self.committed_sequence) {
            self.core.order(ToCore::Digest(order));
        }
    }

    /// Sets how many ticks pass at least between two passes in which a leader writes digests of its memory; None while
    /// not all nodes can read them.
    pub fn write_digests(&mut self, round_ticks: Option<u32>) {
        self.digest_ticks = round_ticks;
    }

    /// Returns true when a digest was found in the log since this node was started.
    pub fn has_digests(&self) -> bool {
        self.has_digests
    }

    /// Takes the word of a leader about what it has committed. That of an earlier term says nothing.
    pub fn on_committed(&mut self, term: Term, committed: Sequence) {
        let follows = matches!(self.part, CoreState::Follows { .. } | CoreState::Rebuilds { .. });
        if term == self.standing.term && follows {
            self.freshness.note(committed);
        }
    }

    /// Returns true while the memory of nodes differs and it is not decided which of them is wrong.
    pub fn memory_differs(&self) -> bool {
        self.state_check.is_open()
    }

    /// Returns true when this node has lately had everything that the leader had.
    fn is_fresh(&self) -> bool {
        self.freshness.age().is_some_and(|age| age <= FRESH_TICKS)
    }

    /// Sets whether the other voters would elect a leader if this node ended now, with the same voters. Only then does
    /// it end because its memory is wrong.
    pub fn let_end(&mut self, may_end: bool) {
        self.may_end = may_end;
    }

    /// Takes another node's report about its memory.
    pub fn on_report(&mut self, from: NodeId, report: DigestReport) {
        let voters = self.replica.membership().members.voters();
        self.state_check.note_report(from, report, voters);
    }

    /// Counts for how long each node has stored nothing that it lacks. Steps down when nothing was committed for 5 s:
    /// with a majority of the devices stalled, clients would wait without an answer. The node may be elected again, and
    /// serves when all of its log is committed.
    fn look_at_devices(&mut self) {
        let leads = self.leads();
        let last = self.replica.last();
        let nodes: Vec<NodeId> = self.replica.membership().nodes().collect();
        self.lacking.retain(|node, _| nodes.contains(node));
        for node in nodes {
            match self.replica.matched(node).filter(|has| leads && *has < last) {
                Some(has) => {
                    let (before, ticks) = self.lacking.entry(node).or_insert((has, 0));
                    *ticks = if has > *before { 0 } else { *ticks + 1 };
                    *before = has;
                }
                None => {
                    self.lacking.remove(&node);
                }
            }
        }
        if leads {
            self.past.push_back(last);
            if self.past.len() > PATIENCE_TICKS {
                self.past.pop_front();
            }
        } else {
            self.past.clear();
        }
        let waits = matches!(self.part, CoreState::Leads(_) | CoreState::Pauses { .. })
            && self.bodies.end().index > self.committed;
        self.stuck_ticks = if waits { self.stuck_ticks + 1 } else { 0 };
        if self.stuck_ticks > STUCK_TICKS {
            tracing::error!(
                shard = self.shard,
                "nothing was committed for 5 s: the devices of a majority are full or stand still, and no node serves \
                 until one goes on"
            );
            self.stuck_ticks = 0;
            self.replica.step_down();
        }
    }

    /// Returns true for a node that has lacked entries for a second and stored none of them.
    pub fn is_node_stalled(&self, node: NodeId) -> bool {
        self.lacking.get(&node).is_some_and(|(_, ticks)| *ticks > STILL_TICKS)
    }

    /// Returns true for a node that lacks entries which this leader has had for longer than an election waits. If it
    /// were to help now, its catching up would delay service by more than the election.
    pub fn is_node_behind(&self, node: NodeId) -> bool {
        let is_known = self.past.len() >= PATIENCE_TICKS;
        let before = self.past.front().filter(|_| is_known);
        before.is_some_and(|last| self.replica.matched(node).is_none_or(|has| has < *last))
    }

    /// Processes a message of the core.
    pub fn on_core_message(&mut self, news: FromCore) {
        match news {
            FromCore::Frames { epoch, turn, frames } => {
                let frames = frames_of(frames);
                let len = frames.iter().map(|frame| ByteCount::of(frame)).sum();
                // The leadership in which they were executed has ended; the core has closed or will close its
                // connections.
                if !self.is_epoch(epoch) {
                    return self.core.progress.settled(len);
                }
                let last = frames.len().saturating_sub(1);
                for (at, frame) in frames.into_iter().enumerate() {
                    self.waiting.push_back(Waiting::Frame { turn, is_last: at == last, frame });
                }
            }
            FromCore::Read { epoch, turn } => {
                if self.is_epoch(epoch) {
                    self.waiting.push_back(Waiting::Read { turn });
                }
            }
            FromCore::Paused { epoch: said } => {
                if let CoreState::Pauses { epoch, is_still, .. } = &mut self.part
                    && *epoch == said
                {
                    *is_still = true;
                }
            }
            FromCore::Resigned { executed } => {
                self.state_check.forget();
                if let CoreState::Resigns { committed: LogPosition { index, sequence } } = self.part
                {
                    // Executed records after the committed position exist only in this node's memory: it must be
                    // rebuilt. If instead some are missing, they are entries that no command made, appended during a
                    // pause; each has one record, so sequences can be subtracted from the index.
                    self.part = match sequence.0.checked_sub(executed.0) {
                        Some(lacks) => CoreState::Follows { given: Index(index.0 - lacks) },
                        None => CoreState::Rebuilds { under_way: false, shows: Sequence(0) },
                    };
                }
            }
            FromCore::Snapshot { shown, needless } => {
                self.snapshot = Some(shown);
                self.unneeded_sequence = self.unneeded_sequence.max(needless);
                if self.store.send(Task::EndSegment).is_err() {
                    self.stop("the thread of the log has ended");
                }
            }
            FromCore::Compared(compared) => {
                self.has_digests = true;
                // What a node that lags compares is old, and may be decided long since.
                if self.leads() || self.is_fresh() {
                    let voters = self.replica.membership().members.voters();
                    self.state_check.note_own(compared, voters);
                }
            }
            FromCore::Copies(copies) => self.state_check.note_copies(copies),
            FromCore::Broken(why) => self.stop(why),
        }
        self.append();
        self.check();
    }

    fn is_epoch(&self, said: Epoch) -> bool {
        matches!(self.part, CoreState::Leads(epoch) | CoreState::Pauses { epoch, .. } if epoch == said)
    }

    /// Appends the waiting requests until the log accepts no more.
    fn append(&mut self) {
        while let Some(waiting) = self.waiting.pop_front() {
            match waiting {
                Waiting::Read { turn } => match self.replica.read() {
                    Ok(ticket) => self.reads.push_back((ticket, turn)),
                    Err(_) => return,
                },
                Waiting::Frame { turn, is_last, frame } => {
                    let Some(descriptor) = self.bodies.describe(&frame) else {
                        self.stop("a core has made a frame that is none");
                        return;
                    };
                    match self.replica.append(descriptor) {
                        Ok(index) => {
                            let before = self.lens.back().map_or(self.committed, |last| last.0);
                            assert!(index > before, "a frame is put before an earlier one");
                            let term = self.replica.standing().term;
                            self.lens.push_back((index, ByteCount::of(&frame)));
                            self.incoming.insert((index, term), FrameBytes::new(frame));
                            if is_last {
                                self.turns.push_back((turn, index));
                            }
                        }
                        Err(AppendError::Full(_) | AppendError::Moving(_)) => {
                            self.waiting.push_front(Waiting::Frame { turn, is_last, frame });
                            return;
                        }
                        Err(AppendError::NotLeader(_)) => {
                            self.core.progress.settled(ByteCount::of(&frame));
                        }
                    }
                }
            }
        }
    }

    /// Processes a message of another node, with the frames of its entries.
    pub fn receive(&mut self, message: Message, bodies: Vec<FrameBytes>) -> Result<(), String> {
        if self.next.is_some() {
            // The replica is about to be replaced: the sender will send the message again.
            return Ok(());
        }
        // The frames of an older term are not looked at: the replica still has to answer its sender with the newer
        // term.
        if message.term() >= self.replica.standing().term {
            self.take_in(&message, bodies)?;
        }
        self.yield_or_not();
        match self.replica.receive(message) {
            Ok(()) => Ok(()),
            // It was just removed, or is not known here yet. If it continues, it is refused when it connects.
            Err(error @ ReceiveError::Stranger(_)) => {
                tracing::debug!(shard = self.shard, "a message was not taken: {error}");
                Ok(())
            }
            Err(error) => {
                if let ReceiveError::Ahead { .. } = error {
                    // The device has lost stored entries, or was restored from an older copy.
                    self.broken = Some(StopReason::Retires(error.to_string()));
                }
                Err(error.to_string())
            }
        }
    }

    /// Checks the frames of a message against its entries, and keeps them.
    fn take_in(&mut self, message: &Message, bodies: Vec<FrameBytes>) -> Result<(), String> {
        let entries = message.entries();
        if entries.len() != bodies.len() {
            let (entries, bodies) = (entries.len(), bodies.len());
            return Err(format!("{entries} entries have come with {bodies} frames"));
        }
        for (entry, body) in entries.iter().zip(bodies) {
            if !self.bodies.is_of(entry, &body) {
                return Err(format!("the frame of entry {} is another one", entry.index.0));
            }
            self.incoming.insert((entry.index, entry.term), body);
        }
        Ok(())
    }

    /// Stops this node for this reason, unless there is one already.
    fn stop(&mut self, why: impl Into<String>) {
        self.broken.get_or_insert_with(|| StopReason::Stops(why.into()));
    }

    /// Processes a message of the log's thread.
    pub fn stored(&mut self, stored: Stored) {
        match stored {
            Stored::Begun => self.switch_log(),
            Stored::Done { ticket, last } => {
                assert!(Some(ticket) <= self.ordered, "the device has done what was not ordered");
                self.is_full = false;
                self.device_ticks = (Some(ticket) < self.ordered).then_some(0);
                // An order before the cut may have stored records after `left`, which the cut removes.
                let left = match self.cut {
                    Some((cut, left)) if ticket < cut => left,
                    _ => {
                        self.cut = None;
                        Sequence(u64::MAX)
                    }
                };
                if let Some(last) = last {
                    let stored = last.min(left);
                    assert!(stored >= self.stored_sequence, "the device has less than before");
                    self.stored_sequence = stored;
                }
                self.replica.stored(ticket);
            }
            Stored::Full(why) => {
                if !std::mem::replace(&mut self.is_full, true) {
                    tracing::error!(
                        shard = self.shard,
                        "the disk is full: this node counts for nothing until there is room ({why})"
                    );
                }
            }
            Stored::Failed(error) => {
                self.stop(format!("the log cannot be trusted any more: {error}"));
            }
        }
        self.check();
    }

    /// Carries out the effects of all inputs.
    pub fn act(&mut self, outlet: &mut impl HostActions) {
        if self.next.is_some() {
            return;
        }
        if let Some((from, number)) = self.began.take() {
            outlet.renewed(self.shard);
            outlet.answer(self.shard, from, number, SnapshotMessage::Done);
        }
        // Effects may allow more appends, which have effects again.
        loop {
            let before = LogPosition { index: self.committed, sequence: self.committed_sequence };
            let effects = self.replica.effects();
            let is_idle = effects.is_empty() && effects.committed == self.committed;
            self.carry_out_effects(effects, before, outlet);
            if is_idle {
                break;
            }
            self.append();
        }
        // Frames that no store has taken belong to entries that the replica has refused, or had already.
        self.incoming.clear();
        let is_whole = self.bodies.end().index == self.replica.last();
        assert!(is_whole || self.broken.is_some(), "an entry of the replica has no frame here");
        let waits = self.turns.back().map(|(_, index)| *index);
        assert!(waits <= Some(self.replica.last()), "a turn waits for an entry that is not there");
        self.drive_core(outlet);
        self.compact_log(outlet);
        self.exchange(outlet);
        self.report(outlet);
        self.tell_committed(outlet);
        self.check();
    }

    /// Tells the other nodes regularly what is committed, so that they know the age of what they show.
    fn tell_committed(&mut self, outlet: &mut impl HostActions) {
        if self.told_ticks < TOLD_TICKS || !matches!(self.part, CoreState::Leads(_)) {
            return;
        }
        self.told_ticks = 0;
        let own = self.replica.id();
        for node in self.replica.membership().nodes().filter(|node| *node != own) {
            outlet.tell_committed(self.shard, node, self.standing.term, self.committed_sequence);
        }
    }

    /// Sends the reports about this node's memory, and ends this node when it is wrong.
    fn report(&mut self, outlet: &mut impl HostActions) {
        let own = self.replica.id();
        for report in self.state_check.take_reports() {
            for node in self.replica.membership().nodes().filter(|node| *node != own) {
                outlet.report(self.shard, node, &report);
            }
        }
        if let Some(hashes) = self.state_check.take_copy_request() {
            self.core.order(ToCore::Copy(hashes));
        }
        if self.may_end
            && let Some(verdict) = self.state_check.take_verdict()
        {
            outlet.keep_copies(self.shard, &verdict);
            self.broken.get_or_insert(StopReason::Retires(verdict.why));
        }
    }

    fn carry_out_effects(
        &mut self,
        effects: Effects,
        before: LogPosition,
        outlet: &mut impl HostActions,
    ) {
        let Effects { send, store, committed, standing, membership, reads, need_snapshot: behind } =
            effects;
        // The device and the other nodes work in parallel: messages that depend on this store are still held.
        if let Some(store) = store {
            self.store(store);
        }
        for message in send {
            self.send(&message, outlet);
        }
        for node in behind {
            let offer = if self.memory_differs() { None } else { self.offer(outlet) };
            match offer {
                Some(offer) => {
                    let as_of = offer.as_of;
                    self.catching_up.retain(|other| other.node != node);
                    self.catching_up.push(CatchingUp { node, as_of, has: None, ticks: 0 });
                    outlet.catch_up(self.shard, node, offer);
                }
                None => self.not_caught_up(node, "no snapshot is there"),
            }
        }
        if let Some(standing) = standing {
            self.stand(standing, before);
        }
        self.membership_changed |= membership.is_some();
        for ticket in reads {
            // A read is requested after the frames of all earlier turns were appended, so its confirmation covers those
            // turns.
            if let Some(&(waits, turn)) = self.reads.front()
                && waits == ticket
            {
                self.reads.pop_front();
                self.core.progress.confirm(turn);
                (self.core.ring)();
            }
        }
        self.commit(committed);
    }

    fn store(&mut self, store: Store) {
        let Store { ticket, vote, truncate_from, entries, committed } = store;
        let vote =
            vote.map(|vote| Vote { term: vote.term, node: vote.candidate.map_or(0, NodeId::get) });
        if let Some(from) = truncate_from {
            if from <= self.committed {
                self.stop(format!("entry {} is committed and was to be cut off", from.0));
                return;
            }
            self.bodies.truncate(from);
            let left = self.bodies.end().sequence;
            // The core has seen these, and a majority has them.
            assert!(left >= self.committed_sequence, "committed records are cut off");
            // Neither marks nor the stored sequence may claim records that are removed.
            self.marked.synced = self.marked.synced.min(left);
            self.stored_sequence = self.stored_sequence.min(left);
            self.cut = Some((ticket, self.cut.map_or(left, |(_, before)| before.min(left))));
        }
        let first = self.bodies.end().sequence.next();
        let mut frames = Vec::with_capacity(entries.len());
        for entry in &entries {
            match self.keep(entry, committed) {
                Ok(body) => frames.push(body),
                Err(why) => {
                    self.stop(why);
                    return;
                }
            }
        }
        let last = self.bodies.end().sequence;
        // The device keeps everything up to `sure` for ever: a log that ends before it has lost acknowledged changes.
        assert!(self.committed_sequence <= last, "the log ends before what is committed");
        let order = Order {
            ticket,
            vote,
            truncate_from,
            frames,
            first,
            last,
            sure: self.committed_sequence,
        };
        order.check();
        assert!(self.ordered < Some(ticket), "orders are given out of order: {ticket:?}");
        self.ordered = Some(ticket);
        self.quiet_ticks = 0;
        self.device_ticks.get_or_insert(0);
        if self.store.send(Task::Store(order)).is_err() {
            self.stop("the thread of the log has ended");
        }
    }

    fn keep(&mut self, entry: &Entry, committed: Index) -> Result<FrameBytes, String> {
        let body = self.incoming.remove(&(entry.index, entry.term));
        let mark = Mark { synced: self.stored_sequence, committed };
        let body = self.bodies.push(entry, body, mark)?;
        if matches!(entry.kind, EntryKind::Members(_)) {
            self.named = self.bodies.members(&body).or(self.named.take());
            self.membership_changed = true;
        }
        Ok(body)
    }

    fn send(&mut self, message: &Message, outlet: &mut impl HostActions) {
        let is_append = !message.entries().is_empty();
        if is_append && message.term() < self.replica.standing().term {
            // The append was created before this node saw a newer term: the log may have other entries at these indexes
            // now.
            return;
        }
        if message.is_heartbeat() && self.needs_no_heartbeat(message.to()) {
            return;
        }
        let mut bodies = Vec::with_capacity(message.entries().len());
        let (room, mut len) = (outlet.room(message.to()), ByteCount(0));
        for entry in message.entries() {
            if !bodies.is_empty() && len >= room {
                break;
            }
            let body = match self.bodies.get(entry.index) {
                Some(body) => Some(body.clone()),
                None => {
                    let read = outlet.read(self.shard, self.sequence_of(entry.index));
                    read.filter(|body| self.bodies.is_of(entry, body))
                }
            };
            let Some(body) = body else {
                tracing::warn!(entry = entry.index.0, "an entry cannot be read for another node");
                self.replica.unreachable(message.to());
                return;
            };
            len += ByteCount::of(&body);
            bodies.push(body);
        }
        // Behind a slow link a long append would be sent again before it is there.
        let is_whole = bodies.len() == message.entries().len();
        let was_sent = match is_whole {
            true => outlet.send(self.shard, message, bodies),
            false => outlet.send(self.shard, &message.shortened(bodies.len()), bodies),
        };
        if is_append && !(was_sent && is_whole) {
            self.replica.unreachable(message.to());
        }
    }

    /// Reports whether a heartbeat to a node is left out: one in a tick is enough for a node without a vote. Each batch of
    /// reads makes a round of them, which would fill a thin link, and only the answers of voters confirm reads.
    fn needs_no_heartbeat(&mut self, to: NodeId) -> bool {
        if self.voters().is_none_or(|voters| voters.contains(&to)) {
            return false;
        }
        let has_had_one = self.reminded.contains(&to);
        if !has_had_one {
            self.reminded.push(to);
        }
        has_had_one
    }

    /// Returns the last sequence of an entry.
    fn last_of(&self, index: Index) -> Sequence {
        match self.bodies.behind(index) {
            Some(end) => end.sequence,
            // The frame of the next entry is not kept either, or is the first kept one.
            None => Sequence(self.sequence_of(index.next()).0 - 1),
        }
    }

    /// Returns the first sequence of an entry whose frame is not kept.
    fn sequence_of(&self, index: Index) -> Sequence {
        let mut behind = index;
        // Entries that no command made have one record each.
        while behind <= self.bodies.before().index {
            if let Some(Entry { kind: EntryKind::Frame(descriptor), .. }) =
                self.replica.entry(behind)
            {
                return Sequence(descriptor.first.0 - (behind.0 - index.0));
            }
            behind = behind.next();
        }
        Sequence(self.bodies.before().sequence.next().0.saturating_sub(behind.0 - index.0))
    }

    fn stand(&mut self, standing: RoleAndTerm, committed: LogPosition) {
        if standing.leader.is_some() && standing.leader != self.standing.leader {
            self.elections += 1;
        }
        let led = self.standing.role == Role::Leader;
        let is_other = standing.role != Role::Leader || standing.term != self.standing.term;
        self.standing = standing;
        // Frames and turns of the leadership that has ended are never confirmed; the core closes their connections.
        if led && is_other {
            let waiting = self.waiting.drain(..).map(|waiting| match waiting {
                Waiting::Frame { frame, .. } => ByteCount::of(&frame),
                Waiting::Read { .. } => ByteCount(0),
            });
            let lens = waiting.chain(self.lens.drain(..).map(|(_, len)| len)).sum();
            self.core.progress.settled(lens);
            self.turns.clear();
            self.reads.clear();
            self.plans.clear();
            (self.transfer_ticks, self.declined_ticks) = (None, None);
            if matches!(self.part, CoreState::Leads(_) | CoreState::Pauses { .. }) {
                self.part = CoreState::Resigns { committed };
                self.core.order(ToCore::Resign);
            }
        }
    }

    fn commit(&mut self, committed: Index) {
        if committed > self.committed {
            let Some(end) = self.bodies.behind(committed) else { return };
            assert!(end.index == committed, "another entry is kept in the place of {committed:?}");
            assert!(end.sequence > self.committed_sequence, "a committed entry has no record");
            self.committed = committed;
            self.committed_sequence = end.sequence;
            self.stuck_ticks = 0;
            let mut settled = ByteCount(0);
            while let Some(&(index, len)) = self.lens.front()
                && index <= committed
            {
                settled += len;
                self.lens.pop_front();
            }
            if settled > ByteCount(0) {
                self.core.progress.settled(settled);
            }
            while let Some(&(turn, index)) = self.turns.front()
                && index <= committed
            {
                self.core.progress.confirm(turn);
                self.turns.pop_front();
            }
            (self.core.ring)();
        }
        // The core sees an entry as committed only when this node's device has it too.
        let visible = self.committed_sequence.min(self.stored_sequence);
        if visible != self.core.progress.committed() {
            self.core.progress.commit(visible);
            (self.core.ring)();
        }
    }

    /// Sends the core the entries that it lacks, and its next role.
    ///
    /// | case | the core | this node | what the core is told | then the core |
    /// |---|---|---|---|---|
    /// | @A | follows | may not serve | the committed entries that it lacks | follows |
    /// | @B | follows | may serve | as @A; if that is the whole log, to lead | leads |
    /// | @C | leads | has no plan | nothing | leads |
    /// | @D | leads | has a plan | to pause | pauses |
    /// | @E | pauses, and has not confirmed it | any | nothing | pauses |
    /// | @F | pauses, and has confirmed it | may not serve | nothing | pauses |
    /// | @G | pauses, and has confirmed it | may serve, has a plan | nothing: the plan is begun | pauses |
    /// | @H | pauses, and has confirmed it | may serve, has no plan | to go on | leads |
    /// | @I | resigns | any | nothing: the core must first report its last sequence | resigns |
    /// | @J | waits for a rebuild | lacks commits or stores for it | nothing | waits for a rebuild |
    /// | @K | waits for a rebuild | has stored and committed enough | nothing: the rebuild starts | rebuilds |
    /// | @L | rebuilds | any | nothing | rebuilds |
    ///
    /// A node that no longer leads goes from @C to @H to @I before this, in `stand`. From @I the core goes to @A if all
    /// records that it had executed were committed by then, else to @J; from @L to @A with its new shard.
    fn drive_core(&mut self, outlet: &mut impl HostActions) {
        match self.part {
            // @A
            CoreState::Follows { given } => {
                let given = self.give(given, outlet);
                self.part = CoreState::Follows { given };
                self.bodies.evict(given);
                // @B: the core leads only after it has applied the whole log, all of which is committed.
                if self.may_serve() && given == self.committed {
                    self.epochs += 1;
                    let epoch = Epoch(self.epochs);
                    let End { index, sequence, at, .. } = self.bodies.end();
                    assert!(index == given, "a core leads and lacks entries of the log");
                    self.core.order(ToCore::Lead { epoch, sequence, at });
                    self.part = CoreState::Leads(epoch);
                }
            }
            // @C
            CoreState::Leads(_) => {
                self.bodies.evict(self.committed);
                // @D
                if !self.plans.is_empty() {
                    self.pause();
                }
            }
            // @G, @H
            CoreState::Pauses { epoch, is_still: true, .. } if self.may_serve() => {
                self.start_next_plan(epoch);
            }
            // @J
            CoreState::Rebuilds { under_way: false, shows } => {
                self.bodies.evict(self.committed);
                let sequence = self.committed_sequence;
                // @K: the rebuild reads the device, so the device must have everything up to the target.
                if self.stored_sequence >= sequence && sequence >= shows {
                    self.part = CoreState::Rebuilds { under_way: true, shows };
                    let number = sequence.get();
                    assert!(sequence <= self.bodies.end().sequence, "memory is made of too much");
                    tracing::info!(shard = self.shard, sequence = number, "memory is rebuilt");
                    outlet.rebuild(self.shard, LogPosition { index: self.committed, sequence });
                }
            }
            // @E, @F, @I, @L
            CoreState::Pauses { .. } | CoreState::Resigns { .. } | CoreState::Rebuilds { .. } => {}
        }
    }

    /// Returns true when this node leads, its whole log is committed, and no entry other than the core's will take a
    /// sequence.
    fn may_serve(&self) -> bool {
        let begins = self.standing.begins.is_some_and(|begins| begins <= self.committed);
        self.leads()
            && begins
            && self.waiting.is_empty()
            && self.bodies.end().index == self.committed
            && self.transfer_ticks.is_none()
            && !self.replica.is_changing()
    }

    /// Starts the next plan of a paused core, or ends the pause.
    fn start_next_plan(&mut self, epoch: Epoch) {
        match self.plans.pop_front() {
            // @H
            None => {
                let End { index, sequence, at, .. } = self.bodies.end();
                assert!(index == self.committed, "a core goes on after what is not committed");
                self.core.order(ToCore::Resume { sequence, at });
                self.part = CoreState::Leads(epoch);
            }
            // @G
            Some(Plan::Transfer(to)) => {
                // The core stays paused until the transfer has ended.
                self.transfer_ticks = self.replica.transfer(to).is_ok().then_some(0);
            }
            // @G
            Some(Plan::Change { members, record }) => {
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                let body = self.bodies.group_frame(&bytes);
                match self.replica.change(members.clone()) {
                    Ok(index) => {
                        let term = self.standing.term;
                        self.incoming.insert((index, term), FrameBytes::new(body));
                    }
                    Err(ChangeError::Busy) => {
                        self.plans.push_front(Plan::Change { members, record });
                    }
                    Err(error) => tracing::warn!("the members were not changed: {error}"),
                }
            }
        }
    }

    /// Sends a following core the committed entries. Returns the last index that it was sent.
    fn give(&mut self, mut given: Index, outlet: &mut impl HostActions) -> Index {
        // A core cannot take back an applied entry.
        assert!(given <= self.committed, "a core has applied what is not committed");
        while given < self.committed {
            let (mut frames, mut len) = (Vec::new(), ByteCount(0));
            while given < self.committed && len < APPLY_LEN {
                let body = match self.bodies.get(given.next()) {
                    Some(body) => Some(body.clone()),
                    None => outlet.read(self.shard, self.sequence_of(given.next())),
                };
                let Some(body) = body else {
                    self.stop(format!("entry {} cannot be read", given.next().0));
                    return given;
                };
                len += ByteCount::of(&body);
                frames.push(body);
                given = given.next();
            }
            self.core.order(ToCore::Apply(frames));
        }
        given
    }

    /// Gives the core its rebuilt shard, which shows everything up to this index. Stops the node on an error.
    pub fn rebuilt(&mut self, outcome: Result<RebuiltShard, String>, index: Index) {
        match outcome {
            Ok(remade) => {
                let is_asked = matches!(self.part, CoreState::Rebuilds { under_way: true, .. });
                assert!(is_asked, "a shard is recovered that was not asked for");
                assert!(index <= self.committed, "a shard shows what is not committed");
                self.core.order(ToCore::Replace(remade));
                self.part = CoreState::Follows { given: index };
            }
            Err(why) => self.stop(why),
        }
        self.check();
    }

    /// Records that a node has replaced its log by a snapshot of this one, up to this index.
    pub fn caught_up(&mut self, node: NodeId, index: Index) {
        if self.leads() {
            tracing::info!(
                shard = self.shard,
                node = %node,
                index = index.get(),
                "a snapshot has been taken over"
            );
            self.replica.caught_up(node, index);
            for other in self.catching_up.iter_mut().filter(|other| other.node == node) {
                other.has = Some(index);
            }
        }
    }

    /// Records that no snapshot could be sent to a node; it is tried again after `FAILED_TICKS`.
    pub fn not_caught_up(&mut self, node: NodeId, why: &str) {
        tracing::warn!(
            shard = self.shard,
            node = %node,
            "no snapshot was sent to a node that is behind: {why}"
        );
        self.failed.push((node, 0));
        self.catching_up.retain(|other| other.node != node);
    }

    /// Lets the log be made shorter again when nodes have the entries that belong to their snapshots.
    fn look_at_nodes_behind(&mut self) {
        let mut catching_up = std::mem::take(&mut self.catching_up);
        catching_up.retain_mut(|CatchingUp { node, as_of, has, ticks }| {
            let Some(had) = *has else { return self.leads() };
            let Some(matched) = self.replica.matched(*node) else { return false };
            *ticks = if matched > had { 0 } else { *ticks + 1 };
            *has = Some(matched.max(had));
            *ticks <= CATCHING_UP_TICKS && self.last_of(matched.max(had)) < *as_of
        });
        self.catching_up = catching_up;
    }

    /// Writes a mark after the last entry when the log has been idle for a while: it says that the entry is on the
    /// device, and which index is committed.
    fn mark(&mut self) {
        let End { index, sequence, .. } = self.bodies.end();
        self.quiet_ticks += 1;
        let mark = Mark { synced: sequence, committed: self.committed };
        // A mark may claim only a log that is completely on the device.
        let is_new = self.marked < mark && self.stored_sequence == sequence;
        if !is_new || self.device_ticks.is_some() || self.quiet_ticks < QUIET_TICKS {
            return;
        }
        (self.quiet_ticks, self.marked) = (0, mark);
        let Some(entry) = self.replica.entry(index) else { return };
        let mark = self.bodies.mark(entry.term, mark);
        if let Some(frame) = mark {
            let next = sequence.next();
            let sure = self.committed_sequence;
            if self.store.send(Task::Mark { frame, next, sure }).is_err() {
                self.stop("the thread of the log has ended");
            }
        }
    }

    fn try_again(&mut self) {
        for (_, ticks) in &mut self.failed {
            *ticks += 1;
        }
        for (node, _) in self.failed.extract_if(.., |(_, ticks)| *ticks > FAILED_TICKS) {
            if self.replica.standing().role == Role::Leader {
                self.replica.snapshot_failed(node);
            }
        }
    }

    /// Returns an offer of the newest snapshot, with the base after which the log continues. None without a usable one.
    fn offer(&self, outlet: &mut impl HostActions) -> Option<SnapshotOffer> {
        let SnapshotSequences { begun, as_of } = self.snapshot?;
        // The log must start at or before the beginning of the snapshot, or records between them would be missing.
        let base = self.base_at(begun, outlet).filter(|base| base.sequence <= begun)?;
        Some(SnapshotOffer {
            term: self.standing.term,
            base,
            begun,
            as_of,
            // Set when the file is opened.
            len: ByteCount(0),
            members: self.named.clone(),
        })
    }

    /// Returns the base after the last entry without a record after `sequence`, or after an earlier entry. None when
    /// the frame of that entry cannot be read.
    fn base_at(&self, sequence: Sequence, outlet: &mut impl HostActions) -> Option<LogBase> {
        let (mut low, mut high) = (self.base.index.get(), self.committed.next().get());
        // Entry `low` ends at or before `sequence`, entry `high` ends after it.
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.last_of(Index(middle)) <= sequence {
                low = middle;
            } else {
                high = middle;
            }
        }
        let base = self.replica.base_at(Index(low));
        let index = base.index;
        if index <= self.base.index {
            return Some(self.base.clone());
        }
        let end = match self.bodies.behind(index) {
            Some(end) => end,
            None => {
                let body = outlet.read(self.shard, self.sequence_of(index))?;
                let records = self.base.sequence.next()..=self.committed_sequence;
                let end = self.bodies.end_behind(&body).filter(|end| end.index == index);
                end.filter(|end| records.contains(&end.sequence))?
            }
        };
        Some(base_of(&base, end))
    }

    /// Removes the entries that no snapshot needs, unless a snapshot is being sent, or its receiver needs the log after
    /// it.
    fn compact_log(&mut self, outlet: &mut impl HostActions) {
        if self.unneeded_sequence <= self.base.sequence
            || outlet.is_sending(self.shard)
            || !self.catching_up.is_empty()
        {
            return;
        }
        let Some(base) = self.base_at(self.unneeded_sequence, outlet) else { return };
        self.unneeded_sequence = Sequence(0);
        if base.index <= self.base.index {
            return;
        }
        assert!(base.index <= self.committed, "the log is cut after the commit");
        assert!(base.sequence > self.base.sequence, "a base goes back");
        let begins = self.replica.compact(base.index);
        // The device removes what the replica no longer has, and nothing else.
        assert!(begins == base.index, "the replica's log begins at {begins:?}");
        tracing::info!(shard = self.shard, entry = base.index.get(), "the log was made shorter");
        self.base = base.clone();
        if self.store.send(Task::Forget(base)).is_err() {
            self.stop("the thread of the log has ended");
        }
    }

    /// Returns true from the arrival of a snapshot until the log begins with it. Another offer in the meantime would
    /// replace its file.
    pub fn is_exchanging(&self) -> bool {
        self.received_snapshot.is_some() || self.next.is_some()
    }

    /// Takes a received snapshot; it replaces the log when the core and the replica are ready.
    pub fn take_snapshot(&mut self, came: ReceivedSnapshot) {
        self.received_snapshot = Some(came);
    }

    /// Starts to replace the log by one that begins with the received snapshot.
    ///
    /// | case | the core, and this node's term | the log, by `Replica::replace` | action |
    /// |---|---|---|---|
    /// | @A | leads, pauses, resigns or rebuilds; or the sender's term is later | any | the snapshot waits |
    /// | @B | follows or waits for a rebuild, in the sender's term or later | can be replaced | the device begins it |
    /// | @C | as @B | can be replaced, but the base has fewer records than are committed | the sender is refused |
    /// | @D | as @B | stores are under way | the snapshot waits |
    /// | @E | as @B | has the entries already | the sender is told that it is done |
    /// | @F | as @B | is newer, the base is invalid, or this node leads | the sender is refused |
    ///
    /// After @B the replica ignores all messages until the new log is on the device.
    fn exchange(&mut self, outlet: &mut impl HostActions) {
        // @A: wait until the core is in a state in which its shard may be replaced, and this node has reached the
        // sender's term.
        let is_idle = matches!(
            self.part,
            CoreState::Follows { .. } | CoreState::Rebuilds { under_way: false, .. }
        );
        let Some(came) =
            self.received_snapshot.take_if(|came| is_idle && came.offer.term <= self.standing.term)
        else {
            return;
        };
        // Another node may send a wrong base: one with fewer records than are committed here is refused.
        let is_later =
            |came: &ReceivedSnapshot| came.offer.base.sequence >= self.committed_sequence;
        match self.successor(&came.base) {
            // @C
            Ok(_) if !is_later(&came) => {
                let word = SnapshotMessage::Refused(
                    "its base has fewer records than are committed".to_owned(),
                );
                outlet.answer(self.shard, came.from, came.number, word);
            }
            // @B
            Ok(replica) => {
                tracing::info!(
                    shard = self.shard,
                    entry = came.offer.base.index.get(),
                    "a snapshot takes the place of the log"
                );
                let task = Task::Begin(came.offer.base.clone());
                self.next = Some((replica, came));
                if self.store.send(task).is_err() {
                    self.stop("the thread of the log has ended");
                }
            }
            // @D
            Err(ReplaceError::Busy) => self.received_snapshot = Some(came),
            // @E: the leader did not know that this node has these entries.
            Err(ReplaceError::Present(_)) => {
                outlet.answer(self.shard, came.from, came.number, SnapshotMessage::Done)
            }
            // @F
            Err(error) => {
                let word = SnapshotMessage::Refused(error.to_string());
                outlet.answer(self.shard, came.from, came.number, word);
            }
        }
    }

    fn successor(&self, base: &Base) -> Result<Replica, ReplaceError> {
        let (base, committed) = (base.clone(), base.index);
        // `Replica::replace` uses the vote that the present replica has stored.
        let vote = crate::replica::Vote::default();
        self.replica.replace(Recovered { vote, base, entries: Vec::new(), committed })
    }

    /// Switches to the new replica: the base of its log is on the device.
    fn switch_log(&mut self) {
        let Some((replica, came)) = self.next.take() else { return };
        self.began = Some((came.from, came.number));
        let SnapshotOffer { base, begun, as_of, members, .. } = *came.offer;
        let end = End {
            index: base.index,
            sequence: base.sequence,
            at: Time(base.at),
            chain: base.chain,
        };
        assert!(self.cut.is_none(), "a log is replaced while its entries are removed");
        assert!(replica.last() == end.index, "the new log has entries before it has begun");
        self.replica = replica;
        // The new replica's tickets begin again.
        self.ordered = None;
        self.bodies = self.bodies.begun_at(end);
        self.incoming.clear();
        (self.committed, self.committed_sequence) = (end.index, end.sequence);
        (self.stored_sequence, self.cut) = (end.sequence, None);
        self.marked = Mark { synced: end.sequence, committed: end.index };
        self.snapshot = Some(SnapshotSequences { begun, as_of });
        self.unneeded_sequence = Sequence(0);
        self.base = base;
        self.part = CoreState::Rebuilds { under_way: false, shows: as_of };
        self.named = members.or(self.named.take());
        self.membership_changed = true;
        self.check();
    }

    /// Returns how many entries a node lacks. None when this node does not lead, or the node is not a member.
    pub fn lag(&self, node: NodeId) -> Option<u64> {
        let last = self.replica.last().0;
        (self.leads()).then(|| self.replica.matched(node).map(|has| last - has.0.min(last)))?
    }
}

fn base_of(base: &Base, end: End) -> LogBase {
    let numbers = |nodes: &[NodeId]| nodes.iter().map(|node| node.get()).collect();
    LogBase {
        index: base.index,
        term: base.term,
        sequence: end.sequence,
        at: end.at.0,
        chain: end.chain,
        voters: numbers(base.members.voters()),
        learners: numbers(base.members.learners()),
    }
}

/// Converts the stored base of a log to the replica's form.
pub fn base_from(base: &LogBase) -> Result<Base, String> {
    let nodes = |numbers: &[u64]| -> Result<Vec<NodeId>, String> {
        let node =
            |number: &u64| NodeId::new(*number).ok_or_else(|| "a base names node 0".to_owned());
        numbers.iter().map(node).collect()
    };
    let members = Members::new(nodes(&base.voters)?, nodes(&base.learners)?);
    let members = members.map_err(|error| error.to_string())?;
    Ok(Base { index: base.index, term: base.term, members })
}

#[cfg(test)]
mod tests;
