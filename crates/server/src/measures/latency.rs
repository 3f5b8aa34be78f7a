//! Long events of a core, by kind, for LATENCY.

use std::collections::VecDeque;

/// Samples kept of each event, one for each second, as in Redis.
const SAMPLES_MAX: usize = 160;

/// Events that can take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A command, or up to 16 that are measured together.
    Command,
    /// A run of the due timers.
    ExpireCycle,
    /// One whole turn of the event loop.
    LoopTurn,
}

impl Event {
    pub(crate) const ALL: [Event; 3] = [Event::Command, Event::ExpireCycle, Event::LoopTurn];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Event::Command => "command",
            Event::ExpireCycle => "expire-cycle",
            Event::LoopTurn => "loop-turn",
        }
    }

    /// Returns the event of this name, in any case.
    pub(crate) fn named(name: &[u8]) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// The longest event of one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Seconds since 1970.
    pub(crate) time_s: i64,
    pub(crate) ms: u64,
}

/// Samples of one event.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// Oldest first.
    samples: VecDeque<Sample>,
    /// Longest since the last reset, ms.
    pub(crate) longest_ms: u64,
}

impl History {
    pub(crate) fn samples(&self) -> impl ExactSizeIterator<Item = &Sample> {
        self.samples.iter()
    }

    pub(crate) fn latest(&self) -> Option<Sample> {
        self.samples.back().copied()
    }

    /// Merges the samples of both: keeps the longest of each second, and of those the newest.
    fn join(&mut self, other: &History) {
        self.longest_ms = self.longest_ms.max(other.longest_ms);
        let mut all: Vec<Sample> = self.samples.iter().chain(&other.samples).copied().collect();
        all.sort_unstable_by_key(|sample| sample.time_s);
        self.samples.clear();
        all.into_iter().for_each(|sample| self.add(sample));
    }

    fn add(&mut self, sample: Sample) {
        self.longest_ms = self.longest_ms.max(sample.ms);
        match self.samples.back_mut() {
            Some(last) if last.time_s == sample.time_s => last.ms = last.ms.max(sample.ms),
            _ => {
                if self.samples.len() == SAMPLES_MAX {
                    self.samples.pop_front();
                }
                self.samples.push_back(sample);
            }
        }
    }
}

/// Histories of all events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latency {
    /// Minimum duration of events that are recorded, ms; 0 records none.
    pub(crate) threshold_ms: u64,
    histories: [History; Event::ALL.len()],
}

impl Latency {
    pub(crate) fn is_on(&self) -> bool {
        self.threshold_ms > 0
    }

    /// Records an event if it is long enough.
    pub(crate) fn note(&mut self, event: Event, sample: Sample) {
        if self.is_on() && sample.ms >= self.threshold_ms {
            self.histories[event as usize].add(sample);
        }
    }

    /// Merges the histories of another core.
    pub(crate) fn join(&mut self, other: &Latency) {
        self.threshold_ms = self.threshold_ms.max(other.threshold_ms);
        for (own, other) in self.histories.iter_mut().zip(&other.histories) {
            own.join(other);
        }
    }

    pub(crate) fn history(&self, event: Event) -> &History {
        &self.histories[event as usize]
    }

    /// Forgets an event; true when it had samples.
    pub(crate) fn reset(&mut self, event: Event) -> bool {
        let history = std::mem::take(&mut self.histories[event as usize]);
        !history.samples.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_each_second_is_kept_and_the_number_of_seconds_bounded() {
        let mut latency = Latency { threshold_ms: 5, ..Latency::default() };
        for (time_s, ms) in [(1, 4), (2, 5), (2, 9), (2, 7), (3, 6)] {
            latency.note(Event::LoopTurn, Sample { time_s, ms });
        }
        let history = latency.history(Event::LoopTurn);
        let kept: Vec<_> = history.samples().map(|sample| (sample.time_s, sample.ms)).collect();
        assert_eq!((kept, history.longest_ms), (vec![(2, 9), (3, 6)], 9));
        assert_eq!(latency.history(Event::Command).samples().len(), 0);
        (4..400).for_each(|time_s| latency.note(Event::LoopTurn, Sample { time_s, ms: 5 }));
        let history = latency.history(Event::LoopTurn);
        assert_eq!((history.samples().len(), history.longest_ms), (SAMPLES_MAX, 9));
        assert!(latency.reset(Event::LoopTurn) && !latency.reset(Event::LoopTurn));
    }

    #[test]
    fn cores_are_joined_second_by_second() {
        let known = |samples: &[(i64, u64)]| {
            let mut latency = Latency { threshold_ms: 1, ..Latency::default() };
            for &(time_s, ms) in samples {
                latency.note(Event::Command, Sample { time_s, ms });
            }
            latency
        };
        let mut all = known(&[(1, 5), (3, 7)]);
        all.join(&known(&[(1, 9), (2, 4), (3, 1)]));
        let joined: Vec<_> =
            all.history(Event::Command).samples().map(|one| (one.time_s, one.ms)).collect();
        assert_eq!(joined, [(1, 9), (2, 4), (3, 7)]);
    }

    #[test]
    fn nothing_is_kept_without_a_threshold() {
        let mut latency = Latency::default();
        latency.note(Event::Command, Sample { time_s: 1, ms: 1_000 });
        assert_eq!(latency.history(Event::Command).latest(), None);
    }
}
