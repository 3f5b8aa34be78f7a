//! Faults of files: a replica that loses its files, and nodes that reload their data from them.

use super::FaultContext;
use crate::view::field;
use anyhow::{Result, ensure};

pub(super) fn resync(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, replica) = scene.pair()?;
    scene.cluster.nodes[replica].kill()?;
    scene.cluster.nodes[replica].empty()?;
    scene.pass_ms(0, 500)?;
    scene.cluster.nodes[replica].start()
}

pub(super) fn save_and_load(scene: &mut FaultContext<'_>) -> Result<()> {
    for index in 0..scene.cluster.nodes.len() {
        scene.pass_ms(0, 200)?;
        scene.cluster.nodes[index].ask("DEBUG RELOAD")?;
        scene.cluster.nodes[index].ask("BGREWRITEAOF")?;
        scene.cluster.until("the file of commands is rewritten", |cluster| {
            let text = cluster.nodes[index].text("INFO persistence")?;
            for name in ["aof_rewrite_in_progress", "aof_rewrite_scheduled"] {
                ensure!(field(&text, name) == Some("0"), "{name}");
            }
            ensure!(field(&text, "aof_last_bgrewrite_status") == Some("ok"), "{text}");
            Ok(())
        })?;
    }
    Ok(())
}
