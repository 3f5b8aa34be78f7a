//! A fourth node joins a group of three, and is removed again.

use super::FaultContext;
use anyhow::{Context, Result, ensure};

const NODES: [usize; 3] = [0, 1, 2];

/// Starts a fourth node with an empty directory, waits until it has a vote, and removes it. A majority of four is three.
pub(super) fn fourth(scene: &mut FaultContext<'_>) -> Result<()> {
    scene.group.start_fourth(&[])?;
    let mut id = String::new();
    scene.group.until("the fourth node has its vote", |group| {
        let fourth = group.fourth.as_ref().context("it was started")?;
        id = fourth.status()?.id;
        let leader = group.leader_of(&NODES).context("none of the three leads")?;
        let members = group.nodes[leader].status()?.members;
        ensure!(members.iter().any(|member| member.id == id && member.votes), "{members:?}");
        Ok(())
    })?;
    scene.pass_ms(100, 1_000)?;
    remove_fourth(scene, &id)
}

/// Removes the fourth node and its directory.
pub(super) fn remove_fourth(scene: &mut FaultContext<'_>, id: &str) -> Result<()> {
    // A node that learns that it was removed ends by itself.
    scene.group.fourth()?.may_end = true;
    scene.group.remove(id, &NODES)?;
    let fourth = scene.group.fourth()?;
    fourth.kill()?;
    fourth.may_end = false;
    fourth.empty()
}
