//! Faults injected under load. Each fault is undone at its end: all nodes run and reach each other.

mod clocks;
mod cut;
mod disks;
mod files;
mod garbage;
mod join;
mod kill;
mod links;
mod lose;
mod memory;
mod observer;
mod operate;
mod pair;
mod pause;

use super::Group;
use super::disk::{Disk, delays_possible};
use crate::namespaces;
use crate::route::Signals;
use anyhow::{Result, ensure};
use clap::ValueEnum;
use scurry_model::Random;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Greatest silence of a group that must go on serving, ns: many times that of an election, and less than that of a
/// group that waits for a lost node.
const SILENCE_NS_MAX: i64 = 10_000_000_000;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// SIGKILL of the leader, which is started again at once or when another leads.
    KillLeader,
    /// SIGKILL of a follower, which is started again.
    KillFollower,
    /// SIGKILL of all three at once.
    KillAll,
    /// SIGKILL of both followers: what is left must say that it cannot serve.
    KillMajority,
    /// SIGSTOP of a leader with work that no other node has, SIGCONT when another leads, and SIGKILL of that one.
    KillSuccessor,
    /// SIGKILL of a follower, or of all three, again and again while it starts.
    KillInStart,
    /// The power of one node is cut: what it had not synced is lost.
    PowerOne,
    /// The power of two nodes is cut at once.
    PowerTwo,
    /// The power of all three nodes is cut at once.
    PowerAll,
    /// As PowerOne, and a random part of the sectors that were written and not synced is there after all.
    TornOne,
    /// The same with all three nodes.
    TornAll,
    /// One fault that has no effect yet; a second later a group that says that it can lose a node loses its leader.
    SecondLoss,
    /// Nodes are removed, and end when that is answered; others join, and the leader is killed when a node has its vote.
    Members,
    /// A fourth node joins, gets a vote, and is removed.
    Join,
    /// SIGSTOP of the leader until another leads, and SIGCONT; reads on its old connections.
    PauseLeader,
    /// SIGSTOP of a leader that is cut off, and SIGCONT when another leads: it goes on without news of that one,
    /// and nothing of clients waits in it for a majority.
    UnawareLeader,
    /// SIGSTOP of a follower for some seconds, and SIGCONT.
    PauseFollower,
    /// The leader and the others do not reach each other; clients reach all.
    CutLeader,
    /// No node reaches the leader.
    UnplugLeader,
    /// Nothing of the other nodes comes to the leader.
    DeafLeader,
    /// Nothing of the leader comes to the other nodes.
    MuteLeader,
    /// A follower and the others do not reach each other.
    CutFollower,
    /// The two followers do not reach each other; the leader reaches both.
    CutFollowers,
    /// Each node's packets to the next one are dropped, around a ring of three, for some seconds.
    OneWayRing,
    /// The leader and the others are cut from each other and joined again, every few tenths of a second.
    Flapping,
    /// Each packet between two nodes is lost with a probability of 1 to 20 percent, for some seconds.
    Lossy,
    /// The link of a follower has 256 kbit/s to 2 Mbit/s for some seconds.
    ThinLink,
    /// A node without a vote takes the log through a thin link, and is killed, stopped, cut off, wiped and left behind.
    ThinObserver,
    /// Connections between nodes are reset, in the middle of whatever they carry.
    Reset,
    /// The leader's file system becomes full.
    FullLeader,
    /// A follower's file system becomes full.
    FullFollower,
    /// The leader's device answers with errors.
    FailingLeader,
    /// A follower's device answers with errors.
    FailingFollower,
    /// The leader's device stands still for some seconds.
    FrozenLeader,
    /// A follower's device stands still again and again.
    SlowFollower,
    /// A node loses its directory, and an empty one takes its place.
    Replace,
    /// The node that began the group loses its directory while it is cut off, and is started as at first.
    WipeFounder,
    /// A follower gets an older state of its directory back.
    OldImage,
    /// A byte of a stopped follower's log is another when it starts.
    Damage,
    /// A bit of a node's memory flips: the nodes find it, the node ends for good, and an empty one takes its place.
    FlipMemory,
    /// Many connections to the ports for nodes send random bytes, half greetings and packets that are none.
    Garbage,
    /// The wall clock of the leader is set forward, by an hour or a year.
    ClockForwardLeader,
    /// The wall clock of the leader is set back, by an hour or a year.
    ClockBackLeader,
    /// The wall clock of a follower is set, and it comes to lead.
    ClockFollower,
    /// Leadership goes from node to node.
    Transfer,
    /// A transfer of the leadership to a node that was stopped or killed a moment before.
    DeadTransfer,
    /// Each node is restarted, the leader when it has handed over.
    RollingRestart,
    /// A follower and then the leader are started where nodes reach them at another port.
    Move,
    /// Two faults at a time, drawn from those that can be combined.
    Pair,
}

