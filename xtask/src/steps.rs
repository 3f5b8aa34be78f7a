//! The steps of a gate. Each runs to its end, whatever the others did, and the summary lists the failed ones, so that
//! one run shows everything that is wrong; and the time of each step, elapsed and CPU.

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::time::{Duration, Instant};

/// How a step ended when it did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The check ran and passed.
    Passed,
    /// The check could not run, for this reason.
    Skipped(String),
}

/// Time that a step took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Elapsed time.
    pub(crate) clock: Duration,
    /// CPU time of all processors, in child processes that have ended.
    pub(crate) processors: Duration,
}

/// Step that has run.
struct StepRun {
    name: String,
    cost: Cost,
    outcome: Result<Outcome>,
}

/// Results of the steps so far.
pub(crate) struct Steps {
    begin: Cost,
    done: Vec<StepRun>,
}

impl Steps {
    pub(crate) fn begin() -> Steps {
        Steps { begin: now(), done: Vec::new() }
    }

    /// Runs one step and prints its result; returns its cost when it passed.
    pub(crate) fn run(
        &mut self,
        name: &str,
        step: impl FnOnce() -> Result<Outcome>,
    ) -> Option<Cost> {
        println!("\n== {name}");
        let begin = now();
        let outcome = step();
        let cost = since(begin);
        if let Err(error) = &outcome {
            println!("{name}: {error:#}");
        }
        println!("-- {name}: {} in {}", word(&outcome), seconds(cost.clock));
        let has_passed = matches!(outcome, Ok(Outcome::Passed));
        self.done.push(StepRun { name: name.to_owned(), cost, outcome });
        has_passed.then_some(cost)
    }

    /// Prints one line per step, then the total time. Returns an error when a step failed.
    pub(crate) fn finish(&self) -> Result<()> {
        let total = since(self.begin);
        println!("\n{}", self.summary(total));
        let failed: Vec<&str> = self
            .done
            .iter()
            .filter(|done| done.outcome.is_err())
            .map(|done| done.name.as_str())
            .collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }

    fn summary(&self, total: Cost) -> String {
        let width = self.done.iter().map(|done| done.name.len()).max().unwrap_or(0);
        let head = ("summary", "clock", "processors");
        let mut text = format!("{:9} {:>9} {:>11}\n", head.0, head.1, head.2);
        for StepRun { name, cost, outcome } in &self.done {
            text.push_str(&format!("  {:7} {}  {name:width$}", word(outcome), times(*cost)));
            match outcome {
                Ok(Outcome::Passed) => {}
                Ok(Outcome::Skipped(why)) => text.push_str(&format!("  {why}")),
                Err(error) => text.push_str(&format!("  {error}")),
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text.push_str(&format!("  {:7} {}", "total", times(total)));
        text
    }
}

/// Formats the cost in minutes: elapsed and CPU.
pub(crate) fn minutes(cost: Cost) -> String {
    let minutes = |took: Duration| format!("{:.1} min", took.as_secs_f64() / 60.0);
    format!("{:>9} {:>11}", minutes(cost.clock), minutes(cost.processors))
}

fn times(cost: Cost) -> String {
    format!("{:>9} {:>11}", seconds(cost.clock), seconds(cost.processors))
}

fn word(outcome: &Result<Outcome>) -> &'static str {
    match outcome {
        Ok(Outcome::Passed) => "ok",
        Ok(Outcome::Skipped(_)) => "skipped",
        Err(_) => "FAILED",
    }
}

fn seconds(took: Duration) -> String {
    format!("{}.{:01} s", took.as_secs(), took.subsec_millis() / 100)
}

fn since(begin: Cost) -> Cost {
    let now = now();
    Cost { clock: now.clock - begin.clock, processors: now.processors - begin.processors }
}

/// Returns both clocks, relative to an arbitrary start.
fn now() -> Cost {
    Cost { clock: clock(), processors: processors().unwrap_or_default() }
}

#[expect(clippy::disallowed_methods, reason = "a gate shows how long its steps take")]
fn clock() -> Duration {
    static BEGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    BEGIN.elapsed()
}

/// Returns the CPU time of child processes that were waited for, and of their children.
fn processors() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("the time of what has ended")?;
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}

fn duration(time: TimeVal) -> Duration {
    let micros = time.tv_sec().saturating_mul(1_000_000).saturating_add(time.tv_usec());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_failed_step_fails_the_gate_and_the_rest_still_runs() {
        let mut steps = Steps::begin();
        assert_eq!(steps.run("first", || Err(anyhow!("it broke"))), None);
        assert!(steps.run("second", || Ok(Outcome::Passed)).is_some());
        assert_eq!(steps.run("third", || Ok(Outcome::Skipped("no tool".into()))), None);
        let error = steps.finish().unwrap_err().to_string();
        assert_eq!(error, "failed: first");
        steps.done.iter_mut().for_each(|done| done.cost = Cost::default());
        let summary = steps.summary(Cost::default());
        let lines: Vec<Vec<&str>> =
            summary.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["FAILED", "0.0", "s", "0.0", "s", "first", "it", "broke"]);
        assert_eq!(lines[2], ["ok", "0.0", "s", "0.0", "s", "second"]);
        assert_eq!(lines[3], ["skipped", "0.0", "s", "0.0", "s", "third", "no", "tool"]);
    }

    #[test]
    fn a_gate_without_failures_passes() {
        let mut steps = Steps::begin();
        steps.run("only", || Ok(Outcome::Passed));
        assert!(steps.finish().is_ok());
    }

    #[test]
    fn what_a_started_program_computes_is_counted() {
        let before = processors().unwrap();
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let status = std::process::Command::new("sh").args(["-c", busy]).status();
        assert!(status.unwrap().success());
        assert!(processors().unwrap() > before);
    }

    #[test]
    fn times_are_cut_to_tenths() {
        assert_eq!(seconds(Duration::from_millis(61_290)), "61.2 s");
    }
}
