//! One node of a replicated group: the replication of each shard's log, the connections to the other nodes, and the
//! state that every core may show of them.

mod catch_up;
mod changes;
pub(crate) mod clocks;
mod device_state;
mod forward;
pub(crate) mod host;
mod membership;
pub(crate) mod peers;
mod store;
pub(crate) mod view;
mod wishes;

pub(crate) use forward::Forwarder;
pub(crate) use membership::Wish;
pub(crate) use wishes::{WishOutcome, WishReply};

use crate::clock::Clock;
use changes::Changes;
use clocks::Clocks;
use device_state::DeviceState;
use host::{Files, Host, Input, Rebuild, Ways};
use membership::Membership;
use peers::{Accepted, Enter, Identity, Passages, Peers, Sockets};
use scurry_codec::GroupMembers;
use scurry_consensus::replica::{NodeId, Settings};
use scurry_consensus::shard::{CoreEnd, Health, HealthTable, ShardGroup, ShardGroupParts, WakeFn};
use scurry_disk::{Directory, Manifest};
use scurry_engine::LogFollower;
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel as queue};
use std::thread::JoinHandle;
use view::{Board, View};
use wishes::Wishes;

/// Ticks after the last message of a node for which it counts as reachable: the shortest time after which another node
/// stands for election.
const HEARD_TICKS: u64 = 10;

/// The files of a shard, and their contents.
pub(crate) type ShardFiles = scurry_consensus::shard::ShardFiles<Directory>;

/// Everything that a node needs to start.
pub(crate) struct Start {
    pub(crate) identity: Identity,
    pub(crate) listener: TcpListener,
    pub(crate) sockets: Sockets,
    pub(crate) founder: NodeId,
    pub(crate) manifest: Manifest,
    /// Members that were last written to disk.
    pub(crate) members: GroupMembers,
    pub(crate) write: membership::Write,
    pub(crate) retire: host::Retire,
    pub(crate) shards: Vec<ShardFiles>,
    pub(crate) rebuild: Rebuild,
    pub(crate) files: Files,
    /// Bytes of a log that are kept in addition to the needed ones.
    pub(crate) log_bytes: u64,
    pub(crate) tick_ms: u32,
}

/// Handle of the thread that runs the node's part in the group.
pub(crate) struct Group {
    inbox: Sender<Input>,
    thread: Option<JoinHandle<()>>,
    member: Arc<Member>,
}

impl Group {
    /// Returns the node's part, for its cores.
    pub(crate) fn member(&self) -> Arc<Member> {
        self.member.clone()
    }

    /// Hands leadership over, and stops. Called when the cores have ended.
    pub(crate) fn stop(mut self) {
        if self.inbox.send(Input::Stop).is_ok()
            && let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the group has panicked");
        }
    }
}

/// A node's part in its group, as its cores see it.
pub(crate) struct Member {
    inbox: Sender<Input>,
    board: Board,
    clock: Clock,
    /// The other nodes' clocks, to which the time of the ledger is held.
    pub(crate) clocks: Arc<Clocks>,
    /// Forwards connections that arrive on the main port of a follower to the leader.
    pub(crate) forwarder: Forwarder,
    /// Routes from doors of this process to the leader, for use while this node does not lead.
    pub(crate) passages: Arc<Passages>,
    /// State of the device of each shard.
    devices: Vec<Arc<DeviceState>>,
}

impl Member {
    /// Returns the group's state for status and metrics.
    pub(crate) fn view(&self) -> Arc<View> {
        self.board.view()
    }

    /// Returns the uptime, ms, to which the times in views refer.
    pub(crate) fn uptime_ms(&self) -> i64 {
        self.clock.read().uptime_ms
    }

    /// Returns the state of a shard's device. None if there is no such shard.
    pub(crate) fn device(&self, shard: u16) -> Option<&DeviceState> {
        self.devices.get(usize::from(shard)).map(Arc::as_ref)
    }

    /// Starts an operation of the group; `reply` is called when it has ended. Returns false when this node stops.
    pub(crate) fn ask(&self, wish: Wish, reply: WishReply) -> bool {
        self.inbox.send(Input::Wish(wish, reply)).is_ok()
    }
}

