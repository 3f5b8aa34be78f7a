//! The host thread, which runs the groups of all shards. It takes the messages of cores, log threads and other nodes,
//! ticks, and carries out the effects. It never waits for a device, so that a slow disk cannot cause an election.

use crate::catch_up::{self, News, Receiving, Sending, SnapshotPart};
use crate::changes::Changes;
use crate::clock::Clock;
use crate::clocks::APART_MS_MAX;
use crate::input::Input;
use crate::member;
use crate::membership::{LAG_MAX, Membership, OperatorRequest};
use crate::operator_requests::OperatorRequests;
use crate::peers::{CatchUp, Inbound, PROTOCOL_HIGHEST, Packet, Peers, Subject};
use crate::view::{Member, View};
use scurry_consensus::replica::{ByteCount, Message, NodeId, Sequence, Term};
use scurry_consensus::shard::{
    DigestReport, FrameBytes, Health, HostActions, LogPosition, Plan, RebuiltShard,
    ReceivedSnapshot, RequiredVersion, ShardGroup, SnapshotMessage, SnapshotOffer, StopReason,
    Verdict, base_from,
};
use scurry_disk::Directory;
use scurry_engine::{LogFollower, LogId};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Most inputs that are taken before the groups act on them.
const INPUTS_MAX: usize = 512;
/// Ticks for which a stopping node waits for another node to become leader.
const STOP_TICKS_MAX: u32 = 40;
/// Ticks after which this node sends its health to the other nodes again. A change is sent at the next tick.
const HEALTH_TICKS: u32 = 3;

/// Least ticks between two passes in which the memory of the nodes is compared: 10 s.
const DIGEST_ROUND_TICKS: u32 = 333;

/// Recovers a shard up to a sequence.
pub(crate) type Rebuild = Arc<dyn Fn(u16, Sequence) -> Result<RebuiltShard, String> + Send + Sync>;

/// Durably marks the directory as retired, with the reason, so that no start uses it again.
pub(crate) type Retire = Box<dyn Fn(&str) -> Result<(), String> + Send>;

/// Keeps a text under a name in the directory, for a person to look at.
pub(crate) type Keep = Box<dyn Fn(&str, &str) -> Result<(), String> + Send>;

/// Opens the directory of a shard once more.
pub(crate) type Files = Arc<dyn Fn(u16) -> io::Result<Directory> + Send + Sync>;

/// I/O of the groups: connections, log files and threads.
pub(super) struct GroupIo {
    pub(super) peers: Peers,
    pub(super) readers: Vec<LogFollower<Directory>>,
    pub(super) logs: Vec<LogId>,
    pub(super) files: Files,
    /// Snapshots that are being sent, by shard and receiving node.
    pub(super) sending: BTreeMap<(u16, NodeId), Sending>,
    /// Snapshots that are being received, by shard.
    pub(super) receiving: BTreeMap<u16, Receiving>,
    /// The sender and number of the snapshot that was installed last, by shard.
    pub(super) received: BTreeMap<u16, (NodeId, u64)>,
    /// The number of the last snapshot that was offered. It starts at a random value.
    pub(super) number: u64,
    pub(super) rebuild: Rebuild,
    pub(super) keep: Keep,
    pub(super) inbox: Sender<Input>,
}

impl HostActions for GroupIo {
    fn send(&mut self, shard: u16, message: &Message, bodies: Vec<FrameBytes>) -> bool {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let packet = Packet { subject: Subject::Replica, shard, message: bytes, bodies };
        self.peers.send(message.to(), packet)
    }

    fn room(&self, to: NodeId) -> ByteCount {
        self.peers.room(to)
    }

    fn read(&mut self, shard: u16, sequence: Sequence) -> Option<FrameBytes> {
        let reader = self.readers.get_mut(usize::from(shard))?;
        if reader.next() != sequence.get() && !reader.seek(sequence.get()).ok()? {
            return None;
        }
        let frame = reader.raw().ok()??;
        Some(FrameBytes::new(frame.to_vec()))
    }

    fn renewed(&mut self, shard: u16) {
        if let Some(reader) = self.readers.get_mut(usize::from(shard)) {
            reader.renew();
        }
    }

