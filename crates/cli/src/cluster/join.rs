//! The nodes of a local cluster become one.

use super::local::Local;
use super::up::Patience;
use anyhow::Result;
use scurry_cluster_client::{Member, form};

/// A patience that looks whether the nodes of a cluster still run.
struct Watching<'w> {
    local: &'w Local,
    patience: &'w Patience<'w>,
}

impl form::Patience for Watching<'_> {
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
pub(super) fn wait_for_answers(local: &Local, patience: &Patience<'_>) -> Result<()> {
    form::wait_for_answers(&members(local), &mut Watching { local, patience })
}

/// Makes one cluster of nodes that know of none.
pub(super) fn join(local: &Local, patience: &Patience<'_>) -> Result<()> {
    let primaries = usize::from(local.primaries);
    form::form(&members(local), primaries, &mut Watching { local, patience })
}

/// Waits until every node serves and every replica has what its primary has.
pub(super) fn wait_until_ok(local: &Local, patience: &Patience<'_>) -> Result<()> {
    let replicas = usize::from(local.primaries * local.replicas);
    form::wait_until_ok(&members(local), replicas, &mut Watching { local, patience })
}
