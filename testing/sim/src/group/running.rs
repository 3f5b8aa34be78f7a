//! The processes of a node: the group of its shard, its core, and the work of its threads.

use super::asks::Reply;
use super::counts::GroupCounts;
use super::sending::{Receiving, Sending};
use super::truth::{CommittedHistory, Leadership};
use crate::job::SnapshotJob;
use crate::reach::REACH;
use crate::world::{CheckResult, World};
use crate::{SimDisk, SimFile, Trace};
use scurry_codec::LogFormat;
use scurry_consensus::replica::{ByteCount, Index, Message, NodeId, Sequence, Settings, Term};
use scurry_consensus::shard::{
    CoreEnd, DigestReport, FrameBytes, FromCore, GroupCore, HostActions, LogDevice, LogPosition,
    RebuiltShard, ReceivedSnapshot, ShardFiles, ShardGroup, ShardGroupParts, SnapshotMessage,
    SnapshotOffer, Stored, Task, TaskOutcome, ToCore, Verdict, begin, recover_to,
};
use scurry_engine::{
    Config, Disk, LogBallot, LogFollower, LogId, LogReach, LogRetention, LogWriter, RequiredExtent,
    Shard, shown_by_snapshots, survey_group,
};
use scurry_ledger::Time;
use scurry_replicas::{Network, Packet};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The name of the file with the vote. A server has it beside the directory of the log, like the reach.
pub(super) const BALLOT: &str = "ballot";

/// Begins a packet with a report. No message has such a length.
const REPORT: &[u8] = &[0xff; 4];
/// Begins a packet with what a leader has committed.
const COMMITTED: &[u8] = &[0xfe; 4];

/// An input of the host's thread, except messages of cores.
pub(super) enum Input {
    Stored(Stored),
    /// A shard was recovered up to this entry, or the recovery failed.
    Rebuilt {
        index: Index,
        outcome: Result<RebuiltShard, String>,
    },
    /// A received snapshot is complete and on the device.
    Came(Box<ReceivedSnapshot>),
    /// The sending of a snapshot has ended. The index is the entry at which the receiver's log now begins.
    Sent {
        to: NodeId,
        outcome: Result<Index, String>,
    },
}

/// The processes of a node while it runs.
pub(super) struct NodeProcess {
    pub(super) group: ShardGroup,
    pub(super) device: LogDevice<SimDisk>,
    tasks: Receiver<Task>,
    next_task: Option<Task>,
    /// The device has failed, and executes no more tasks.
    has_ended: bool,
    reader: LogFollower<SimDisk>,
    /// Orders from the host that the core has not received yet.
    orders: Receiver<ToCore>,
    to_core: Sender<ToCore>,
    /// Orders that the core is given in its next turn.
    waiting_orders: VecDeque<ToCore>,
    /// The terms of leaderships of which the core was told, but which it has not taken up yet.
    terms: VecDeque<u64>,
    pub(super) from_core: Receiver<FromCore>,
    pub(super) inputs: VecDeque<Input>,
    pub(super) core: GroupCore,
    pub(super) shard: Shard,
    /// True while the shard is empty, or while it may show executed records that are not committed.
    pub(super) is_in_doubt: bool,
    /// The last time that the core has shown, milliseconds.
    pub(super) latest: i64,
    /// The leadership of the core and the models of its shard; None while it does not lead.
    pub(super) lead: Option<(Leadership, World)>,
    pub(super) held: VecDeque<(u64, Reply)>,
    pub(super) job: Option<SnapshotJob>,
    /// The position up to which the shard is to be recovered; None if no recovery waits.
    pub(super) rebuild: Option<LogPosition>,
    pub(super) sending: BTreeMap<NodeId, Sending>,
    pub(super) receiving: Option<Receiving>,
    /// The sender and the number of the last received snapshot that is in use.
    pub(super) received: Option<(NodeId, u64)>,
    /// The number of the last snapshot that this node offered. Each start of the node uses new ones.
    number: u64,
    /// The index up to which its committed entries were compared with the truth.
    sure: u64,
}

