//! One node of three: the groups that keep the shards' logs alike, the connections to the other nodes, and
//! what every core may show of them.

mod bodies;
mod catch_up;
pub(crate) mod channel;
mod forward;
pub(crate) mod host;
mod membership;
mod outlet;
pub(crate) mod peers;
mod shard_group;
mod store;
pub(crate) mod view;

pub(crate) use forward::Forwarder;
pub(crate) use membership::Wish;

use crate::clock::Clock;
use crate::mail::mesh::Bell;
use bodies::Bodies;
use channel::{CoreEnd, HostEnd, Progress};
use host::{Files, Host, Input, Rebuild, Ways};
use membership::Membership;
use peers::{Accepted, Identity, Peers, Sockets};
use scurry_codec::{GroupMembers, LogFormat};
use scurry_disk::{Directory, DiskFile, Manifest};
use scurry_engine::{GroupLog, LogBallot, LogBase, LogFollower, LogId, LogWriter, Shown};
use scurry_ledger::Time;
use scurry_replica::{
    Descriptor, Entry, Index, Kind, Members, NodeId, Recovered, Replica, Settings, Term, Vote,
};
use shard_group::{Beginning, ShardGroup, base_from};
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel as queue};
use std::thread::JoinHandle;
use view::{Board, View};

/// The bytes of the record that ends a change of members.
const SWITCHED: &[u8] = &[0];

/// A shard's files and what they hold.
pub(crate) struct ShardFiles {
    pub(crate) log: LogId,
    pub(crate) found: GroupLog,
    pub(crate) ballot: LogBallot<DiskFile>,
    pub(crate) writer: LogWriter<Directory>,
    /// For frames that memory does not hold any more.
    pub(crate) reader: LogFollower<Directory>,
    /// The snapshots that are there.
    pub(crate) snapshots: Vec<Shown>,
}

impl ShardFiles {
    /// The last committed entry that is known and there: its index and its last sequence.
    pub(crate) fn committed(&self) -> (u64, u64) {
        self.found.committed(&self.snapshots)
    }

    /// The sequence that has to be committed before a snapshot can be used; none where one can, or there is none.
    pub(crate) fn shows(&self) -> Option<u64> {
        self.found.shows(&self.snapshots)
    }
}

/// All that a node begins with.
pub(crate) struct Start {
    pub(crate) identity: Identity,
    pub(crate) listener: TcpListener,
    pub(crate) sockets: Sockets,
    pub(crate) founder: NodeId,
    pub(crate) manifest: Manifest,
    /// The members that were written down last.
    pub(crate) members: GroupMembers,
    pub(crate) write: membership::Write,
    pub(crate) shards: Vec<ShardFiles>,
    pub(crate) rebuild: Rebuild,
    pub(crate) files: Files,
    /// Bytes of a log that are kept although nothing needs them.
    pub(crate) log_bytes: u64,
    pub(crate) tick_ms: u32,
}

/// The running group, for whoever asks something of it.
pub(crate) struct Group {
    inbox: Sender<Input>,
    thread: Option<JoinHandle<()>>,
    member: Arc<Member>,
}

impl Group {
    /// The node's part, for its cores.
    pub(crate) fn member(&self) -> Arc<Member> {
        self.member.clone()
    }

    /// The cores have ended: hands leadership over, and stops.
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
    /// Where connections go that came to the main port of a node which does not lead.
    pub(crate) forwarder: Forwarder,
}

impl Member {
    /// Knowledge of the group.
    pub(crate) fn view(&self) -> Arc<View> {
        self.board.view()
    }

    /// Begins what is wanted of the group; what this node shows tells its end.
    pub(crate) fn ask(&self, wish: Wish) {
        // A host that has ended does nothing any more, and this node will be started again.
        let _ = self.inbox.send(Input::Wish(wish));
    }
}

/// Starts the threads of a node; they ring the cores' bells.
pub(crate) fn start(
    start: Start,
    bells: Vec<Arc<Bell>>,
    clients_max: usize,
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
        shards,
        rebuild,
        files,
        log_bytes,
        tick_ms,
    } = start;
    let (inbox, inputs) = queue();
    let node = identity.node;
    let (mut groups, mut ends, mut readers) = (Vec::new(), Vec::new(), Vec::new());
    let logs = shards.iter().map(|shard| shard.log).collect();
    for ((shard, files), bell) in (0..).zip(shards).zip(bells) {
        let (group, end, reader) =
            begin((shard, log_bytes), files, (node, founder), (bell, &inbox))?;
        groups.push(group);
        ends.push(end);
        readers.push(reader);
    }
    let accepted = Accepted {
        store: manifest.store,
        generation: manifest.generation,
        restored: manifest.restored,
        hash_seed: manifest.hash_seed,
        founder,
        threads: identity.threads,
        members: Vec::new(),
    };
    let view = View { node, members: Vec::new(), shards: Vec::new() };
    let forwarder = Forwarder::start(clients_max).map_err(text)?;
    let member = Member { inbox: inbox.clone(), board: Board::new(view), forwarder };
    let member = Arc::new(member);
    let tell = inbox.clone();
    let peers = Peers::start(listener, identity, sockets, move |inbound| {
        // The host has ended: nobody listens.
        let _ = tell.send(Input::Peer(inbound));
    });
    let mut peers = peers.map_err(text)?;
    let membership = Membership::new(node, &members, accepted, write);
    peers.set(&membership.others());
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
        member: member.clone(),
        clock,
        tick_ns: u64::from(tick_ms) * 1_000_000,
    };
    let thread = host::start(host, inputs).map_err(text)?;
    Ok((Group { inbox, thread: Some(thread), member }, ends))
}

