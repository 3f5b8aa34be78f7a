//! Figures of a shipper.

use scurry_service::Events;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Figures of a shipper, which one thread writes and others read.
#[derive(Debug, Default)]
pub struct Measures {
    events: AtomicU64,
    bytes: AtomicU64,
    flushes: AtomicU64,
    failures: AtomicU64,
    missed: AtomicU64,
    last_event_ms: AtomicI64,
    behind: Mutex<BTreeMap<u16, u64>>,
}

/// What the figures are at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Events given to the sink.
    pub events: u64,
    /// Bytes of their payload.
    pub bytes: u64,
    /// Flushes of the sink.
    pub flushes: u64,
    /// Attempts that failed and were begun again.
    pub failures: u64,
    /// Gaps: events that the store no longer kept.
    pub missed: u64,
    /// Commits of the store that are not read yet, over all threads.
    pub behind: u64,
    /// Time of the last event, ms since 1970 UTC. 0 before the first.
    pub last_event_ms: i64,
}

impl Measures {
    /// Returns the number of events given to the sink.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// Returns all figures.
    pub fn figures(&self) -> Figures {
        let behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        Figures {
            events: self.events.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            flushes: self.flushes.load(Relaxed),
            failures: self.failures.load(Relaxed),
            missed: self.missed.load(Relaxed),
            behind: behind.values().sum(),
            last_event_ms: self.last_event_ms.load(Relaxed),
        }
    }

    pub(crate) fn note_read(&self, read: &Events) {
        let left = read.end.sequence.saturating_sub(read.next.sequence);
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        behind.insert(read.next.thread, left);
    }

    pub(crate) fn note_event(&self, len: usize, time_ms: i64) {
        self.events.fetch_add(1, Relaxed);
        self.bytes.fetch_add(len as u64, Relaxed);
        self.last_event_ms.fetch_max(time_ms, Relaxed);
    }

    pub(crate) fn note_flush(&self) {
        self.flushes.fetch_add(1, Relaxed);
    }

    pub(crate) fn note_failure(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    pub(crate) fn note_missed(&self) {
        self.missed.fetch_add(1, Relaxed);
    }
}
