//! The processes of one system under test: a server and its replicas, or a cluster.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use scurry_cluster_client::{Address, Member, form};

use crate::client::Client;
use crate::clock::Clock;
use crate::filling::info_number;
use crate::process::{ServerCommand, ServerProcess};
use crate::routes::Routes;
use crate::sampler::resident_bytes;
use crate::target::door;

/// Primaries of a cluster: fewer make none.
pub const CLUSTER_PRIMARIES: usize = 3;
/// Replicas of each primary at most: the ports of one block have room for so many.
pub const REPLICAS_MAX: u32 = 1;
/// From a node's port to the one at which nodes talk to each other.
const BUS: u16 = 8;
/// From one node's port to the next where several share the keys.
const NODE_PORTS: u16 = 3;
const LOOK_EVERY: Duration = Duration::from_millis(50);
const TOGETHER_TIMEOUT: Duration = Duration::from_secs(60);

/// The processes. Dropping it stops them.
#[derive(Debug)]
pub struct Fleet {
    primaries: Vec<ServerProcess>,
    replicas: Vec<ServerProcess>,
    is_cluster: bool,
    /// Owners of the keys, where only clients know them.
    partition: Option<Routes>,
}

/// How a fleet is started.
#[derive(Debug)]
pub struct Plan<'a> {
    /// How its first server is started; the others listen on the ports behind, on the same cores.
    pub first: ServerCommand,
    /// The primaries are a cluster.
    pub is_cluster: bool,
    /// The servers know each other, share the keys by themselves and are each other's backups.
    pub has_members: bool,
    /// Servers that share the keys; where they are no members they do not know it.
    pub nodes: u32,
    /// Replicas of each primary.
    pub replicas: u32,
    /// The core that replicas run on, away from their primaries; none leaves it to the kernel.
    pub replica_core: Option<usize>,
    /// Set by Ctrl-C.
    pub interrupted: &'a AtomicBool,
}

impl Fleet {
    /// Starts them, and waits until every replica has what its primary has.
    ///
    /// # Errors
    /// When one does not start, or they do not come together.
    pub fn start(plan: &Plan<'_>) -> Result<Fleet> {
        let nodes = plan.nodes as usize;
        let (primaries, replicas) = match nodes * plan.replicas as usize {
            _ if plan.is_cluster => (CLUSTER_PRIMARIES, CLUSTER_PRIMARIES * plan.replicas as usize),
            backups if plan.has_members => (nodes + backups, 0),
            replicas => (nodes, replicas),
        };
        ensure!(nodes == 1 || replicas == 0, "servers that share the keys have no replicas here");
        let mut fleet = Fleet {
            primaries: Vec::new(),
            replicas: Vec::new(),
            is_cluster: plan.is_cluster,
            partition: None,
        };
        for index in 0..primaries + replicas {
            let is_primary = index < primaries;
            let command = command(plan, u16::try_from(index)?, is_primary);
            let server = ServerProcess::start(&command, plan.interrupted)?;
            if is_primary { &mut fleet.primaries } else { &mut fleet.replicas }.push(server);
        }
        if nodes > 1 && !plan.has_members {
            let addresses = fleet.primaries.iter().map(ServerProcess::address).collect();
            fleet.partition = Some(Routes::partition(addresses)?);
        }
        let mut patience = Looking { fleet: &fleet, interrupted: plan.interrupted };
        if plan.is_cluster {
            let members = fleet.members();
            form::form(&members, primaries, &mut patience)?;
            form::wait_until_ok(&members, replicas, &mut patience)?;
        } else if replicas > 0 {
            fleet.wait_until_equal(plan.interrupted)?;
        }
        Ok(fleet)
    }

    /// Starts so many servers and the HTTP door before them, which then is the first.
    ///
    /// # Errors
    /// When one does not start, or the door does not find them.
    pub fn start_behind_door(plan: &Plan<'_>, nodes: u16) -> Result<Fleet> {
        let start = |command: &ServerCommand| ServerProcess::start(command, plan.interrupted);
        let mut servers = Vec::new();
        for index in 0..nodes {
            let mut command = command(plan, index * NODE_PORTS, true);
            let number = index.to_string();
            command.arguments.extend(["--node", &number].map(Into::into));
            servers.push(start(&command)?);
        }
        let addresses: Vec<_> = servers.iter().map(ServerProcess::address).collect();
        let mut address = plan.first.address;
        address.set_port(address.port() + nodes * NODE_PORTS);
        servers.insert(0, start(&door(&plan.first, &addresses, address))?);
        Ok(Fleet { primaries: servers, replicas: Vec::new(), is_cluster: false, partition: None })
    }

    /// The first server behind a door.
    pub fn behind_door(&self) -> Option<&ServerProcess> {
        self.primaries.get(1)
    }

    /// The server, or the first node of a cluster.
    pub fn first(&self) -> &ServerProcess {
        &self.primaries[0]
    }

    /// Stops the last of those that answer clients, and says whether it has ended.
    pub fn stop_last(&self) -> bool {
        self.primaries.last().is_some_and(|member| member.stop(TOGETHER_TIMEOUT))
    }

    /// Process ids of those that answer clients.
    pub fn pids(&self) -> Vec<u32> {
        self.primaries.iter().map(ServerProcess::pid).collect()
    }

    /// Process ids of the replicas.
    pub fn replica_pids(&self) -> Vec<u32> {
        self.replicas.iter().map(ServerProcess::pid).collect()
    }

    /// Resident memory of those that answer clients, bytes.
    ///
    /// # Errors
    /// When one of them has gone.
    pub fn resident_bytes(&self) -> Result<u64> {
        self.primaries.iter().map(|server| resident_bytes(server.pid())).sum()
    }

