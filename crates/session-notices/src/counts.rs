//! Counters of notices.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoticeCounts {
    /// Deliveries that were begun, repeated ones included.
    pub sent: u64,
    /// Notices that the client has.
    pub delivered: u64,
    /// Notices that were not needed any more: the client had asked, or the session had ended. So it is where another
    /// door was faster.
    pub superseded: u64,
    /// Notices that were given up after several deliveries, or that the client refused.
    pub given_up: u64,
    /// Top-ups and changes of status that made no notice: too many at once, an account with too many sessions, events
    /// that were no longer kept, or a store that did not answer.
    pub missed: u64,
}

impl NoticeCounts {
    /// Returns the counts with their names, for metrics.
    pub fn by_outcome(&self) -> [(&'static str, u64); 5] {
        [
            ("sent", self.sent),
            ("delivered", self.delivered),
            ("superseded", self.superseded),
            ("given_up", self.given_up),
            ("missed", self.missed),
        ]
    }
}

/// Counters.
#[derive(Debug, Default)]
pub struct NoticeCounters {
    sent: AtomicU64,
    delivered: AtomicU64,
    superseded: AtomicU64,
    given_up: AtomicU64,
    missed: AtomicU64,
}

impl NoticeCounters {
    /// Returns the counters at this moment.
    pub fn snapshot(&self) -> NoticeCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        NoticeCounts {
            sent: read(&self.sent),
            delivered: read(&self.delivered),
            superseded: read(&self.superseded),
            given_up: read(&self.given_up),
            missed: read(&self.missed),
        }
    }

    pub(crate) fn sent(&self) {
        add(&self.sent);
    }

    pub(crate) fn delivered(&self) {
        add(&self.delivered);
    }

    pub(crate) fn superseded(&self) {
        add(&self.superseded);
    }

    pub(crate) fn given_up(&self) {
        add(&self.given_up);
    }

    pub(crate) fn missed(&self) {
        add(&self.missed);
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
