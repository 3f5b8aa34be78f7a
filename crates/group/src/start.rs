//! Starts the threads of a node, and ends them.

use crate::changes::Changes;
use crate::clock::Clock;
use crate::clocks::Clocks;
use crate::device_state::DeviceState;
use crate::forward::Forwarder;
use crate::host::{self, Files, GroupIo, Host, Keep, Rebuild, Retire};
use crate::input::Input;
use crate::member::Member;
use crate::membership::{Membership, Write};
use crate::operator_requests::OperatorRequests;
use crate::peers::{Accepted, Enter, Identity, Peers, Sockets};
use crate::store;
use crate::view::{CurrentView, View};
use scurry_codec::GroupMembers;
use scurry_consensus::replica::{NodeId, Settings};
use scurry_consensus::shard::{
    CoreEnd, Health, HealthTable, RequiredVersion, ShardGroup, ShardGroupParts, WakeFn,
    WriteVersion,
};
use scurry_disk::{Directory, Manifest};
use scurry_engine::{LogFollower, LogRetention};
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel as queue};
use std::thread::JoinHandle;

/// Ticks after the last message of a node for which it counts as reachable: the shortest time after which another node
/// stands for election.
const HEARD_TICKS: u64 = 10;

/// The files of a shard, and their contents.
pub type ShardFiles = scurry_consensus::shard::ShardFiles<Directory>;

/// Everything that a node needs to start.
pub struct Start {
    /// The own node.
    pub identity: Identity,
    /// The port for nodes.
    pub listener: TcpListener,
    /// Sockets for connections to and from other nodes.
    pub sockets: Sockets,
    /// The only member at the beginning of the log.
    pub founder: NodeId,
    /// The manifest of the directory.
    pub manifest: Manifest,
    /// Members that were last written to disk.
    pub members: GroupMembers,
    /// Writes the members to the directory, durably.
    pub write: Write,
    /// Writes the version of the protocol that each node of the group has to speak to the directory, durably.
    pub require: WriteVersion,
    /// Durably marks the directory as retired, with the reason, so that no start uses it again.
    pub retire: Retire,
    /// Keeps a text under a name in the directory, for a person to look at.
    pub keep: Keep,
    /// Whether this node is to have no vote.
    pub observes: bool,
    /// The files of each shard.
    pub shards: Vec<ShardFiles>,
    /// Recovers a shard up to a sequence.
    pub rebuild: Rebuild,
    /// Opens the directory of a shard once more.
    pub files: Files,
    /// How much of a log is kept in addition to the needed part.
    pub retention: LogRetention,
    /// Interval between two ticks of the host thread, ms.
    pub tick_ms: u32,
}

/// Handle of the thread that runs the node's part in the group.
pub struct Group {
    inbox: Sender<Input>,
    thread: Option<JoinHandle<()>>,
    member: Arc<Member>,
}

impl Group {
    /// Returns the node's part, for its cores.
    pub fn member(&self) -> Arc<Member> {
        self.member.clone()
    }

    /// Hands leadership over, and stops. Called when the cores have ended.
    pub fn stop(mut self) {
        if self.inbox.send(Input::Stop).is_ok()
            && let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the group has panicked");
        }
    }
}

/// Starts the threads of a node. Each of `rings` wakes the core of a shard, by shard; `enter` opens a connection to the
/// store of this process. Returns the end of each core, by shard.
///
/// # Errors
/// When a thread or a socket cannot be made, in words.
pub fn start(
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
        require,
        retire,
        keep,
        observes,
        shards,
        rebuild,
        files,
        retention,
        tick_ms,
    } = start;
    let (inbox, inputs) = queue();
    let (node, own) = (identity.node, identity.addresses.clone());
    let (mut groups, mut ends, mut readers) = (Vec::new(), Vec::new(), Vec::new());
    let mut devices = Vec::new();
    let logs = shards.iter().map(|shard| shard.log).collect();
    for ((shard, files), ring) in (0..).zip(shards).zip(rings) {
        let (group, end, reader, device) =
            begin((shard, retention), files, (node, founder), (ring, &inbox), clock)?;
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
    let tick_ms = u64::from(tick_ms);
    let view = View {
        node,
        shown_ms: 0,
        tick_ms,
        clock_off_ms: 0,
        required: identity.required,
        waits: None,
        members: Vec::new(),
        shards: Vec::new(),
    };
    let clocks = Arc::new(Clocks::new(clock));
    let (tell, told) = (inbox.clone(), clocks.clone());
    let tick_ns = tick_ms * 1_000_000;
    let healths = HealthTable::new(HEARD_TICKS * tick_ns);
    let membership = Membership::new((node, own), &members, accepted, healths, (write, observes));
    let required = RequiredVersion::new(identity.required, require);
    let place = (listener, &*membership.others());
    let peers = Peers::start(place, identity, (sockets, told), enter, move |inbound| {
        // An error means that the host has ended: the message is not needed.
        let _ = tell.send(Input::Peer(inbound));
    });
    let peers = peers.map_err(text)?;
    let member = Arc::new(Member {
        inbox: inbox.clone(),
        board: CurrentView::new(view),
        clock,
        clocks,
        forwarder: Forwarder::start(clients_max).map_err(text)?,
        passages: Arc::new(peers.passages()),
        devices,
    });
    let host = Host {
        groups,
        group_io: GroupIo {
            peers,
            readers,
            logs,
            files,
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            received: BTreeMap::new(),
            number: getrandom::u64().map_err(|error| error.to_string())?,
            rebuild,
            keep,
            inbox: inbox.clone(),
        },
        membership,
        required,
        retire,
        member: member.clone(),
        clock,
        is_clock_told: false,
        changes: Changes::default(),
        refused: BTreeMap::new(),
        tick_ns,
        requests: OperatorRequests::default(),
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
    (shard, retention): (u16, LogRetention),
    files: ShardFiles,
    (node, founder): (NodeId, NodeId),
    (ring, inbox): (WakeFn, &Sender<Input>),
    clock: Clock,
) -> Result<(ShardGroup, CoreEnd, LogFollower<Directory>, Arc<DeviceState>), String> {
    let seed = getrandom::u64().map_err(|error| error.to_string())?;
    let settings = Settings::new(node, seed);
    let begun = scurry_consensus::shard::begin(shard, files, settings, founder, retention, ring)?;
    let ShardGroupParts { group, device, tasks, reader, orders, progress } = begun;
    let tell = inbox.clone();
    let told = move |stored| tell.send(Input::Stored(shard, stored)).is_ok();
    let state = store::start(shard, device, tasks, told, clock).map_err(text)?;
    let host = inbox.clone();
    let host = Box::new(move |news| host.send(Input::Core(shard, news)).is_ok());
    Ok((group, CoreEnd::new(host, orders, progress), reader, state))
}
