//! What a rung costs: only the work itself is counted, not making its input nor checking its
//! output.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};

use crate::clock::{Clock, thread_cpu_nanos};
use crate::figures::{per, rounded};

use super::report::Point;

/// Operations of one turn: so many that looking at the clocks costs nothing beside them.
pub(super) const TURN: usize = 1_024;
/// Share of the measured time that is spent before it, so that caches and branches are warm.
const WARM_UP: f64 = 0.2;
/// Making the input may take longer than the work: a rung ends after this many times its time.
const OVERHEAD_MAX: f64 = 20.0;

const NANOS: f64 = 1e9;

/// A part of the store that can be driven by itself.
pub(super) trait Rung {
    /// Name of the rung in every table.
    fn name(&self) -> &'static str;

    /// Carries out [`TURN`] operations, with only the work inside [`Meter::time`].
    ///
    /// # Errors
    /// When an answer is not what it must be.
    fn turn(&mut self, meter: &mut Meter) -> Result<()>;

    /// Compares what it holds with what was done.
    ///
    /// # Errors
    /// What differs.
    fn audit(&self) -> Result<()>;
}

/// Counts time and operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    clock: Clock,
    cpu_nanos: u64,
    nanos: u64,
    operations: u64,
}

impl Meter {
    fn new() -> Meter {
        Meter { clock: Clock::start(), cpu_nanos: 0, nanos: 0, operations: 0 }
    }

    /// Time since this meter began, whatever it was spent on.
    pub(super) fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.clock.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    /// Runs the work of one turn and counts it.
    pub(super) fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (begin, cpu_begin) = (self.clock.nanos(), thread_cpu_nanos());
        let result = work();
        self.cpu_nanos += thread_cpu_nanos() - cpu_begin;
        self.nanos += self.clock.nanos() - begin;
        self.operations += TURN as u64;
        result
    }

    fn reset(&mut self) {
        (self.cpu_nanos, self.nanos, self.operations) = (0, 0, 0);
    }

    fn seconds(&self) -> f64 {
        self.nanos as f64 / NANOS
    }
}

/// Warms a rung up, measures it for so many seconds of work, and audits it.
pub(super) fn measure(
    rung: &mut dyn Rung,
    run: u32,
    seconds: f64,
    interrupted: &AtomicBool,
) -> Result<Point> {
    let mut meter = Meter::new();
    for length in [WARM_UP * seconds, seconds] {
        meter.reset();
        let until = meter.clock.elapsed().as_secs_f64() + OVERHEAD_MAX * length;
        while meter.seconds() < length && meter.clock.elapsed().as_secs_f64() < until {
            ensure!(!interrupted.load(Ordering::Relaxed), "interrupted");
            rung.turn(&mut meter)?;
        }
    }
    rung.audit()?;
    let cpu = meter.cpu_nanos as f64 / meter.operations.max(1) as f64;
    Ok(Point {
        run,
        operations_per_s: rounded(per(meter.operations, meter.seconds()), 1),
        cpu_ns_per_op: rounded(cpu, 1),
        operations: meter.operations,
        loader_idle_percent: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting {
        turns: u64,
        lost: bool,
    }

    impl Rung for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }

        fn turn(&mut self, meter: &mut Meter) -> Result<()> {
            self.turns += 1;
            meter.time(|| std::hint::black_box((0..10_000u64).sum::<u64>()));
            Ok(())
        }

        fn audit(&self) -> Result<()> {
            ensure!(!self.lost, "a unit is lost");
            Ok(())
        }
    }

    #[test]
    fn the_warm_up_is_not_counted_and_a_failed_audit_gives_no_point() {
        let flag = AtomicBool::new(false);
        let mut rung = Counting { turns: 0, lost: false };
        let point = measure(&mut rung, 3, 0.005, &flag).unwrap();
        assert_eq!(point.run, 3);
        assert!(point.operations > 0 && point.operations < rung.turns * TURN as u64);
        assert!(point.operations_per_s > 0.0 && point.cpu_ns_per_op > 0.0);
        rung.lost = true;
        assert!(measure(&mut rung, 1, 0.001, &flag).is_err());
        flag.store(true, Ordering::Relaxed);
        rung.lost = false;
        assert!(measure(&mut rung, 1, 0.001, &flag).unwrap_err().to_string().contains("interr"));
    }
}
