//! What a door is opened with.

use crate::front::Front;
use crate::start_error::{NODES_MAX, StartError};
use scurry_engine::NODE_MAX;
use std::collections::BTreeSet;
use std::time::Duration;

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
