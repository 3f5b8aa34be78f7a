//! The steps of a gate: each runs to its end, whatever the others did, and the summary says
//! which failed, so that one run shows everything that is wrong.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// How a step ended when it did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The step looked, and all is well.
    Passed,
    /// The step could not look; the reason.
    Skipped(String),
}

/// The record of the steps that ran.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration, Result<Outcome>)>,
}

impl Steps {
    /// Runs one step and prints how it went.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<Outcome>) {
        println!("\n== {name}");
        let begin = now();
        let outcome = step();
        let took = now().duration_since(begin);
        if let Err(error) = &outcome {
            println!("{name}: {error:#}");
        }
        println!("-- {name}: {} in {}", word(&outcome), seconds(took));
        self.done.push((name.to_owned(), took, outcome));
    }

    /// One line per step. An error when one failed.
    pub(crate) fn finish(&self) -> Result<()> {
        println!("\n{}", self.summary());
        let failed: Vec<&str> = self
            .done
            .iter()
            .filter(|(_, _, outcome)| outcome.is_err())
            .map(|(name, _, _)| name.as_str())
            .collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let width = self.done.iter().map(|(name, _, _)| name.len()).max().unwrap_or(0);
        let mut text = String::from("summary\n");
        for (name, took, outcome) in &self.done {
            let took = seconds(*took);
            text.push_str(&format!("  {:7} {took:>9}  {name:width$}", word(outcome)));
            match outcome {
                Ok(Outcome::Passed) => {}
                Ok(Outcome::Skipped(why)) => text.push_str(&format!("  {why}")),
                Err(error) => text.push_str(&format!("  {error}")),
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        let total = self.done.iter().map(|(_, took, _)| *took).sum();
        text.push_str(&format!("  {:7} {:>9}", "total", seconds(total)));
        text
    }
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

#[expect(clippy::disallowed_methods, reason = "a gate shows how long its steps take")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_failed_step_fails_the_gate_and_the_rest_still_runs() {
        let mut steps = Steps::default();
        steps.run("first", || Err(anyhow!("it broke")));
        steps.run("second", || Ok(Outcome::Passed));
        steps.run("third", || Ok(Outcome::Skipped("no tool".into())));
        let error = steps.finish().unwrap_err().to_string();
        assert_eq!(error, "failed: first");
        let summary = steps.summary();
        let lines: Vec<Vec<&str>> =
            summary.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["FAILED", "0.0", "s", "first", "it", "broke"]);
        assert_eq!(lines[2], ["ok", "0.0", "s", "second"]);
        assert_eq!(lines[3], ["skipped", "0.0", "s", "third", "no", "tool"]);
    }

    #[test]
    fn a_gate_without_failures_passes() {
        let mut steps = Steps::default();
        steps.run("only", || Ok(Outcome::Passed));
        assert!(steps.finish().is_ok());
    }

    #[test]
    fn times_are_cut_to_tenths() {
        assert_eq!(seconds(Duration::from_millis(61_290)), "61.2 s");
    }
}
