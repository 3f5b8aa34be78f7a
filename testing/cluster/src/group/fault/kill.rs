//! SIGKILL of nodes.

use super::FaultContext;
use anyhow::{Context, Result, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::words;

pub(super) fn leader(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    scene.group.nodes[leader].kill()?;
    // It can also restart before the other nodes notice its absence.
    if scene.random.one_in(3) {
        scene.pass_ms(0, 300)?;
    } else {
        scene.group.until_leader(&[one, other])?;
        scene.pass_ms(0, 700)?;
    }
    scene.group.start_again(leader)
}

pub(super) fn follower(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    scene.group.nodes[one].kill()?;
    scene.pass_ms(100, 1_500)?;
    scene.group.start_again(one)
}

pub(super) fn all(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    for node in [leader, one, other] {
        scene.group.nodes[node].kill()?;
    }
    for node in [one, other, leader] {
        scene.pass_ms(0, 200)?;
        scene.group.start_again(node)?;
    }
    Ok(())
}

pub(super) fn majority(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    for node in [one, other] {
        scene.group.nodes[node].kill()?;
    }
    scene.group.until("the node that is left refuses in words", |group| {
        let asked = group.nodes[leader].thread_wire()?.ask(&words("GET nothing"))?;
        let Value::Error(text) = &asked else { anyhow::bail!("it says {asked}") };
        ensure!(text.starts_with("CLUSTERDOWN "), "{text}");
        Ok(())
    })?;
    scene.pass_ms(0, 500)?;
    for node in [other, one] {
        scene.group.start_again(node).context("a follower")?;
    }
    Ok(())
}

/// Kills a follower at many moments of its start; now and then all three nodes.
pub(super) fn in_start(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let nodes = if scene.random.one_in(4) { vec![leader, one, other] } else { vec![one] };
    for &node in &nodes {
        scene.group.nodes[node].kill()?;
    }
    for _ in 0..scene.random.between(8, 20) {
        for &node in &nodes {
            scene.group.start_again(node)?;
        }
        scene.pass_ms(5, 200)?;
        for &node in &nodes {
            // A node that has refused to start must not be taken for one that was killed.
            scene.group.nodes[node].check()?;
            scene.group.nodes[node].kill()?;
        }
    }
    for &node in &nodes {
        scene.group.start_again(node)?;
    }
    if nodes.len() > 1 {
        scene.remark("all nodes were killed in their starts");
    }
    Ok(())
}
