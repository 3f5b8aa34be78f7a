//! Why the doors of the binary do not open.

use scurry_door_entities::NODE_MAX;
use scurry_door_nchf::NchfError;
use scurry_http::StartError;
use thiserror::Error;

/// Maximum number of nodes.
pub(crate) const NODES_MAX: usize = 64;

/// Why a door to nodes of entities and to a store does not open.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The settings name neither entities nor charging.
    #[error(
        "there is nothing to serve: say --store HOST:PORT, --nodes HOST:PORT,HOST:PORT, or both"
    )]
    Nothing,
    /// The settings name too many nodes.
    #[error("there are {0} nodes, and may be {NODES_MAX} at most")]
    Nodes(usize),
    /// A node is not `HOST:PORT`.
    #[error("the node `{0}` is not HOST:PORT")]
    Node(String),
    /// A node is named twice.
    #[error("the node `{0}` is named twice")]
    Twice(String),
    /// The number of the door is out of range.
    #[error("the number of this door is {0}, and must be 0 to {NODE_MAX}")]
    Number(u16),
    /// The settings are right, and it must not or cannot serve.
    #[error(transparent)]
    Start(#[from] StartError),
    /// `[nchf]` is wrong, or a file that it names.
    #[error(transparent)]
    Nchf(#[from] NchfError),
}