/// The parameters of a start.
pub(super) struct StartParameters<'a> {
    pub(super) log: LogId,
    pub(super) config: Config,
    pub(super) founder: NodeId,
    pub(super) settings: Settings,
    pub(super) segment_len: u64,
    pub(super) truth: &'a mut CommittedHistory,
}

impl NodeProcess {
    /// Starts a node with the files on its disk, as a server does.
    pub(super) fn start(
        disk: &SimDisk,
        starts: u64,
        terms: StartParameters<'_>,
    ) -> Result<NodeProcess, String> {
        let StartParameters { log, config, founder, settings, segment_len, truth } = terms;
        let mut disk = disk.clone();
        let text = |error: std::io::Error| error.to_string();
        let note = |error: scurry_engine::NoteError| error.to_string();
        let reach =
            LogReach::<SimFile>::open(disk.open(REACH).map_err(text)?, log).map_err(note)?;
        let ballot = LogBallot::open(disk.open(BALLOT).map_err(text)?, log).map_err(note)?;
        let least = RequiredExtent { sequence: reach.sequence(), snapshot: false };
        let found = survey_group(&mut disk, log, least).map_err(|error| error.to_string())?;
        let at = found.at.0;
        let writer =
            LogWriter::new(disk.clone(), log, segment_len).in_format(LogFormat::Replicated);
        let files = ShardFiles {
            log,
            found,
            ballot,
            writer: writer.with_reach(reach),
            reader: LogFollower::new(disk.clone(), log),
            snapshots: shown_by_snapshots(&mut disk, log).map_err(text)?,
        };
        let LogPosition { index: committed, sequence } = files.committed();
        let (committed, sequence) = (committed.get(), sequence.get());
        let is_in_doubt = files.shows().is_some();
        // If the snapshots can be used only after further entries are committed, the shard stays empty until then.
        let (shard, since) = match files.shows() {
            None => {
                let recovered = recover_to(&mut disk, log, config, Sequence(sequence));
                let RebuiltShard { shard, at } = recovered.map_err(|error| error.to_string())?;
                (*shard, at)
            }
            Some(_) => {
                let mut shard = Shard::new(config);
                shard.keep_journal_in(log, LogFormat::Replicated, sequence + 1);
                (shard, Time(at))
            }
        };
        let begun = begin(0, files, settings, founder, LogRetention::Nothing, Arc::new(|| {}))?;
        let ShardGroupParts { group, device, tasks, reader, orders, progress } = begun;
        let knows = group.replica.committed().0;
        if knows < committed {
            return Err(format!("its files show entry {committed}, and its replica {knows}"));
        }
        let (to_core, core_orders) = channel();
        let (tell, from_core) = channel();
        let host = Box::new(move |news| tell.send(news).is_ok());
        let base = group.replica.base().index.0;
        let mut running = NodeProcess {
            core: GroupCore::new(CoreEnd::new(host, core_orders, progress), log),
            group,
            device,
            tasks,
            next_task: None,
            has_ended: false,
            reader,
            orders,
            to_core,
            waiting_orders: VecDeque::new(),
            terms: VecDeque::new(),
            from_core,
            inputs: VecDeque::new(),
            shard,
            is_in_doubt,
            latest: at.max(since.0),
            lead: None,
            held: VecDeque::new(),
            job: None,
            rebuild: None,
            sending: BTreeMap::new(),
            receiving: None,
            received: None,
            number: starts << 32,
            sure: base,
        };
        running.tell(truth)?;
        Ok(running)
    }

    /// Compares the entries that the replica considers committed with the truth.
    fn tell(&mut self, truth: &mut CommittedHistory) -> CheckResult {
        let replica = &self.group.replica;
        let committed = replica.committed().min(replica.last()).0;
        truth.commits(replica, self.sure, committed)?;
        self.sure = self.sure.max(committed);
        Ok(())
    }

