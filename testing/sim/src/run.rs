//! One run: a scheduler, driven by the seed, that runs the host of one shard.

use crate::sim::{Counts, Sim};
use crate::world::CheckResult;
use crate::{Crash, Theme};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a run without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// A hash of the trace: equal for equal runs.
    pub hash: u64,
    /// Counts of the run's events.
    pub counts: Counts,
}

/// The result of a run that found a fault.
#[derive(Clone, Debug)]
pub struct Failure {
    /// A description of the fault, with the theme, the seed and the plan.
    pub why: String,
    /// The last events before it.
    pub tail: String,
}

/// Runs one seed. Fails with the first fault that a check or a panic of the engine shows.
pub fn run(theme: Theme, seed: u64) -> Result<Report, Failure> {
    let mut sim = Sim::new(theme, seed);
    let done = catch_unwind(AssertUnwindSafe(|| sim.run()));
    let trace = sim.disk.trace();
    let why = match done {
        Ok(Ok(())) => {
            let (reused, filled) = sim.disk.claimed_spares();
            return Ok(Report {
                hash: trace.hash(),
                counts: Counts { reused, filled, ..sim.counts },
            });
        }
        Ok(Err(why)) => why,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            format!("panic: {}", text.unwrap_or_default())
        }
    };
    let why = format!("{} seed {seed}: {why}\n{:?}", theme.name(), sim.plan);
    Err(Failure { why, tail: trace.tail() })
}

impl Sim {
    fn run(&mut self) -> CheckResult {
        if let Err(error) = self.note_reach(0) {
            self.disk.note(|| format!("not noted: {error}"));
        }
        self.reopen_writer();
        self.note_log_room();
        for _ in 0..self.plan.steps {
            self.step()?;
            if self.is_over {
                return Ok(());
            }
        }
        if self.plan.room_min > 0 {
            self.check_resumes_with_room()?;
        }
        // At the end, the data on the disk must survive both kinds of crash.
        for last in [Crash::Process, Crash::Power] {
            if !self.is_over {
                self.crash(last)?;
            }
        }
        Ok(())
    }

    fn step(&mut self) -> CheckResult {
        let stops = self.disk.is_off();
        if stops || self.random.one_in(self.plan.crash_in) {
            let ends_well =
                !stops && self.plan.stop_in > 0 && self.random.one_in(self.plan.stop_in);
            if ends_well {
                self.stop()?;
            } else if !stops && self.random.one_in(2) {
                // The machine runs on, and stops at one of the next 14 operations of the disk.
                self.disk.stop_after(self.random.below(14) as u64);
                return Ok(());
            }
            let crash = self.random.pick(self.plan.crashes);
            return self.crash(crash);
        }
        if self.random.one_in(self.plan.snapshot_in) {
            self.begin_snapshot();
        }
        match self.random.below(30) {
            0..9 if self.plan.chain_in > 0 && self.random.one_in(self.plan.chain_in) => {
                self.chain()?;
            }
            0..9 => self.command()?,
            9..15 => self.key_command()?,
            15 | 16 => self.tick()?,
            17 => self.read()?,
            18..20 => self.take_batch(),
            20..24 => self.finish_batch()?,
            24 => self.mark(),
            25..28 => self.step_snapshot(),
            28 if self.random.one_in(2) => self.sync_behind(),
            28 => self.set_ahead(),
            _ => self.clock += self.random.pick(&[-2_000, -30, 1, 5, 17, 60, 400]),
        }
        self.answer();
        Ok(())
    }
}
