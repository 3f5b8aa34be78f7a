//! Why a server does not start, and what to do about it.

use scurry_disk::StoreError;
use scurry_engine::RecoveryError;
use scurry_tls::TlsError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Reasons for a failed start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no password, and the address is reachable from outside this machine.
    #[error(
        "refusing to listen on {0} without a password: anyone who reaches this address could spend \
         balances. Set a password (SCURRY_REQUIREPASS or --requirepass), give users, or demand \
         certificates of clients (--tls-client-ca), or say so in as many words with \
         --allow-open-access-without-password"
    )]
    OpenAccess(SocketAddr),
    /// Nodes do not authenticate each other, and the address is reachable from outside this machine.
    #[error(
        "refusing to listen for nodes on {0} without TLS: anyone who reaches this address could join the group \
         and read every balance. Give each node a certificate (--replicate-tls-cert, --replicate-tls-key, \
         --replicate-tls-ca), or, where its network has trusted machines alone, say so with \
         --allow-open-access-without-password"
    )]
    OpenNodes(SocketAddr),
    /// A file of TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Another process listens there.
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
    /// An adapter was requested and is not available.
    #[error("{0}")]
    Adapter(String),
    /// The ports of the cores would exceed 65535.
    #[error(
        "the ports of the cores would go beyond 65535: choose a lower --core-port, or fewer --threads"
    )]
    CorePorts,
    /// The directory of the store cannot be used.
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
    /// The files of a group's node are damaged or incomplete.
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
        /// Addresses of the other nodes.
        join: String,
        /// Number of this node.
        node: u64,
        /// The fault that was found.
        source: Box<StartError>,
    },
    /// The directory is empty, and the operator has neither named a group to join nor founded one here.
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
    /// The directory holds a store of one machine, and the operator has not founded a group with it.
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
    /// The node cannot be a member of its group.
    #[error("this node cannot be one of its group: {0}")]
    Group(String),
    /// The number of threads differs from that of the group: all nodes have the same shards.
    #[error(
        "the group has {group} threads on each node, and this one {here}: start it with --threads {group}"
    )]
    GroupThreads {
        /// Requested number of threads.
        here: u16,
        /// Number of threads of the group.
        group: u16,
    },
    /// The system refuses something else that the server needs.
    #[error("cannot set up {what}: {source}")]
    System {
        /// The step that has failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl StartError {
    /// Reports whether the files are damaged or missing, so that a node could get them from its group.
    pub(crate) fn is_of_files(&self) -> bool {
        match self {
            StartError::Store(error) => error.is_damage(),
            StartError::Recovery { source, .. } => source.is_damage(),
            _ => false,
        }
    }

    /// Returns a conversion for `map_err`.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> StartError {
        move |source| StartError::System { what, source }
    }
}
