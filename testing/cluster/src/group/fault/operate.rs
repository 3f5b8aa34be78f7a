//! Operations of an operator: transfers, restarts, moves to another port.

use super::FaultContext;
use anyhow::Result;

pub(super) fn transfer(scene: &mut FaultContext<'_>) -> Result<()> {
    for _ in 0..4 {
        let (_, one, _) = scene.parts()?;
        scene.group.transfer(one)?;
        scene.pass_ms(50, 400)?;
    }
    Ok(())
}

pub(super) fn rolling(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    for node in [one, other] {
        restart(scene, node)?;
    }
    scene.group.transfer(one)?;
    restart(scene, leader)
}

pub(super) fn moved(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, _) = scene.parts()?;
    for node in [one, leader] {
        if node == leader {
            scene.group.transfer(one)?;
        }
        scene.group.nodes[node].move_away();
        restart(scene, node)?;
    }
    Ok(())
}

fn restart(scene: &mut FaultContext<'_>, node: usize) -> Result<()> {
    scene.group.nodes[node].stop()?;
    scene.pass_ms(0, 300)?;
    scene.group.start_again(node)?;
    scene.group.until_whole()
}
