//! The settings of a run of three nodes, drawn from its theme and its seed.

use crate::{Crash, Faults};
use scurry_model::Random;

/// The kind of faults that a run concentrates on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupTheme {
    /// Processes are killed and machines lose power, at any operation of their disks.
    Crashes,
    /// Packets are lost, duplicated, delayed and reordered; connections are cut, in one direction or both.
    Cuts,
    /// Nodes pause and continue with the requests that arrived in the meantime.
    Pauses,
    /// Clocks of nodes jump, and leadership is transferred between nodes.
    Clocks,
    /// Disks are full, stall, and fail.
    Disks,
    /// Logs are shortened; nodes receive snapshots, are removed and replaced.
    Members,
    /// Leaders that executed records which no other node has are deposed, and take long to recover their shards.
    Rebuilds,
    /// After other faults one more node is lost, if the group reports that it can lose one.
    Losses,
    /// All of the above except the loss of one more node.
    All,
}

impl GroupTheme {
    /// All themes.
    pub const ALL: [GroupTheme; 9] = [
        GroupTheme::Crashes,
        GroupTheme::Cuts,
        GroupTheme::Pauses,
        GroupTheme::Clocks,
        GroupTheme::Disks,
        GroupTheme::Members,
        GroupTheme::Rebuilds,
        GroupTheme::Losses,
        GroupTheme::All,
    ];

    /// Returns the name of the theme on a command line.
    pub fn name(self) -> &'static str {
        match self {
            GroupTheme::Crashes => "group-crashes",
            GroupTheme::Cuts => "group-cuts",
            GroupTheme::Pauses => "group-pauses",
            GroupTheme::Clocks => "group-clocks",
            GroupTheme::Disks => "group-disks",
            GroupTheme::Members => "group-members",
            GroupTheme::Rebuilds => "group-rebuilds",
            GroupTheme::Losses => "group-losses",
            GroupTheme::All => "group-all",
        }
    }

    /// Returns the theme with this name, if there is one.
    pub fn named(name: &str) -> Option<GroupTheme> {
        GroupTheme::ALL.into_iter().find(|theme| theme.name() == name)
    }
}

/// The settings of a run. A field that describes an event gives its chance per step, or per packet or request: 1 in
/// that number, or 0 for never.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// The number of steps with faults.
    pub steps: usize,
    /// The next packet is drawn from this many of the oldest ones.
    pub reach: usize,
    /// A packet is lost.
    pub lose: usize,
    /// A packet is delivered twice.
    pub double: usize,
    /// A node is cut off, or all cuts end.
    pub cut: usize,
    /// A node pauses, or a paused one continues.
    pub pause: usize,
    /// A node crashes.
    pub crash: usize,
    /// Ways in which a node crashes. Each crash draws one.
    pub crashes: &'static [Crash],
    /// A clock jumps.
    pub clock: usize,
    /// The leader is told to transfer its leadership.
    pub transfer: usize,
    /// A node is replaced by an empty one.
    pub replace: usize,
    /// A node begins a snapshot: its chance per turn of the core is four times as high.
    pub snapshot: usize,
    /// A request is a chain.
    pub chain: usize,
    /// Faults of the disks.
    pub faults: Faults,
    /// A disk stalls, or a stalled one continues.
    pub stall: usize,
    /// At the end one more node is lost, if the group reports that it can lose one.
    pub loses: bool,
    /// The length of a log segment, bytes.
    pub segment_len: u64,
    /// The length of a snapshot's chunk, bytes.
    pub chunk_len: usize,
    /// The greatest length of a part in which a snapshot is sent, bytes.
    pub part_len: usize,
    /// The number of appends to one node that may be in flight.
    pub window: usize,
    /// A waiting recovery of a shard proceeds with a chance of 1 in this number; 0 for at once.
    pub rebuild: usize,
    /// Every second time, on average, a host processes more inputs before it acts on the earlier ones.
    pub is_lazy: bool,
}

impl GroupPlan {
    /// Draws the plan of a run.
    pub fn new(theme: GroupTheme, random: &mut Random) -> GroupPlan {
        use GroupTheme::{All, Clocks, Crashes, Cuts, Disks, Losses, Members, Pauses, Rebuilds};
        let is = |themes: &[GroupTheme]| theme == All || themes.contains(&theme);
        let mut often = |themes: &[GroupTheme], of: &[usize]| {
            let drawn = random.pick(of);
            if is(themes) { drawn } else { 0 }
        };
        let lose = often(&[Cuts], &[0, 20, 100]);
        let double = often(&[Cuts], &[0, 5, 50]);
        let cut = often(&[Cuts, Clocks, Rebuilds, Losses], &[60, 150, 500]);
        let pause = often(&[Pauses, Rebuilds, Losses], &[60, 150, 500]);
        let crash = often(&[Crashes, Members, Rebuilds, Losses], &[100, 200, 600]);
        let clock = often(&[Clocks], &[20, 100, 300]);
        let transfer = often(&[Clocks, Pauses, Members, Losses], &[0, 100, 300]);
        let replace = often(&[Members, Losses], &[0, 200, 500]);
        let snapshot = often(&[Members, Crashes], &[0, 40, 120]);
        let stall = often(&[Disks], &[0, 100, 300]);
        let full = often(&[Disks], &[0, 60, 200]);
        let failing = often(&[Disks], &[0, 0, 400, 1_200]);
        let faults = Faults { full, write: failing, sync: failing, ..Faults::default() };
        let is_slow = theme == Rebuilds;
        GroupPlan {
            steps: random.pick(&[400, 800, 1_500]),
            reach: if is(&[Cuts]) { random.pick(&[1, 4, 300]) } else { 1 },
            lose,
            double,
            cut,
            pause,
            crash,
            crashes: random.pick(&[
                &[Crash::Power, Crash::Process][..],
                &[Crash::Power],
                &[Crash::Process],
            ]),
            clock,
            transfer,
            replace,
            snapshot,
            chain: random.pick(&[0, 4, 10]),
            faults: Faults { room: random.one_in(2), ..faults },
            stall,
            loses: theme == Losses,
            segment_len: random.pick(&[600, 3_000, 20_000]),
            chunk_len: random.pick(&[1, 1_000, 100_000]),
            part_len: random.pick(&[40, 1_000, 100_000]),
            window: random.pick(&[1, 2, 16]),
            rebuild: if is_slow { random.pick(&[4, 20, 100]) } else { 0 },
            is_lazy: is_slow,
        }
    }
}
