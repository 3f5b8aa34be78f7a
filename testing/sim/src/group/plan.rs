//! What a run of three nodes is like: drawn from its theme and its seed.

use crate::{Crash, Faults};
use scurry_model::Random;

/// Theme of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupTheme {
    /// Nodes are killed and lose their power, at any operation of their disks.
    Crashes,
    /// Packets are lost, doubled, late and out of order, and ways are cut, also one way.
    Cuts,
    /// Nodes stand still and go on, with requests that came meanwhile.
    Pauses,
    /// Clocks of nodes jump, and leadership goes from node to node.
    Clocks,
    /// Disks are full, slow, and fail.
    Disks,
    /// Logs are made shorter, nodes get snapshots, are removed and replaced.
    Members,
    /// Leaders are deposed with work that nobody else has, and make their memory anew for long.
    Rebuilds,
    /// A node more is lost when the group says that it can be, whatever has gone wrong before.
    Losses,
    /// All of it, but for those losses.
    All,
}

impl GroupTheme {
    /// All of them.
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

    /// The name of the theme on a command line.
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

    /// The theme of this name.
    pub fn named(name: &str) -> Option<GroupTheme> {
        GroupTheme::ALL.into_iter().find(|theme| theme.name() == name)
    }
}

/// The settings of a run. What happens once in so many steps is 0 when it never does.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// Steps in which everything may fail.
    pub steps: usize,
    /// Of the oldest packets one of so many is delivered.
    pub reach: usize,
    /// A packet is lost.
    pub lose: usize,
    /// A packet is delivered twice.
    pub double: usize,
    /// A node is cut off, or all cuts end.
    pub cut: usize,
    /// A node stands still or goes on.
    pub pause: usize,
    /// A node ends.
    pub crash: usize,
    /// How a node ends: one of these each time.
    pub crashes: &'static [Crash],
    /// A clock jumps.
    pub clock: usize,
    /// Leadership is handed over.
    pub transfer: usize,
    /// A node is replaced by an empty one.
    pub replace: usize,
    /// A node begins a snapshot.
    pub snapshot: usize,
    /// A request is a chain.
    pub chain: usize,
    /// Faults of the disks.
    pub faults: Faults,
    /// A disk stands still, or goes on.
    pub stall: usize,
    /// In the end a node more is lost when the group says that it can be.
    pub loses: bool,
    /// Bytes of a segment.
    pub segment_len: u64,
    /// Bytes of a chunk of a snapshot.
    pub chunk_len: usize,
    /// Bytes of a part of a snapshot on its way.
    pub part_len: usize,
    /// Appends to one node that are under way.
    pub window: usize,
    /// Looks at a shard that is to be recovered until it is, one of so many.
    pub rebuild: usize,
    /// A host takes more in before it does what comes of it, every second time.
    pub is_lazy: bool,
}

impl GroupPlan {
    /// The plan of a seed.
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