/// Context that a fault works with.
pub(crate) struct FaultContext<'s> {
    pub(crate) group: &'s mut Group,
    pub(crate) random: &'s mut Random,
    pub(crate) signals: &'s Signals,
    pub(crate) remarks: &'s mut Vec<String>,
    /// A follower that another fault has already hit: it is not drawn.
    pub(crate) spared: Option<usize>,
}

impl Fault {
    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::KillLeader => "kill-leader",
            Fault::KillFollower => "kill-follower",
            Fault::KillAll => "kill-all",
            Fault::KillMajority => "kill-majority",
            Fault::KillSuccessor => "kill-successor",
            Fault::KillInStart => "kill-in-start",
            Fault::PowerOne => "power-one",
            Fault::PowerTwo => "power-two",
            Fault::PowerAll => "power-all",
            Fault::TornOne => "torn-one",
            Fault::TornAll => "torn-all",
            Fault::SecondLoss => "second-loss",
            Fault::Members => "members",
            Fault::Join => "join",
            Fault::PauseLeader => "pause-leader",
            Fault::UnawareLeader => "unaware-leader",
            Fault::PauseFollower => "pause-follower",
            Fault::CutLeader => "cut-leader",
            Fault::UnplugLeader => "unplug-leader",
            Fault::DeafLeader => "deaf-leader",
            Fault::MuteLeader => "mute-leader",
            Fault::CutFollower => "cut-follower",
            Fault::CutFollowers => "cut-followers",
            Fault::OneWayRing => "one-way-ring",
            Fault::Flapping => "flapping",
            Fault::Lossy => "lossy",
            Fault::ThinLink => "thin-link",
            Fault::ThinObserver => "thin-observer",
            Fault::Reset => "reset",
            Fault::FullLeader => "full-leader",
            Fault::FullFollower => "full-follower",
            Fault::FailingLeader => "failing-leader",
            Fault::FailingFollower => "failing-follower",
            Fault::FrozenLeader => "frozen-leader",
            Fault::SlowFollower => "slow-follower",
            Fault::Replace => "replace",
            Fault::WipeFounder => "wipe-founder",
            Fault::OldImage => "old-image",
            Fault::Damage => "damage",
            Fault::FlipMemory => "flip-memory",
            Fault::Garbage => "garbage",
            Fault::ClockForwardLeader => "clock-forward-leader",
            Fault::ClockBackLeader => "clock-back-leader",
            Fault::ClockFollower => "clock-follower",
            Fault::Transfer => "transfer",
            Fault::DeadTransfer => "dead-transfer",
            Fault::RollingRestart => "rolling-restart",
            Fault::Move => "move",
            Fault::Pair => "pair",
        }
    }

    /// Faults of the short run.
    pub const SHORT: [Fault; 2] = [Fault::KillLeader, Fault::PauseLeader];

    pub(crate) fn disk(self) -> Disk {
        match self {
            Fault::FullLeader
            | Fault::FullFollower
            | Fault::FrozenLeader
            | Fault::SlowFollower
            | Fault::PowerOne
            | Fault::PowerTwo
            | Fault::PowerAll
            | Fault::TornOne
            | Fault::TornAll
            | Fault::Pair => Disk::Device,
            Fault::FailingLeader | Fault::FailingFollower => Disk::Thin,
            _ => Disk::Plain,
        }
    }

    /// Reports whether each node needs its own network.
    pub(crate) fn needs_networks(self) -> bool {
        let cuts = [
            Fault::CutFollower,
            Fault::CutFollowers,
            Fault::CutLeader,
            Fault::DeafLeader,
            Fault::Flapping,
            Fault::Join,
            Fault::Lossy,
            Fault::MuteLeader,
            Fault::OneWayRing,
            Fault::Reset,
            Fault::ThinLink,
            Fault::ThinObserver,
            Fault::UnawareLeader,
            Fault::UnplugLeader,
            Fault::WipeFounder,
        ];
        // Mounts are made in the same namespaces as networks.
        cuts.contains(&self) || self.disk() != Disk::Plain
    }

    /// Checks that the fault can be caused here, where nodes have their own networks. The error says why not.
    pub(crate) fn possible(self) -> Result<()> {
        match self {
            Fault::Lossy => namespaces::loss_possible(),
            Fault::ThinLink | Fault::ThinObserver => namespaces::thin_links_possible(),
            Fault::TornOne | Fault::TornAll => delays_possible(),
            Fault::Pair => {
                namespaces::loss_possible()?;
                namespaces::thin_links_possible()?;
                delays_possible()
            }
            _ => Ok(()),
        }
    }

    /// Reports whether nodes may speak TLS with each other. Garbage from a machine without a certificate reaches no node
    /// behind TLS.
    pub(crate) fn allows_tls(self) -> bool {
        !matches!(self, Fault::Garbage | Fault::Pair)
    }

    /// Reports whether each node needs its own wall clock.
    pub(crate) fn sets_clocks(self) -> bool {
        matches!(
            self,
            Fault::ClockForwardLeader | Fault::ClockBackLeader | Fault::ClockFollower | Fault::Pair
        )
    }

    /// Returns how far the ledger's time may be ahead of the clients' clock, ms: one second, and the delay of messages
    /// about clocks.
    pub(crate) fn ahead_ms(self) -> i64 {
        if self.sets_clocks() { 1_500 } else { 0 }
    }

    pub(crate) fn inflict(self, scene: &mut FaultContext<'_>) -> Result<()> {
        match self {
            Fault::KillLeader => kill::leader(scene),
            Fault::KillFollower => kill::follower(scene),
            Fault::KillAll => kill::all(scene),
            Fault::KillMajority => kill::majority(scene),
            Fault::KillSuccessor => pause::successor(scene),
            Fault::KillInStart => kill::in_start(scene),
            Fault::PowerOne => disks::power(scene, 1),
            Fault::PowerTwo => disks::power(scene, 2),
            Fault::PowerAll => disks::power(scene, 3),
            Fault::TornOne => disks::torn(scene, 1),
            Fault::TornAll => disks::torn(scene, 3),
            Fault::SecondLoss => lose::second(scene),
            Fault::Members => lose::members(scene),
            Fault::Join => join::fourth(scene),
            Fault::PauseLeader => pause::leader(scene),
            Fault::UnawareLeader => pause::unaware(scene),
            Fault::PauseFollower => pause::follower(scene),
            Fault::CutLeader => cut::leader(scene),
            Fault::UnplugLeader => cut::unplug(scene),
            Fault::DeafLeader => cut::deaf(scene),
            Fault::MuteLeader => cut::mute(scene),
            Fault::CutFollower => cut::follower(scene),
            Fault::CutFollowers => cut::followers(scene),
            Fault::OneWayRing => cut::ring(scene),
            Fault::Flapping => cut::flapping(scene),
            Fault::Lossy => links::lossy(scene),
            Fault::ThinLink => links::thin(scene),
            Fault::ThinObserver => observer::thin(scene),
            Fault::Reset => cut::reset(scene),
            Fault::FullLeader => disks::full_leader(scene),
            Fault::FullFollower => disks::full_follower(scene),
            Fault::FailingLeader => disks::failing_leader(scene),
            Fault::FailingFollower => disks::failing_follower(scene),
            Fault::FrozenLeader => disks::frozen_leader(scene),
            Fault::SlowFollower => disks::slow_follower(scene),
            Fault::Replace => files::replace(scene),
            Fault::WipeFounder => files::wipe_founder(scene),
            Fault::OldImage => files::old_image(scene),
            Fault::Damage => files::damage(scene),
            Fault::FlipMemory => memory::flip(scene),
            Fault::Garbage => garbage::flood(scene),
            Fault::ClockForwardLeader => clocks::leader(scene, 1),
            Fault::ClockBackLeader => clocks::leader(scene, -1),
            Fault::ClockFollower => clocks::follower(scene),
            Fault::Transfer => operate::transfer(scene),
            Fault::DeadTransfer => operate::dead_transfer(scene),
            Fault::RollingRestart => operate::rolling(scene),
            Fault::Move => operate::moved(scene),
            Fault::Pair => pair::two(scene),
        }
    }
}

