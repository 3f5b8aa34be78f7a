//! Counters of a hub and its connections.

use std::sync::atomic::{AtomicU64, Ordering};

/// Totals since a hub was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls that submitted work requests to the device (`ibv_post_send`).
    pub doorbells: u64,
    /// Work requests submitted.
    pub requests: u64,
    /// Calls that posted receive entries (`ibv_post_recv`).
    pub receive_doorbells: u64,
    /// Completions taken.
    pub completions: u64,
    /// Requests for an event at the next completion (`ibv_req_notify_cq`).
    pub arms: u64,
    /// Completion events received.
    pub completion_events: u64,
    /// Connection events received.
    pub connection_events: u64,
    /// Calls that read events, each a system call, including those that found none.
    pub event_reads: u64,
    /// Memory registrations made and ended, each a system call.
    pub registrations: u64,
}

impl Counters {
    /// Adds another hub's counters.
    pub fn add(&mut self, other: &Counters) {
        let Counters {
            doorbells,
            requests,
            receive_doorbells,
            completions,
            arms,
            completion_events,
            connection_events,
            event_reads,
            registrations,
        } = *other;
        self.doorbells += doorbells;
        self.requests += requests;
        self.receive_doorbells += receive_doorbells;
        self.completions += completions;
        self.arms += arms;
        self.completion_events += completion_events;
        self.connection_events += connection_events;
        self.event_reads += event_reads;
        self.registrations += registrations;
    }
}

/// Counters that connections update, from any thread.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounters {
    pub(crate) doorbells: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) receive_doorbells: AtomicU64,
    pub(crate) registrations: AtomicU64,
}

impl ConnectionCounters {
    /// Adds `more` to one of the counters.
    pub(crate) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }

    /// Overwrites the hub's counters with these.
    pub(crate) fn write_to(&self, counters: &mut Counters) {
        counters.doorbells = self.doorbells.load(Ordering::Relaxed);
        counters.requests = self.requests.load(Ordering::Relaxed);
        counters.receive_doorbells = self.receive_doorbells.load(Ordering::Relaxed);
        counters.registrations = self.registrations.load(Ordering::Relaxed);
    }
}
