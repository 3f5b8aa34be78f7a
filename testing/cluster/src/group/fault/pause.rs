//! Nodes that do nothing for a while, and then go on as if nothing had been.

use super::Scene;
use crate::group::old_reads::OldReads;
use anyhow::Result;

pub(super) fn leader(scene: &mut Scene<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let mut old = OldReads::open(scene.group, leader)?;
    scene.group.nodes[leader].pause()?;
    let new = scene.group.until_leader(&[one, other])?;
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
