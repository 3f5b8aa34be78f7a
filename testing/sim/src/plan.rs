//! What a run is like: drawn from its theme and its seed.

use crate::{Crash, Faults};
use scurry_engine::Durability;
use scurry_model::Random;

/// Theme of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// The power fails, the device does what it says.
    Power,
    /// The process is killed.
    Kill,
    /// Answers leave from the page cache.
    Write,
    /// Writes and syncs fail, room is missing.
    Errors,
    /// Bytes change on the device, syncs lie, sectors land elsewhere.
    Damage,
    /// Reads fail while a store is recovered.
    Reads,
    /// Others take the room of the disk, and give it back.
    Room,
    /// Hosts stop as they should, and before the next start files go missing or change.
    Missing,
    /// Commands on several accounts, all or none of which survive.
    Chains,
}

impl Theme {
    /// All of them.
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

    /// The name of the theme on a command line.
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

    /// The theme of this name.
    pub fn named(name: &str) -> Option<Theme> {
        Theme::ALL.into_iter().find(|theme| theme.name() == name)
    }
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Steps of the scheduler.
    pub steps: usize,
    /// When an answer may leave.
    pub durability: Durability,
    /// Faults of the disk.
    pub faults: Faults,
    /// How the machine ends: one of these each time.
    pub crashes: &'static [Crash],
    /// Steps between two ends, one in so many.
    pub crash_in: usize,
    /// Factor by which ends are rarer while files and names are written.
    pub calm: usize,
    /// A bit changes at a crash, once in so many; 0 for never.
    pub flip_in: usize,
    /// The host stops as it should before the machine ends, once in so many; 0 for never.
    pub stop_in: usize,
    /// Files are removed or changed before a start, once in so many; 0 for never.
    pub tamper_in: usize,
    /// A segment's length, bytes.
    pub segment_len: u64,
    /// A chunk's length, bytes.
    pub chunk_len: usize,
    /// A snapshot is begun once in so many steps.
    pub snapshot_in: usize,
    /// Everything is cleared once in so many commands.
    pub clear_in: usize,
    /// A command is a chain once in so many; 0 for never.
    pub chain_in: usize,
    /// Nothing is accepted while the log is sure to take fewer bytes; 0 where nobody looks.
    pub room_min: u64,
}

impl Plan {
    /// The plan of a seed.
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
                faults.crowd = random.pick(&[20, 60, 150]);
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

    /// Segments hold more than is accepted between two looks at their room.
    fn with_room(self) -> Plan {
        let (steps, crash_in) = (2 * self.steps, 4 * self.crash_in);
        Plan { steps, crash_in, segment_len: 8_000, room_min: 4_000, calm: 20, ..self }
    }

    /// Segments are dropped and used again several times before the machine ends.
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
