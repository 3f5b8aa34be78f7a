//! The thread that has the groups of all shards: it takes what cores, store threads and other nodes say, ticks,
//! and does what comes of it. It never waits for a device.

use super::channel::{Body, FromCore};
use super::membership::{Membership, Wish};
use super::outlet::Outlet;
use super::peers::{Inbound, Packet, Peers};
use super::shard_group::{Plan, ShardGroup};
use super::store::Stored;
use super::view::{Member, View};
use crate::clock::Clock;
use scurry_disk::Directory;
use scurry_engine::{LogFollower, Shard};
use scurry_replica::Message;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Inputs that are taken before anything is done, at most.
const INPUTS_MAX: usize = 512;
/// Ticks after which a node that stops no longer waits for another to lead.
const STOP_TICKS_MAX: u32 = 40;

/// Everything that the thread is told.
pub(crate) enum Input {
    Core(u16, FromCore),
    Stored(u16, Stored),
    Peer(Inbound),
    /// A shard was recovered up to an entry.
    Rebuilt {
        shard: u16,
        index: u64,
        outcome: Result<Box<Shard>, String>,
    },
    /// Somebody wants something of the group.
    Wish(Wish),
    /// The cores have ended.
    Stop,
}

/// Recovers a shard up to a sequence.
pub(crate) type Rebuild = Arc<dyn Fn(u16, u64) -> Result<Box<Shard>, String> + Send + Sync>;

/// Ways of groups beyond themselves.
pub(super) struct Ways {
    pub(super) peers: Peers,
    pub(super) readers: Vec<LogFollower<Directory>>,
    pub(super) rebuild: Rebuild,
    pub(super) inbox: Sender<Input>,
}

impl Outlet for Ways {
    fn send(&mut self, shard: u16, message: &Message, bodies: Vec<Body>) -> bool {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.peers.send(message.to(), Packet { shard, message: bytes, bodies })
    }

    fn read(&mut self, shard: u16, sequence: u64) -> Option<Body> {
        let reader = self.readers.get_mut(usize::from(shard))?;
        if reader.next() != sequence && !reader.seek(sequence).ok()? {
            return None;
        }
        let frame = reader.raw().ok()??;
        Some(Body::new(frame.to_vec()))
    }

    fn rebuild(&mut self, shard: u16, index: u64, sequence: u64) {
        let (rebuild, inbox) = (self.rebuild.clone(), self.inbox.clone());
        let spawned = thread::Builder::new().name(format!("rebuild-{shard}")).spawn(move || {
            let outcome = rebuild(shard, sequence);
            // Nobody waits for it when the node stops.
            let _ = inbox.send(Input::Rebuilt { shard, index, outcome });
        });
        if let Err(error) = spawned {
            let outcome = Err(format!("no thread to recover a shard: {error}"));
            let _ = self.inbox.send(Input::Rebuilt { shard, index, outcome });
        }
    }
}

/// The thread's state.
pub(super) struct Host {
    pub(super) groups: Vec<ShardGroup>,
    pub(super) ways: Ways,
    pub(super) membership: Membership,
    pub(super) member: Arc<super::Member>,
    pub(super) clock: Clock,
    pub(super) tick_ns: u64,
}

/// Starts the thread.
pub(super) fn start(host: Host, inbox: Receiver<Input>) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name("group".to_owned()).spawn(move || host.run(&inbox))
}

