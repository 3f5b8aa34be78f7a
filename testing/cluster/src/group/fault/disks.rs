//! Devices that are full, failing, frozen or without power.

use super::{FaultContext, files};
use crate::group::disk::MountedDevice;
use crate::group::torn::TornSectors;
use anyhow::{Context, Result, bail, ensure};

/// Values whose total exceeds two files of the log.
const VALUE_LEN: usize = 1 << 20;
const VALUES: usize = 135;
/// Text in the log of a node that finds no space for its log.
const FULL: &str = "the disk is full";
/// Delay of each sync before a power cut, ms.
const SYNC_MS: u32 = 150;

pub(super) fn disk<'s>(
    scene: &'s mut FaultContext<'_>,
    node: usize,
) -> Result<&'s mut MountedDevice> {
    scene.group.nodes[node].disk.as_mut().context("the node has no file system of its own")
}

pub(super) fn full_leader(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    full(scene, leader, &[one, other])
}

pub(super) fn full_follower(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    full(scene, one, &[])
}

/// Fills a node's disk until one of the others leads, if any are named.
fn full(scene: &mut FaultContext<'_>, node: usize, others: &[usize]) -> Result<()> {
    scene.group.nodes[node].may_end = true;
    let says = |scene: &FaultContext<'_>| scene.group.nodes[node].said().matches(FULL).count();
    let (before, reuses) = (says(scene), scene.group.nodes[node].has_spares());
    exhaust(scene, node)?;
    // A log that was shortened before reuses its old files.
    if before == 0 && !reuses {
        scene.group.until("the node says that it has no room", |group| {
            ensure!(group.nodes[node].said().contains(FULL), "it does not");
            Ok(())
        })?;
    }
    if says(scene) == before {
        scene.remark("a log went on in files that it had");
    } else if !others.is_empty() {
        scene.group.until_leader(others)?;
    }
    scene.pass_ms(500, 2_000)?;
    disk(scene, node)?.heal();
    scene.pass_ms(200, 500)?;
    scene.group.nodes[node].may_end = false;
    match scene.group.nodes[node].ended()? {
        Some(status) => {
            scene.remark(&format!("a node without room ended ({status})"));
            scene.group.start_again(node)
        }
        None => {
            scene.remark("a node without room went on");
            Ok(())
        }
    }
}

/// Fills a node's disk, and writes until its log needs another file.
pub(super) fn exhaust(scene: &mut FaultContext<'_>, node: usize) -> Result<()> {
    disk(scene, node)?.fill()?;
    // The space of the next log file is preallocated, so only the file after that finds none.
    let value = vec![b'v'; VALUE_LEN];
    for _ in 0..VALUES {
        scene.group.write_anywhere(vec![b"SET".to_vec(), b"long".to_vec(), value.clone()])?;
    }
    Ok(())
}

pub(super) fn failing_leader(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, ..) = scene.parts()?;
    failing(scene, leader)
}

pub(super) fn failing_follower(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    failing(scene, one)
}

fn failing(scene: &mut FaultContext<'_>, node: usize) -> Result<()> {
    scene.group.nodes[node].may_end = true;
    disk(scene, node)?.fail()?;
    // Writes to existing blocks still succeed, so errors may take a while.
    scene.pass_ms(3_000, 5_000)?;
    match scene.group.nodes[node].ended()? {
        Some(status) => scene.remark(&format!("a node whose device failed ended ({status})")),
        None => {
            scene.remark("a node whose device failed went on");
            scene.group.nodes[node].kill()?;
        }
    }
    disk(scene, node)?.repair()?;
    scene.group.nodes[node].may_end = false;
    scene.group.start_again(node)
}

pub(super) fn frozen_leader(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    disk(scene, leader)?.freeze()?;
    scene.group.until_leader(&[one, other])?;
    scene.pass_ms(0, 2_000)?;
    disk(scene, leader)?.heal();
    Ok(())
}

pub(super) fn slow_follower(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    for _ in 0..6 {
        disk(scene, one)?.freeze()?;
        scene.pass_ms(100, 600)?;
        disk(scene, one)?.heal();
        scene.pass_ms(20, 100)?;
    }
    Ok(())
}

/// Cuts the power of so many nodes under load, and starts them again with what their devices have.
pub(super) fn power(scene: &mut FaultContext<'_>, count: usize) -> Result<()> {
    let nodes = draw(scene, count);
    // First all processes end, so that none goes on while the device of another is without power.
    for node in &nodes {
        scene.group.nodes[*node].kill()?;
    }
    for node in &nodes {
        disk(scene, *node)?.cut_power()?;
    }
    for node in nodes {
        scene.pass_ms(0, 500)?;
        scene.group.start_again(node)?;
    }
    Ok(())
}

/// Cuts the power of so many nodes while they write, and starts them again with what their devices have kept of that.
pub(super) fn torn(scene: &mut FaultContext<'_>, count: usize) -> Result<()> {
    let nodes = draw(scene, count);
    // Without a delay of the syncs the moment between a write and its sync would hardly ever be met.
    let delayed = nodes.iter().map(|node| scene.group.nodes[*node].delay_syncs(SYNC_MS));
    let delayed = delayed.collect::<Result<Vec<_>>>()?;
    scene.pass_ms(600, 1_500)?;
    for node in &nodes {
        scene.group.nodes[*node].kill()?;
    }
    drop(delayed);
    let mut torn = TornSectors::default();
    for node in &nodes {
        let device = scene.group.nodes[*node].disk.as_ref();
        let own = device.context("it has its own file system")?.tear(scene.random)?;
        torn = TornSectors { unsynced: torn.unsynced + own.unsynced, kept: torn.kept + own.kept };
    }
    let TornSectors { unsynced, kept } = torn;
    ensure!(unsynced > 0, "nothing was written and not synced");
    scene.remark(match kept {
        0 => "nothing was kept of what was not synced",
        _ if kept == unsynced => "all was kept of what was not synced",
        _ => "a part was kept of what was not synced",
    });
    for node in &nodes {
        scene.group.nodes[*node].may_end = true;
        scene.group.start_again(*node)?;
    }
    scene.pass_ms(1_500, 1_500)?;
    let mut refused = Vec::new();
    for node in nodes {
        scene.group.nodes[node].may_end = false;
        if let Some(status) = scene.group.nodes[node].ended()? {
            let words = scene.group.nodes[node].log_tail();
            ensure!(!status.success() && !words.contains("panicked"), "{status}: {words}");
            refused.push(node);
        }
    }
    match refused[..] {
        [] => Ok(()),
        [node] => {
            scene.remark("a node with a torn file did not start");
            files::replace_node(scene, node)
        }
        _ => bail!("{refused:?} do not start: {}", scene.group.nodes[refused[0]].log_tail()),
    }
}

/// Draws so many nodes.
fn draw(scene: &mut FaultContext<'_>, count: usize) -> Vec<usize> {
    let mut nodes = vec![0, 1, 2];
    while nodes.len() > count {
        nodes.swap_remove(scene.random.below(nodes.len()));
    }
    nodes
}
