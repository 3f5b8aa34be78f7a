//! The numbers of a run.

use crate::counts::{Counted, Counts};
use crate::server::Sample;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// What a run has seen.
#[derive(Clone, Debug)]
pub struct Report {
    seed: u64,
    counted: Counted,
    /// Answers to good clients, all of them right.
    pub good_answers: u64,
    longest_ms: i64,
    first: Sample,
    most: Sample,
    /// After all clients have left.
    pub(crate) last: Sample,
}

impl Report {
    pub(crate) fn new(seed: u64, first: Sample) -> Report {
        let counted = Counted::default();
        Report { seed, counted, good_answers: 0, longest_ms: 0, first, most: first, last: first }
    }

    pub(crate) fn take(&mut self, sample: Sample) {
        self.most = self.most.most(sample);
    }

    pub(crate) fn finish(&mut self, counts: &Counts, good: &AtomicU64, longest_ns: &AtomicI64) {
        self.counted = counts.read();
        self.good_answers = good.load(Ordering::Relaxed);
        self.longest_ms = longest_ns.load(Ordering::Relaxed) / 1_000_000;
    }

    /// Returns the number of hostile connections.
    pub fn connections(&self) -> u64 {
        self.counted.connections
    }

    /// Returns the number of answers that hostile connections got to their end.
    pub fn answers(&self) -> u64 {
        self.counted.answers
    }

    /// Returns how often hostile connections took each kind of step.
    pub fn steps(&self) -> &BTreeMap<&'static str, u64> {
        &self.counted.steps
    }

    /// Returns the number of GOAWAYs by code.
    pub fn goaways(&self) -> &BTreeMap<&'static str, u64> {
        &self.counted.goaways
    }
}

fn listed(counts: &BTreeMap<&'static str, u64>) -> String {
    let all: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    all.join(", ")
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted { connections, streams, answers, frames, goaways, resets, ends, steps } =
            &self.counted;
        let Sample { memory, connections: open, threads } = self.most;
        let mib = |bytes: u64| bytes / (1 << 20);
        writeln!(
            out,
            "seed {}: {connections} hostile connections, {streams} streams, {answers} whole answers",
            self.seed
        )?;
        writeln!(out, "frames sent: {}", listed(frames))?;
        writeln!(out, "steps: {}", listed(steps))?;
        writeln!(out, "ends: {}", listed(ends))?;
        writeln!(out, "GOAWAY: {}", listed(goaways))?;
        writeln!(out, "RST_STREAM from the server: {}", listed(resets))?;
        writeln!(
            out,
            "good clients: {} right answers, the longest after {} ms",
            self.good_answers, self.longest_ms
        )?;
        writeln!(
            out,
            "the server had at most {} MiB ({} at first, {} at last), {open} connections, {threads} threads",
            mib(memory),
            mib(self.first.memory),
            mib(self.last.memory)
        )
    }
}