    fn catch_up(&mut self, shard: u16, to: NodeId, offer: SnapshotOffer) {
        // The number tells apart two attempts to send a snapshot to the same node.
        self.number = self.number.wrapping_add(1);
        tracing::info!(shard, node = %to, sequence = offer.begun.get(), "a snapshot is sent");
        let (inbox, number) = (self.inbox.clone(), self.number);
        let tell = move |news| inbox.send(Input::CatchUp(shard, news)).is_ok();
        let log = self.logs.get(usize::from(shard)).copied().ok_or(io::ErrorKind::NotFound);
        let started = log
            .map_err(io::Error::from)
            .and_then(|log| catch_up::send(((self.files)(shard)?, log), (to, number), offer, tell));
        match started {
            Ok(sending) => {
                self.sending.insert((shard, to), sending);
            }
            Err(error) => {
                let news = News::Sent { to, outcome: Err(error.to_string()) };
                let _ = self.inbox.send(Input::CatchUp(shard, news));
            }
        }
    }

    fn is_sending(&self, shard: u16) -> bool {
        self.sending.keys().any(|(of, _)| *of == shard)
    }

    fn answer(&mut self, shard: u16, to: NodeId, number: u64, word: SnapshotMessage) {
        if self.receiving(shard, to, number).is_some() {
            self.receiving.remove(&shard);
        }
        if word == SnapshotMessage::Done {
            self.received.insert(shard, (to, number));
        }
        self.send_snapshot_message(shard, to, &CatchUp { number, word }, None);
    }

    fn report(&mut self, shard: u16, to: NodeId, report: &DigestReport) {
        let message = report.encode();
        self.peers
            .send(to, Packet { subject: Subject::Digest, shard, message, bodies: Vec::new() });
    }

    fn tell_committed(&mut self, shard: u16, to: NodeId, term: Term, committed: Sequence) {
        let message = [term.get().to_le_bytes(), committed.get().to_le_bytes()].concat();
        let subject = Subject::Committed;
        self.peers.send(to, Packet { subject, shard, message, bodies: Vec::new() });
    }

    fn keep_copies(&mut self, shard: u16, verdict: &Verdict) {
        let name = format!("memory-{shard}-{}.txt", verdict.sequence.get());
        let copies = verdict.had.iter().map(|copy| format!("{}\n", copy.text));
        let text = format!("{}\n{}", verdict.why, copies.collect::<String>());
        match (self.keep)(&name, &text) {
            Ok(()) => tracing::error!("what this node had in memory is in {name} of its directory"),
            Err(error) => tracing::error!("what this node had in memory was not kept: {error}"),
        }
    }

    fn rebuild(&mut self, shard: u16, to: LogPosition) {
        let LogPosition { index, sequence } = to;
        let (rebuild, inbox) = (self.rebuild.clone(), self.inbox.clone());
        let spawned = thread::Builder::new().name(format!("rebuild-{shard}")).spawn(move || {
            let outcome = rebuild(shard, sequence);
            // This fails only if the node is stopping. Then the result is not needed.
            let _ = inbox.send(Input::Rebuilt { shard, index, outcome });
        });
        if let Err(error) = spawned {
            let outcome = Err(format!("no thread to recover a shard: {error}"));
            let _ = self.inbox.send(Input::Rebuilt { shard, index, outcome });
        }
    }
}

impl GroupIo {
    /// Sends a message about a snapshot. A lost message is sent again by the thread that it comes from, which is told
    /// if the link has not taken a part.
    fn send_snapshot_message(
        &mut self,
        shard: u16,
        to: NodeId,
        catch_up: &CatchUp,
        bytes: Option<FrameBytes>,
    ) {
        let Some(log) = self.logs.get(usize::from(shard)) else { return };
        let message = catch_up.encode(*log);
        let bodies = bytes.into_iter().collect();
        let packet = Packet { subject: Subject::CatchUp, shard, message, bodies };
        if !self.peers.send(to, packet)
            && let SnapshotMessage::Part { offset } = catch_up.word
            && let Some(sending) = self.sending.get(&(shard, to))
        {
            sending.not_sent(offset);
        }
    }

