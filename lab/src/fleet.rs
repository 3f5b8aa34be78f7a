//! The processes of one system under test: a server and its replicas, or a cluster.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use scurry_cluster_client::{Address, Member, form};

use crate::client::Client;
use crate::clock::Clock;
use crate::filling::info_number;
use crate::process::{PORTS_MAX, ServerCommand, ServerProcess};
use crate::routes::Routes;
use crate::sampler::resident_bytes;
use crate::target::{NdbPlan, door};

/// Primaries of a cluster, the minimum that Valkey accepts.
pub const CLUSTER_PRIMARIES: usize = 3;
/// Nodes of a group that replicates one log: any one of them may fail.
pub const GROUP_NODES: u32 = 3;
/// Nodes of a group that hold an acknowledged entry: a majority.
pub const GROUP_COPIES: u32 = 2;
/// Most replicas of each primary, limited by the ports of one block.
pub const REPLICAS_MAX: u32 = 1;
/// Offset from a node's port to its port for other nodes.
const BUS: u16 = 8;
/// Distance between the ports of nodes that share the keys.
const NODE_PORTS: u16 = 3;
/// Argument of the first data node of NDB.
const NDB_FIRST: &str = "--ndb-nodeid=1";
const LOOK_EVERY: Duration = Duration::from_millis(50);
const TOGETHER_TIMEOUT: Duration = Duration::from_secs(180);

/// Running processes. Dropping it stops them.
#[derive(Debug)]
pub struct Fleet {
    /// Client process that relays for the lab, where the lab does not speak the servers' protocol.
    gateway: Option<ServerProcess>,
    primaries: Vec<ServerProcess>,
    replicas: Vec<ServerProcess>,
    is_cluster: bool,
    /// True when the first server and the replicas are a group that keeps one log; any of them may lead.
    is_group: bool,
    /// Owners of the keys, where only clients know them.
    partition: Option<Routes>,
    /// Server that configures the others; it is dropped after them.
    manager: Option<ServerProcess>,
}

/// How a fleet is started.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Command of the first server. The others listen on the following ports, on the same cores.
    pub first: ServerCommand,
    /// True when the primaries form a cluster.
    pub is_cluster: bool,
    /// Threads of each node of a group (the first server and its replicas); None when there is no group.
    pub group: Option<u16>,
    /// Silence after which cluster nodes consider another node dead, milliseconds.
    pub node_timeout_ms: u32,
    /// True when the servers know each other, divide the keys themselves and back each other up.
    pub has_members: bool,
    /// Extra servers of MySQL NDB beside the data nodes; None for other targets.
    pub ndb: Option<NdbPlan>,
    /// Number of servers that share the keys. If they are not members they do not know of each other.
    pub nodes: u32,
    /// Replicas of each primary.
    pub replicas: u32,
    /// Core of the replicas, apart from their primaries; None leaves it to the kernel.
    pub replica_core: Option<usize>,
    /// Command line of a wrapper program that starts the last server; empty when the lab starts it directly.
    pub last_behind: Vec<OsString>,
    /// Set by Ctrl-C.
    pub interrupted: &'a AtomicBool,
}

/// Arguments that create a group in the directory of its first node.
const BEGIN: [&str; 4] = ["replica", "init", "--dir", "data"];

