//! Operations of an operator: transfers, restarts, moves to another port.

use super::FaultContext;
use anyhow::{Result, bail};
use scurry_conformance::Value;
use scurry_crash::wire::words;

pub(super) fn transfer(scene: &mut FaultContext<'_>) -> Result<()> {
    for _ in 0..4 {
        let (_, one, _) = scene.parts()?;
        scene.group.transfer(one)?;
        scene.pass_ms(50, 400)?;
    }
    Ok(())
}

/// Asks the leader to hand over to a node that no longer runs. The two others must go on serving meanwhile.
pub(super) fn dead_transfer(scene: &mut FaultContext<'_>) -> Result<()> {
    let (leader, one, other) = scene.parts()?;
    let id = scene.group.nodes[one].status()?.id;
    let mut wire = scene.group.nodes[leader].thread_wire()?;
    let is_killed = scene.random.one_in(2);
    if is_killed {
        scene.group.nodes[one].kill()?;
    } else {
        scene.group.nodes[one].pause()?;
    }
    scene.pass_ms(0, 60)?;
    match wire.ask(&words(&format!("SCUR.REPLICA TRANSFER {id}"))) {
        Ok(Value::Error(text)) => {
            // It begins with `ERR node ID: `.
            let why = text.split_once(": ").map_or(text.as_str(), |(_, why)| why);
            scene.remark(&format!("refused: {why}"));
        }
        Ok(reply) => bail!("a transfer to a node that does not run answers {reply}"),
        Err(_) => scene.remark("a transfer had no answer within its client's patience"),
    }
    scene.group.execute(&[leader, other], "SET dead-transfer written")?;
    scene.pass_ms(300, 1_500)?;
    scene.served()?;
    if is_killed { scene.group.start_again(one) } else { scene.group.nodes[one].resume() }
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