    /// Returns the snapshot that is being received, if it has this sender and number.
    fn receiving(&self, shard: u16, from: NodeId, number: u64) -> Option<&Receiving> {
        self.receiving.get(&shard).filter(|r| (r.from, r.number) == (from, number))
    }

    /// Starts to receive an offered snapshot, unless it is being received or was installed already.
    fn on_snapshot_offer(&mut self, shard: u16, from: NodeId, number: u64, offer: SnapshotOffer) {
        if self.received.get(&shard) == Some(&(from, number)) {
            // The sender did not get the last answer, and has offered the snapshot again.
            return self.send_snapshot_message(
                shard,
                from,
                &CatchUp { number, word: SnapshotMessage::Done },
                None,
            );
        }
        if let Some(receiving) = self.receiving(shard, from, number) {
            // The offer was repeated: the thread reports how much has been received, and the sender continues there.
            return receiving.on_part(SnapshotPart::Asks);
        }
        let before = self.receiving.remove(&shard);
        let inbox = self.inbox.clone();
        let tell = move |news| inbox.send(Input::CatchUp(shard, news)).is_ok();
        let started = base_from(&offer.base).and_then(|_| {
            let directory = (self.files)(shard).map_err(|error| error.to_string())?;
            catch_up::receive(directory, (from, number), offer, before, tell)
                .map_err(|error| error.to_string())
        });
        match started {
            Ok(receiving) => {
                self.receiving.insert(shard, receiving);
            }
            Err(why) => self.send_snapshot_message(
                shard,
                from,
                &CatchUp { number, word: SnapshotMessage::Refused(why) },
                None,
            ),
        }
    }
}

/// State of the host thread.
pub(super) struct Host {
    pub(super) groups: Vec<ShardGroup>,
    pub(super) group_io: GroupIo,
    pub(super) membership: Membership,
    /// The version of the protocol that each node of the group has to speak.
    pub(super) required: RequiredVersion,
    pub(super) retire: Retire,
    pub(super) member: Arc<member::Member>,
    pub(super) clock: Clock,
    /// Whether a warning was logged that this node's wall clock is far from those of the others.
    pub(super) is_clock_told: bool,
    /// Changes of the group that are written to the log, each once.
    pub(super) changes: Changes,
    /// Why the last refused message of a node about a shard was refused. Each reason is logged once in a row.
    pub(super) refused: BTreeMap<(NodeId, u16), String>,
    pub(super) tick_ns: u64,
    pub(super) requests: OperatorRequests,
    /// The health that was last sent to the other nodes, and the ticks since then.
    pub(super) told: (Health, u32),
}

/// Starts the host thread.
pub(super) fn start(host: Host, inbox: Receiver<Input>) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name("group".to_owned()).spawn(move || host.run(&inbox))
}

