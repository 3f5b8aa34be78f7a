//! A cluster of three primaries with one replica each, created by valkey-cli.

use crate::module::Module;
use crate::namespaces::{self, Namespace};
use crate::node::ClusterNode;
use crate::view::{Role, View};
use crate::wait::{self, WatchedProcesses};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const NODES: usize = 6;
/// Range searched for free ports, below the ephemeral ports that the kernel gives to clients.
const PORTS: std::ops::Range<u16> = 22_000..32_000;

/// A running cluster. Its nodes are stopped when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    /// Nodes in the order of creation. Any of them may be a primary.
    pub nodes: Vec<ClusterNode>,
    interrupted: Arc<AtomicBool>,
}

impl Cluster {
    /// Starts a cluster in an empty directory. Inside the test's own namespace each node gets its own namespace too.
    pub fn start(dir: &Path, module: &Module, interrupted: &Arc<AtomicBool>) -> Result<Cluster> {
        let first = wait::free_ports(PORTS, u16::try_from(2 * NODES)?)?;
        if namespaces::inside() {
            namespaces::lay_bridge()?;
        }
        let mut nodes = Vec::new();
        for index in 0..NODES {
            let number = u16::try_from(index)?;
            let (place, namespace) = if namespaces::inside() {
                ((Namespace::address(index), 7_000, 17_000), Some(Namespace::new(index)?))
            } else {
                let bus = first + number + u16::try_from(NODES)?;
                (("127.0.0.1".to_owned(), first + number, bus), None)
            };
            let mut node = ClusterNode::new(
                place,
                dir.join(format!("node-{index}")),
                namespace,
                module.clone(),
            )?;
            node.start()?;
            nodes.push(node);
        }
        let mut cluster = Cluster { nodes, interrupted: interrupted.clone() };
        cluster.until("all nodes answer", |cluster| {
            cluster.nodes.iter().try_for_each(|node| node.ask("PING").map(drop))
        })?;
        let mut tool = Command::new("timeout");
        tool.args(["60", "valkey-cli", "--cluster", "create"]);
        tool.args(cluster.nodes.iter().map(ClusterNode::address));
        tool.args(["--cluster-replicas", "1", "--cluster-yes"]).stdin(Stdio::null());
        let output = tool.output().context("timeout (coreutils) cannot be started")?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "valkey-cli --cluster create: {said}");
        cluster.until_whole()?;
        Ok(cluster)
    }

    /// Returns the views of all reachable nodes, with their numbers.
    pub(crate) fn views(&self) -> Result<Vec<(usize, View)>> {
        let here = self.nodes.iter().enumerate().filter(|(_, node)| !node.is_away);
        here.map(|(index, node)| Ok((index, View::of(node)?))).collect()
    }

    /// Returns each primary with its replica.
    pub fn pairs(&self) -> Result<Vec<(usize, usize)>> {
        let views = self.views()?;
        let replica_of = |primary: usize| {
            let address = self.nodes[primary].address();
            let follows =
                |view: &View| matches!(&view.role, Role::Replica { of, .. } if *of == address);
            views.iter().find(|(_, view)| follows(view)).map(|(index, _)| *index)
        };
        let primaries = views.iter().filter(|(_, view)| view.is_primary());
        let pairs: Option<Vec<_>> =
            primaries.map(|&(index, _)| Some((index, replica_of(index)?))).collect();
        pairs.context("a primary has no replica")
    }

    /// Reports whether a node sees itself as a primary with slots.
    pub fn is_primary(&self, index: usize) -> bool {
        let view = View::of(&self.nodes[index]);
        view.is_ok_and(|view| view.is_primary() && !view.slots.is_empty())
    }

    /// Reports whether a node sees itself as the owner of a slot.
    pub fn owns(&self, index: usize, slot: u16) -> bool {
        View::of(&self.nodes[index]).is_ok_and(|view| view.is_primary() && view.owns(slot))
    }

    /// Waits until every slot is served, every primary has a replica in sync, and all nodes agree on that.
    pub fn until_whole(&mut self) -> Result<()> {
        self.until("the cluster is whole", Cluster::whole)
    }

    fn whole(&self) -> Result<()> {
        let views = self.views()?;
        ensure!(views.len() == NODES, "{} nodes answer", views.len());
        for (index, view) in &views {
            let well = match &view.role {
                Role::Primary { replicas } => *replicas == 1 && !view.slots.is_empty(),
                Role::Replica { in_sync, .. } => *in_sync,
            };
            ensure!(well && view.sees_all_well && view.nodes == NODES, "node {index}: {view:?}");
        }
        let primaries = views.iter().filter(|(_, view)| view.is_primary()).count();
        ensure!(primaries == NODES / 2, "{primaries} primaries");
        Ok(())
    }

    /// Waits until every replica has caught up with its primary.
    pub fn until_even(&mut self) -> Result<()> {
        self.until("replicas are where their primaries are", |cluster| {
            let views = cluster.views()?;
            let offset =
                |index: usize| views.iter().find(|(i, _)| *i == index).map(|(_, v)| v.offset);
            for (primary, replica) in cluster.pairs()? {
                ensure!(offset(primary) == offset(replica), "{primary} and {replica}: {views:?}");
            }
            Ok(())
        })
    }

    /// Waits until `look` succeeds. Fails at once if a node has ended by itself.
    pub fn until(&mut self, what: &str, look: impl FnMut(&Cluster) -> Result<()>) -> Result<()> {
        wait::until(self, what, look)
    }

    /// Sleeps, unless the test is interrupted.
    pub(crate) fn pass(&self, time: Duration) -> Result<()> {
        wait::pass(self, time)
    }
}

impl WatchedProcesses for Cluster {
    fn interrupted(&self) -> &AtomicBool {
        &self.interrupted
    }

    fn check(&mut self) -> Result<()> {
        self.nodes.iter_mut().try_for_each(ClusterNode::check)
    }
}
