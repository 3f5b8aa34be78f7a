//! Nodes that do nothing for a while, and then go on as if nothing had been.

use super::{Scene, cut};
use crate::client::LEASE_MAX;
use crate::group::old_reads::OldReads;
use anyhow::Result;
use std::time::Duration;

pub(super) fn leader(scene: &mut Scene<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let old = OldReads::open(scene.group, leader)?;
    pause(scene, leader, &[one, other], old)
}

pub(super) fn unaware(scene: &mut Scene<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    // A read waits for the writes before it, which would come to nothing here: one that shows nothing old only
    // because of these is no proof. What ends by itself is a write, too.
    scene.signals.hold(true);
    scene.group.pass(LEASE_MAX + Duration::from_millis(300))?;
    let old = OldReads::open(scene.group, leader)?;
    // Not for so long that it notices.
    cut::part(scene, leader, &[one, other])?;
    pause(scene, leader, &[one, other], old)?;
    scene.signals.hold(false);
    scene.pass_ms(200, 1_000)?;
    cut::join(scene, leader, &[one, other])
}

/// Stops the leader until one of the others leads and has written.
fn pause(scene: &mut Scene<'_>, leader: usize, others: &[usize], mut old: OldReads) -> Result<()> {
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

pub(super) fn follower(scene: &mut Scene<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    scene.group.nodes[one].pause()?;
    scene.pass_ms(3_000, 6_000)?;
    scene.group.nodes[one].resume()
}