impl FaultContext<'_> {
    /// Sleeps for a random time between the bounds.
    pub(crate) fn pass_ms(&mut self, low: i64, high: i64) -> Result<()> {
        let ms = u64::try_from(self.random.between(low, high))?;
        self.group.pass(Duration::from_millis(ms))
    }

    /// Returns the leader, a random follower and the other follower.
    fn parts(&mut self) -> Result<(usize, usize, usize)> {
        let (leader, mut others) = self.group.parts()?;
        let spared = others.iter().position(|node| Some(*node) == self.spared);
        let drawn = spared.map_or_else(|| self.random.below(others.len()), |at| 1 - at);
        let one = others.swap_remove(drawn);
        Ok((leader, one, others[0]))
    }

    /// Fails if no client got an answer for long: service must have gone on.
    fn served(&self) -> Result<()> {
        let silence_ns = self.signals.gap_ns.load(Ordering::Relaxed);
        ensure!(silence_ns < SILENCE_NS_MAX, "no answer for {} ms", silence_ns / 1_000_000);
        Ok(())
    }

    fn remark(&mut self, text: &str) {
        self.remarks.push(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_one_name_on_the_command_line_in_results_and_on_the_page() {
        let page = include_str!("../../../../docs/torture.md");
        for fault in Fault::value_variants() {
            let name = fault.name();
            let shown = fault.to_possible_value().expect("a name");
            assert_eq!(shown.get_name(), name);
            assert_eq!(serde_json::to_string(fault).expect("JSON"), format!("\"{name}\""));
            assert!(page.contains(&format!("`{name}`")), "docs/torture.md does not name {name}");
        }
    }
}