    /// Receives a message of another node, with its frames, or its report about its memory.
    pub(super) fn receive(&mut self, from: NodeId, bytes: &[u8], trace: &Trace) -> CheckResult {
        if let Some(report) = bytes.strip_prefix(REPORT) {
            let report = DigestReport::decode(report).ok_or("a report that no node has sent")?;
            self.group.on_report(from, report);
            return Ok(());
        }
        if let Some(numbers) = bytes.strip_prefix(COMMITTED) {
            let numbers: Vec<u64> = numbers
                .chunks_exact(8)
                .filter_map(|number| Some(u64::from_le_bytes(number.try_into().ok()?)))
                .collect();
            self.group.on_committed(Term(numbers[0]), Sequence(numbers[1]));
            return Ok(());
        }
        let (message, bodies) = unpack(bytes).ok_or("a packet that nobody has sent")?;
        let message = Message::decode(&message).map_err(|error| error.to_string())?;
        match self.group.receive(message, bodies) {
            // A group that misses entries which it had stored reports that itself.
            Err(why) if self.group.broken.is_some() => {
                trace.add(format!("not taken: {why}"));
                Ok(())
            }
            // No other error is legitimate: the network of the simulator does not change bytes.
            Err(why) => Err(format!("{} refuses a message: {why}", self.group.replica.id())),
            Ok(()) => Ok(()),
        }
    }

    /// Carries out the effects of the host's inputs, and passes its orders to the core.
    pub(super) fn act(
        &mut self,
        network: &mut Network,
        truth: &mut CommittedHistory,
        counts: &mut GroupCounts,
    ) -> CheckResult {
        let mut ways = NodeOutlet {
            id: self.group.replica.id(),
            network,
            reader: &mut self.reader,
            number: &mut self.number,
            sending: &mut self.sending,
            receiving: &mut self.receiving,
            received: &mut self.received,
            rebuild: &mut self.rebuild,
        };
        let before = ways.received.as_ref().map(|(_, number)| *number);
        self.group.act(&mut ways);
        counts.caught_up += u64::from(before != self.received.map(|(_, number)| number));
        while let Ok(order) = self.orders.try_recv() {
            match &order {
                ToCore::Lead { .. } => {
                    counts.leads += 1;
                    self.is_in_doubt = false;
                    self.terms.push_back(self.group.view().term.get());
                }
                ToCore::Resign => counts.resigned += 1,
                ToCore::Replace(_) => {
                    counts.replaced += 1;
                    self.is_in_doubt = false;
                }
                ToCore::Apply(_) => self.is_in_doubt = false,
                ToCore::Await => self.is_in_doubt = true,
                ToCore::Pause | ToCore::Resume { .. } | ToCore::Digest(_) | ToCore::Copy(_) => {}
            }
            self.waiting_orders.push_back(order);
        }
        self.tell(truth)
    }

    /// Gives the core its orders up to the next one to write a digest, or that one alone. Returns what
    /// [`GroupCore::carry_out_orders`] does, and whether a digest was written; None when no order waits.
    pub(super) fn carry_out_some(&mut self, now: Time) -> Option<(bool, bool)> {
        let is_digest = |order: &ToCore| matches!(order, ToCore::Digest(_));
        let first = self.waiting_orders.pop_front()?;
        let alone = is_digest(&first);
        let _ = self.to_core.send(first);
        while let Some(order) =
            self.waiting_orders.pop_front_if(|order| !alone && !is_digest(order))
        {
            let _ = self.to_core.send(order);
        }
        let before = self.shard.sequence();
        let is_void = self.core.carry_out_orders(&mut self.shard, now);
        Some((is_void, alone && self.shard.sequence() > before))
    }

    /// Returns the term of the leadership that the core takes up now.
    pub(super) fn next_term(&mut self) -> Option<u64> {
        self.terms.pop_front()
    }

    /// Reports whether this is the snapshot that the node is receiving now.
    pub(super) fn receives(&self, came: &ReceivedSnapshot) -> bool {
        let receiving = self.receiving.as_ref();
        receiving.is_some_and(|r| (r.from, r.number) == (came.from, came.number))
    }

    /// Reports whether the device has a task.
    pub(super) fn has_task(&mut self) -> bool {
        if self.next_task.is_none() && !self.has_ended {
            self.next_task = self.tasks.try_recv().ok();
        }
        self.next_task.is_some()
    }

