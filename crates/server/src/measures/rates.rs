//! Present rates of a core: its counters are sampled ten times a second, for the `instantaneous_` lines of INFO.

use crate::measures::counters::Counters;
use std::collections::VecDeque;

/// Time between two samples, ns.
const PAUSE_NS: u64 = 100_000_000;
/// Samples that are kept: those of a second and a half, as in Valkey.
const SAMPLES_MAX: usize = 16;

/// The counters at one time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at_ns: u64,
    commands: u64,
    bytes_in: u64,
    bytes_out: u64,
}

/// The last samples, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Rates(VecDeque<Sample>);

/// Work per second, of one core or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PerSecond {
    pub(crate) commands: f64,
    pub(crate) bytes_in: f64,
    pub(crate) bytes_out: f64,
}

impl PerSecond {
    /// Adds the rates of another core.
    pub(crate) fn add(&mut self, other: PerSecond) {
        let PerSecond { commands, bytes_in, bytes_out } = other;
        self.commands += commands;
        self.bytes_in += bytes_in;
        self.bytes_out += bytes_out;
    }
}

impl Rates {
    /// Reports whether the next sample is due.
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        self.0.back().is_none_or(|last| now_ns.saturating_sub(last.at_ns) >= PAUSE_NS)
    }

    /// Takes a sample of the counters.
    pub(crate) fn note(&mut self, at_ns: u64, counters: &Counters) {
        if self.0.len() == SAMPLES_MAX {
            self.0.pop_front();
        }
        let Counters { commands, bytes_in, bytes_out, .. } = *counters;
        self.0.push_back(Sample { at_ns, commands, bytes_in, bytes_out });
    }

    /// Returns the mean rates over the samples; 0 before there are two.
    pub(crate) fn per_second(&self) -> PerSecond {
        let (Some(first), Some(last)) = (self.0.front(), self.0.back()) else {
            return PerSecond::default();
        };
        let seconds = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9;
        if seconds <= 0.0 {
            return PerSecond::default();
        }
        let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 / seconds;
        PerSecond {
            commands: rate(first.commands, last.commands),
            bytes_in: rate(first.bytes_in, last.bytes_in),
            bytes_out: rate(first.bytes_out, last.bytes_out),
        }
    }

    /// Drops all samples, as when the counters are reset to 0.
    pub(crate) fn reset(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(commands: u64) -> Counters {
        Counters {
            commands,
            bytes_in: 10 * commands,
            bytes_out: 5 * commands,
            ..Counters::default()
        }
    }

    #[test]
    fn rates_are_those_of_the_last_second_and_a_half() {
        let mut rates = Rates::default();
        assert_eq!(rates.per_second(), PerSecond::default());
        // 1,000 commands a second for five seconds, then nothing.
        for look in 0..50u64 {
            let now_ns = look * PAUSE_NS;
            assert!(rates.is_due(now_ns), "{look}");
            rates.note(now_ns, &counters(100 * look));
            assert!(!rates.is_due(now_ns + PAUSE_NS - 1), "{look}");
        }
        let expected = PerSecond { commands: 1e3, bytes_in: 1e4, bytes_out: 5e3 };
        assert_eq!(rates.per_second(), expected);
        for look in 50..65 {
            rates.note(look * PAUSE_NS, &counters(4_900));
        }
        assert_eq!(rates.per_second().commands, 0.0);
        rates.note(65 * PAUSE_NS, &counters(4_900));
        rates.reset();
        assert_eq!(rates.per_second(), PerSecond::default());
    }

    #[test]
    fn a_look_that_comes_late_counts_by_its_time() {
        let mut rates = Rates::default();
        rates.note(0, &counters(0));
        rates.note(4 * PAUSE_NS, &counters(100));
        assert_eq!(rates.per_second().commands, 250.0);
    }
}
