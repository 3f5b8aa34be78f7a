//! A system under test: started by the lab, or running already at an address that the lab was given.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};

use crate::client::Client;
use crate::fleet::Fleet;
use crate::process::ServerProcess;
use crate::routes::Routes;
use crate::wire::Wire;

/// System that stays up from one run to the next of the same target.
#[derive(Debug, Default)]
pub struct Standing {
    /// How it was started, and what it is.
    kept: Option<(String, System)>,
}

impl Standing {
    /// System that was started like this; any other is stopped.
    pub(super) fn take(&mut self, asked: &str) -> Option<System> {
        self.kept.take().filter(|(how, _)| how == asked).map(|(_, system)| system)
    }

    /// Leaves it for the next run.
    pub(super) fn keep(&mut self, asked: String, mut system: System) {
        if let System::Started { is_used, .. } = &mut system {
            *is_used = true;
        }
        self.kept = Some((asked, system));
    }
}

/// Where the load goes.
#[derive(Debug)]
pub(super) enum System {
    /// Stopped when it is dropped.
    Started {
        fleet: Box<Fleet>,
        /// Carries out the load, with the system's own client.
        driver: Option<ServerProcess>,
        /// A run has filled it before.
        is_used: bool,
    },
    /// Somebody else's, so that nothing is known of its processes.
    There {
        address: SocketAddr,
        wire: Wire,
        /// As of a started one.
        driver: Option<ServerProcess>,
    },
}

impl System {
    fn fleet(&self) -> Option<&Fleet> {
        match self {
            System::Started { fleet, .. } => Some(fleet),
            System::There { .. } => None,
        }
    }

    /// The servers, where the lab has started them.
    pub(super) fn fleet_mut(&mut self) -> Option<&mut Fleet> {
        match self {
            System::Started { fleet, .. } => Some(fleet),
            System::There { .. } => None,
        }
    }

    /// Process that carries out the load in the lab's stead.
    pub(super) fn driver(&self) -> Option<&ServerProcess> {
        match self {
            System::Started { driver, .. } | System::There { driver, .. } => driver.as_ref(),
        }
    }

    /// A run has filled it before.
    pub(super) fn is_used(&self) -> bool {
        matches!(self, System::Started { is_used: true, .. })
    }

    /// Directory of the server that was started last.
    pub(super) fn last_directory(&self) -> Option<&Path> {
        self.fleet().map(|fleet| fleet.last().directory())
    }

    /// Stops the last of several members, which hands nothing over.
    pub(super) fn stop_last(&self) -> Result<()> {
        let fleet = self.fleet().context("the lab has started no members")?;
        ensure!(fleet.stop_last(), "a member did not end");
        Ok(())
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

    /// Of who answers the lab.
    pub(super) fn address(&self) -> SocketAddr {
        match self {
            System::Started { fleet, .. } => fleet.speaker().address(),
            System::There { address, .. } => *address,
        }
    }

    /// Of the server, or of the first one.
    pub(super) fn first_address(&self) -> SocketAddr {
        self.fleet().map_or_else(|| self.address(), |fleet| fleet.first().address())
    }

    /// Process id of the client through which the lab speaks to the servers, on the loader's core.
    pub(super) fn gateway_pid(&self) -> Option<u32> {
        self.fleet().and_then(Fleet::gateway_pid)
    }

    pub(super) fn connect(&self) -> Result<Client> {
        match self {
            System::Started { fleet, .. } => fleet.connect(),
            // Its driver says what it is.
            System::There { driver: Some(driver), .. } => driver.client(),
            System::There { address, wire, driver: None } => Client::connect_over(*wire, *address),
        }
    }

    /// A connection to a server behind the HTTP door.
    pub(super) fn connect_behind_door(&self) -> Result<Client> {
        let server = self.fleet().and_then(Fleet::behind_door);
        server.context("there is no server behind the door")?.client()
    }

    /// Owners of the keys, where the servers do not know them.
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
