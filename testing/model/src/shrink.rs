//! Runs events, and finds the smallest run that still fails.

use crate::{Event, Pair, StepResult};
use scurry_ledger::Limits;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs all events; a panic of the ledger counts as a failure. The error is the index of the failed event, and the
/// reason.
pub fn run(limits: &Limits, events: &[Event]) -> Result<(), (usize, String)> {
    let mut pair = Pair::new(limits.clone());
    for (index, event) in events.iter().enumerate() {
        guarded(&mut pair, event).map_err(|why| (index, why))?;
    }
    Ok(())
}

/// Executes one step, with a panic turned into a failure.
pub fn guarded(pair: &mut Pair, event: &Event) -> Result<StepResult, String> {
    match catch_unwind(AssertUnwindSafe(|| pair.step(event))) {
        Ok(step) => step,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(format!("panic: {}", text.unwrap_or_default()))
        }
    }
}

/// Removes events as long as the run still fails: halves first, then smaller parts.
pub fn shrink(limits: &Limits, events: &[Event]) -> Vec<Event> {
    let mut kept = events.to_vec();
    if let Err((index, _)) = run(limits, &kept) {
        kept.truncate(index + 1);
    }
    let mut part = kept.len() / 2;
    while part > 0 {
        let mut start = 0;
        while start < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(start..(start + part).min(kept.len()));
            match run(limits, &fewer) {
                Err((index, _)) => {
                    fewer.truncate(index + 1);
                    kept = fewer;
                }
                Ok(()) => start += part,
            }
        }
        part /= 2;
    }
    kept
}

/// Describes the shrunk run for a person.
pub fn report(seed: u64, limits: &Limits, events: &[Event]) -> String {
    let kept = shrink(limits, events);
    let why = run(limits, &kept).err().map_or(String::new(), |(_, why)| why);
    let mut text = format!("seed {seed} fails, {} events left\n{limits:?}\n", kept.len());
    for event in &kept {
        let _ = writeln!(text, "  {event:?}");
    }
    text + &why
}