    /// Owners of the keys, where the servers do not know them.
    pub fn partition(&self) -> Option<&Routes> {
        self.partition.as_ref()
    }

    /// Connects to all who answer clients.
    ///
    /// # Errors
    /// When one does not.
    pub fn connect(&self) -> Result<Client> {
        if let Some(partition) = &self.partition {
            return Client::connect_partition(partition.clone());
        }
        let address = self.first().address();
        if self.is_cluster { Client::connect_cluster(address) } else { self.first().client() }
    }

    /// One connection to each replica.
    ///
    /// # Errors
    /// When one does not answer.
    pub fn connect_replicas(&self) -> Result<Vec<Client>> {
        self.replicas.iter().map(ServerProcess::client).collect()
    }

    /// Waits until the replicas have all that their primaries have. Nothing may be written meanwhile.
    ///
    /// # Errors
    /// When they do not come to that.
    pub fn wait_until_equal(&self, interrupted: &AtomicBool) -> Result<()> {
        let of = |server: &ServerProcess| -> Result<(u64, u64)> {
            let reply = server.client()?.call(&["INFO", "replication"])?;
            let info = reply.text().unwrap_or_default();
            let is_linked = u64::from(info.contains("master_link_status:up"));
            let offset = info_number(info, "master_repl_offset");
            Ok((offset.context("INFO names no offset of replication")?, is_linked))
        };
        let mut patience = Looking { fleet: self, interrupted };
        for (index, replica) in self.replicas.iter().enumerate() {
            let primary = &self.primaries[index % self.primaries.len()];
            form::Patience::until(&mut patience, "a replica did not catch up", &mut || match (
                of(primary),
                of(replica),
            ) {
                (Ok((sent, _)), Ok((taken, is_linked))) => is_linked == 1 && taken >= sent,
                _ => false,
            })?;
        }
        Ok(())
    }

    /// The tail of what one of them has printed.
    pub fn output_tail(&self) -> String {
        let all = self.primaries.iter().chain(&self.replicas);
        all.map(ServerProcess::output_tail).find(|tail| !tail.is_empty()).unwrap_or_default()
    }

    fn members(&self) -> Vec<Member> {
        let all = self.primaries.iter().chain(&self.replicas);
        let member = |server: &ServerProcess| Member {
            address: Address::new(&server.address().to_string(), None, None),
            bus_port: server.address().port() + BUS,
        };
        all.map(member).collect()
    }
}

/// How the server of this number is started.
fn command(plan: &Plan<'_>, index: u16, is_primary: bool) -> ServerCommand {
    let mut command = plan.first.clone();
    // A server of ours listens behind its port as well, and so does a member.
    let step = if plan.nodes > 1 || plan.has_members { NODE_PORTS } else { 1 };
    let port = command.address.port() + index * step;
    let first = command.address.port().to_string();
    let listens = command.address.to_string();
    command.address.set_port(port);
    if let Some(place) = command.arguments.iter_mut().find(|word| **word == *listens) {
        *place = command.address.to_string().into();
    }
    let at = command.arguments.iter().position(|word| word == "--port");
    if let Some(place) = at.and_then(|at| command.arguments.get_mut(at + 1)) {
        *place = port.to_string().into();
    }
    if plan.has_members {
        // `serve SYSTEM PORT FIRST ...`: the first one's port is told to all.
        let at = command.arguments.iter().position(|word| word == "serve");
        if let Some(place) = at.and_then(|at| command.arguments.get_mut(at + 2)) {
            *place = port.to_string().into();
        }
        return command;
    }
    if let Some(script) = command.arguments.iter_mut().find(|word| is_settings(word)) {
        // It has no flags: its settings are a line of its script.
        let mut text = script.to_string_lossy().replace(&first, &port.to_string());
        if !is_primary {
            let from = format!(", replication = '127.0.0.1:{first}' }}");
            text = text.replace(" }", &from);
        }
        *script = text.into();
        if !is_primary {
            command.cores = plan.replica_core.into_iter().collect();
        }
        return command;
    }
    let mut add = |words: &[&str]| command.arguments.extend(words.iter().map(Into::into));
    if plan.is_cluster || plan.replicas > 0 {
        // A replica that falls behind is not cut off, and no run pays for copying everything.
        add(&["--repl-diskless-sync-delay", "0", "--repl-backlog-size", "256mb"]);
        add(&["--client-output-buffer-limit", "replica", "0", "0", "0"]);
    }
    if plan.is_cluster {
        add(&["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]);
        add(&["--cluster-port", &(port + BUS).to_string(), "--cluster-node-timeout", "15000"]);
    } else if !is_primary {
        let host = command.address.ip().to_string();
        command.arguments.extend(["--replicaof", &host, &first].map(Into::into));
    }
    if !is_primary {
        command.cores = plan.replica_core.into_iter().collect();
    }
    command
}

/// The settings in the script of Tarantool.
fn is_settings(word: &OsString) -> bool {
    word.to_string_lossy().starts_with("settings = {")
}

/// Looks until something has come about.
struct Looking<'l> {
    fleet: &'l Fleet,
    interrupted: &'l AtomicBool,
}

impl form::Patience for Looking<'_> {
    type Error = anyhow::Error;

    fn until(&mut self, what: &str, is_so: &mut dyn FnMut() -> bool) -> Result<()> {
        let clock = Clock::start();
        while !is_so() {
            ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
            if clock.elapsed() > TOGETHER_TIMEOUT {
                bail!("{what} within {} s", TOGETHER_TIMEOUT.as_secs());
            }
            // Ends early when the server has.
            ensure!(!self.fleet.first().ends_within(LOOK_EVERY), "the server ended: {what}");
        }
        Ok(())
    }

    fn tell(&mut self, _: &str) {}
}
