//! A primary that is stopped for a while and then continues as if it were still primary.

use super::FaultContext;
use anyhow::Result;

pub(super) fn primary(scene: &mut FaultContext<'_>) -> Result<()> {
    let (primary, replica) = scene.pair()?;
    scene.cluster.nodes[primary].pause()?;
    scene.until_primary(replica)?;
    scene.pass_ms(0, 1_000)?;
    scene.cluster.nodes[primary].resume()
}