    /// Executes the device's next task, together with up to `orders` more orders that wait.
    pub(super) fn work(&mut self, orders: usize) {
        if !self.has_task() {
            return;
        }
        let Some(task) = self.next_task.take() else { return };
        let (tasks, mut left) = (&self.tasks, orders);
        let more = || {
            left = left.checked_sub(1)?;
            tasks.try_recv().ok()
        };
        let told = std::cell::RefCell::new(Vec::new());
        let tell = |stored| {
            told.borrow_mut().push(Input::Stored(stored));
            true
        };
        match self.device.work(task, more, &tell, &|| {}) {
            TaskOutcome::GoesOn(next) => self.next_task = next,
            TaskOutcome::Ends => self.has_ended = true,
        }
        self.inputs.extend(told.into_inner());
    }
}

/// The group's access to the network, the files and the threads of its node.
struct NodeOutlet<'a> {
    id: NodeId,
    network: &'a mut Network,
    reader: &'a mut LogFollower<SimDisk>,
    number: &'a mut u64,
    sending: &'a mut BTreeMap<NodeId, Sending>,
    receiving: &'a mut Option<Receiving>,
    received: &'a mut Option<(NodeId, u64)>,
    rebuild: &'a mut Option<LogPosition>,
}

impl HostActions for NodeOutlet<'_> {
    fn send(&mut self, _: u16, message: &Message, bodies: Vec<FrameBytes>) -> bool {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let bytes = pack(&bytes, &bodies);
        self.network.send(Packet { from: self.id, to: message.to(), bytes });
        true
    }

    fn room(&self, _: NodeId) -> ByteCount {
        ByteCount(self.network.room())
    }

    fn read(&mut self, _: u16, sequence: Sequence) -> Option<FrameBytes> {
        if self.reader.next() != sequence.get() && !self.reader.seek(sequence.get()).ok()? {
            return None;
        }
        let frame = self.reader.raw().ok()??;
        Some(FrameBytes::new(frame.to_vec()))
    }

    fn renewed(&mut self, _: u16) {
        self.reader.renew();
    }

    fn catch_up(&mut self, _: u16, to: NodeId, offer: SnapshotOffer) {
        *self.number += 1;
        self.sending.insert(to, Sending::new(*self.number, offer));
    }

    fn is_sending(&self, _: u16) -> bool {
        !self.sending.is_empty()
    }

    fn answer(&mut self, _: u16, to: NodeId, number: u64, word: SnapshotMessage) {
        // Any other answer than Done refuses the snapshot.
        if let Some(receiving) = self.receiving.take_if(|r| (r.from, r.number) == (to, number))
            && word != SnapshotMessage::Done
        {
            *self.receiving = Some(receiving.refused());
        }
        if word == SnapshotMessage::Done {
            *self.received = Some((to, number));
        }
    }

    fn report(&mut self, _: u16, to: NodeId, report: &DigestReport) {
        let bytes = [REPORT, &report.encode()].concat();
        self.network.send(Packet { from: self.id, to, bytes });
    }

    fn tell_committed(&mut self, _: u16, to: NodeId, term: Term, committed: Sequence) {
        let numbers = [term.get().to_le_bytes(), committed.get().to_le_bytes()];
        let bytes = [COMMITTED, numbers.as_flattened()].concat();
        self.network.send(Packet { from: self.id, to, bytes });
    }

    fn keep_copies(&mut self, _: u16, _: &Verdict) {}

    fn rebuild(&mut self, _: u16, to: LogPosition) {
        *self.rebuild = Some(to);
    }
}

/// Encodes a message and its frames, each after its length.
fn pack(message: &[u8], bodies: &[FrameBytes]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let parts = [message].into_iter().chain(bodies.iter().map(|body| &body[..]));
    for part in parts {
        bytes.extend(u32::try_from(part.len()).expect("short").to_le_bytes());
        bytes.extend(part);
    }
    bytes
}

fn unpack(mut bytes: &[u8]) -> Option<(Vec<u8>, Vec<FrameBytes>)> {
    let mut parts = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk() {
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        let (part, rest) = rest.split_at_checked(len)?;
        parts.push(part.to_vec());
        bytes = rest;
    }
    let mut parts = parts.into_iter();
    Some((parts.next()?, parts.map(FrameBytes::new).collect()))
}
