//! The settings of a door.

use crate::open_error::{NODES_MAX, OpenError};
use scurry_door_entities::NODE_MAX;
use scurry_http::Front;
use std::collections::BTreeSet;
use std::time::Duration;

/// Settings of a door to nodes of entities, to a store, or to both.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its address, users and limits.
    pub front: Front,
    /// The store of accounts, as `HOST:PORT`: one server, or any nodes of a Valkey Cluster. If empty, the door has no
    /// charging.
    pub store: Vec<String>,
    /// All nodes of entities, as `HOST:PORT`, spelled the same at every door: the spelling of a node decides which ids
    /// it keeps. If empty, the door has no entities.
    pub nodes: Vec<String>,
    /// Number of this door, 0 to [`NODE_MAX`]: the last part of its versions. Several doors may have the same number.
    pub number: u16,
    /// Maximum length of a value, bytes.
    pub value_len_max: usize,
    /// Timeout of an answer of a node or of the store.
    pub patience: Duration,
    /// How long the nodes remember deletions, ms: their setting `entity_tombstone_ms`.
    pub tombstone_ms: i64,
    /// User name at the nodes and the store.
    pub user: Option<String>,
    /// Password at the nodes and the store.
    pub password: Option<String>,
    /// Trusts nodes that were away for longer than deletions are remembered: they count as they are.
    pub trust_old_nodes: bool,
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        if self.nodes.is_empty() && self.store.is_empty() {
            return Err(OpenError::Nothing);
        }
        for nodes in [&self.nodes, &self.store] {
            check_nodes(nodes)?;
        }
        if self.number > NODE_MAX { Err(OpenError::Number(self.number)) } else { Ok(()) }
    }
}

fn check_nodes(nodes: &[String]) -> Result<(), OpenError> {
    if nodes.len() > NODES_MAX {
        return Err(OpenError::Nodes(nodes.len()));
    }
    let mut names = BTreeSet::new();
    for node in nodes {
        let well = node.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !well {
            return Err(OpenError::Node(node.clone()));
        }
        if !names.insert(node) {
            return Err(OpenError::Twice(node.clone()));
        }
    }
    Ok(())
}
