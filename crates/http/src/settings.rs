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
    /// All nodes of entities, as `HOST:PORT`: the same for every door. What a node is called
    /// decides which ids it keeps.
    pub nodes: Vec<String>,
    /// This door's number, 0 to [`NODE_MAX`], another for every door: versions end with it.
    pub number: u16,
    /// A value at most, bytes.
    pub value_len_max: usize,
    /// How long a node may take to answer.
    pub patience: Duration,
    /// How long the nodes remember deletions, ms: their setting `entity_tombstone_ms`.
    pub tombstone_ms: i64,
    /// User of the nodes.
    pub user: Option<String>,
    /// Password of the nodes.
    pub password: Option<String>,
    /// Nodes that were away for longer than deletions are remembered count as they are.
    pub trust_old_nodes: bool,
}

/// Why a door does not open.
#[derive(Debug, Error)]
pub enum StartError {
    /// No nodes, or too many.
    #[error("there are {0} nodes, and must be 1 to {NODES_MAX}: say --nodes HOST:PORT,HOST:PORT")]
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
    /// The files of TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No threads.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), StartError> {
        if self.nodes.is_empty() || self.nodes.len() > NODES_MAX {
            return Err(StartError::Nodes(self.nodes.len()));
        }
        let mut names = BTreeSet::new();
        for node in &self.nodes {
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
        if self.number > NODE_MAX { Err(StartError::Number(self.number)) } else { Ok(()) }
    }
}
