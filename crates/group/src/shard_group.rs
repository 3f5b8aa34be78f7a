//! One shard's group on this node: its replica, the end of its log, and what its core is doing.

use crate::bodies::{Bodies, End, frames_of};
use crate::broken::Broken;
use crate::channel::{Body, Epoch, FromCore, HostEnd, Remade, ToCore, Turn};
use crate::device::{Order, Stored, Task};
use crate::offer::{Offer, Word};
use crate::outlet::Outlet;
use crate::position::{LogPosition, Mark};
use crate::shard_view::ShardView;
use scurry_codec::GroupMembers;
use scurry_engine::{LogBase, Shown, Vote};
use scurry_ledger::Time;
use scurry_replica::{
    AppendError, Base, ChangeError, Effects, Entry, Index, Kind, Members, Message, NodeId,
    ReadTicket, ReceiveError, Recovered, ReplaceError, Replica, Role, Sequence, Standing, Store,
    Term, Ticket,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Sender;

/// Ticks after which a pause that leads to nothing is given up.
const PAUSE_TICKS_MAX: u32 = 40;
/// Ticks after which the engine has given up a transfer.
const TRANSFER_TICKS_MAX: u32 = 12;
/// Ticks after which a node that has not taken leadership over is asked again, when no operator does: 3 s. Commands wait
/// for each try.
const DECLINED_TICKS: u32 = 100;
/// Ticks without an order after which a mark is written: 0.1 s.
const QUIET_TICKS: u32 = 4;
/// Ticks in which a device that works finishes something: 0.3 s.
const STALL_TICKS: u32 = 10;
/// Ticks after which a node that lacks entries and gets none more on its device counts for nothing: 1 s.
const STILL_TICKS: u32 = 34;
/// Ticks after which a leader that gets nothing committed tells its clients so, and no longer lets them wait: 5 s.
const STUCK_TICKS: u32 = 167;
/// Ticks for which a node leads at least before it hands over by itself: 3 s, lest leadership goes in circles where
/// all devices are slow.
const LEAD_TICKS_MIN: u32 = 100;
/// Ticks after which a snapshot that could not be sent is tried again.
const FAILED_TICKS: u32 = 40;
/// Changes that are committed and that a node may not show yet when it comes to lead: a fraction of a second of them.
const BEHIND_MAX: u64 = 1 << 16;
/// Bytes of frames that a core is given at once.
const APPLY_LEN: usize = 1 << 20;

/// The core's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The core applies what is committed; it was given all up to this index.
    Follows { given: Index },
    /// Commands are executed.
    Leads(Epoch),
    /// The core was told to execute nothing, and has said that it does.
    Pauses { epoch: Epoch, is_still: bool, ticks: u32 },
    /// The core was told that another node leads; at that time all up to this entry was committed.
    Resigns { committed: LogPosition },
    /// The core's shard shows what was not committed, or lacks what a snapshot has: it is made anew from the
    /// device, when all up to this sequence is committed.
    Rebuilds { under_way: bool, shows: Sequence },
}

/// A reason for a pause.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Another node is to lead.
    Transfer(NodeId),
    /// The members change; the bytes of the entry's record.
    Change {
        /// The members.
        members: Members,
        /// The words of the entry about them.
        record: GroupMembers,
    },
}

/// Requests of the core that wait until the log takes more.
enum Waiting {
    Frame { turn: Turn, is_last: bool, frame: Vec<u8> },
    Read { turn: Turn },
}