impl Fleet {
    /// Starts the processes and waits until every replica has what its primary has.
    ///
    /// # Errors
    /// When a process does not start, or the nodes do not connect.
    pub fn start(plan: &Plan<'_>) -> Result<Fleet> {
        let nodes = plan.nodes as usize;
        let ports =
            plan.group.map_or(0, |threads| (1 + plan.replicas) * u32::from(node_ports(threads)));
        ensure!(
            ports <= u32::from(PORTS_MAX),
            "three nodes take {ports} ports, of which there are {PORTS_MAX}: use fewer --threads"
        );
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
            is_group: plan.group.is_some(),
            partition: None,
            gateway: None,
            manager: None,
        };
        // The management server must run before the data nodes.
        if let Some(ndb) = &plan.ndb {
            fleet.manager = Some(ServerProcess::start(&ndb.manager, plan.interrupted)?);
        }
        for index in 0..primaries + replicas {
            let is_primary = index < primaries;
            let mut command = command(plan, u16::try_from(index)?, is_primary);
            // Only the last server is started by the wrapper, for example strace.
            if index + 1 == primaries + replicas {
                command = command.behind(&plan.last_behind);
            }
            // The first node creates the group; the others join it.
            let before = if plan.group.is_some() && index == 0 { &BEGIN[..] } else { &[] };
            let server = ServerProcess::start_after(before, &command, plan.interrupted)?;
            let is_joined = plan.group.is_some() && index > 0;
            if is_primary { &mut fleet.primaries } else { &mut fleet.replicas }.push(server);
            if is_joined {
                // A node that joins while another one does may have to retry for a long time.
                fleet.wait_until_whole(plan.interrupted)?;
            }
        }
        if let Some(ndb) = &plan.ndb {
            // The gateway answers once the data nodes have started; they do not report that themselves.
            let gateway = ServerProcess::start(&ndb.client, plan.interrupted);
            fleet.gateway = Some(gateway.with_context(|| fleet.output_tail())?);
        }
        if nodes > 1 && !plan.has_members {
            let addresses = fleet.primaries.iter().map(ServerProcess::address).collect();
            fleet.partition = Some(Routes::partition(addresses)?);
        }
        let mut patience = FleetPoller { fleet: &fleet, interrupted: plan.interrupted };
        if plan.is_cluster {
            let members = fleet.members();
            form::form(&members, primaries, &mut patience)?;
            form::wait_until_ok(&members, replicas, &mut patience)?;
        } else if fleet.is_group {
            fleet.wait_until_first_leads(plan.interrupted)?;
        } else if replicas > 0 {
            fleet.wait_until_equal(plan.interrupted)?;
        }
        Ok(fleet)
    }

    /// Starts `nodes` servers and an HTTP door in front of them; the door is then the first process.
    ///
    /// # Errors
    /// When a process does not start, or the door does not find the servers.
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
        // The door's port follows those of the servers.
        let mut address = plan.first.address;
        address.set_port(address.port() + nodes * NODE_PORTS);
        servers.insert(0, start(&door(&plan.first, &addresses, address))?);
        Ok(Fleet {
            primaries: servers,
            replicas: Vec::new(),
            is_cluster: false,
            is_group: false,
            partition: None,
            gateway: None,
            manager: None,
        })
    }

    /// Returns the first server that a door serves.
    pub fn behind_door(&self) -> Option<&ServerProcess> {
        self.primaries.get(1)
    }

    /// Returns the server, or the first node of a cluster.
    pub fn first(&self) -> &ServerProcess {
        &self.primaries[0]
    }

    /// Returns the server that was started last: a replica, if there are any.
    pub fn last(&self) -> &ServerProcess {
        self.all().last().unwrap_or_else(|| self.first())
    }

    /// Returns the process that answers the lab: the gateway, otherwise the server or the first node of a cluster.
    pub fn speaker(&self) -> &ServerProcess {
        self.gateway.as_ref().unwrap_or_else(|| self.first())
    }

    /// Returns the process id of the gateway, if there is one.
    pub fn gateway_pid(&self) -> Option<u32> {
        self.gateway.as_ref().map(ServerProcess::pid)
    }

    /// Stops the last of the servers that answer clients, and reports whether it has ended.
    pub fn stop_last(&self) -> bool {
        self.primaries.last().is_some_and(|member| member.stop(TOGETHER_TIMEOUT))
    }

    /// Returns the process ids of the servers that answer clients.
    pub fn pids(&self) -> Vec<u32> {
        self.primaries.iter().map(ServerProcess::pid).collect()
    }

    /// Returns the process ids of the replicas.
    pub fn replica_pids(&self) -> Vec<u32> {
        self.replicas.iter().map(ServerProcess::pid).collect()
    }

    /// Returns the resident memory of the servers that answer clients, bytes.
    ///
    /// # Errors
    /// When a process has ended.
    pub fn resident_bytes(&self) -> Result<u64> {
        self.primaries.iter().map(|server| resident_bytes(server.pid())).sum()
    }

    /// Returns the owners of the keys, where the servers do not know them.
    pub fn partition(&self) -> Option<&Routes> {
        self.partition.as_ref()
    }

    /// Connects to all servers that answer clients.
    ///
    /// # Errors
    /// When a server does not answer.
    pub fn connect(&self) -> Result<Client> {
        if let Some(partition) = &self.partition {
            return Client::connect_partition(partition.clone());
        }
        let address = self.first().address();
        if self.is_cluster { Client::connect_cluster(address) } else { self.speaker().client() }
    }

    /// Opens one connection to each replica that answers reads. Nodes of a group that do not lead answer none.
    ///
    /// # Errors
    /// When a replica does not answer.
    pub fn connect_replicas(&self) -> Result<Vec<Client>> {
        if self.is_group {
            return Ok(Vec::new());
        }
        self.replicas.iter().map(ServerProcess::client).collect()
    }

    /// Returns the addresses at which a cluster client finds the owner of a key; for a group the addresses of the first
    /// threads.
    pub fn doors(&self) -> Vec<SocketAddr> {
        let door = |server: &ServerProcess| match self.is_group {
            true => thread_address(server),
            false => server.address(),
        };
        self.all().map(door).collect()
    }

    /// Returns the number of the server that owns a key, according to the first server that answers; `but` is not
    /// asked.
    ///
    /// # Errors
    /// When no server answers or knows the owner.
    pub fn owner_of(&self, key: &[u8], but: Option<usize>) -> Result<usize> {
        let doors = self.doors();
        let asked = doors.iter().enumerate().filter(|(number, _)| Some(*number) != but);
        let ask = |(_, door): (usize, &SocketAddr)| self.owner_by(&map_of(*door)?, key);
        let mut outcome = Err(anyhow::anyhow!("there are no servers"));
        for one in asked {
            outcome = ask(one);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    /// Returns the number of the owner of each key, according to the first server.
    ///
    /// # Errors
    /// When it does not answer, or knows no owner.
    pub fn owners_of<K: AsRef<[u8]>>(&self, keys: impl Iterator<Item = K>) -> Result<Vec<usize>> {
        let door = self.doors().first().copied().context("there are no servers")?;
        let map = map_of(door)?;
        keys.map(|key| self.owner_by(&map, key.as_ref())).collect()
    }

    fn owner_by(&self, map: &Routes, key: &[u8]) -> Result<usize> {
        self.number_of(map.addresses()[usize::from(map.owner_of(key))])
    }

    /// Returns the number of the server that listens at an address, with its main port or that of a thread.
    fn number_of(&self, address: SocketAddr) -> Result<usize> {
        // The ports of a server's threads follow its main port, so the nearest port below wins.
        let distance = |server: &ServerProcess| address.port().checked_sub(server.address().port());
        let all = self.all().enumerate().filter_map(|(number, one)| Some((distance(one)?, number)));
        let (_, number) = all.min().with_context(|| format!("none listens at {address}"))?;
        Ok(number)
    }

    /// Kills the server of this number.
    ///
    /// # Errors
    /// When it does not end.
    pub fn kill(&self, number: usize) -> Result<()> {
        self.all().nth(number).context("no server of this number")?.kill()
    }

    /// Returns the number of another server than this one: the last.
    ///
    /// # Errors
    /// When there is no other server.
    pub fn another(&self, than: usize) -> Result<usize> {
        let others = (0..self.all().count()).filter(|number| *number != than);
        others.max().context("there is no other server")
    }

    /// Transfers the accounts of a node to another one, as an operator would before a restart.
    ///
    /// # Errors
    /// When the node refuses.
    pub fn transfer(&self, from: usize) -> Result<()> {
        let reply = if self.is_group {
            let to = self.all().nth(self.another(from)?).context("no server of this number")?;
            let view = GroupView::ask(to)?;
            let heir = view.node().context("a node does not say its id")?;
            let from = self.all().nth(from).context("no server of this number")?;
            from.client()?.call(&["SCUR.REPLICA", "TRANSFER", heir])?
        } else {
            ensure!(self.is_cluster, "the lab hands over in a group or a cluster alone");
            let replica = self.replicas.get(from).context("the owner has no replica of its own")?;
            replica.client()?.call(&["CLUSTER", "FAILOVER"])?
        };
        ensure!(reply.text() == Some("OK"), "the transfer was refused: {reply}");
        Ok(())
    }

    /// Starts an empty node in place of a killed one, and waits until it has caught up.
    ///
    /// # Errors
    /// When this is no group, or the node does not catch up.
    pub fn replace(&mut self, number: usize, interrupted: &AtomicBool) -> Result<()> {
        ensure!(self.is_group, "the lab replaces nodes of a group of scurry alone");
        let all: Vec<&ServerProcess> = self.all().collect();
        let other = all.iter().enumerate().find(|(other, _)| *other != number);
        let (_, other) = other.context("there is no other server")?;
        let view = GroupView::ask(other)?;
        let peer = |number: &usize| all[*number].argument_behind("--replicate");
        let lost = peer(&number).context("the node has no address for the others")?;
        let others = (0..all.len()).filter(|other| *other != number);
        let others: Vec<String> = others.filter_map(|other| peer(&other)).collect();
        let id = view.id_at(&lost).context("the others do not know the node")?.to_owned();
        let words = ["--join", &others.join(","), "--replaces", &id].map(OsString::from);
        let mut servers = self.primaries.iter_mut().chain(&mut self.replicas);
        let server = servers.nth(number).context("no server of this number")?;
        server.start_empty("--join", &words, interrupted)?;
        self.wait_until_whole(interrupted)
    }

    /// Waits until another server than this one owns a key.
    ///
    /// # Errors
    /// When no server takes over in time.
    pub fn wait_until_taken_over(
        &self,
        key: &[u8],
        from: usize,
        interrupted: &AtomicBool,
    ) -> Result<()> {
        let clock = Clock::start();
        while !self.owner_of(key, Some(from)).is_ok_and(|owner| owner != from) {
            ensure!(!interrupted.load(Ordering::Relaxed), "interrupted");
            ensure!(clock.elapsed() < TOGETHER_TIMEOUT, "no other node has taken over");
            // Sleep by waiting for another server to end, which none of them may do.
            let other = self.all().enumerate().find(|(number, _)| *number != from);
            let (_, other) = other.context("there is no other server")?;
            ensure!(!other.ends_within(LOOK_EVERY), "another server has ended");
        }
        Ok(())
    }

    /// Starts the server of this number again, and waits until all nodes are connected.
    ///
    /// # Errors
    /// When it does not start, or the nodes do not connect.
    pub fn start_again(&mut self, number: usize, interrupted: &AtomicBool) -> Result<()> {
        let mut all = self.primaries.iter_mut().chain(&mut self.replicas);
        all.nth(number).context("no server of this number")?.start_again(interrupted)?;
        if self.is_cluster || self.is_group { self.wait_until_whole(interrupted) } else { Ok(()) }
    }

    /// Starts the first server again after it has ended; until it answers it may run on these cores.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_first_on(&mut self, cores: &[usize], interrupted: &AtomicBool) -> Result<()> {
        let first = self.primaries.first_mut().context("no server")?;
        first.start_again_on(cores, interrupted)
    }

    /// Waits until all nodes of a cluster or a group are connected.
    fn wait_until_whole(&self, interrupted: &AtomicBool) -> Result<()> {
        let mut patience = FleetPoller { fleet: self, interrupted };
        if self.is_cluster {
            return form::wait_until_ok(&self.members(), self.replicas.len(), &mut patience);
        }
        let what = "the nodes did not become a group in which each has a vote";
        form::Patience::until(&mut patience, what, &mut || {
            let views = self.all().map(GroupView::ask).collect::<Result<Vec<_>>>();
            views.is_ok_and(|views| views.iter().all(|view| view.is_whole(views.len())))
        })
    }

    /// Waits until the first node leads its group, because it has the cores of the target.
    fn wait_until_first_leads(&self, interrupted: &AtomicBool) -> Result<()> {
        let mut patience = FleetPoller { fleet: self, interrupted };
        form::Patience::until(&mut patience, "the first node does not lead", &mut || {
            let Ok(first) = GroupView::ask(self.first()) else { return false };
            if first.leads() {
                return true;
            }
            // On a busy machine another node may have been elected while they joined. Main ports forward to the leader.
            let asked = self.first().client().and_then(|mut client| {
                client.call(&["SCUR.REPLICA", "TRANSFER", first.node().unwrap_or_default()])
            });
            asked.is_ok() && self.first_leads()
        })
    }

    /// Reports whether the first node of a group leads it.
    pub fn first_leads(&self) -> bool {
        GroupView::ask(self.first()).is_ok_and(|view| view.leads())
    }

    fn all(&self) -> impl Iterator<Item = &ServerProcess> {
        self.primaries.iter().chain(&self.replicas)
    }

    /// Waits until the replicas have everything that their primaries have. Nothing may be written meanwhile.
    ///
    /// # Errors
    /// When they do not catch up in time.
    pub fn wait_until_equal(&self, interrupted: &AtomicBool) -> Result<()> {
        if self.is_group {
            return self.wait_until_applied(interrupted);
        }
        let of = |server: &ServerProcess| -> Result<(u64, u64)> {
            let reply = server.client()?.call(&["INFO", "replication"])?;
            let info = reply.text().unwrap_or_default();
            let is_linked = u64::from(info.contains("master_link_status:up"));
            let offset = info_number(info, "master_repl_offset");
            Ok((offset.context("INFO names no offset of replication")?, is_linked))
        };
        let mut patience = FleetPoller { fleet: self, interrupted };
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

    /// Waits until the nodes of a group have applied the same part of the log.
    fn wait_until_applied(&self, interrupted: &AtomicBool) -> Result<()> {
        let mut patience = FleetPoller { fleet: self, interrupted };
        form::Patience::until(&mut patience, "a node did not catch up", &mut || {
            let applied = |server| Ok(GroupView::ask(server)?.applied());
            let all = self.all().map(applied).collect::<Result<Vec<_>>>();
            all.is_ok_and(|all| all.windows(2).all(|pair| pair[0] == pair[1]))
        })
    }

    /// Returns the end of the output of the first process that printed anything.
    pub fn output_tail(&self) -> String {
        self.all().map(ServerProcess::output_tail).find(|tail| !tail.is_empty()).unwrap_or_default()
    }

    fn members(&self) -> Vec<Member> {
        let member = |server: &ServerProcess| Member {
            address: Address::new(&server.address().to_string(), None, None),
            bus_port: server.address().port() + BUS,
        };
        self.all().map(member).collect()
    }
}

/// Asks a node for its slot map.
fn map_of(door: SocketAddr) -> Result<Routes> {
    Client::connect(door)?.routes(door)
}

/// Returns the command that starts the server of this number.
fn command(plan: &Plan<'_>, index: u16, is_primary: bool) -> ServerCommand {
    let mut command = plan.first.clone();
    // One of our servers also uses the ports after its main port, and so does a member.
    let step = match plan.group {
        Some(threads) => node_ports(threads),
        None if plan.nodes > 1 || plan.has_members => NODE_PORTS,
        None => 1,
    };
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
    if !is_primary {
        command.cores = plan.replica_core.into_iter().collect();
    }
    if let Some(threads) = plan.group {
        let peer = |index| {
            let port = plan.first.address.port() + index * step + 1 + threads;
            SocketAddr::new(command.address.ip(), port).to_string()
        };
        let others: Vec<String> = (0..index).map(peer).collect();
        let mut words = vec!["--replicate".to_owned(), peer(index)];
        if index > 0 {
            words.extend(["--join".to_owned(), others.join(",")]);
        }
        command.arguments.extend(words.into_iter().map(OsString::from));
        return command;
    }
    if plan.has_members {
        // `serve SYSTEM PORT FIRST ...`: all servers are given the port of the first one.
        let at = command.arguments.iter().position(|word| word == "serve");
        if let Some(place) = at.and_then(|at| command.arguments.get_mut(at + 2)) {
            *place = port.to_string().into();
        }
        // A data node of NDB is given its node id and its port.
        if let Some(place) = command.arguments.iter_mut().find(|word| **word == *NDB_FIRST) {
            *place = NDB_FIRST.replace('1', &(index + 1).to_string()).into();
        }
        return command;
    }
    if let Some(script) = command.arguments.iter_mut().find(|word| is_settings(word)) {
        // Tarantool has no flags: its settings are a line of its script.
        let mut text = script.to_string_lossy().replace(&first, &port.to_string());
        if !is_primary {
            let from = format!(", replication = '127.0.0.1:{first}' }}");
            text = text.replace(" }", &from);
        }
        *script = text.into();
        return command;
    }
    let mut add = |words: &[&str]| command.arguments.extend(words.iter().map(Into::into));
    if plan.is_cluster || plan.replicas > 0 {
        // A replica that lags is not disconnected, and no run pays for a full copy.
        add(&["--repl-diskless-sync-delay", "0", "--repl-backlog-size", "256mb"]);
        add(&["--client-output-buffer-limit", "replica", "0", "0", "0"]);
    }
    if plan.is_cluster {
        let timeout = plan.node_timeout_ms.to_string();
        add(&["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]);
        add(&["--cluster-port", &(port + BUS).to_string(), "--cluster-node-timeout", &timeout]);
    } else if !is_primary {
        let host = command.address.ip().to_string();
        command.arguments.extend(["--replicaof", &host, &first].map(Into::into));
    }
    command
}

/// Returns the number of ports of a group node: the main one, one for each thread, and the one for other nodes.
fn node_ports(threads: u16) -> u16 {
    threads + 2
}

/// Returns the port of the first thread, which answers by itself, while the main port asks the leader.
fn thread_address(server: &ServerProcess) -> SocketAddr {
    let address = server.address();
    SocketAddr::new(address.ip(), address.port() + 1)
}

/// State of the group according to one of its nodes: the lines of INFO replication.
#[derive(Debug)]
struct GroupView {
    text: String,
}

impl GroupView {
    fn ask(server: &ServerProcess) -> Result<GroupView> {
        let reply = Client::connect(thread_address(server))?.call(&["INFO", "replication"])?;
        Ok(GroupView { text: reply.text().unwrap_or_default().to_owned() })
    }

    fn node(&self) -> Option<&str> {
        form::field(&self.text, "scurry_group_node")
    }

    /// Returns the id of the node that its peers reach at an address.
    fn id_at(&self, peer: &str) -> Option<&str> {
        let is_it = |line: &&str| line.split(',').any(|part| part == format!("peer={peer}"));
        self.numbered("member").find(is_it)?.split(',').find_map(|part| part.strip_prefix("id="))
    }

    /// Reports whether this many nodes vote and are connected, and every thread has a leader.
    fn is_whole(&self, nodes: usize) -> bool {
        let is_there = |line: &&str| line.contains("votes=yes") && line.contains("connected=yes");
        let members = self.numbered("member").filter(is_there).count();
        members == nodes
            && self.numbered("shard").next().is_some()
            && self.numbered("shard").all(|line| !line.contains("leader=none"))
    }

    /// Reports whether this node leads every shard.
    fn leads(&self) -> bool {
        self.numbered("shard").next().is_some()
            && self.numbered("shard").all(|line| line.contains("serves=yes"))
    }

    /// Returns how much of each thread's log the node has applied.
    fn applied(&self) -> Vec<String> {
        let applied = |line: &str| {
            line.split(',').find_map(|part| part.strip_prefix("applied=")).map(str::to_owned)
        };
        self.numbered("shard").filter_map(applied).collect()
    }

    /// Returns the values of the lines `name0`, `name1` and so on.
    fn numbered(&self, name: &str) -> impl Iterator<Item = &str> {
        (0..).map_while(move |number: u32| form::field(&self.text, &format!("{name}{number}")))
    }
}

/// Recognizes the settings in Tarantool's script.
fn is_settings(word: &OsString) -> bool {
    word.to_string_lossy().starts_with("settings = {")
}

/// Polls until a condition holds.
struct FleetPoller<'l> {
    fleet: &'l Fleet,
    interrupted: &'l AtomicBool,
}

impl form::Patience for FleetPoller<'_> {
    type Error = anyhow::Error;

    fn until(&mut self, what: &str, is_so: &mut dyn FnMut() -> bool) -> Result<()> {
        let clock = Clock::start();
        while !is_so() {
            ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
            if clock.elapsed() > TOGETHER_TIMEOUT {
                bail!("{what} within {} s", TOGETHER_TIMEOUT.as_secs());
            }
            // Ends early when the server has ended.
            ensure!(!self.fleet.first().ends_within(LOOK_EVERY), "the server ended: {what}");
        }
        Ok(())
    }

    fn tell(&mut self, _: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    fn line(index: u16, is_primary: bool) -> String {
        let words = ["serve", "--listen", "127.0.0.1:20000", "--threads", "2"];
        let plan = Plan {
            first: ServerCommand {
                program: "scurry".into(),
                arguments: words.map(OsString::from).to_vec(),
                cores: vec![1],
                address: SocketAddr::from(([127, 0, 0, 1], 20_000)),
                wire: Wire::Resp,
                files: &[],
                place: "p".into(),
            },
            is_cluster: false,
            group: Some(2),
            node_timeout_ms: 1,
            has_members: false,
            ndb: None,
            nodes: 1,
            replicas: 2,
            replica_core: Some(0),
            last_behind: Vec::new(),
            interrupted: &AtomicBool::new(false),
        };
        let command = command(&plan, index, is_primary);
        format!("{} on {:?}", command.words().join(" "), command.cores)
    }

    #[test]
    fn the_first_node_begins_the_group_and_the_others_join_those_before() {
        assert_eq!(
            line(0, true),
            "scurry serve --listen 127.0.0.1:20000 --threads 2 --replicate 127.0.0.1:20003 on [1]"
        );
        assert_eq!(
            line(2, false),
            "scurry serve --listen 127.0.0.1:20008 --threads 2 --replicate 127.0.0.1:20011 \
             --join 127.0.0.1:20003,127.0.0.1:20007 on [0]"
        );
    }

    #[test]
    fn a_group_is_whole_when_each_node_has_a_vote_and_somebody_leads() {
        let view = |votes: &str, leader: &str| GroupView {
            text: format!(
                "scurry_group_node:a7\r\nmember0:id=a7,votes=yes,connected=yes,lag=0\r\n\
                 member1:id=a8,votes={votes},connected=yes,lag=0\r\n\
                 shard0:role=leader,leader={leader},serves=yes,applied=7,elections=2\r\n"
            ),
        };
        assert!(view("yes", "a7").is_whole(2));
        assert!(!view("no", "a7").is_whole(2) && !view("yes", "none").is_whole(2));
        assert!(!view("yes", "a7").is_whole(3));
        let view = view("yes", "a7");
        assert_eq!(
            (view.node(), view.leads(), view.applied()),
            (Some("a7"), true, vec!["7".to_owned()])
        );
        assert!(!GroupView { text: String::new() }.leads());
    }
}
