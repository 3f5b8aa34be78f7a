//! Nodes that are stopped for a while and then continue.

use super::{FaultContext, cut};
use crate::client::LEASE_MAX;
use crate::group::old_reads::OldReads;
use anyhow::Result;
use std::time::Duration;

/// Text in the log of a node that rebuilds the memory of a shard.
const REBUILT: &str = "memory is rebuilt";

pub(super) fn leader(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let old = OldReads::open(scene.group, leader)?;
    pause(scene, leader, &[one, other], old)
}

pub(super) fn unaware(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    // A read waits for the writes before it, which would fail here: reads that show no old value only because of
    // pending writes prove nothing. So the load pauses, and expiries, which are writes too, must be over.
    scene.signals.hold(true);
    scene.group.pass(LEASE_MAX + Duration::from_millis(300))?;
    let old = OldReads::open(scene.group, leader)?;
    // Short enough for the leader not to notice.
    cut::part(scene, leader, &[one, other])?;
    pause(scene, leader, &[one, other], old)?;
    scene.signals.hold(false);
    scene.pass_ms(200, 1_000)?;
    cut::join(scene, leader, &[one, other])
}

/// Stops the leader until one of the others leads and has executed a write.
fn pause(
    scene: &mut FaultContext<'_>,
    leader: usize,
    others: &[usize],
    mut old: OldReads,
) -> Result<()> {
    scene.group.nodes[leader].pause()?;
    let new = scene.group.until_leader(others)?;
    old.overwrite(scene.group, new, "new")?;
    old.ask();
    scene.pass_ms(0, 700)?;
    scene.group.nodes[leader].resume()?;
    if old.judge()? > 0 {
        scene.remark("an old connection showed the newest value");
    }
    Ok(())
}

/// Makes the leader execute commands that no other node has, stops it until another leads, and kills the new leader
/// once the old one knows of it and rebuilds its memory. The third node must serve meanwhile.
pub(super) fn successor(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let rebuilds =
        |scene: &FaultContext<'_>| scene.group.nodes[leader].said().matches(REBUILT).count();
    let before = rebuilds(scene);
    for node in [one, other] {
        scene.group.nodes[node].pause()?;
    }
    scene.pass_ms(50, 150)?;
    scene.group.nodes[leader].pause()?;
    for node in [one, other] {
        scene.group.nodes[node].resume()?;
    }
    let new = scene.group.until_leader(&[one, other])?;
    scene.group.nodes[leader].resume()?;
    scene.pass_ms(0, 300)?;
    let third = if new == one { other } else { one };
    scene.group.nodes[new].kill()?;
    scene.group.until_leader(&[leader, third])?;
    if rebuilds(scene) > before {
        scene.remark("a leader that was stopped rebuilt its memory");
    }
    scene.pass_ms(0, 500)?;
    scene.group.start_again(new)
}

pub(super) fn follower(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    scene.group.nodes[one].pause()?;
    scene.pass_ms(3_000, 6_000)?;
    scene.group.nodes[one].resume()
}
