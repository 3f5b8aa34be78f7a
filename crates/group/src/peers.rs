//! Connections to the other nodes of a group.
//!
//! Each pair of nodes has two connections, each used in one direction: the node that dialled writes, and the other
//! reads. Each connection has its own blocking thread. Messages may be lost, and the replicas are built for that.

mod admission;
mod bytes;
mod catch_up;
mod credentials;
mod door;
mod encryption;
mod greeting;
mod join;
mod packet;
mod passage;
mod roster;
mod socket;
mod succession;
mod versions;

pub(crate) use admission::JoinAnswer;
pub use admission::{Accepted, GroupMember, JoinRequest};
pub(crate) use catch_up::CatchUp;
pub use credentials::Credentials;
pub(crate) use join::JoinReply;
pub use join::{ask_to_join, find_seeking_member};
pub(crate) use packet::{Packet, Subject};
pub use passage::Passages;
pub use socket::Sockets;
pub use succession::LostGroup;
pub(crate) use succession::SuccessionReply;
pub use versions::PROTOCOL_HIGHEST;

use crate::clocks::Clocks;
use crate::view::Addresses;
use roster::{Link, Roster};
use scurry_consensus::replica::{ByteCount, NodeId};
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

/// What a node tells the others about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The id of the node.
    pub node: NodeId,
    /// The id of the group's store.
    pub store: u64,
    /// The number of threads, which is the number of shards.
    pub threads: u16,
    /// The addresses of the node.
    pub addresses: Addresses,
    /// The lost group whose place this one has taken.
    pub succeeds: Option<LostGroup>,
    /// The version of the protocol between nodes that each node of its group has to speak.
    pub required: u16,
}

/// Messages of the connections to the host.
#[derive(Debug)]
pub(crate) enum Inbound {
    /// From a member, or from a node that was a member until a moment ago.
    Packet { from: NodeId, packet: Packet },
    /// A member has connected, and can be reached at these addresses.
    Hello { from: NodeId, addresses: Addresses },
    /// Connections in both directions are established.
    Connected(NodeId),
    /// One of the two connections has ended.
    Lost(NodeId),
    /// A node asks to join.
    Join { request: JoinRequest, answer: JoinReply },
    /// A member of another group has dialled this node as one of its own members.
    Mistaken { by: NodeId, at: SocketAddr, target: NodeId },
    /// Another group has taken the place of this one.
    Succeeded { by: u64, at: SocketAddr, answer: SuccessionReply },
    /// A connection was refused or has failed. Reported at most once a second.
    Strange { text: String },
}

/// Receives these messages. Several threads call it while they hold the lock of the connections, so it must neither
/// block nor use the connections.
type Inbox = Box<dyn Fn(Inbound) + Send + Sync>;

/// Opens a new connection to the store of this process. It speaks RESP.
pub type Enter = Box<dyn Fn() -> io::Result<UnixStream> + Send + Sync>;

/// The connections to all other nodes. Dropping it closes them.
pub(crate) struct Peers {
    roster: Arc<Roster>,
    links: BTreeMap<NodeId, PeerLink>,
    /// Threads of links that were stopped and may not have ended yet.
    ending: Vec<JoinHandle<()>>,
    listener: TcpListener,
    door: Option<JoinHandle<()>>,
    /// Tells the nodes of a lost group that this group has its place.
    succession: Option<JoinHandle<()>>,
}

/// A link and its thread.
struct PeerLink {
    link: Arc<Link>,
    thread: JoinHandle<()>,
}

impl Peers {
    /// Starts to dial these members and to accept their connections.
    pub(crate) fn start(
        (listener, members): (TcpListener, &[(NodeId, SocketAddr)]),
        own: Identity,
        (sockets, clocks): (Sockets, Arc<Clocks>),
        enter: Enter,
        inbox: impl Fn(Inbound) + Send + Sync + 'static,
    ) -> io::Result<Peers> {
        let roster = Arc::new(Roster::new(own, (Box::new(inbox), enter), sockets, clocks));
        let (links, ending) = (BTreeMap::new(), Vec::new());
        let mut peers = Peers { roster, links, ending, listener, door: None, succession: None };
        // The members must be known before the first connection is accepted: a member that connects earlier would be
        // refused.
        peers.set(members);
        let listener = peers.listener.try_clone()?;
        peers.door = Some(door::start(listener, Arc::clone(&peers.roster))?);
        if let Some(lost) = peers.roster.own.succeeds.clone() {
            peers.succession = Some(succession::start(lost, Arc::clone(&peers.roster))?);
        }
        Ok(peers)
    }

