//! Links between nodes that lose packets by chance, and a link with little bandwidth.

use super::{FaultContext, cut};
use anyhow::{Result, ensure};

/// Probabilities with which a packet is lost, percent.
const LOSSES: [i64; 5] = [1, 3, 5, 10, 20];
/// Rates of a thin link, kbit/s.
const RATES: [i64; 4] = [256, 512, 1_024, 2_048];

/// Loses some packets of all links between nodes while the load goes on.
pub(super) fn lossy(scene: &mut FaultContext<'_>) -> Result<()> {
    let percent = scene.random.pick(&LOSSES);
    lose(scene, percent)?;
    scene.pass_ms(3_000, 8_000)?;
    scene.group.execute(&[0, 1, 2], "SET lossy written")?;
    let lost = lose_no_more(scene)?;
    ensure!(lost > 0, "no packet was lost at {percent} %");
    scene.remark(&format!("{percent} % of the packets were lost"));
    scene.served()
}

/// Loses each packet between two nodes with this probability, percent.
pub(super) fn lose(scene: &FaultContext<'_>, percent: i64) -> Result<()> {
    for node in 0..3 {
        let others: Vec<usize> = (0..3).filter(|other| *other != node).collect();
        cut::own(scene, node)?.lose(percent, &cut::places(scene, &others)?)?;
    }
    Ok(())
}

/// Undoes [`lose`]. Returns the number of packets that were lost.
pub(super) fn lose_no_more(scene: &FaultContext<'_>) -> Result<u64> {
    (0..3).map(|node| cut::own(scene, node)?.lose_no_more()).sum()
}

/// Makes the link of a follower thin. The two others must go on at their pace.
pub(super) fn thin(scene: &mut FaultContext<'_>) -> Result<()> {
    let (_, one, _) = scene.parts()?;
    let id = scene.group.nodes[one].status()?.id;
    let (kbit, mut lag) = (scene.random.pick(&RATES), 0);
    cut::own(scene, one)?.thin(kbit)?;
    for _ in 0..scene.random.between(8, 16) {
        scene.pass_ms(500, 500)?;
        lag = lag.max(scene.group.lag_of(&id).unwrap_or(0));
    }
    scene.group.execute(&[0, 1, 2], "SET thin-link written")?;
    cut::own(scene, one)?.widen()?;
    let behind = if lag > 0 { "it fell behind" } else { "it kept up" };
    scene.remark(&format!("{kbit} kbit/s: {behind}"));
    scene.served()
}
