//! Wall clocks that are set. The clients' clock stays right, so they notice sessions that end early or late.

use super::FaultContext;
use anyhow::{Result, ensure};

const HOUR_S: i64 = 3_600;
const YEAR_S: i64 = 365 * 24 * HOUR_S;
/// Wait after a clock was set back to the right time, ms. A node reports its clock when it next checks it, within half
/// a second. If another clock were set before that, two clocks would be wrong in the view of the others.
const TOLD_MS: i64 = 3_000;

/// Sets the leader's clock forward or back, and sometimes transfers leadership away and back meanwhile.
pub(super) fn leader(scene: &mut FaultContext<'_>, sign: i64) -> Result<()> {
    let (leader, one, _) = scene.parts()?;
    set(scene, leader, sign)?;
    scene.pass_ms(500, 2_000)?;
    if scene.random.one_in(2) {
        scene.group.transfer(one)?;
        scene.pass_ms(200, 1_000)?;
        scene.group.transfer(leader)?;
    }
    scene.pass_ms(200, 1_000)?;
    right(scene, leader)
}

/// Sets a follower's clock and makes it leader.
pub(super) fn follower(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    let sign = scene.random.pick(&[1, -1]);
    set(scene, one, sign)?;
    scene.group.transfer(one)?;
    scene.pass_ms(500, 2_000)?;
    right(scene, one)
}

pub(super) fn set(scene: &mut FaultContext<'_>, node: usize, sign: i64) -> Result<()> {
    let seconds = sign * scene.random.pick(&[HOUR_S, YEAR_S]);
    scene.group.nodes[node].set_clock(seconds)?;
    until_off(scene, node, seconds)
}

pub(super) fn right(scene: &mut FaultContext<'_>, node: usize) -> Result<()> {
    scene.group.nodes[node].set_clock(0)?;
    until_off(scene, node, 0)?;
    scene.pass_ms(TOLD_MS, TOLD_MS)
}

/// Waits until the node knows how far its clock is off.
fn until_off(scene: &mut FaultContext<'_>, node: usize, seconds: i64) -> Result<()> {
    scene.group.until("a node knows that its clock was set", |group| {
        let off_s = group.nodes[node].status()?.clock_off_ms / 1_000;
        ensure!((off_s - seconds).abs() < HOUR_S / 2, "it is off by {off_s} s");
        Ok(())
    })
}
