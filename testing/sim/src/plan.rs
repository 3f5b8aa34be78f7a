//! The settings of a run, drawn from its theme and its seed.

use crate::{Crash, Faults};
use scurry_engine::Durability;
use scurry_model::Random;

/// The kind of faults that a run concentrates on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// The power fails; the device itself works correctly.
    Power,
    /// The process is killed.
    Kill,
    /// Answers are sent when the records are in the page cache, before a sync.
    Write,
    /// Writes and syncs fail, and the disk is full at times.
    Errors,
    /// Bits change on the device, syncs do nothing, sectors are written to the wrong place.
    Damage,
    /// Reads fail during recovery.
    Reads,
    /// Other programs fill the disk, and free the space again.
    Room,
    /// Hosts stop in an orderly way, and before the next start files are removed or changed.
    Missing,
    /// Chains of commands on several accounts: a crash must leave all commands of a chain or none.
    Chains,
}

impl Theme {
    /// All themes.
    pub const ALL: [Theme; 9] = [
        Theme::Power,
        Theme::Kill,
        Theme::Write,
        Theme::Errors,
        Theme::Damage,
        Theme::Reads,
        Theme::Room,
        Theme::Missing,
        Theme::Chains,
    ];

    /// Returns the name of the theme on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Theme::Power => "power",
            Theme::Kill => "kill",
            Theme::Write => "write",
            Theme::Errors => "errors",
            Theme::Damage => "damage",
            Theme::Reads => "reads",
            Theme::Room => "room",
            Theme::Missing => "missing",
            Theme::Chains => "chains",
        }
    }

    /// Returns the theme with this name, if there is one.
    pub fn named(name: &str) -> Option<Theme> {
        Theme::ALL.into_iter().find(|theme| theme.name() == name)
    }
}

/// The settings of a run. A field `..._in` gives a chance of 1 in that number.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number of steps of the scheduler.
    pub steps: usize,
    /// The durability that an answer waits for.
    pub durability: Durability,
    /// Faults of the disk.
    pub faults: Faults,
    /// Ways in which the machine ends. Each end draws one.
    pub crashes: &'static [Crash],
    /// Chance per step that the machine ends.
    pub crash_in: usize,
    /// A factor that makes crashes rarer during writes of batches and during renames.
    pub calm: usize,
    /// Chance per crash that a bit changes; 0 for never.
    pub flip_in: usize,
    /// Chance per end of the machine that the host first stops in an orderly way; 0 for never.
    pub stop_in: usize,
    /// Chance per start that files are removed or changed before it; 0 for never.
    pub tamper_in: usize,
    /// The length of a log segment, bytes.
    pub segment_len: u64,
    /// The length of a snapshot's chunk, bytes.
    pub chunk_len: usize,
    /// Chance per step that a snapshot begins.
    pub snapshot_in: usize,
    /// Chance per command on an account that the whole shard is cleared instead.
    pub clear_in: usize,
    /// Chance that a chain is sent instead of a command on one account; 0 for never.
    pub chain_in: usize,
    /// The room of the log, in bytes, below which no command is accepted; 0 to accept commands without a check.
    pub room_min: u64,
}

impl Plan {
    /// Draws the plan of a run.
    pub fn new(theme: Theme, random: &mut Random) -> Plan {
        let mut faults = Faults { room: random.one_in(2), ..Faults::default() };
        let mut durability = Durability::Fsync;
        let mut crashes: &[Crash] = &[Crash::Power, Crash::Power, Crash::Process];
        let (mut flip_in, mut stop_in, mut tamper_in, mut chain_in) = (0, 0, 0, 0);
        match theme {
            Theme::Power => {}
            Theme::Chains => {
                chain_in = 2;
                if random.one_in(3) {
                    durability = Durability::Write;
                }
            }
            Theme::Kill => crashes = &[Crash::Process],
            Theme::Write => durability = Durability::Write,
            Theme::Errors => {
                let kind = random.below(4);
                let rate = random.pick(&[20, 60, 150]);
                faults.write = if kind == 0 || kind == 3 { rate } else { 0 };
                faults.sync = if kind == 1 || kind == 3 { rate } else { 0 };
                faults.full = if kind == 2 || kind == 3 { rate } else { 0 };
                if random.one_in(4) {
                    durability = Durability::Write;
                }
            }
            Theme::Damage => match random.below(4) {
                0 => faults.lie = random.pick(&[3, 10, 30]),
                1 => faults.misdirect = random.pick(&[5, 20, 40]),
                _ => flip_in = random.pick(&[1, 2, 4]),
            },
            Theme::Reads => faults.read = random.pick(&[5, 10, 30]),
            Theme::Room => {
                faults.room = true;
                faults.filled_by_others = random.pick(&[20, 60, 150]);
                if random.one_in(2) {
                    durability = Durability::Write;
                }
            }
            Theme::Missing => {
                (stop_in, tamper_in) = (2, random.pick(&[2, 4]));
                if random.one_in(3) {
                    durability = Durability::Write;
                }
            }
        }
        let plan = Plan {
            steps: random.pick(&[60, 150, 300]),
            durability,
            faults,
            crashes,
            crash_in: random.pick(&[15, 30, 60]),
            calm: 1,
            flip_in,
            stop_in,
            tamper_in,
            segment_len: random.pick(&[300, 800, 3_000, 20_000]),
            chunk_len: random.pick(&[1, 200, 1_000, 100_000]),
            snapshot_in: random.pick(&[8, 20, 50]),
            clear_in: random.pick(&[40, 400]),
            chain_in,
            room_min: 0,
        };
        if theme == Theme::Room {
            return plan.with_room();
        }
        if random.one_in(3) { plan.with_reuse() } else { plan }
    }

    /// Makes a segment larger than all that is accepted between two checks of the log's room.
    fn with_room(self) -> Plan {
        let (steps, crash_in) = (2 * self.steps, 4 * self.crash_in);
        Plan { steps, crash_in, segment_len: 8_000, room_min: 4_000, calm: 20, ..self }
    }

    /// Makes segments small and crashes rare, so that segments are dropped and reused several times before a crash.
    fn with_reuse(self) -> Plan {
        let faults = Faults { room: true, ..self.faults };
        let (steps, crash_in, chunk_len) = (2 * self.steps, 4 * self.crash_in, 100_000);
        let segment_len = if self.segment_len < 1_000 { 600 } else { 1_200 };
        let (calm, snapshot_in, clear_in) = (20, 3, 400);
        Plan {
            steps,
            faults,
            crash_in,
            calm,
            segment_len,
            chunk_len,
            snapshot_in,
            clear_in,
            ..self
        }
    }
}
