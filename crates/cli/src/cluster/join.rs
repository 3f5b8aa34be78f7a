//! Joins the nodes of a local cluster. Nodes send no event when they are ready, so the steps poll.

use super::local::Local;
use crate::machine;
use anyhow::{Result, bail};
use scurry_cluster_client::{Member, form};
use std::path::Path;

/// A bounded wait, which ends early when a node has ended or the user interrupts.
pub(super) struct StartupWait<'p> {
    pub(super) dir: &'p Path,
    pub(super) machine: machine::InterruptibleWait,
}

impl StartupWait<'_> {
    /// Waits until `is_so` returns true.
    pub(super) fn until(
        &self,
        local: &Local,
        what: &str,
        mut is_so: impl FnMut() -> bool,
    ) -> Result<()> {
        let is_there = self.machine.until(|| {
            local.check(self.dir)?;
            Ok(is_so())
        })?;
        if is_there {
            return Ok(());
        }
        let words = local.nodes[0].log_tail(self.dir);
        bail!("{what} within two minutes; the first node's log ends with: {words}")
    }
}

/// A [`form::Patience`] that also checks whether the nodes still run.
struct NodePatience<'w> {
    local: &'w Local,
    patience: &'w StartupWait<'w>,
}

impl form::Patience for NodePatience<'_> {
    type Error = anyhow::Error;

    fn until(&mut self, what: &str, is_so: &mut dyn FnMut() -> bool) -> Result<()> {
        self.patience.until(self.local, what, is_so)
    }

    fn tell(&mut self, line: &str) {
        println!("{line}");
    }
}

fn members(local: &Local) -> Vec<Member> {
    let nodes = local.nodes.iter();
    nodes.map(|node| Member { address: node.address(), bus_port: node.bus_port }).collect()
}

/// Waits until every node answers.
pub(super) fn wait_for_answers(local: &Local, patience: &StartupWait<'_>) -> Result<()> {
    form::wait_for_answers(&members(local), &mut NodePatience { local, patience })
}

/// Joins nodes that do not know each other into one cluster.
pub(super) fn join(local: &Local, patience: &StartupWait<'_>) -> Result<()> {
    let primaries = usize::from(local.primaries);
    form::form(&members(local), primaries, &mut NodePatience { local, patience })
}

/// Waits until every node serves and every replica has caught up with its primary.
pub(super) fn wait_until_ok(local: &Local, patience: &StartupWait<'_>) -> Result<()> {
    let replicas = usize::from(local.primaries * local.replicas);
    form::wait_until_ok(&members(local), replicas, &mut NodePatience { local, patience })
}