/// Starts the threads of a node. Each of `rings` wakes the core of a shard, by shard.
pub(crate) fn start(
    start: Start,
    rings: Vec<WakeFn>,
    clients_max: usize,
    enter: Enter,
    clock: Clock,
) -> Result<(Group, Vec<CoreEnd>), String> {
    let Start {
        identity,
        listener,
        sockets,
        founder,
        manifest,
        members,
        write,
        retire,
        shards,
        rebuild,
        files,
        log_bytes,
        tick_ms,
    } = start;
    let (inbox, inputs) = queue();
    let (node, own) = (identity.node, identity.addresses.clone());
    let (mut groups, mut ends, mut readers) = (Vec::new(), Vec::new(), Vec::new());
    let mut devices = Vec::new();
    let logs = shards.iter().map(|shard| shard.log).collect();
    for ((shard, files), ring) in (0..).zip(shards).zip(rings) {
        let (group, end, reader, device) =
            begin((shard, log_bytes), files, (node, founder), (ring, &inbox), clock)?;
        devices.push(device);
        groups.push(group);
        ends.push(end);
        readers.push(reader);
    }
    let accepted = Accepted {
        store: manifest.store,
        generation: manifest.generation,
        restored: manifest.restored,
        founder,
        threads: identity.threads,
        members: Vec::new(),
    };
    let view = View { node, shown_ms: 0, clock_off_ms: 0, members: Vec::new(), shards: Vec::new() };
    let clocks = Arc::new(Clocks::new(clock));
    let (tell, told) = (inbox.clone(), clocks.clone());
    let tick_ns = u64::from(tick_ms) * 1_000_000;
    let healths = HealthTable::new(HEARD_TICKS * tick_ns);
    let membership = Membership::new((node, own), &members, accepted, healths, write);
    let place = (listener, &*membership.others());
    let peers = Peers::start(place, identity, (sockets, told), enter, move |inbound| {
        // An error means that the host has ended: the message is not needed.
        let _ = tell.send(Input::Peer(inbound));
    });
    let peers = peers.map_err(text)?;
    let member = Arc::new(Member {
        inbox: inbox.clone(),
        board: Board::new(view),
        clock,
        clocks,
        forwarder: Forwarder::start(clients_max).map_err(text)?,
        passages: Arc::new(peers.passages()),
        devices,
    });
    let host = Host {
        groups,
        ways: Ways {
            peers,
            readers,
            logs,
            files,
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            received: BTreeMap::new(),
            number: getrandom::u64().map_err(|error| error.to_string())?,
            rebuild,
            inbox: inbox.clone(),
        },
        membership,
        retire,
        member: member.clone(),
        clock,
        is_clock_told: false,
        changes: Changes::default(),
        refused: BTreeMap::new(),
        tick_ns,
        wishes: Wishes::default(),
        told: (Health::default(), 0),
    };
    let thread = host::start(host, inputs).map_err(text)?;
    Ok((Group { inbox, thread: Some(thread), member }, ends))
}

fn text(error: io::Error) -> String {
    error.to_string()
}

/// Starts the group of a shard from the contents of its files, with its threads.
fn begin(
    (shard, log_bytes): (u16, u64),
    files: ShardFiles,
    (node, founder): (NodeId, NodeId),
    (ring, inbox): (WakeFn, &Sender<Input>),
    clock: Clock,
) -> Result<(ShardGroup, CoreEnd, LogFollower<Directory>, Arc<DeviceState>), String> {
    let seed = getrandom::u64().map_err(|error| error.to_string())?;
    let settings = Settings::new(node, seed);
    let begun = scurry_consensus::shard::begin(shard, files, settings, founder, log_bytes, ring)?;
    let ShardGroupParts { group, device, tasks, reader, orders, progress } = begun;
    let tell = inbox.clone();
    let told = move |stored| tell.send(Input::Stored(shard, stored)).is_ok();
    let state = store::start(shard, device, tasks, told, clock).map_err(text)?;
    let host = inbox.clone();
    let host = Box::new(move |news| host.send(Input::Core(shard, news)).is_ok());
    Ok((group, CoreEnd::new(host, orders, progress), reader, state))
}