impl Host {
    fn run(mut self, inbox: &Receiver<Input>) {
        let mut next_ns = self.clock.monotonic_ns() + self.tick_ns;
        let mut stopping = None;
        self.look_around();
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
                        self.take(input);
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
                // After a long wait what came meanwhile was taken in: it counts as one tick.
                next_ns = now_ns + self.tick_ns;
                self.groups.iter_mut().for_each(ShardGroup::tick);
                if let Some(ticks) = &mut stopping {
                    *ticks += 1;
                    let is_done = self.groups.iter().all(|group| !group.leads());
                    if is_done || *ticks > STOP_TICKS_MAX || !self.hand_over() {
                        return;
                    }
                }
                self.look_around();
            }
            for group in &mut self.groups {
                group.act(&mut self.ways);
                if let Some(why) = &group.broken {
                    // Nothing that this node says counts any more; a start finds out what is on the device.
                    tracing::error!(shard = group.shard, "this node stops: {why}");
                    std::process::exit(3);
                }
            }
        }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Core(shard, news) => self.with(shard, |group| group.core_says(news)),
            Input::Stored(shard, stored) => self.with(shard, |group| group.stored(stored)),
            Input::Rebuilt { shard, index, outcome } => {
                self.with(shard, |group| group.rebuilt(outcome, index));
            }
            Input::Peer(inbound) => self.hear(inbound),
            Input::Wish(wish) => {
                if let Err(why) = self.grant(&wish) {
                    tracing::warn!("{wish:?} was not begun: {why}");
                }
            }
            Input::Stop => {}
        }
    }

    fn with(&mut self, shard: u16, what: impl FnOnce(&mut ShardGroup)) {
        if let Some(group) = self.groups.get_mut(usize::from(shard)) {
            what(group);
        }
    }

    fn hear(&mut self, inbound: Inbound) {
        match inbound {
            Inbound::Packet { from, packet } => {
                let Packet { shard, message, bodies } = packet;
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
                if let Err(why) = outcome {
                    tracing::warn!(node = from.get(), shard, "a message was not taken: {why}");
                }
            }
            Inbound::Connected(node) => self.membership.connected(node, true),
            Inbound::Lost(node) => {
                self.membership.connected(node, false);
                for group in &mut self.groups {
                    group.replica.unreachable(node);
                }
            }
            Inbound::Join { request, answer } => {
                self.membership.ask(request, answer);
                self.look_around();
            }
            Inbound::Hello { from, addresses } => self.membership.greeted(from, &addresses),
            Inbound::Strange { text } => tracing::warn!("{text}"),
        }
    }

    /// Looks at what changes slowly: who the members are, who is to lead, what is shown.
    fn look_around(&mut self) {
        let plans = self.membership.look(&mut self.groups, &mut self.ways.peers);
        for plan in plans {
            self.groups.iter_mut().for_each(|group| group.plan(plan.clone()));
        }
        self.gather_leaders();
        self.show();
    }

    /// Sees to it that the node which leads the first shard leads all.
    fn gather_leaders(&mut self) {
        let own = self.membership.node();
        let Some(first) = self.groups.first().and_then(ShardGroup::leader) else { return };
        if first == own || !self.membership.is_connected(first) {
            return;
        }
        for group in &mut self.groups {
            if group.leads() && group.is_settled() {
                group.plan(Plan::Transfer(first));
            }
        }
    }

    /// Asks others to lead; false when there is nobody.
    fn hand_over(&mut self) -> bool {
        let mut is_somebody = false;
        for group in &mut self.groups {
            if group.leads()
                && let Some(to) = self.membership.heir(group)
            {
                is_somebody = true;
                group.hand_over(to);
            }
        }
        is_somebody
    }

    fn show(&mut self) {
        let members = self.membership.known().map(|(id, addresses, votes)| Member {
            id,
            addresses: addresses.clone(),
            votes,
            is_connected: id == self.membership.node() || self.membership.is_connected(id),
            lag: self.groups.iter().map(|group| group.lag(id)).sum(),
        });
        let view = View {
            node: self.membership.node(),
            members: members.collect(),
            shards: self.groups.iter().map(ShardGroup::view).collect(),
        };
        let leader = view.leader(0);
        let leader =
            leader.map(|leader| SocketAddr::new(leader.addresses.ip, leader.addresses.main));
        self.member.forwarder.leader_is(leader);
        self.member.board.show(view);
    }

    fn grant(&mut self, wish: &Wish) -> Result<(), String> {
        if !self.groups.iter().all(|group| group.leads() && group.is_settled()) {
            return Err("this node does not lead all shards, or a change is under way".to_owned());
        }
        let plan = self.membership.grant(wish, &self.groups)?;
        self.groups.iter_mut().for_each(|group| group.plan(plan.clone()));
        Ok(())
    }
}