    /// Returns the connections by which doors of this process reach the store of another node.
    pub(crate) fn passages(&self) -> Passages {
        Passages::new(Arc::clone(&self.roster))
    }

    /// Sets the members, each with its address for nodes. This node may be among them. Connections to all others are
    /// closed, and a member with a new address is dialled again.
    pub(crate) fn set(&mut self, members: &[(NodeId, SocketAddr)]) {
        self.ending.retain(|thread| !thread.is_finished());
        let others = members.iter().filter(|(node, _)| *node != self.roster.own.node);
        let others: BTreeMap<NodeId, SocketAddr> = others.copied().collect();
        let gone = |node: &NodeId, way: &mut PeerLink| others.get(node) != Some(&way.link.address);
        for (_, way) in self.links.extract_if(.., gone) {
            way.link.stop();
            self.ending.push(way.thread);
        }
        let links = self.links.iter().map(|(node, way)| (*node, Arc::clone(&way.link)));
        let mut links: BTreeMap<NodeId, Arc<Link>> = links.collect();
        let new = others.iter().filter(|(node, _)| !self.links.contains_key(node));
        let new: Vec<Arc<Link>> = new.map(|(node, at)| Arc::new(Link::new(*node, *at))).collect();
        links.extend(new.iter().map(|link| (link.node, Arc::clone(link))));
        self.roster.set(others.keys().copied().collect(), links);
        for link in new {
            match roster::start(&link, &self.roster) {
                Ok(thread) => {
                    self.links.insert(link.node, PeerLink { link, thread });
                }
                // The link is missing until the members are set again, which tries once more.
                Err(error) => {
                    tracing::error!("no thread for the connection to node {}: {error}", link.node);
                }
            }
        }
    }

    /// Sends a packet to a node. Returns false if it is not connected or too much is queued. A packet that was accepted
    /// may still be lost.
    pub(crate) fn send(&mut self, to: NodeId, packet: Packet) -> bool {
        if !packet.is_sendable() {
            tracing::error!(
                "a packet of {} bytes with {} frames is longer than nodes take: it cannot be sent",
                packet.len(),
                packet.bodies.len()
            );
            return false;
        }
        self.links.get(&to).is_some_and(|way| way.link.send(packet))
    }

    /// Returns how many bytes of frames the link to a node takes at a time.
    pub(crate) fn room(&self, node: NodeId) -> ByteCount {
        self.links.get(&node).map_or(ByteCount(0), |way| way.link.room())
    }

    /// Returns the version of the protocol that the connection to a node uses. None without a connection.
    pub(crate) fn version(&self, node: NodeId) -> Option<u16> {
        self.links.get(&node).and_then(|way| way.link.version())
    }

    /// Refuses connections from now on with nodes that do not speak this version of the protocol.
    pub(crate) fn require(&self, version: u16) {
        self.roster.require(version);
    }

    fn stop(&mut self) {
        self.roster.stop();
        // This wakes the thread that accepts.
        if let Err(error) = socket2::SockRef::from(&self.listener).shutdown(Shutdown::Both) {
            tracing::debug!("the listener for nodes was closed before: {error}");
        }
        self.links.values().for_each(|way| way.link.stop());
        let links = std::mem::take(&mut self.links).into_values().map(|way| way.thread);
        let own = self.door.take().into_iter().chain(self.succession.take());
        for thread in links.chain(self.ending.drain(..)).chain(own) {
            if thread.join().is_err() {
                tracing::error!("a thread of the connections between nodes has panicked");
            }
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
