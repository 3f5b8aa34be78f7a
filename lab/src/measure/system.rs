//! A system under test: started by the lab, or already running at a given address.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};

use crate::client::Client;
use crate::fleet::Fleet;
use crate::process::ServerProcess;
use crate::routes::Routes;
use crate::wire::Wire;

/// System that is kept from one run of a target to the next.
#[derive(Debug, Default)]
pub struct KeptSystem {
    /// Key of how it was started, and the system.
    kept: Option<(String, System)>,
}

impl KeptSystem {
    /// Returns the kept system if it was started in this way; stops any other.
    pub(super) fn take(&mut self, asked: &str) -> Option<System> {
        self.kept.take().filter(|(how, _)| how == asked).map(|(_, system)| system)
    }

    /// Keeps the system for the next run.
    pub(super) fn keep(&mut self, asked: String, mut system: System) {
        if let System::Started { is_used, .. } = &mut system {
            *is_used = true;
        }
        self.kept = Some((asked, system));
    }
}

/// Target of the load.
#[derive(Debug)]
pub(super) enum System {
    /// System that the lab started; it is stopped when this is dropped.
    Started {
        fleet: Box<Fleet>,
        /// Process that runs the load with the system's own client.
        driver: Option<ServerProcess>,
        /// True when an earlier run has filled it.
        is_used: bool,
    },
    /// System started by others; its processes are unknown.
    There {
        address: SocketAddr,
        wire: Wire,
        /// As for a started system.
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

    /// Returns the servers, where the lab started them.
    pub(super) fn fleet_mut(&mut self) -> Option<&mut Fleet> {
        match self {
            System::Started { fleet, .. } => Some(fleet),
            System::There { .. } => None,
        }
    }

    /// Returns the process that runs the load instead of the lab.
    pub(super) fn driver(&self) -> Option<&ServerProcess> {
        match self {
            System::Started { driver, .. } | System::There { driver, .. } => driver.as_ref(),
        }
    }

    /// Reports whether an earlier run has filled it.
    pub(super) fn is_used(&self) -> bool {
        matches!(self, System::Started { is_used: true, .. })
    }

    /// Returns the directory of the server that was started last.
    pub(super) fn last_directory(&self) -> Option<&Path> {
        self.fleet().map(|fleet| fleet.last().directory())
    }

    /// Stops the last of several members without a handover.
    pub(super) fn stop_last(&self) -> Result<()> {
        let fleet = self.fleet().context("the lab has started no members")?;
        ensure!(fleet.stop_last(), "a member did not end");
        Ok(())
    }

    /// Returns the process ids of the servers that answer clients; empty when the lab did not start them.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.fleet().map(Fleet::pids).unwrap_or_default()
    }

    pub(super) fn replica_pids(&self) -> Vec<u32> {
        self.fleet().map(Fleet::replica_pids).unwrap_or_default()
    }

    /// Returns the resident memory, bytes; None when the processes are unknown.
    pub(super) fn resident_bytes(&self) -> Result<Option<u64>> {
        self.fleet().map(Fleet::resident_bytes).transpose()
    }

    /// Returns the address of the process that answers the lab.
    pub(super) fn address(&self) -> SocketAddr {
        match self {
            System::Started { fleet, .. } => fleet.speaker().address(),
            System::There { address, .. } => *address,
        }
    }

    /// Returns the address of the server, or of the first one.
    pub(super) fn first_address(&self) -> SocketAddr {
        self.fleet().map_or_else(|| self.address(), |fleet| fleet.first().address())
    }

    /// Returns the process id of the gateway, which runs on the loader's core.
    pub(super) fn gateway_pid(&self) -> Option<u32> {
        self.fleet().and_then(Fleet::gateway_pid)
    }

    pub(super) fn connect(&self) -> Result<Client> {
        match self {
            System::Started { fleet, .. } => fleet.connect(),
            // The driver reports the identity of the system.
            System::There { driver: Some(driver), .. } => driver.client(),
            System::There { address, wire, driver: None } => Client::connect_over(*wire, *address),
        }
    }

    /// Connects to a server of the HTTP door.
    pub(super) fn connect_behind_door(&self) -> Result<Client> {
        let server = self.fleet().and_then(Fleet::behind_door);
        server.context("there is no server behind the door")?.client()
    }

    /// Returns the owners of the keys, where the servers do not know them.
    pub(super) fn partition(&self) -> Option<&Routes> {
        self.fleet().and_then(Fleet::partition)
    }

    pub(super) fn connect_replicas(&self) -> Result<Vec<Client>> {
        self.fleet().map_or_else(|| Ok(Vec::new()), Fleet::connect_replicas)
    }

    pub(super) fn wait_until_equal(&self, interrupted: &AtomicBool) -> Result<()> {
        self.fleet().map_or(Ok(()), |fleet| fleet.wait_until_equal(interrupted))
    }

    /// Returns the end of the servers' output; empty when it is unknown.
    pub(super) fn output_tail(&self) -> String {
        self.fleet().map(Fleet::output_tail).unwrap_or_default()
    }
}
