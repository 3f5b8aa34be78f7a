//! Two faults at a time: one that holds for a while, and another one that begins and ends meanwhile. Not every two can be
//! combined: where the first takes a follower away, the second must not take another one if service is demanded.

use super::{Fault, FaultContext, clocks, cut, disks, garbage, links};
use anyhow::{Context, Result};

/// Probabilities of a lost packet beside another fault, percent.
const LOSSES: [i64; 3] = [1, 3, 5];
/// Rate of a thin link beside another fault, kbit/s: a majority may need it.
const THIN_KBIT: i64 = 2_048;
/// Delay of each sync on a slow disk, ms: shorter than what makes a leader hand over.
const SYNC_MS: u32 = 60;

/// A fault that holds while another one happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Lossy,
    ThinLink,
    Garbage,
    SlowDisk,
    Clock,
    CutFollowers,
    CutFollower,
    PauseFollower,
    FullFollower,
}

/// Faults that may hit any node, where all three run and reach each other.
const ANY: &[Fault] = &[
    Fault::KillLeader,
    Fault::KillFollower,
    Fault::KillInStart,
    Fault::PowerOne,
    Fault::Members,
    Fault::Join,
    Fault::Replace,
    Fault::PauseLeader,
    Fault::CutLeader,
    Fault::CutFollower,
    Fault::Flapping,
    Fault::Reset,
    Fault::Transfer,
    Fault::DeadTransfer,
    Fault::RollingRestart,
    Fault::Move,
];
/// Faults that one clock of three must not turn into wrong deadlines.
const WITH_CLOCK: &[Fault] = &[
    Fault::KillLeader,
    Fault::KillFollower,
    Fault::Join,
    Fault::PauseLeader,
    Fault::CutLeader,
    Fault::Reset,
    Fault::Transfer,
];
/// Faults that leave the leader and the other follower, while one does not count.
const WITHOUT_ONE: &[Fault] = &[Fault::Join, Fault::Transfer, Fault::Reset, Fault::Garbage];
/// Faults that take a second node away for a moment. Service ends, and nothing may be lost.
const SECOND: &[Fault] = &[Fault::KillFollower, Fault::KillAll, Fault::PowerTwo, Fault::PowerAll];

/// Pairs: what holds, what happens meanwhile, and whether the group must serve after it while the first still holds.
const PAIRS: [(Held, &[Fault], bool); 14] = [
    (Held::Lossy, ANY, true),
    (Held::Garbage, ANY, true),
    (Held::SlowDisk, ANY, true),
    (Held::Clock, WITH_CLOCK, true),
    (Held::ThinLink, &[Fault::Transfer, Fault::KillLeader, Fault::Join, Fault::Reset], true),
    (Held::CutFollowers, &[Fault::KillFollower, Fault::Reset, Fault::Garbage], true),
    (Held::CutFollower, WITHOUT_ONE, true),
    (Held::PauseFollower, &[Fault::Join, Fault::Transfer, Fault::Reset], true),
    (Held::FullFollower, WITHOUT_ONE, true),
    (Held::CutFollower, SECOND, false),
    (Held::PauseFollower, &[Fault::KillFollower], false),
    (Held::FullFollower, &[Fault::KillFollower, Fault::Replace], false),
    (Held::CutFollowers, SECOND, false),
    (Held::Lossy, SECOND, false),
];

impl Held {
    fn name(self) -> &'static str {
        match self {
            Held::Lossy => "lossy",
            Held::ThinLink => "thin-link",
            Held::Garbage => "garbage",
            Held::SlowDisk => "a slow disk",
            Held::Clock => "clock-follower",
            Held::CutFollowers => "cut-followers",
            Held::CutFollower => "cut-follower",
            Held::PauseFollower => "pause-follower",
            Held::FullFollower => "full-follower",
        }
    }

    /// Causes it, does something else, and undoes it.
    fn beside(
        self,
        scene: &mut FaultContext<'_>,
        meanwhile: impl FnOnce(&mut FaultContext<'_>) -> Result<()>,
    ) -> Result<()> {
        let (leader, one, other) = scene.parts()?;
        match self {
            Held::Lossy => {
                let percent = scene.random.pick(&LOSSES);
                links::lose(scene, percent)?;
                meanwhile(scene)?;
                links::lose_no_more(scene).map(drop)
            }
            Held::ThinLink => {
                scene.spared = Some(one);
                cut::own(scene, one)?.thin(THIN_KBIT)?;
                meanwhile(scene)?;
                cut::own(scene, one)?.widen()
            }
            Held::Garbage => garbage::beside(scene, meanwhile),
            Held::SlowDisk => {
                let syncs = scene.group.nodes[one].delay_syncs(SYNC_MS)?;
                meanwhile(scene)?;
                drop(syncs);
                Ok(())
            }
            Held::Clock => {
                let sign = scene.random.pick(&[1, -1]);
                clocks::set(scene, one, sign)?;
                meanwhile(scene)?;
                clocks::right(scene, one)
            }
            Held::CutFollowers => {
                cut::part(scene, one, &[other])?;
                meanwhile(scene)?;
                cut::join(scene, one, &[other])
            }
            Held::CutFollower => {
                scene.spared = Some(one);
                cut::part(scene, one, &[leader, other])?;
                meanwhile(scene)?;
                cut::join(scene, one, &[leader, other])
            }
            Held::PauseFollower => {
                scene.spared = Some(one);
                scene.group.nodes[one].pause()?;
                meanwhile(scene)?;
                scene.group.nodes[one].resume()
            }
            Held::FullFollower => {
                scene.spared = Some(one);
                scene.group.nodes[one].may_end = true;
                disks::exhaust(scene, one)?;
                meanwhile(scene)?;
                disks::disk(scene, one)?.heal();
                scene.pass_ms(200, 500)?;
                scene.group.nodes[one].may_end = false;
                match scene.group.nodes[one].ended()? {
                    Some(_) => scene.group.start_again(one),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Draws a pair and causes it.
pub(super) fn two(scene: &mut FaultContext<'_>) -> Result<()> {
    let (held, others, serves) = scene.random.pick(&PAIRS);
    let other = scene.random.pick(others);
    let demanded = if serves { "" } else { ", without a majority" };
    scene.remark(&format!("{} beside {}{demanded}", other.name(), held.name()));
    let outcome = held.beside(scene, |scene| {
        scene.pass_ms(200, 1_000)?;
        other.inflict(scene)?;
        if serves {
            scene.group.execute(&[0, 1, 2], "SET pair written")?;
        }
        scene.pass_ms(200, 1_000)
    });
    scene.spared = None;
    outcome.with_context(|| format!("{} beside {}", other.name(), held.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_need_what_a_round_of_pairs_has() {
        for fault in PAIRS.iter().flat_map(|(_, others, _)| *others) {
            assert!(!fault.sets_clocks() && *fault != Fault::Pair, "{fault:?}");
            assert!(matches!(fault.disk(), super::super::Disk::Plain | super::super::Disk::Device));
        }
    }
}
