//! What a door is opened with.

use crate::front::Front;
use scurry_engine::NODE_MAX;
use scurry_server::TlsError;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use thiserror::Error;

/// Nodes at most.
const NODES_MAX: usize = 64;

/// How a door is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens, and for whom.
    pub front: Front,
    /// The store of accounts, as `HOST:PORT`: a server, or any nodes of a Valkey Cluster. Without
    /// it there is no charging here.
    pub store: Vec<String>,
    /// All nodes of entities, as `HOST:PORT`: the same for every door. What a node is called
    /// decides which ids it keeps. Without them there are no entities here.
    pub nodes: Vec<String>,
    /// Number of this door, 0 to [`NODE_MAX`]: versions end with it. Several doors may have the same.
    pub number: u16,
    /// A value at most, bytes.
    pub value_len_max: usize,
    /// How long a node may take to answer.
    pub patience: Duration,
    /// How long the nodes remember deletions, ms: their setting `entity_tombstone_ms`.
    pub tombstone_ms: i64,
    /// User of the nodes and of the store.
    pub user: Option<String>,
    /// Password of the nodes and of the store.
    pub password: Option<String>,
    /// Nodes that were away for longer than deletions are remembered count as they are.
    pub trust_old_nodes: bool,
}

/// Why a door does not open.
#[derive(Debug, Error)]
pub enum StartError {
    /// Neither entities nor charging.
    #[error(
        "there is nothing to serve: say --store HOST:PORT, --nodes HOST:PORT,HOST:PORT, or both"
    )]
    Nothing,
    /// Too many nodes.
    #[error("there are {0} nodes, and may be {NODES_MAX} at most")]
    Nodes(usize),
    /// A node is not named well.
    #[error("the node `{0}` is not HOST:PORT")]
    Node(String),
    /// A node is named twice.
    #[error("the node `{0}` is named twice")]
    Twice(String),
    /// Not a number of a door.
    #[error("the number of this door is {0}, and must be 0 to {NODE_MAX}")]
    Number(u16),
    /// The port is taken, or not this machine's.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// Everybody could come in.
    #[error(
        "refusing to open the HTTP door on {0} to everybody: anyone who reaches this address could \
         see and change what is kept. Give users (docs/access.md), or demand certificates of clients \
         (--tls-client-ca), or say so in as many words with {1}"
    )]
    OpenAccess(SocketAddr, &'static str),
    /// Not names of hosts.
    #[error("{0} names at most {1} hosts, each without a scheme and a port: scurry.example")]
    Hosts(&'static str, usize),
    /// The files of TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No threads.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), StartError> {
        if self.nodes.is_empty() && self.store.is_empty() {
            return Err(StartError::Nothing);
        }
        for nodes in [&self.nodes, &self.store] {
            check_nodes(nodes)?;
        }
        if self.number > NODE_MAX { Err(StartError::Number(self.number)) } else { Ok(()) }
    }
}

fn check_nodes(nodes: &[String]) -> Result<(), StartError> {
    if nodes.len() > NODES_MAX {
        return Err(StartError::Nodes(nodes.len()));
    }
    let mut names = BTreeSet::new();
    for node in nodes {
        let well = node.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !well {
            return Err(StartError::Node(node.clone()));
        }
        if !names.insert(node) {
            return Err(StartError::Twice(node.clone()));
        }
    }
    Ok(())
}
