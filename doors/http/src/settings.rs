//! The settings of a door.

use crate::open_error::{NODES_MAX, OpenError};
use scurry_door_entities::{EntitySettings, NODE_MAX};
use scurry_door_nchf::NchfSettings;
use scurry_http::DoorSettings;
use scurry_service_table::ServiceTable;
use std::collections::BTreeSet;

/// Settings of a door to nodes of entities, to a store, or to both.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its address, users and limits.
    pub front: DoorSettings,
    /// The store of accounts, as `HOST:PORT`: one server, or any nodes of a Valkey Cluster. If empty, the door has no
    /// charging.
    pub store: Vec<String>,
    /// The nodes of entities. Its user, password and timeout are those for the store too.
    pub entities: EntitySettings,
    /// What the door of 5G charges by.
    pub nchf: NchfPart,
}

/// What the door of 5G charges by.
#[derive(Clone, Debug)]
pub struct NchfPart {
    /// The table of services.
    pub services: ServiceTable,
    /// `[nchf]`.
    pub settings: NchfSettings,
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        if self.entities.nodes.is_empty() && self.store.is_empty() {
            return Err(OpenError::Nothing);
        }
        for nodes in [&self.entities.nodes, &self.store] {
            check_nodes(nodes)?;
        }
        if self.entities.number > NODE_MAX {
            Err(OpenError::Number(self.entities.number))
        } else {
            Ok(())
        }
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