/// A shard's group.
pub struct ShardGroup {
    /// The number of the shard.
    pub shard: u16,
    /// The replica of the log.
    pub replica: Replica,
    bodies: Bodies,
    core: HostEnd,
    store: Sender<Task>,
    part: Part,
    epochs: u64,
    /// Frames that have come or were made, for entries that the replica has not given out yet.
    incoming: BTreeMap<(Index, Term), Body>,
    waiting: VecDeque<Waiting>,
    /// Turns whose frames are appended, with the index of the last.
    turns: VecDeque<(Turn, Index)>,
    reads: VecDeque<(ReadTicket, Turn)>,
    /// Bytes of the core's appended frames by index, for the count of what is uncommitted.
    lens: VecDeque<(Index, u64)>,
    plans: VecDeque<Plan>,
    standing: Standing,
    committed: Index,
    /// Sequence of the last committed entry.
    committed_sequence: Sequence,
    /// The last sequence of this log that is on the device.
    stored_sequence: Sequence,
    /// The order under way that cuts entries off, and the last sequence that it leaves: what was on the device behind
    /// that is of another history.
    cut: Option<(Ticket, Sequence)>,
    elections: u64,
    /// Members that the log has named last, with their addresses.
    pub named: Option<GroupMembers>,
    membership_changed: bool,
    /// Ticks since another node was asked to lead.
    transfer_ticks: Option<u32>,
    /// Ticks since another node did not take leadership over.
    declined_ticks: Option<u32>,
    /// Another shard of this node has no memory to serve from: see [`ShardGroup::lacks_memory`].
    yields: bool,
    /// The reason for which this node must stop.
    pub broken: Option<Broken>,
    is_full: bool,
    /// Ticks since the device was given something or has finished something; none while it has nothing to do.
    device_ticks: Option<u32>,
    /// The last order.
    ordered: Option<Ticket>,
    /// Ticks since the device was given something.
    quiet_ticks: u32,
    /// The last sequence and the commit index that the last mark has told.
    marked: Mark,
    /// Ticks since this node came to serve.
    serving_ticks: u32,
    /// Ticks in which nothing was committed although something waits for it.
    stuck_ticks: u32,
    /// Nodes that lack entries: the last that each is known to have, and for how many ticks it had no more.
    lacking: BTreeMap<NodeId, (Index, u32)>,
    /// The newest snapshot that counts.
    snapshot: Option<Shown>,
    /// No snapshot needs the log up to this sequence.
    needless: Sequence,
    /// The last base.
    base: LogBase,
    /// Nodes to which no snapshot could be sent, and for how many ticks not.
    failed: Vec<(NodeId, u32)>,
    /// A snapshot that has come.
    came: Option<Came>,
    /// The replica that takes the place of this one when the device has the base of its log.
    next: Option<(Replica, Came)>,
    /// The snapshot, by its sender and number, that the log begins with now.
    began: Option<(NodeId, u64)>,
}

/// A snapshot that has come, and is on the device.
pub struct Came {
    /// The node that has sent it.
    pub from: NodeId,
    /// The number that it has there.
    pub number: u64,
    /// The offer that it came by.
    pub offer: Box<Offer>,
    /// The base of the offer, for the replica.
    pub base: Base,
}

/// All that a shard's group begins with.
pub(crate) struct Beginning {
    pub(crate) shard: u16,
    pub(crate) replica: Replica,
    pub(crate) bodies: Bodies,
    pub(crate) core: HostEnd,
    pub(crate) store: Sender<Task>,
    /// The end of what the shard shows.
    pub(crate) applied: LogPosition,
    pub(crate) named: Option<GroupMembers>,
    pub(crate) base: LogBase,
    /// The newest snapshot.
    pub(crate) snapshot: Option<Shown>,
    /// The core has nothing, and a snapshot that shows as much is on the device.
    pub(crate) shows: Option<Sequence>,
}

