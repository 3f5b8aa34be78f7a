//! A system under test: started by the lab, or running already at an address that the lab was given.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};

use crate::client::Client;
use crate::fleet::Fleet;
use crate::routes::Routes;
use crate::wire::Wire;

/// Where the load goes.
#[derive(Debug)]
pub(super) enum System {
    /// Stopped when it is dropped.
    Started(Fleet),
    /// Somebody else's, so that nothing is known of its processes.
    There { address: SocketAddr, wire: Wire },
}

impl System {
    fn fleet(&self) -> Option<&Fleet> {
        match self {
            System::Started(fleet) => Some(fleet),
            System::There { .. } => None,
        }
    }

    /// Process ids of those that answer clients, where they are the lab's.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.fleet().map(Fleet::pids).unwrap_or_default()
    }

    pub(super) fn replica_pids(&self) -> Vec<u32> {
        self.fleet().map(Fleet::replica_pids).unwrap_or_default()
    }

    /// Resident memory, bytes; none where it is not known.
    pub(super) fn resident_bytes(&self) -> Result<Option<u64>> {
        self.fleet().map(Fleet::resident_bytes).transpose()
    }

    /// Of the server, or of the first node of a cluster.
    pub(super) fn address(&self) -> SocketAddr {
        match self {
            System::Started(fleet) => fleet.first().address(),
            System::There { address, .. } => *address,
        }
    }

    pub(super) fn connect(&self) -> Result<Client> {
        match self {
            System::Started(fleet) => fleet.connect(),
            System::There { address, wire } => Client::connect_over(*wire, *address),
        }
    }

    /// A connection to a server behind the HTTP door.
    pub(super) fn connect_behind_door(&self) -> Result<Client> {
        let server = self.fleet().and_then(Fleet::behind_door);
        server.context("there is no server behind the door")?.client()
    }

    /// Who has which key, where the servers do not know it.
    pub(super) fn partition(&self) -> Option<&Routes> {
        self.fleet().and_then(Fleet::partition)
    }

    pub(super) fn connect_replicas(&self) -> Result<Vec<Client>> {
        self.fleet().map_or_else(|| Ok(Vec::new()), Fleet::connect_replicas)
    }

    pub(super) fn wait_until_equal(&self, interrupted: &AtomicBool) -> Result<()> {
        self.fleet().map_or(Ok(()), |fleet| fleet.wait_until_equal(interrupted))
    }

    /// The end of what they have printed; nothing where that is not known.
    pub(super) fn output_tail(&self) -> String {
        self.fleet().map(Fleet::output_tail).unwrap_or_default()
    }
}
