//! Partitions of the network. Packets are dropped silently and connections stay open.

use super::FaultContext;
use crate::group::old_reads::OldReads;
use crate::namespaces::Namespace;
use anyhow::{Context, Result};

/// Returns the network of a node.
pub(super) fn own<'s>(scene: &'s FaultContext<'_>, node: usize) -> Result<&'s Namespace> {
    scene.group.nodes[node].namespace.as_ref().context("the node has no network of its own")
}

/// Returns the numbers of these nodes' networks.
pub(super) fn places(scene: &FaultContext<'_>, nodes: &[usize]) -> Result<Vec<usize>> {
    nodes.iter().map(|node| Ok(own(scene, *node)?.index())).collect()
}

/// Drops all packets between this node and the others.
pub(super) fn part(scene: &FaultContext<'_>, node: usize, others: &[usize]) -> Result<()> {
    own(scene, node)?.part_from(&places(scene, others)?)
}

/// Undoes [`part`].
pub(super) fn join(scene: &FaultContext<'_>, node: usize, others: &[usize]) -> Result<()> {
    own(scene, node)?.join_again(&places(scene, others)?)
}

pub(super) fn leader(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let mut old = OldReads::open(scene.group, leader)?;
    part(scene, leader, &[one, other])?;
    let new = scene.group.until_leader(&[one, other])?;
    old.overwrite(scene.group, new, "new")?;
    old.ask();
    scene.pass_ms(0, 3_000)?;
    join(scene, leader, &[one, other])?;
    old.judge().map(drop)
}

pub(super) fn unplug(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let mut old = OldReads::open(scene.group, leader)?;
    own(scene, leader)?.unplug()?;
    scene.group.nodes[leader].is_away = true;
    let new = scene.group.until_leader(&[one, other])?;
    old.overwrite(scene.group, new, "new")?;
    old.ask();
    scene.pass_ms(0, 3_000)?;
    own(scene, leader)?.plug_in()?;
    scene.group.nodes[leader].is_away = false;
    old.judge().map(drop)
}

pub(super) fn mute(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    one_way(scene, &[leader], &[one, other])
}

pub(super) fn deaf(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    one_way(scene, &[one, other], &[leader])
}

/// Drops packets in one direction for some seconds.
fn one_way(scene: &mut FaultContext<'_>, from: &[usize], to: &[usize]) -> Result<()> {
    for node in from {
        own(scene, *node)?.take_what_cannot_be_answered(true)?;
        part(scene, *node, to)?;
    }
    scene.pass_ms(1_500, 4_000)?;
    for node in from {
        join(scene, *node, to)?;
        own(scene, *node)?.take_what_cannot_be_answered(false)?;
    }
    Ok(())
}

pub(super) fn follower(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    part(scene, one, &[leader, other])?;
    scene.pass_ms(1_000, 5_000)?;
    join(scene, one, &[leader, other])
}

/// Cuts the followers from each other. The leader reaches both, so it has no reason to stop.
pub(super) fn followers(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    part(scene, one, &[other])?;
    scene.pass_ms(1_500, 5_000)?;
    scene.group.execute(&[0, 1, 2], "SET cut-followers written")?;
    if scene.group.leader_of(&[leader]).is_none() {
        scene.remark("another node led while the followers were cut from each other");
    }
    join(scene, one, &[other])
}

/// Drops each node's packets to the next one. As connections need both directions, no node hears another for long.
pub(super) fn ring(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let (nodes, next) = ([leader, one, other], [one, other, leader]);
    for (node, to) in nodes.into_iter().zip(next) {
        own(scene, node)?.take_what_cannot_be_answered(true)?;
        part(scene, node, &[to])?;
    }
    scene.pass_ms(1_500, 6_000)?;
    for (node, to) in nodes.into_iter().zip(next) {
        join(scene, node, &[to])?;
        own(scene, node)?.take_what_cannot_be_answered(false)?;
    }
    Ok(())
}

/// Cuts a node that leads from the others and joins it again, many times. Between two cuts another may come to lead.
pub(super) fn flapping(scene: &mut FaultContext<'_>) -> Result<()> {
    let (mut node, ..) = scene.parts()?;
    for _ in 0..scene.random.between(6, 16) {
        node = scene.group.leader_of(&[0, 1, 2]).unwrap_or(node);
        let others: Vec<usize> = (0..3).filter(|other| *other != node).collect();
        part(scene, node, &others)?;
        scene.pass_ms(100, 600)?;
        join(scene, node, &others)?;
        scene.pass_ms(100, 600)?;
    }
    Ok(())
}

pub(super) fn reset(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    for _ in 0..scene.random.between(5, 15) {
        let [a, b] = [scene.random.pick(&[leader, leader, one]), scene.random.pick(&[one, other])];
        if a != b {
            own(scene, a)?.reset(own(scene, b)?.index())?;
        }
        scene.pass_ms(20, 300)?;
    }
    Ok(())
}