impl Host {
    fn run(mut self, inbox: &Receiver<Input>) {
        let mut next_ns = self.clock.monotonic_ns() + self.tick_ns;
        let mut stopping = None;
        self.refresh_slow_state();
        loop {
            let wait_ns = next_ns.saturating_sub(self.clock.monotonic_ns());
            match inbox.recv_timeout(Duration::from_nanos(wait_ns)) {
                Ok(input) => {
                    let mut inputs = Some(input);
                    let mut taken = 0;
                    while let Some(input) = inputs.take() {
                        if matches!(input, Input::Stop) {
                            stopping.get_or_insert(0);
                            self.groups.iter_mut().for_each(ShardGroup::core_has_ended);
                        }
                        self.process_input(input);
                        taken += 1;
                        if taken < INPUTS_MAX {
                            inputs = inbox.try_recv().ok();
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now_ns = self.clock.monotonic_ns();
            if now_ns >= next_ns {
                // After a long wait, all inputs that arrived meanwhile are taken before the tick, and the wait counts
                // as one tick. So a node that was paused does not start an election before it has read its messages.
                next_ns = now_ns + self.tick_ns;
                self.groups.iter_mut().for_each(ShardGroup::tick);
                if let Some(ticks) = &mut stopping {
                    *ticks += 1;
                    let is_done = self.groups.iter().all(|group| !group.leads());
                    if is_done {
                        tracing::info!("this node stops and does not lead");
                        return;
                    }
                    if *ticks > STOP_TICKS_MAX || !self.hand_over() {
                        tracing::info!("this node stops and leads: no other could take over");
                        return;
                    }
                }
                self.refresh_slow_state();
            }
            self.act();
        }
    }

    /// Lets each shard act on all inputs. A broken shard must not act: a vote that it sends might be counted.
    fn act(&mut self) {
        for group in &mut self.groups {
            if group.broken.is_none() {
                group.act(&mut self.group_io);
            }
            match group.broken.take() {
                None => {}
                Some(StopReason::Stops(why)) => {
                    tracing::error!(shard = group.shard, "this node stops: {why}");
                    std::process::exit(3);
                }
                Some(StopReason::Retires(why)) => self.end_for_good(&why),
            }
        }
    }

    fn process_input(&mut self, input: Input) {
        match input {
            Input::Core(shard, news) => self.with(shard, |group| group.on_core_message(news)),
            Input::Stored(shard, stored) => self.with(shard, |group| group.stored(stored)),
            Input::Rebuilt { shard, index, outcome } => {
                self.with(shard, |group| group.rebuilt(outcome, index));
            }
            Input::Peer(inbound) => self.on_inbound(inbound),
            Input::CatchUp(shard, news) => self.on_snapshot_news(shard, news),
            Input::Request(request, reply) => match self.start_request(request) {
                Ok(()) => self.requests.watch(request, reply),
                Err(why) => self.requests.answer(reply, request, Err(why)),
            },
            Input::Stop => {}
        }
    }

    fn with(&mut self, shard: u16, what: impl FnOnce(&mut ShardGroup)) {
        if let Some(group) = self.groups.get_mut(usize::from(shard)) {
            what(group);
        }
    }

    fn on_inbound(&mut self, inbound: Inbound) {
        match inbound {
            Inbound::Packet { from, packet } => {
                let Packet { subject, shard, message, bodies } = packet;
                if subject == Subject::Health {
                    match Health::decode(&message) {
                        Some(health) => self.membership.healths().note(from, health),
                        None => tracing::warn!(node = %from, "a health was not taken: it is none"),
                    }
                    return;
                }
                if subject == Subject::Digest {
                    match DigestReport::decode(&message) {
                        Some(report) => self.with(shard, |group| group.on_report(from, report)),
                        None => tracing::warn!(node = %from, "a digest was not taken: it is none"),
                    }
                    return;
                }
                if subject == Subject::Committed {
                    let number = |at: usize| message.get(at..at + 8)?.try_into().ok();
                    let numbers =
                        (number(0).map(u64::from_le_bytes), number(8).map(u64::from_le_bytes));
                    if let (Some(term), Some(committed)) = numbers {
                        let committed = Sequence(committed);
                        self.with(shard, |group| group.on_committed(Term(term), committed));
                    }
                    return;
                }
                if subject == Subject::CatchUp {
                    let outcome = self.on_snapshot_message(shard, from, &message, bodies);
                    if let Err(why) = outcome {
                        tracing::warn!(node = %from, shard, "a word was not taken: {why}");
                    }
                    return;
                }
                let outcome = match Message::decode(&message) {
                    Err(error) => Err(error.to_string()),
                    Ok(message) if message.from() != from => {
                        Err(format!("it speaks for node {}", message.from()))
                    }
                    Ok(message) => match self.groups.get_mut(usize::from(shard)) {
                        Some(group) => group.receive(message, bodies),
                        None => Err(format!("there is no shard {shard}")),
                    },
                };
                if let Err(why) = outcome
                    && self.refused.get(&(from, shard)) != Some(&why)
                {
                    tracing::warn!(node = %from, shard, "a message was not taken: {why}");
                    self.refused.insert((from, shard), why);
                }
            }
            Inbound::Connected(node) => self.membership.connected(node, true),
            Inbound::Lost(node) => {
                self.membership.connected(node, false);
                self.refused.retain(|(from, _), _| *from != node);
                for group in &mut self.groups {
                    group.replica.unreachable(node);
                }
            }
            Inbound::Join { request, answer } => {
                self.membership.ask(request, answer);
                self.refresh_slow_state();
            }
            Inbound::Hello { from, addresses } => self.membership.greeted(from, &addresses),
            Inbound::Mistaken { by, at, target } if self.membership.is_alone() => {
                self.end_for_good(&format!(
                    "node {by}, at {at}, is of another group that has node {target} at the address of this one, and \
                     this group has one member: two groups would serve here, and neither know what the other has \
                     answered. If the other group is the right one, start this node with an empty directory, --join \
                     {at} and --replaces {target}, and keep this directory for what it alone may have. If this group \
                     is the right one, remove node {target} from the other one (SCUR.REPLICA REMOVE), and then the \
                     file RETIRED here"
                ));
            }
            Inbound::Mistaken { .. } => {}
            Inbound::Succeeded { by, at, answer } => {
                let why = format!(
                    "another group, of store {by:016x}, was begun in the place of this one, whose nodes were said to be \
                     lost; its node at {at} says so. Keep this directory for what the other group lacks (scurry state, \
                     scurry inspect); for a node of that group start with an empty one and --join {at}"
                );
                if self.retire_for(&why) {
                    answer.send();
                }
                std::process::exit(3);
            }
            Inbound::Strange { text } => tracing::warn!("{text}"),
        }
    }

    /// Stops this node for good: marks its directory, so that it is not served again, and exits with code 3.
    fn end_for_good(&self, why: &str) -> ! {
        self.retire_for(why);
        std::process::exit(3);
    }

    /// Marks the directory, so that it is not served again, and logs why. Returns false when it could not be marked.
    fn retire_for(&self, why: &str) -> bool {
        let marked = (self.retire)(why);
        match &marked {
            Ok(()) => tracing::error!("this node stops for good: {why}"),
            Err(error) => tracing::error!(
                "this node stops, and must not be started again with its directory, which could not be marked so \
                 ({error}): {why}"
            ),
        }
        marked.is_ok()
    }

    /// Handles a message of another node about a snapshot.
    fn on_snapshot_message(
        &mut self,
        shard: u16,
        from: NodeId,
        message: &[u8],
        mut bodies: Vec<FrameBytes>,
    ) -> Result<(), String> {
        let log = *self.group_io.logs.get(usize::from(shard)).ok_or("there is no such shard")?;
        let CatchUp { number, word } = CatchUp::decode(log, message)?;
        match word {
            SnapshotMessage::Offer(offer) => {
                let group = self.groups.get(usize::from(shard)).ok_or("there is no such shard")?;
                // Only the leader sends snapshots. An offer of an earlier leader that arrives late is refused.
                if group.leader() != Some(from) {
                    return Err("it offers a snapshot and does not lead".to_owned());
                }
                let is_known = self.group_io.receiving(shard, from, number).is_some();
                // Until the log begins with a snapshot that was received, receiving another one would remove its file.
                if is_known || !group.is_exchanging() {
                    self.group_io.on_snapshot_offer(shard, from, number, *offer);
                }
            }
            SnapshotMessage::Part { offset } => {
                if let Some(receiving) = self.group_io.receiving(shard, from, number) {
                    receiving.on_part(match bodies.pop() {
                        Some(bytes) => SnapshotPart::Bytes { offset, bytes },
                        None => SnapshotPart::Asks,
                    });
                }
            }
            answer => {
                if let Some(sending) = self.group_io.sending.get(&(shard, from))
                    && sending.number == number
                {
                    sending.answer(answer);
                }
            }
        }
        Ok(())
    }

    /// Handles a message of a thread that sends or receives a snapshot.
    fn on_snapshot_news(&mut self, shard: u16, news: News) {
        match news {
            News::SendMessage { to, catch_up, bytes } => {
                self.group_io.send_snapshot_message(shard, to, &catch_up, bytes)
            }
            News::Sent { to, outcome } => {
                self.group_io.sending.remove(&(shard, to));
                self.with(shard, |group| match outcome {
                    Ok(index) => group.caught_up(to, index),
                    Err(why) => group.not_caught_up(to, &why),
                });
            }
            // Another snapshot is being received by now, and its thread has removed the file of this one.
            News::SnapshotReceived { from, number, .. }
                if self.group_io.receiving(shard, from, number).is_none() => {}
            News::SnapshotReceived { from, number, offer } => {
                let base = base_from(&offer.base);
                self.with(shard, |group| match base {
                    Ok(base) => group.take_snapshot(ReceivedSnapshot { from, number, offer, base }),
                    Err(why) => tracing::error!("a snapshot was not taken: {why}"),
                });
            }
        }
    }

    /// Looks at state that changes slowly: the members, which node is to lead, and the view.
    fn refresh_slow_state(&mut self) {
        let now_ns = self.clock.monotonic_ns();
        self.membership.healths().is_now(now_ns);
        self.send_health();
        let plans = self.membership.look(&mut self.groups, &mut self.group_io.peers);
        for plan in plans {
            self.groups.iter_mut().for_each(|group| group.plan(plan.clone()));
        }
        let digests = self.all_members_speak(PROTOCOL_HIGHEST).then_some(DIGEST_ROUND_TICKS);
        let may_end = self.membership.could_go_on_alone(&self.groups);
        for group in &mut self.groups {
            group.write_digests(digests);
            group.let_end(may_end);
        }
        self.yield_leadership();
        self.gather_leaders();
        self.step_down();
        self.show();
        // This comes last, so that a client that gets its reply then reads a view that shows the effect.
        self.requests.tick(&self.groups, &self.membership);
    }

    /// Reports whether all nodes of the group speak a version of the protocol, and no node takes part that does not.
    /// What older builds cannot read or would decide differently is done only then.
    fn all_members_speak(&mut self, version: u16) -> bool {
        let Host { groups, group_io: GroupIo { peers, .. }, membership, required, .. } = self;
        if groups.iter().any(ShardGroup::has_digests) {
            required.note_logged(PROTOCOL_HIGHEST);
        }
        let leads = groups.iter().all(|group| group.leads() && group.is_settled());
        let others = membership.others().into_iter().map(|(node, _)| (node, peers.version(node)));
        let others = leads.then(|| others.collect::<Vec<_>>());
        let speak = required.all_members_speak(version, others.as_deref());
        peers.require(required.get());
        speak
    }

    /// Lets other nodes lead all shards while the memory of one shard is being recovered here: this node could not
    /// serve.
    fn yield_leadership(&mut self) {
        let lacks_memory = self.groups.iter().any(ShardGroup::lacks_memory);
        self.groups.iter_mut().for_each(|group| group.let_others_lead(lacks_memory));
        if lacks_memory && let Some(to) = self.membership.transfer_target(&self.groups, LAG_MAX) {
            self.groups.iter_mut().for_each(|group| group.hand_over_if_settled(to));
        }
    }

    /// Sends this node's health to the other nodes, when it has changed or after [`HEALTH_TICKS`].
    fn send_health(&mut self) {
        let health = self.membership.own_health(&self.groups);
        let (told, ticks) = &mut self.told;
        *ticks += 1;
        if *told == health && *ticks < HEALTH_TICKS {
            return;
        }
        (*told, *ticks) = (health, 0);
        let (subject, message) = (Subject::Health, told.encode());
        for (node, _) in self.membership.others() {
            let packet = Packet { subject, shard: 0, message: message.clone(), bodies: Vec::new() };
            // A lost packet is not repeated: the next one replaces it.
            self.group_io.peers.send(node, packet);
        }
    }

    /// Passes all shards on to the node that leads the first one, so that one node leads all.
    fn gather_leaders(&mut self) {
        let own = self.membership.node();
        let Some(first) = self.groups.first().and_then(ShardGroup::leader) else { return };
        if first == own || !self.membership.is_connected(first) {
            return;
        }
        for group in &mut self.groups {
            group.hand_over_if_settled(first);
        }
    }

    /// Transfers all shards to another node if a device of this leader is full or has stalled. Committed entries are
    /// safe without this node, since the others store them; but after a crash this node would lack them.
    fn step_down(&mut self) {
        let is_settled = self.groups.iter().all(ShardGroup::is_settled);
        if !is_settled || !self.groups.iter().any(ShardGroup::is_device_stalled) {
            return;
        }
        if let Some(to) = self.membership.transfer_target(&self.groups, LAG_MAX) {
            tracing::warn!(
                node = %to,
                "the device is full or stands still: another node is to lead"
            );
            self.groups.iter_mut().for_each(|group| group.plan(Plan::Transfer(to)));
        }
    }

    /// Hands leadership of all shards over to another node while this one stops. Returns false if no other node can
    /// lead.
    fn hand_over(&mut self) -> bool {
        let Some(to) = self.membership.transfer_target(&self.groups, u64::MAX) else {
            return false;
        };
        let led = self.groups.iter_mut().filter(|group| group.leads());
        led.for_each(|group| group.hand_over(to));
        true
    }

    /// Returns by how much this node's wall clock is ahead of the middle one, in ms, and logs a warning once when that
    /// is too much. Nothing else shows a wrong clock to the operator of this node.
    fn look_at_the_clock(&mut self) -> i64 {
        let off_ms = self.member.clocks.off_ms();
        let is_apart = off_ms.abs() > APART_MS_MAX;
        if is_apart && !self.is_clock_told {
            tracing::warn!(
                ms = off_ms,
                "the wall clock of this node is not that of the other nodes: while it leads, the time of the ledger \
                 is held within {APART_MS_MAX} ms of theirs; put the clock right"
            );
        }
        self.is_clock_told = is_apart;
        off_ms
    }

    fn show(&mut self) {
        let clock_off_ms = self.look_at_the_clock();
        let own = self.membership.node();
        // `known` may name members whose change is not committed yet, so votes are read from the members in force.
        let votes = |id: NodeId| {
            let has_one =
                |group: &ShardGroup| group.replica.membership().members.voters().contains(&id);
            self.groups.iter().all(has_one)
        };
        let membership = &self.membership;
        let members = membership.known().map(|(id, addresses, _)| Member {
            id,
            addresses: addresses.clone(),
            votes: votes(id),
            is_connected: id == own || membership.is_connected(id),
            is_silent: id != own && membership.is_silent(id),
            health: match id == own {
                true => Some(self.told.0.clone()),
                false => membership.health(id).cloned(),
            },
            observes: match id == own {
                true => self.told.0.observes,
                false => membership.observes(id),
            },
            lag: self.groups.iter().map(|group| group.lag(id)).sum(),
            has_stalled: self.groups.iter().any(|group| group.is_node_stalled(id)),
            is_behind: self.groups.iter().any(|group| group.is_node_behind(id)),
        });
        let view = View {
            node: own,
            shown_ms: self.clock.read().uptime_ms,
            tick_ms: self.tick_ns / 1_000_000,
            clock_off_ms,
            required: self.required.get(),
            waits: self.required.waits().map(str::to_owned),
            members: members.collect(),
            shards: self.groups.iter().map(ShardGroup::view).collect(),
        };
        self.changes.tell(&view, self.clock.read().uptime_ms);
        let leader = view.leader(0);
        self.member.passages.leader_is(leader.map(|leader| (leader.id, leader.addresses.peer)));
        let main =
            leader.map(|Member { addresses, .. }| SocketAddr::new(addresses.ip, addresses.main));
        self.member.forwarder.leader_is(main.ok_or_else(|| view.no_leader_reason()));
        self.member.board.show(view);
    }

    fn start_request(&mut self, request: OperatorRequest) -> Result<(), String> {
        if !self.groups.iter().all(|group| group.leads() && group.is_settled()) {
            return Err("this node does not lead all shards, or a change is under way: ask again"
                .to_owned());
        }
        if self.requests.are_too_many() {
            return Err("too many requests are under way: ask again".to_owned());
        }
        let plan = self.membership.grant(&request, &self.groups)?;
        self.groups.iter_mut().for_each(|group| group.plan(plan.clone()));
        Ok(())
    }
}
