//! SIGKILL of one node.

use super::FaultContext;
use anyhow::Result;

pub(super) fn primary(scene: &mut FaultContext<'_>) -> Result<()> {
    let (primary, replica) = scene.pair()?;
    scene.cluster.nodes[primary].kill()?;
    // It can also restart from its append-only file before the other nodes notice its absence.
    if scene.random.one_in(3) {
        scene.pass_ms(0, 500)?;
    } else {
        scene.until_primary(replica)?;
        scene.pass_ms(0, 1_000)?;
    }
    scene.cluster.nodes[primary].start()
}

pub(super) fn replica(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, replica) = scene.pair()?;
    scene.cluster.nodes[replica].kill()?;
    scene.pass_ms(200, 2_500)?;
    scene.cluster.nodes[replica].start()
}