fn text(error: io::Error) -> String {
    error.to_string()
}

/// A shard's group with what its files hold.
fn begin(
    (shard, log_bytes): (u16, u64),
    files: ShardFiles,
    (node, founder): (NodeId, NodeId),
    (bell, inbox): (Arc<Bell>, &Sender<Input>),
) -> Result<(ShardGroup, CoreEnd, LogFollower<Directory>), String> {
    let applied = files.committed();
    let shows = files.shows();
    let ShardFiles { log, found, ballot, writer, mut reader, snapshots } = files;
    let seal = log.seal_in(LogFormat::Replicated);
    let newest = ballot.newest();
    let vote = Vote { term: Term(newest.term), candidate: NodeId::new(newest.node) };
    let log_base = found.base.clone().unwrap_or_else(|| LogBase {
        chain: seal.chain_start(),
        voters: vec![founder.get()],
        ..LogBase::default()
    });
    // The founder is the only member before the first entry.
    let base = base_from(&log_base)?;
    let entry = found.entries.iter().find(|entry| entry.index == applied.0);
    let at = entry.map_or(Time(log_base.at), |entry| entry.at);
    let last = found.entries.last().map_or(log_base.index, |entry| entry.index);
    let mut tail = Vec::new();
    if applied.0 < last {
        let error = |error: scurry_engine::FollowError| error.to_string();
        reader.seek(applied.1 + 1).map_err(error)?;
        while tail.len() as u64 + applied.0 < last
            && let Some(frame) = reader.raw().map_err(error)?
        {
            tail.push(frame.to_vec());
        }
    }
    let chain = match tail.first() {
        Some(frame) => bodies::chain_of(seal, frame).ok_or("a frame of the log is none")?,
        None => found.chain,
    };
    let end = bodies::End { index: applied.0, sequence: applied.1, at, chain };
    let mut kept = Bodies::new(seal, end);
    for frame in tail {
        kept.push_stored(frame).ok_or("a frame of the log is none")?;
    }
    let named = found.entries.iter().rev().find_map(|entry| {
        let bytes = entry.members.as_ref().filter(|bytes| bytes.len() > 1)?;
        GroupMembers::decode(bytes).ok()
    });
    let entries: Vec<Entry> = found.entries.iter().map(entry_of).collect::<Result<_, _>>()?;
    let recovered = Recovered { vote, base, entries, committed: Index(found.committed) };
    let seed = getrandom::u64().map_err(|error| error.to_string())?;
    let replica = Replica::new(Settings::new(node, seed), recovered)
        .map_err(|error| format!("shard {shard}: {error}"))?;
    let tell = inbox.clone();
    let store = store::start(shard, store::Files { writer, ballot, log_bytes }, move |stored| {
        tell.send(Input::Stored(shard, stored)).is_ok()
    });
    let store = store.map_err(text)?;
    let (orders, from_host) = queue();
    let progress = Arc::new(Progress::default());
    progress.note_applied(applied.1);
    let core = HostEnd { orders, bell, progress: progress.clone() };
    let host = inbox.clone();
    let host = Box::new(move |news| host.send(Input::Core(shard, news)).is_ok());
    let end = CoreEnd { host, orders: from_host, progress, stash: None };
    let beginning = Beginning {
        shard,
        replica,
        bodies: kept,
        core,
        store,
        applied,
        named,
        base: log_base,
        snapshot: snapshots.last().copied(),
        shows,
    };
    Ok((ShardGroup::new(beginning), end, reader))
}

fn entry_of(entry: &scurry_engine::GroupEntry) -> Result<Entry, String> {
    let kind = match entry.members.as_deref() {
        None => Kind::Frame(Descriptor {
            first: entry.first,
            last: entry.last,
            len: entry.len,
            checksum: entry.content,
        }),
        Some([]) => Kind::Empty,
        Some(bytes) if bytes == SWITCHED => Kind::Switched,
        Some(bytes) => {
            let named = GroupMembers::decode(bytes).map_err(|error| error.to_string())?;
            let of = |votes| {
                let members = named.members.iter().filter(move |member| member.votes == votes);
                members.filter_map(|member| NodeId::new(member.id))
            };
            let members = Members::new(of(true), of(false)).map_err(|error| error.to_string())?;
            Kind::Members(Box::new(members))
        }
    };
    Ok(Entry { term: Term(entry.term), index: Index(entry.index), kind })
}
