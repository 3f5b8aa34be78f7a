//! A primary that the other nodes cannot reach. If clients still reach it, it answers until it notices, and the writes
//! that it accepts meanwhile are lost.

use super::FaultContext;
use crate::namespaces::Namespace;
use anyhow::{Context, Result};

pub(super) fn primary(scene: &mut FaultContext<'_>) -> Result<()> {
    let (primary, replica) = scene.pair()?;
    let others: Vec<usize> =
        (0..scene.cluster.nodes.len()).filter(|&index| index != primary).collect();
    // Mostly clients still reach it, so that it acknowledges writes that will be lost.
    let from_all = scene.random.one_in(4);
    scene.cluster.nodes[primary].is_away = true;
    if from_all {
        own(scene, primary)?.unplug()?;
    } else {
        own(scene, primary)?.part_from(&others)?;
    }
    scene.until_primary(replica)?;
    scene.pass_ms(0, 1_500)?;
    if from_all {
        own(scene, primary)?.plug_in()?;
    } else {
        own(scene, primary)?.join_again(&others)?;
    }
    scene.cluster.nodes[primary].is_away = false;
    Ok(())
}

fn own<'s>(scene: &'s FaultContext<'_>, index: usize) -> Result<&'s Namespace> {
    scene.cluster.nodes[index].namespace.as_ref().context("the node has no network namespace")
}
