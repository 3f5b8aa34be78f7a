//! Restarts of all nodes: one after another, as an operator does it, and all at once, as in a power failure.

use super::FaultContext;
use crate::view::{Role, View};
use anyhow::{Context, Result, ensure};
use scurry_crash::clock;

/// Time after which a requested failover is requested again, ms.
const FAILOVER_MS: i64 = 6_000;

pub(super) fn rolling(scene: &mut FaultContext<'_>) -> Result<()> {
    for index in order(scene) {
        scene.cluster.until_whole()?;
        if scene.cluster.is_primary(index) {
            hand_over(scene, index)?;
        }
        scene.cluster.nodes[index].stop()?;
        scene.pass_ms(0, 300)?;
        scene.cluster.nodes[index].start()?;
    }
    Ok(())
}

/// Hands a primary's slots over to its replica without losing a write.
fn hand_over(scene: &mut FaultContext<'_>, primary: usize) -> Result<()> {
    let pairs = scene.cluster.pairs()?;
    let pair = pairs.iter().find(|(index, _)| *index == primary);
    let replica = pair.context("the primary has no replica")?.1;
    let mut asked_ns = None;
    scene.cluster.until("the replica takes over when it is asked to", |cluster| {
        let now = clock::ns();
        if asked_ns.is_none_or(|asked| now - asked > FAILOVER_MS * 1_000_000) {
            asked_ns = Some(now);
            cluster.nodes[replica].ask("CLUSTER FAILOVER")?;
        }
        ensure!(cluster.is_primary(replica), "node {replica} is no primary");
        let view = View::of(&cluster.nodes[primary])?;
        let follows = matches!(view.role, Role::Replica { in_sync: true, .. });
        ensure!(follows, "node {primary} does not follow: {view:?}");
        Ok(())
    })
}

pub(super) fn full(scene: &mut FaultContext<'_>) -> Result<()> {
    for index in order(scene) {
        scene.cluster.nodes[index].kill()?;
    }
    scene.pass_ms(0, 500)?;
    for index in order(scene) {
        scene.cluster.nodes[index].start()?;
    }
    Ok(())
}

/// Returns all nodes in random order.
fn order(scene: &mut FaultContext<'_>) -> Vec<usize> {
    let mut left: Vec<usize> = (0..scene.cluster.nodes.len()).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        order.push(left.swap_remove(scene.random.below(left.len())));
    }
    order
}
