//! Settings of entities on nodes.

use std::time::Duration;

/// The nodes of entities, and how they are reached.
#[derive(Clone, Debug)]
pub struct EntitySettings {
    /// All nodes, as `HOST:PORT`, spelled the same at every door: the spelling of a node decides which ids it keeps. If
    /// empty, there are no entities.
    pub nodes: Vec<String>,
    /// Number of this door, 0 to [`NODE_MAX`](crate::NODE_MAX): the last part of its versions.
    /// Several doors may have the same number.
    pub number: u16,
    /// Maximum length of a value, bytes.
    pub value_len_max: usize,
    /// Timeout of an answer of a node.
    pub patience: Duration,
    /// How long the nodes remember deletions, ms.
    pub tombstone_ms: i64,
    /// User name at the nodes.
    pub user: Option<String>,
    /// Password at the nodes.
    pub password: Option<String>,
    /// Trusts nodes that were away for longer than deletions are remembered: they count as they are.
    pub trust_old_nodes: bool,
}
