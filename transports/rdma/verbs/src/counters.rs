//! What a hub and its connections count.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since a hub was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls that handed work requests to the device (`ibv_post_send`).
    pub doorbells: u64,
    /// Work requests in them.
    pub requests: u64,
    /// Calls that handed receive entries to the device (`ibv_post_recv`).
    pub receive_doorbells: u64,
    /// Completions that were taken.
    pub completions: u64,
    /// Requests to be told of the next completion (`ibv_req_notify_cq`).
    pub arms: u64,
    /// Events that said that there are completions.
    pub completion_events: u64,
    /// Events of connections.
    pub connection_events: u64,
    /// Calls that read events, each a system call, those that found none included.
    pub event_reads: u64,
    /// Registrations of memory that were made, and those that were ended, each a system call.
    pub registrations: u64,
}

impl Counters {
    /// Adds those of another hub.
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

/// Counters that connections count, wherever they are used.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) doorbells: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) receive_doorbells: AtomicU64,
    pub(crate) registrations: AtomicU64,
}

impl Tally {
    /// Adds to one of the counts.
    pub(crate) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }

    /// Writes them over those of the hub.
    pub(crate) fn write_to(&self, counters: &mut Counters) {
        counters.doorbells = self.doorbells.load(Ordering::Relaxed);
        counters.requests = self.requests.load(Ordering::Relaxed);
        counters.receive_doorbells = self.receive_doorbells.load(Ordering::Relaxed);
        counters.registrations = self.registrations.load(Ordering::Relaxed);
    }
}
