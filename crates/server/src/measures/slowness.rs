//! Slow commands and events of a core: the slow log, the latency monitor, and the stopwatch that feeds both.

use crate::measures::latency::Latency;
use crate::measures::slowlog::Slowlog;
use crate::measures::stopwatch::Stopwatch;

/// One core's slow log, latency monitor and stopwatch.
#[derive(Debug)]
pub(crate) struct Slowness {
    pub(crate) slowlog: Slowlog,
    pub(crate) latency: Latency,
    pub(crate) stopwatch: Stopwatch,
    /// When the present turn of the loop began; None while the latency monitor is off.
    pub(crate) turn_began_ns: Option<u64>,
}

impl Default for Slowness {
    fn default() -> Slowness {
        let mut slowness = Slowness {
            slowlog: Slowlog::default(),
            latency: Latency::default(),
            stopwatch: Stopwatch::default(),
            turn_began_ns: None,
        };
        slowness.adjust();
        slowness
    }
}

impl Slowness {
    /// Sets the duration from which commands are kept, microseconds; negative keeps none.
    pub(crate) fn set_slower_than_us(&mut self, us: i64) {
        self.slowlog.slower_than_us = us;
        self.adjust();
    }

    /// Sets the duration from which events are kept, ms; 0 keeps none.
    pub(crate) fn set_latency_threshold_ms(&mut self, ms: u64) {
        self.latency.threshold_ms = ms;
        self.adjust();
    }

    fn adjust(&mut self) {
        let slow = u64::try_from(self.slowlog.slower_than_us).ok();
        let late = self.latency.is_on().then(|| self.latency.threshold_ms.saturating_mul(1_000));
        self.stopwatch.set_limit_us(slow.into_iter().chain(late).min());
    }
}
