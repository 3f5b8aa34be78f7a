//! The plan of a round, drawn from its seed.

use scurry_model::Random;
use std::time::Duration;

/// When a change is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Fsync,
}

impl Mode {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Mode::Write => "write",
            Mode::Fsync => "fsync",
        }
    }
}

/// Settings of a server's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerStart {
    pub(crate) durability: Mode,
    pub(crate) threads: u16,
}

/// One round: starts that are killed early, then load until a kill.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Starts killed after this time, usually during recovery.
    pub(crate) cut_short: Vec<(ServerStart, Duration)>,
    /// Start that receives the load.
    pub(crate) start: ServerStart,
    /// Start whose data is checked.
    pub(crate) check: ServerStart,
    /// Times within the load at which snapshots are requested, in addition to those that the growth of the log
    /// triggers.
    pub(crate) snapshots: Vec<Duration>,
    /// Duration of the load.
    pub(crate) load: Duration,
}

impl Plan {
    /// Draws a plan. `load_ms_max` bounds the load.
    pub(crate) fn new(random: &mut Random, load_ms_max: i64) -> Plan {
        let mut cut_short = Vec::new();
        while random.one_in(4) {
            cut_short.push((start(random), ms(random, 1, 40)));
        }
        let load_ms = random.between(5, load_ms_max);
        let mut snapshots = Vec::new();
        while random.one_in(2) {
            snapshots.push(ms(random, 0, load_ms));
        }
        snapshots.sort();
        let first = start(random);
        let check = if random.one_in(3) { start(random) } else { first };
        // Often kills the server while a snapshot has just begun.
        let load = match snapshots.last() {
            Some(last) if random.one_in(2) => *last + ms(random, 0, 15),
            _ => Duration::from_millis(u64::try_from(load_ms).unwrap_or_default()),
        };
        Plan { cut_short, start: first, check, snapshots, load }
    }
}

fn start(random: &mut Random) -> ServerStart {
    let durability = random.pick(&[Mode::Write, Mode::Fsync]);
    ServerStart { durability, threads: random.pick(&[1, 2, 3]) }
}

fn ms(random: &mut Random, low: i64, high: i64) -> Duration {
    Duration::from_millis(u64::try_from(random.between(low, high)).unwrap_or_default())
}
