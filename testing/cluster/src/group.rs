//! A group of three `scurry serve` under load and under faults. Checks that every acknowledged request was executed
//! exactly once, that reads show the newest value, and that all nodes hold the same data in the end.
//! docs/replication.md has the promises of a group.

mod client;
mod debit_account;
mod disk;
mod door_faults;
mod events;
mod fault;
mod http;
mod member;
mod old_reads;
mod probe;
mod report;
mod results;
mod round;
mod run;
mod same;
mod shared;
mod ship_faults;
mod soak;
#[cfg(test)]
mod split;
mod status;
mod tls;
mod torn;
mod torture;
mod transfers;

pub use door_faults::{DoorReport, DoorSettings, diameter_faults, nchf_faults};
pub use fault::Fault;
pub use report::{Report, Row};
pub use results::Results;
pub use run::{Settings, run};
pub use ship_faults::{ShipReport, ShipSettings, ship_faults};
pub use soak::{Piece, SoakResults, SoakSettings, soak};
pub use torture::{TortureSettings, torture};

use crate::namespaces::{self, Namespace};
use crate::wait::{self, PATIENCE_S, WatchedProcesses};
use anyhow::{Context, Result, bail, ensure};
use disk::Disk;
use member::{Member, NodeSetup};
use scurry_conformance::Value;
use scurry_crash::wire::{RequestWords, Trust, Wire, words};
use scurry_crash::{Binary, clock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tls::GroupCa;

const NODES: usize = 3;
/// Addresses of a group: those of its nodes, and one of an observer.
const PLACES: usize = NODES + 1;
/// Ports of a node: the main port, one per thread, two for other nodes, of which it uses one at a time, and one for HTTP.
const PORTS: u16 = 1 + THREADS + 2 + 1;
const THREADS: u16 = 2;
/// Main port of a node in its own network namespace.
const OWN_PORT: u16 = 7_000;
/// Range searched for free ports, below the ephemeral ports that the kernel gives to clients.
const FREE_PORTS: std::ops::Range<u16> = 8_000..10_000;

/// Returns the library that gives a process its own wall clock. Fails if it is not installed.
fn faketime() -> Result<PathBuf> {
    let libraries = std::fs::read_dir("/usr/lib").context("/usr/lib")?.flatten();
    let mut places = libraries.map(|of| of.path().join("faketime/libfaketimeMT.so.1"));
    let found = places.find(|library| library.exists());
    found.context("no libfaketime (the package faketime) sets the clock of one process")
}

/// A running group. Its nodes are stopped when it is dropped.
pub(crate) struct Group {
    pub(crate) nodes: Vec<Member>,
    /// A node beside the three. None until a fault needs one.
    pub(crate) fourth: Option<Member>,
    dir: PathBuf,
    binary: Binary,
    setup: NodeSetup,
    /// Number of the first network namespace.
    first_place: usize,
    /// CA of their certificates. None if they speak without TLS.
    ca: Option<GroupCa>,
    interrupted: Arc<AtomicBool>,
    /// Timeout of its waits, s.
    patience_s: i64,
}

impl Group {
    /// Returns a group without nodes.
    fn empty(
        dir: &Path,
        binary: &Binary,
        setup: &NodeSetup,
        first_place: usize,
        interrupted: &Arc<AtomicBool>,
    ) -> Group {
        Group {
            nodes: Vec::new(),
            fourth: None,
            dir: dir.to_owned(),
            binary: binary.clone(),
            first_place,
            setup: setup.clone(),
            ca: None,
            interrupted: interrupted.clone(),
            patience_s: PATIENCE_S,
        }
    }

    /// Starts a group in an empty directory: the first node founds it and the others join. `first_place` is the number
    /// of the first network namespace to use, because those of an earlier group may still exist.
    pub(crate) fn start(
        dir: &Path,
        binary: &Binary,
        setup: &NodeSetup,
        first_place: usize,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Group> {
        let first = wait::free_ports(FREE_PORTS, PORTS * u16::try_from(NODES)?)?;
        let mut group = Group::empty(dir, binary, setup, first_place, interrupted);
        if setup.tls {
            let places = first_place..first_place + PLACES;
            let mut ips: Vec<String> = places.map(Namespace::address).collect();
            ips.push("127.0.0.1".to_owned());
            group.ca = Some(GroupCa::make(&dir.join("certificates"), &ips)?);
        }
        for index in 0..NODES {
            let mut node = member(dir, binary, setup, (first, first_place), index)?;
            let others = group.nodes.iter().map(Member::peer).collect();
            (node.options, node.trust) = (group.tls_options(&node.host)?, group.trust()?);
            if index == 0 {
                node.begin_group()?;
            }
            node.start(others, None)?;
            group.nodes.push(node);
            group.until("the node has a leader", |group| {
                let status = group.nodes[index].status()?;
                ensure!(status.shards.iter().all(|shard| shard.leader.is_some()), "{status:?}");
                Ok(())
            })?;
        }
        group.until_whole()?;
        Ok(group)
    }

    /// Returns the options of a node with TLS, if the group has it.
    fn tls_options(&self, ip: &str) -> Result<Vec<String>> {
        self.ca.as_ref().map_or(Ok(Vec::new()), |ca| ca.issue(ip))
    }

    /// Returns what clients trust. None without TLS.
    fn trust(&self) -> Result<Option<Trust>> {
        self.ca.as_ref().map(GroupCa::trust).transpose()
    }

    /// Starts a fourth node with an empty directory and these options.
    pub(crate) fn start_fourth(&mut self, options: &[&str]) -> Result<()> {
        let host = self.prepare_fourth()?;
        let mut all = self.tls_options(&host)?;
        all.extend(options.iter().map(|option| (*option).to_owned()));
        let trust = self.trust()?;
        let fourth = self.fourth()?;
        (fourth.options, fourth.trust) = (all, trust);
        self.start_fourth_again(None)
    }

    /// Makes the network of the fourth node, unless there is one. Returns its address.
    pub(crate) fn prepare_fourth(&mut self) -> Result<String> {
        let place = self.first_place + NODES;
        let host = Namespace::address(place);
        if self.fourth.is_none() {
            let (own, home) = ((host.clone(), OWN_PORT), self.dir.join("fourth"));
            let network = Some(Namespace::new(place)?);
            let setup = NodeSetup { disk: Disk::Plain, clock: None, ..self.setup.clone() };
            self.fourth = Some(Member::new(own, home, network, &self.binary, setup)?);
        }
        Ok(host)
    }

    /// Starts the fourth node on its directory.
    pub(crate) fn start_fourth_again(&mut self, replaces: Option<&str>) -> Result<()> {
        let peers = self.nodes.iter().map(Member::peer).collect();
        self.fourth()?.start(peers, replaces)
    }

    /// Returns the fourth node, which a fault must have started.
    pub(crate) fn fourth(&mut self) -> Result<&mut Member> {
        self.fourth.as_mut().context("there is no fourth node")
    }

    /// Returns the entries that a member lacks, as the leader sees it.
    pub(crate) fn lag_of(&self, id: &str) -> Option<u64> {
        let leader = self.leader_of(&[0, 1, 2])?;
        let members = self.nodes[leader].status().ok()?.members;
        members.into_iter().find(|member| member.id == id)?.lag
    }

    /// Starts the nodes of a group again that [`Group::start`] made in this directory, and that were stopped. `first_port`
    /// is the main port of the first, for nodes without networks of their own: they must be where they were.
    pub(crate) fn open(
        dir: &Path,
        binary: &Binary,
        setup: &NodeSetup,
        first_port: u16,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Group> {
        let mut group = Group::empty(dir, binary, setup, 0, interrupted);
        for index in 0..NODES {
            group.nodes.push(member(dir, binary, setup, (first_port, 0), index)?);
        }
        (0..NODES).try_for_each(|index| group.start_again(index))?;
        Ok(group)
    }

    /// Starts a stopped node on its directory.
    pub(crate) fn start_again(&mut self, index: usize) -> Result<()> {
        self.start_as(index, None)
    }

    /// Starts a node with an empty directory in place of a lost one.
    pub(crate) fn start_anew(&mut self, index: usize, replaces: &str) -> Result<()> {
        self.start_as(index, Some(replaces))
    }

    fn start_as(&mut self, index: usize, replaces: Option<&str>) -> Result<()> {
        let others = (0..NODES).filter(|other| *other != index);
        let peers = others.map(|other| self.nodes[other].peer()).collect();
        self.nodes[index].start(peers, replaces)
    }

    /// Returns the node, among these, that leads all shards and executes commands.
    pub(crate) fn leader_of(&self, nodes: &[usize]) -> Option<usize> {
        let mut here = nodes.iter().copied().filter(|node| !self.nodes[*node].is_away);
        here.find(|node| self.nodes[*node].status().is_ok_and(|status| status.serves()))
    }

    /// Waits until one of these nodes leads.
    pub(crate) fn until_leader(&mut self, nodes: &[usize]) -> Result<usize> {
        let mut leader = None;
        self.until("one of the nodes leads", |group| {
            leader = group.leader_of(nodes);
            ensure!(leader.is_some(), "none of {nodes:?} does: {:?}", group.statuses());
            Ok(())
        })?;
        leader.context("one leads")
    }

    /// Returns the leader and the followers.
    pub(crate) fn parts(&mut self) -> Result<(usize, Vec<usize>)> {
        let leader = self.until_leader(&(0..NODES).collect::<Vec<_>>())?;
        Ok((leader, (0..NODES).filter(|node| *node != leader).collect()))
    }

    /// Transfers leadership to this node.
    pub(crate) fn transfer(&mut self, to: usize) -> Result<()> {
        let id = self.nodes[to].status()?.id;
        let mut asked_ns = None;
        self.until("the node leads that was asked to", |group| {
            if group.leader_of(&[to]).is_some() {
                return Ok(());
            }
            let now = clock::ns();
            // A request has no effect while another transfer is under way, and a transfer can fail, so it is repeated
            // once a second.
            if asked_ns.is_none_or(|asked| now - asked > 1_000_000_000) {
                asked_ns = Some(now);
                let leader =
                    group.leader_of(&(0..NODES).collect::<Vec<_>>()).context("no node leads")?;
                group.nodes[leader]
                    .thread_wire()?
                    .ask(&words(&format!("SCUR.REPLICA TRANSFER {id}")))?;
            }
            bail!("not yet: {:?}", group.statuses())
        })
    }

    /// Removes a node through the leader among `by`. On return the others work without it.
    pub(crate) fn remove(&mut self, id: &str, by: &[usize]) -> Result<()> {
        self.until("a node is removed", |group| {
            let leader = group.leader_of(by).context("no node leads")?;
            let asked = words(&format!("SCUR.REPLICA REMOVE {id}"));
            match group.nodes[leader].wire()?.ask(&asked)? {
                // An earlier leader has completed the removal before it lost leadership.
                Value::Error(error) if error.contains("is no node of this group") => Ok(()),
                Value::Error(error) => bail!("{error}"),
                _ => Ok(()),
            }
        })
    }

    /// Starts a removed node with an empty directory, so that it joins again.
    pub(crate) fn start_empty(&mut self, index: usize) -> Result<()> {
        self.nodes[index].empty()?;
        self.start_as(index, None)
    }

    /// Waits until all nodes have a vote, reach each other and have applied every committed entry.
    pub(crate) fn until_whole(&mut self) -> Result<()> {
        let count = self.nodes.len();
        self.until("the group is whole", |group| {
            let all: Vec<usize> = (0..count).collect();
            let leader = group.leader_of(&all).context("no node leads")?;
            let led = group.nodes[leader].status()?;
            let well = led.members.iter().filter(|member| member.votes && member.connected).count();
            ensure!(well == count && led.members.len() == count, "{:?}", led.members);
            for node in &group.nodes {
                let status = node.status()?;
                for (own, leads) in status.shards.iter().zip(&led.shards) {
                    ensure!(
                        own.leader.as_ref() == Some(&led.id),
                        "{} follows another: {status:?}",
                        node.name()
                    );
                    ensure!(
                        own.applied >= leads.committed,
                        "{} is behind: {own:?} {leads:?}",
                        node.name()
                    );
                }
            }
            Ok(())
        })
    }

    fn statuses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("{:?}", node.status())).collect()
    }

    /// Executes a command on the leader among these nodes until it succeeds. The command must be safe to repeat.
    pub(crate) fn execute(&mut self, nodes: &[usize], line: &str) -> Result<Value> {
        let mut reply = None;
        self.until(line, |group| {
            let leader = group.leader_of(nodes).context("no node leads")?;
            match group.nodes[leader].wire()?.ask(&words(line))? {
                Value::Error(error) => bail!("{error}"),
                answer => reply = Some(answer),
            }
            Ok(())
        })?;
        reply.context("a reply")
    }

    /// Executes a command on the current leader until it succeeds. The command must be safe to repeat.
    pub(crate) fn write_anywhere(&mut self, request: RequestWords) -> Result<()> {
        self.until("a write is answered", |group| {
            let leader =
                group.leader_of(&(0..NODES).collect::<Vec<_>>()).context("no node leads")?;
            match group.nodes[leader].wire()?.ask(&request)? {
                Value::Error(error) => bail!("{error}"),
                _ => Ok(()),
            }
        })
    }

    /// Runs `look` on the leader. Repeats it if the node lost leadership meanwhile or had not fully taken over.
    pub(crate) fn by_leader<T>(
        &mut self,
        mut look: impl FnMut(&mut Wire) -> Result<T>,
    ) -> Result<T> {
        loop {
            let (leader, _) = self.parts()?;
            let led = |group: &Group| group.nodes[leader].status().ok()?.led();
            let before = led(self);
            let outcome = self.nodes[leader].wire().and_then(|mut wire| look(&mut wire));
            let is_early = |error: &anyhow::Error| format!("{error:#}").contains("try again");
            let is_same = before.is_some() && before == led(self);
            if outcome.is_ok() || (is_same && !outcome.as_ref().is_err_and(is_early)) {
                return outcome;
            }
        }
    }

    /// Waits until `look` succeeds. Fails at once if a node has ended by itself.
    pub(crate) fn until(
        &mut self,
        what: &str,
        look: impl FnMut(&Group) -> Result<()>,
    ) -> Result<()> {
        wait::until(self, what, look)
    }

    /// Sleeps, unless the test is interrupted.
    pub(crate) fn pass(&self, time: Duration) -> Result<()> {
        wait::pass(self, time)
    }
}

impl WatchedProcesses for Group {
    fn interrupted(&self) -> &AtomicBool {
        &self.interrupted
    }

    fn check(&mut self) -> Result<()> {
        self.nodes.iter_mut().chain(&mut self.fourth).try_for_each(Member::check)
    }

    fn patience_s(&self) -> i64 {
        self.patience_s
    }
}

/// Prepares a node, in its own network if there are any. `first` has the main port of the first node otherwise, and the
/// number of its network.
fn member(
    dir: &Path,
    binary: &Binary,
    setup: &NodeSetup,
    first: (u16, usize),
    index: usize,
) -> Result<Member> {
    let (host, port, namespace) = if namespaces::inside() {
        let place = first.1 + index;
        (Namespace::address(place), OWN_PORT, Some(Namespace::new(place)?))
    } else {
        ("127.0.0.1".to_owned(), first.0 + u16::try_from(index)? * PORTS, None)
    };
    let home = dir.join(format!("node-{index}"));
    Member::new((host, port), home, namespace, binary, setup.clone())
}
