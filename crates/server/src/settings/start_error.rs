//! Why a server does not start, and what to do about it.

use super::TlsError;
use scurry_disk::StoreError;
use scurry_engine::RecoveryError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A server that did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No password, and not only this machine could connect.
    #[error(
        "refusing to listen on {0} without a password: anyone who reaches this address could spend \
         balances. Set a password (SCURRY_REQUIREPASS or --requirepass), give users, or demand \
         certificates of clients (--tls-client-ca), or say so in as many words with \
         --allow-open-access-without-password"
    )]
    OpenAccess(SocketAddr),
    /// Nodes do not show who they are, and not only this machine could connect.
    #[error(
        "refusing to listen for nodes on {0} without TLS: anyone who reaches this address could join the group \
         and read every balance. Give each node a certificate (--replicate-tls-cert, --replicate-tls-key, \
         --replicate-tls-ca), or, where its network has trusted machines alone, say so with \
         --allow-open-access-without-password"
    )]
    OpenNodes(SocketAddr),
    /// The files of TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Somebody else listens there.
    #[error(
        "cannot listen on {0}: the address is in use. Stop what listens there, or choose another \
         port with --listen (port 0 takes a free one); with several --threads each core has a port \
         of its own behind it, or from --core-port on"
    )]
    AddressInUse(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}. Choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// RDMA was asked for and cannot be had.
    #[error(
        "cannot listen on {address} over RDMA: {reason}. Without --rdma-listen TCP alone is served"
    )]
    Rdma {
        /// The address.
        address: SocketAddr,
        /// Why not.
        reason: String,
    },
    /// There are no ports left for the cores.
    #[error(
        "the ports of the cores would go beyond 65535: choose a lower --core-port, or fewer --threads"
    )]
    CorePorts,
    /// The directory of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store cannot be trusted.
    #[error("{place}: {source}")]
    Recovery {
        /// The directory within the store.
        place: String,
        /// The fault that recovery has found.
        source: Box<RecoveryError>,
    },
    /// A node of a group lacks what it had stored.
    #[error(
        "the files of this node of a group are damaged, or some are missing, or it has noticed that it has lost what \
         it had stored. Move {} away and start this node with \
         an empty directory, --join {join} and --replaces {node:016x}: the other nodes have what it had acknowledged \
         (docs/runbooks.md, a disk dies). What was found: {source}. (A backup is for a group of which no majority \
         is left.)",
        directory.display()
    )]
    Node {
        /// The directory of the store.
        directory: PathBuf,
        /// Where the other nodes are reached.
        join: String,
        /// Number of this node.
        node: u64,
        /// The fault that was found.
        source: Box<StartError>,
    },
    /// Nobody has said that a group begins here.
    #[error(
        "{} is empty, and no node of a group was named: a node joins a group that is there with --join, and a group is \
         begun once, by a person, with `scurry replica init --dir {}`. (If this node was one of a group, its directory \
         is lost: --join and --replaces let a new one take its place. docs/replication.md)",
        directory.display(), directory.display()
    )]
    NotTold {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// Nobody has said that a group begins with a store of one machine.
    #[error(
        "{} holds a store of one machine, and is no node of a group: a group begins with all it has after `scurry \
         replica init --dir {}`, once. To join another group give an empty directory; to go on as one machine leave \
         --replicate away. Nothing was changed",
        directory.display(), directory.display()
    )]
    NotToldWithStore {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// The node cannot be one of its group.
    #[error("this node cannot be one of its group: {0}")]
    Group(String),
    /// Shards are the same on all nodes.
    #[error(
        "the group has {group} threads on each node, and this one {here}: start it with --threads {group}"
    )]
    GroupThreads {
        /// Threads that were asked for.
        here: u16,
        /// Threads of the group.
        group: u16,
    },
    /// Something else that the loop needs.
    #[error("cannot set up {what}: {source}")]
    System {
        /// The step that has failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl StartError {
    /// True where files are damaged or missing that the node of a group has from its group, too.
    pub(crate) fn is_of_files(&self) -> bool {
        match self {
            StartError::Store(error) => error.is_damage(),
            StartError::Recovery { source, .. } => source.is_damage(),
            _ => false,
        }
    }

    /// For `map_err`.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> StartError {
        move |source| StartError::System { what, source }
    }
}