impl ShardGroup {
    pub(crate) fn new(beginning: Beginning) -> ShardGroup {
        let Beginning {
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
        // Nobody else has a say: there is nothing to wait for.
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
        ShardGroup {
            shard,
            replica,
            bodies,
            core,
            store,
            part: match shows {
                None => Part::Follows { given: applied.index },
                Some(shows) => Part::Rebuilds { under_way: false, shows },
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
            stuck_ticks: 0,
            lacking: BTreeMap::new(),
            snapshot,
            needless: Sequence(0),
            base,
            failed: Vec::new(),
            came: None,
            next: None,
            began: None,
        }
    }

    /// Knowledge of it for whoever shows it.
    pub fn view(&self) -> ShardView {
        ShardView {
            role: self.standing.role,
            term: self.standing.term.0,
            leader: self.standing.leader,
            serves: matches!(self.part, Part::Leads(_)),
            committed: self.committed_sequence.get(),
            stored: self.stored_sequence.get(),
            applied: match self.part {
                Part::Follows { .. } | Part::Rebuilds { .. } => self.core.progress.applied().get(),
                _ => self.committed_sequence.get(),
            },
            elections: self.elections,
            base: self.base.index,
        }
    }

    /// True when this node is the leader.
    pub fn leads(&self) -> bool {
        self.standing.role == Role::Leader
    }

    /// The leader, as far as it is known.
    pub fn leader(&self) -> Option<NodeId> {
        self.standing.leader
    }

    /// True when the members are in force, no change is under way, and commands are executed here.
    pub fn is_settled(&self) -> bool {
        matches!(self.part, Part::Leads(_))
            && self.plans.is_empty()
            && !self.replica.membership().is_joint()
    }

    /// True while the memory of the core is made anew from the device: the node could lead and not serve.
    pub fn lacks_memory(&self) -> bool {
        matches!(self.part, Part::Rebuilds { .. })
    }

    /// Whether other nodes are to lead this shard while they can, because another shard of this node lacks memory.
    pub fn let_others_lead(&mut self, yields: bool) {
        self.yields = yields;
    }

    fn yield_or_not(&mut self) {
        self.replica.let_others_lead(self.yields || self.lacks_memory());
    }

    /// Has another node lead, where this one leads, unless that has just come to nothing.
    pub fn pass_on(&mut self, to: NodeId) {
        if !self.leads() || self.transfer_ticks.is_some() || self.declined_ticks.is_some() {
            return;
        }
        if self.is_settled() {
            self.plan(Plan::Transfer(to));
        } else if self.lacks_memory() {
            // Nothing is executed: there is nothing to wait for.
            self.transfer_ticks = self.replica.transfer(to).is_ok().then_some(0);
        }
    }

    /// True for a leader of some seconds whose device takes nothing, or has not finished anything for long: another
    /// node does better.
    pub fn is_unwell(&self) -> bool {
        let stands_still = self.device_ticks.is_some_and(|ticks| ticks > STALL_TICKS);
        self.serving_ticks > LEAD_TICKS_MIN && (self.is_full || stands_still)
    }

    /// True while the device takes what it is given, and finishes it.
    pub fn stores(&self) -> bool {
        !self.is_full && self.device_ticks.is_none_or(|ticks| ticks <= STALL_TICKS)
    }

    /// True for a node that serves, or would at once where it is elected: its memory shows what is committed, or nearly so.
    pub fn could_lead(&self) -> bool {
        let behind =
            self.committed_sequence.get().saturating_sub(self.core.progress.applied().get());
        match self.part {
            Part::Leads(_) | Part::Pauses { .. } => true,
            Part::Follows { .. } => !self.leads() && behind <= BEHIND_MAX && !self.is_exchanging(),
            Part::Resigns { .. } | Part::Rebuilds { .. } => false,
        }
    }

    /// The nodes by whose votes this one would be elected; none while a change of them is under way here.
    pub fn voters(&self) -> Option<&[NodeId]> {
        let membership = self.replica.membership();
        (!membership.is_joint()).then(|| membership.members.voters())
    }

    /// True once after the members have changed.
    pub fn take_membership_change(&mut self) -> bool {
        std::mem::take(&mut self.membership_changed)
    }

    /// Begins what needs a pause.
    pub fn plan(&mut self, plan: Plan) {
        self.plans.push_back(plan);
        self.pause();
    }

    /// The core has ended: nothing more comes of it.
    pub fn core_has_ended(&mut self) {
        if let Part::Leads(epoch) | Part::Pauses { epoch, .. } = self.part {
            self.part = Part::Pauses { epoch, is_still: true, ticks: 0 };
        }
    }

    /// Another node is to lead: the core has ended.
    pub fn hand_over(&mut self, to: NodeId) {
        if self.transfer_ticks.is_none() && self.plans.is_empty() {
            self.plans.push_back(Plan::Transfer(to));
        }
        // Without a plan it was told to go on, and it does not say any more that it is still.
        self.core_has_ended();
    }

    fn pause(&mut self) {
        if let Part::Leads(epoch) = self.part {
            self.part = Part::Pauses { epoch, is_still: false, ticks: 0 };
            self.core.order(ToCore::Pause);
        }
    }

    /// Time goes on.
    pub fn tick(&mut self) {
        if self.next.is_some() {
            return;
        }
        self.yield_or_not();
        self.replica.tick();
        self.serving_ticks = if self.is_settled() { self.serving_ticks + 1 } else { 0 };
        self.device_ticks = self.device_ticks.map(|ticks| ticks + 1);
        self.mark();
        self.try_again();
        self.look_at_devices();
        if let Part::Pauses { ticks, .. } = &mut self.part {
            *ticks += 1;
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
    }

    /// Sees which nodes store what they lack. A leader where a majority does not is of no use: its clients would wait
    /// for answers without a word. It may be elected again, and serves when all of its log is committed.
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
        let waits = matches!(self.part, Part::Leads(_) | Part::Pauses { .. })
            && self.bodies.end().index > self.committed;
        self.stuck_ticks = if waits { self.stuck_ticks + 1 } else { 0 };
        if self.stuck_ticks > STUCK_TICKS {
            tracing::error!(
                shard = self.shard,
                "nothing was committed for 5 s: the devices of a majority are full or stand still, and nobody serves \
                 until one goes on"
            );
            self.stuck_ticks = 0;
            self.replica.step_down();
        }
    }

    /// True for a node that has lacked entries for a second and got none of them on its device.
    pub fn stands_still(&self, node: NodeId) -> bool {
        self.lacking.get(&node).is_some_and(|(_, ticks)| *ticks > STILL_TICKS)
    }

    /// A core says something.
    pub fn core_says(&mut self, news: FromCore) {
        match news {
            FromCore::Frames { epoch, turn, frames } => {
                let frames = frames_of(frames);
                let len: u64 = frames.iter().map(|frame| frame.len() as u64).sum();
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
                if let Part::Pauses { epoch, is_still, .. } = &mut self.part
                    && *epoch == said
                {
                    *is_still = true;
                }
            }
            FromCore::Resigned { executed } => {
                if let Part::Resigns { committed: LogPosition { index, sequence } } = self.part {
                    // What it shows beyond that was this node's alone. What it does not show are entries that no
                    // command made, of one record each, while it was still.
                    self.part = match sequence.0.checked_sub(executed.0) {
                        Some(lacks) => Part::Follows { given: Index(index.0 - lacks) },
                        None => Part::Rebuilds { under_way: false, shows: Sequence(0) },
                    };
                }
            }
            FromCore::Snapshot { shown, needless } => {
                self.snapshot = Some(shown);
                self.needless = self.needless.max(needless);
            }
            FromCore::Broken(why) => self.stop(why),
        }
        self.append();
    }

    fn is_epoch(&self, said: Epoch) -> bool {
        matches!(self.part, Part::Leads(epoch) | Part::Pauses { epoch, .. } if epoch == said)
    }

    /// Appends what waits, as far as the log takes it.
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
                            let term = self.replica.standing().term;
                            self.lens.push_back((index, frame.len() as u64));
                            self.incoming.insert((index, term), Body::new(frame));
                            if is_last {
                                self.turns.push_back((turn, index));
                            }
                        }
                        Err(AppendError::Full(_) | AppendError::Moving(_)) => {
                            self.waiting.push_front(Waiting::Frame { turn, is_last, frame });
                            return;
                        }
                        Err(AppendError::NotLeader(_)) => {
                            self.core.progress.settled(frame.len() as u64);
                        }
                    }
                }
            }
        }
    }

    /// A message of another node, with the frames of its entries.
    pub fn receive(&mut self, message: Message, bodies: Vec<Body>) -> Result<(), String> {
        if self.next.is_some() {
            // Soon it will be another log: the sender sends it again.
            return Ok(());
        }
        // A leader that has been overtaken is told so, whatever it sends: its frames count for nothing.
        if message.term() >= self.replica.standing().term {
            self.take_in(&message, bodies)?;
        }
        self.yield_or_not();
        match self.replica.receive(message) {
            Ok(()) => Ok(()),
            // It was removed a moment ago, or is not known here yet. One that goes on is refused where it connects.
            Err(error @ ReceiveError::Stranger(_)) => {
                tracing::debug!(shard = self.shard, "a message was not taken: {error}");
                Ok(())
            }
            Err(error) => {
                if let ReceiveError::Ahead { .. } = error {
                    // A device has lost what it had stored, or an older state of it was put back.
                    self.broken = Some(Broken::Retires(error.to_string()));
                }
                Err(error.to_string())
            }
        }
    }

    /// Keeps the frames of a message for the entries that they are of.
    fn take_in(&mut self, message: &Message, bodies: Vec<Body>) -> Result<(), String> {
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

    /// Has this node end, unless there is a reason already.
    fn stop(&mut self, why: impl Into<String>) {
        self.broken.get_or_insert_with(|| Broken::Stops(why.into()));
    }

    /// The store thread says something.
    pub fn stored(&mut self, stored: Stored) {
        match stored {
            Stored::Begun => self.begin_anew(),
            Stored::Done { ticket, last } => {
                self.is_full = false;
                self.device_ticks = (Some(ticket) < self.ordered).then_some(0);
                let left = match self.cut {
                    Some((cut, left)) if ticket < cut => left,
                    _ => {
                        self.cut = None;
                        Sequence(u64::MAX)
                    }
                };
                if let Some(last) = last {
                    self.stored_sequence = last.min(left);
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
    }

    /// Does what has come of all inputs.
    pub fn act(&mut self, outlet: &mut impl Outlet) {
        if self.next.is_some() {
            return;
        }
        if let Some((from, number)) = self.began.take() {
            outlet.renewed(self.shard);
            outlet.answer(self.shard, from, number, Word::Done);
        }
        loop {
            let before = LogPosition { index: self.committed, sequence: self.committed_sequence };
            let effects = self.replica.effects();
            let is_idle = effects.is_empty() && effects.committed == self.committed;
            self.take(effects, before, outlet);
            if is_idle {
                break;
            }
            self.append();
        }
        self.incoming.clear();
        self.go_on(outlet);
        self.shorten(outlet);
        self.exchange(outlet);
    }

    fn take(&mut self, effects: Effects, before: LogPosition, outlet: &mut impl Outlet) {
        let Effects { send, store, committed, standing, membership, reads, behind } = effects;
        if let Some(store) = store {
            self.store(store);
        }
        for message in send {
            self.send(&message, outlet);
        }
        for node in behind {
            match self.offer(outlet) {
                Some(offer) => outlet.catch_up(self.shard, node, offer),
                None => self.not_caught_up(node, "no snapshot is there"),
            }
        }
        if let Some(standing) = standing {
            self.stand(standing, before);
        }
        self.membership_changed |= membership.is_some();
        for ticket in reads {
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
        let vote = vote
            .map(|vote| Vote { term: vote.term.0, node: vote.candidate.map_or(0, NodeId::get) });
        if let Some(from) = truncate_from {
            if from <= self.committed {
                self.stop(format!("entry {} is committed and was to be cut off", from.0));
                return;
            }
            self.bodies.truncate(from);
            let left = self.bodies.end().sequence;
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
        // The device keeps all up to `sure` for ever: a log that ends before it has lost what a client was told.
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
        self.ordered = Some(ticket);
        self.quiet_ticks = 0;
        self.device_ticks.get_or_insert(0);
        if self.store.send(Task::Store(order)).is_err() {
            self.stop("the thread of the log has ended");
        }
    }

    fn keep(&mut self, entry: &Entry, committed: Index) -> Result<Body, String> {
        let body = self.incoming.remove(&(entry.index, entry.term));
        let mark = Mark { synced: self.stored_sequence, committed };
        let body = self.bodies.push(entry, body, mark)?;
        if matches!(entry.kind, Kind::Members(_)) {
            self.named = self.bodies.members(&body).or(self.named.take());
            self.membership_changed = true;
        }
        Ok(body)
    }

    fn send(&mut self, message: &Message, outlet: &mut impl Outlet) {
        let is_append = !message.entries().is_empty();
        if is_append && message.term() < self.replica.standing().term {
            // It was made before this node heard of a newer term: these entries may be others here by now.
            return;
        }
        let mut bodies = Vec::with_capacity(message.entries().len());
        for entry in message.entries() {
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
            bodies.push(body);
        }
        if !outlet.send(self.shard, message, bodies) && is_append {
            self.replica.unreachable(message.to());
        }
    }

    /// The last sequence of an entry.
    fn last_of(&self, index: Index) -> Sequence {
        match self.bodies.behind(index) {
            Some(end) => end.sequence,
            // The next one's frame is not kept either, or is the first that is.
            None => Sequence(self.sequence_of(index.next()).0 - 1),
        }
    }

    /// The first sequence of an entry whose frame is not kept.
    fn sequence_of(&self, index: Index) -> Sequence {
        let mut behind = index;
        // Entries that no command made have one record each.
        while behind <= self.bodies.before().index {
            if let Some(Entry { kind: Kind::Frame(descriptor), .. }) = self.replica.entry(behind) {
                return Sequence(descriptor.first - (behind.0 - index.0));
            }
            behind = behind.next();
        }
        Sequence(self.bodies.before().sequence.next().0.saturating_sub(behind.0 - index.0))
    }

    fn stand(&mut self, standing: Standing, committed: LogPosition) {
        if standing.leader.is_some() && standing.leader != self.standing.leader {
            self.elections += 1;
        }
        let led = self.standing.role == Role::Leader;
        let is_other = standing.role != Role::Leader || standing.term != self.standing.term;
        self.standing = standing;
        if led && is_other {
            let waiting = self.waiting.drain(..).map(|waiting| match waiting {
                Waiting::Frame { frame, .. } => frame.len() as u64,
                Waiting::Read { .. } => 0,
            });
            let lens = waiting.sum::<u64>() + self.lens.drain(..).map(|(_, len)| len).sum::<u64>();
            self.core.progress.settled(lens);
            self.turns.clear();
            self.reads.clear();
            self.plans.clear();
            (self.transfer_ticks, self.declined_ticks) = (None, None);
            if matches!(self.part, Part::Leads(_) | Part::Pauses { .. }) {
                self.part = Part::Resigns { committed };
                self.core.order(ToCore::Resign);
            }
        }
    }

    fn commit(&mut self, committed: Index) {
        if committed > self.committed {
            let Some(end) = self.bodies.behind(committed) else { return };
            self.committed = committed;
            self.committed_sequence = end.sequence;
            self.stuck_ticks = 0;
            let mut settled = 0;
            while let Some(&(index, len)) = self.lens.front()
                && index <= committed
            {
                settled += len;
                self.lens.pop_front();
            }
            if settled > 0 {
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
        let visible = self.committed_sequence.min(self.stored_sequence);
        if visible != self.core.progress.committed() {
            self.core.progress.commit(visible);
            (self.core.ring)();
        }
    }

    /// Gives the core what it lacks, and its part.
    fn go_on(&mut self, outlet: &mut impl Outlet) {
        match self.part {
            Part::Follows { given } => {
                let given = self.give(given, outlet);
                self.part = Part::Follows { given };
                self.bodies.evict(given);
                if self.may_serve() && given == self.committed {
                    self.epochs += 1;
                    let epoch = Epoch(self.epochs);
                    let End { sequence, at, .. } = self.bodies.end();
                    self.core.order(ToCore::Lead { epoch, sequence, at });
                    self.part = Part::Leads(epoch);
                }
            }
            Part::Leads(_) => {
                self.bodies.evict(self.committed);
                if !self.plans.is_empty() {
                    self.pause();
                }
            }
            Part::Pauses { epoch, is_still: true, .. } if self.may_serve() => {
                self.carry_on(epoch);
            }
            Part::Rebuilds { under_way: false, shows } => {
                self.bodies.evict(self.committed);
                let sequence = self.committed_sequence;
                if self.stored_sequence >= sequence && sequence >= shows {
                    self.part = Part::Rebuilds { under_way: true, shows };
                    let number = sequence.get();
                    tracing::info!(shard = self.shard, sequence = number, "memory is made anew");
                    outlet.rebuild(self.shard, LogPosition { index: self.committed, sequence });
                }
            }
            Part::Pauses { .. } | Part::Resigns { .. } | Part::Rebuilds { .. } => {}
        }
    }

    /// True when this node leads, and all of its log is committed: nothing takes a sequence by itself.
    fn may_serve(&self) -> bool {
        let begins = self.standing.begins.is_some_and(|begins| begins <= self.committed);
        self.leads()
            && begins
            && self.waiting.is_empty()
            && self.bodies.end().index == self.committed
            && self.transfer_ticks.is_none()
            && !self.replica.is_changing()
    }

    /// The core is still: the next plan, or the end of the pause.
    fn carry_on(&mut self, epoch: Epoch) {
        match self.plans.pop_front() {
            None => {
                let End { sequence, at, .. } = self.bodies.end();
                self.core.order(ToCore::Resume { sequence, at });
                self.part = Part::Leads(epoch);
            }
            Some(Plan::Transfer(to)) => {
                // Until it has ended the core is still.
                self.transfer_ticks = self.replica.transfer(to).is_ok().then_some(0);
            }
            Some(Plan::Change { members, record }) => {
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                let body = self.bodies.group_frame(&bytes);
                match self.replica.change(members.clone()) {
                    Ok(index) => {
                        let term = self.standing.term;
                        self.incoming.insert((index, term), Body::new(body));
                    }
                    Err(ChangeError::Busy) => {
                        self.plans.push_front(Plan::Change { members, record });
                    }
                    Err(error) => tracing::warn!("the members were not changed: {error}"),
                }
            }
        }
    }

    /// Gives a core that follows what is committed. Returns the last index that it has.
    fn give(&mut self, mut given: Index, outlet: &mut impl Outlet) -> Index {
        // What a core applies is never taken back.
        assert!(given <= self.committed, "a core has applied what is not committed");
        while given < self.committed {
            let (mut frames, mut len) = (Vec::new(), 0);
            while given < self.committed && len < APPLY_LEN {
                let body = match self.bodies.get(given.next()) {
                    Some(body) => Some(body.clone()),
                    None => outlet.read(self.shard, self.sequence_of(given.next())),
                };
                let Some(body) = body else {
                    self.stop(format!("entry {} cannot be read", given.next().0));
                    return given;
                };
                len += body.len();
                frames.push(body);
                given = given.next();
            }
            self.core.order(ToCore::Apply(frames));
        }
        given
    }

    /// The shard was made anew, up to this index.
    pub fn rebuilt(&mut self, outcome: Result<Remade, String>, index: Index) {
        match outcome {
            Ok(remade) => {
                self.core.order(ToCore::Replace(remade));
                self.part = Part::Follows { given: index };
            }
            Err(why) => self.stop(why),
        }
    }

    /// A snapshot that was sent to a node has come to its end there.
    pub fn caught_up(&mut self, node: NodeId, index: Index) {
        if self.leads() {
            tracing::info!(
                shard = self.shard,
                node = %node,
                index = index.get(),
                "a snapshot has been taken over"
            );
            self.replica.caught_up(node, index);
        }
    }

    /// A node that is behind gets no snapshot now: it is tried again.
    pub fn not_caught_up(&mut self, node: NodeId, why: &str) {
        tracing::warn!(
            shard = self.shard,
            node = %node,
            "no snapshot was sent to a node that is behind: {why}"
        );
        self.failed.push((node, 0));
    }

    /// Says behind the last entry that it is on the device, and what is committed, when nothing has followed for a while.
    fn mark(&mut self) {
        let End { index, sequence, .. } = self.bodies.end();
        self.quiet_ticks += 1;
        let mark = Mark { synced: sequence, committed: self.committed };
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

    /// The newest snapshot with the base behind which the log goes on; none where there is none.
    fn offer(&self, outlet: &mut impl Outlet) -> Option<Offer> {
        let Shown { begun, as_of } = self.snapshot?;
        let base = self.base_at(Sequence(begun), outlet).filter(|base| base.sequence <= begun)?;
        Some(Offer {
            term: self.standing.term.0,
            base,
            begun,
            as_of,
            len: 0,
            members: self.named.clone(),
        })
    }

    /// The base behind the last entry that has no record behind a sequence, or behind one before.
    fn base_at(&self, sequence: Sequence, outlet: &mut impl Outlet) -> Option<LogBase> {
        let (mut low, mut high) = (self.base.index, self.committed.next().0);
        // The last sequence of the entry `low` is not behind it, that of `high` is.
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
        if index.0 <= self.base.index {
            return Some(self.base.clone());
        }
        let end = match self.bodies.behind(index) {
            Some(end) => end,
            None => {
                let body = outlet.read(self.shard, self.sequence_of(index))?;
                self.bodies.end_behind(&body).filter(|end| end.index == index)?
            }
        };
        Some(base_of(&base, end))
    }

    /// Forgets entries that nothing needs.
    fn shorten(&mut self, outlet: &mut impl Outlet) {
        if self.needless <= Sequence(self.base.sequence) || outlet.is_sending(self.shard) {
            return;
        }
        let Some(base) = self.base_at(self.needless, outlet) else { return };
        self.needless = Sequence(0);
        if base.index <= self.base.index {
            return;
        }
        self.replica.compact(Index(base.index));
        tracing::info!(shard = self.shard, entry = base.index, "the log was made shorter");
        self.base = base.clone();
        if self.store.send(Task::Forget(base)).is_err() {
            self.stop("the thread of the log has ended");
        }
    }

    /// True from when a snapshot has come until the log begins with it: another one that is offered meanwhile would
    /// take its file away.
    pub fn is_exchanging(&self) -> bool {
        self.came.is_some() || self.next.is_some()
    }

    /// A snapshot has come.
    pub fn take_snapshot(&mut self, came: Came) {
        self.came = Some(came);
    }

    /// Begins the exchange of the log for one that begins with a snapshot that has come.
    fn exchange(&mut self, outlet: &mut impl Outlet) {
        let is_idle =
            matches!(self.part, Part::Follows { .. } | Part::Rebuilds { under_way: false, .. });
        let Some(came) =
            self.came.take_if(|came| is_idle && came.offer.term <= self.standing.term.0)
        else {
            return;
        };
        match self.successor(&came.base) {
            Ok(replica) => {
                tracing::info!(
                    shard = self.shard,
                    entry = came.offer.base.index,
                    "a snapshot takes the place of the log"
                );
                let task = Task::Begin(came.offer.base.clone());
                self.next = Some((replica, came));
                if self.store.send(task).is_err() {
                    self.stop("the thread of the log has ended");
                }
            }
            Err(ReplaceError::Busy) => self.came = Some(came),
            // The leader did not know.
            Err(ReplaceError::Present(_)) => {
                outlet.answer(self.shard, came.from, came.number, Word::Done)
            }
            Err(error) => {
                let word = Word::Refused(error.to_string());
                outlet.answer(self.shard, came.from, came.number, word);
            }
        }
    }

    fn successor(&self, base: &Base) -> Result<Replica, ReplaceError> {
        let (base, committed) = (base.clone(), base.index);
        // The vote is the one that this replica has stored.
        let vote = scurry_replica::Vote::default();
        self.replica.replace(Recovered { vote, base, entries: Vec::new(), committed })
    }

    /// The device has the base of the log that takes the place of this one.
    fn begin_anew(&mut self) {
        let Some((replica, came)) = self.next.take() else { return };
        self.began = Some((came.from, came.number));
        let Offer { base, begun, as_of, members, .. } = *came.offer;
        let end = End {
            index: Index(base.index),
            sequence: Sequence(base.sequence),
            at: Time(base.at),
            chain: base.chain,
        };
        self.replica = replica;
        self.bodies = self.bodies.begun_at(end);
        self.incoming.clear();
        (self.committed, self.committed_sequence) = (end.index, end.sequence);
        (self.stored_sequence, self.cut) = (end.sequence, None);
        self.marked = Mark { synced: end.sequence, committed: end.index };
        self.snapshot = Some(Shown { begun, as_of });
        self.needless = Sequence(0);
        self.base = base;
        self.part = Part::Rebuilds { under_way: false, shows: Sequence(as_of) };
        self.named = members.or(self.named.take());
        self.membership_changed = true;
    }

    /// The last entry that a node is known to have, where this node leads.
    pub fn lag(&self, node: NodeId) -> Option<u64> {
        let last = self.replica.last().0;
        (self.leads()).then(|| self.replica.matched(node).map(|has| last - has.0.min(last)))?
    }
}

fn base_of(base: &Base, end: End) -> LogBase {
    let numbers = |nodes: &[NodeId]| nodes.iter().map(|node| node.get()).collect();
    LogBase {
        index: base.index.0,
        term: base.term.0,
        sequence: end.sequence.get(),
        at: end.at.0,
        chain: end.chain,
        voters: numbers(base.members.voters()),
        learners: numbers(base.members.learners()),
    }
}

/// The base of a replica's log, as it was written down.
pub fn base_from(base: &LogBase) -> Result<Base, String> {
    let nodes = |numbers: &[u64]| -> Result<Vec<NodeId>, String> {
        let node =
            |number: &u64| NodeId::new(*number).ok_or_else(|| "a base names node 0".to_owned());
        numbers.iter().map(node).collect()
    };
    let members = Members::new(nodes(&base.voters)?, nodes(&base.learners)?);
    let members = members.map_err(|error| error.to_string())?;
    Ok(Base { index: Index(base.index), term: Term(base.term), members })
}

#[cfg(test)]
mod tests;
