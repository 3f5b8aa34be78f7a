//! What others see of a connection, and the orders that they give it. The connection itself belongs to its task.

use crate::code_counts::CodeCounts;
use crate::peer_totals::PeerTotals;
use futures_util::task::AtomicWaker;
use scurry_diameter::peer::PeerCounts;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Orders, as bits.
const DRAIN: u8 = 1;
const END: u8 = 2;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// The handshake of TLS is not complete.
    #[default]
    Handshake,
    /// The peer has not sent its capabilities.
    WaitCapabilities,
    /// Requests and answers go both ways.
    Open,
    /// The peer does not answer the watchdog.
    Suspect,
    /// The connection ends.
    Closing,
}

impl ConnectionState {
    /// All states, in the order of the counters.
    pub const ALL: [ConnectionState; 5] = [
        ConnectionState::Handshake,
        ConnectionState::WaitCapabilities,
        ConnectionState::Open,
        ConnectionState::Suspect,
        ConnectionState::Closing,
    ];

    /// Returns its name, for labels of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            ConnectionState::Handshake => "handshake",
            ConnectionState::WaitCapabilities => "wait_capabilities",
            ConnectionState::Open => "open",
            ConnectionState::Suspect => "suspect",
            ConnectionState::Closing => "closing",
        }
    }
}

/// What a connection publishes.
#[derive(Debug, Default)]
struct Published {
    state: ConnectionState,
    totals: PeerTotals,
}

/// One connection, as its task and all others share it.
#[derive(Debug)]
pub(crate) struct Link {
    /// Number of the connection; the door uses none twice.
    pub(crate) id: u64,
    orders: AtomicU8,
    task: AtomicWaker,
    published: Mutex<Published>,
}

impl Link {
    pub(crate) fn new(id: u64) -> Link {
        Link { id, orders: AtomicU8::new(0), task: AtomicWaker::new(), published: Mutex::default() }
    }

    /// Orders the connection to end after the requests under way.
    pub(crate) fn drain(&self) {
        self.order(DRAIN);
    }

    /// Orders the connection to end at once.
    pub(crate) fn end(&self) {
        self.order(END);
    }

    fn order(&self, order: u8) {
        self.orders.fetch_or(order, Ordering::AcqRel);
        self.task.wake();
    }

    /// Makes later orders wake this task. It looks for orders afterwards.
    pub(crate) fn wait(&self, task: &Waker) {
        self.task.register(task);
    }

    pub(crate) fn must_drain(&self) -> bool {
        self.orders.load(Ordering::Acquire) & DRAIN != 0
    }

    pub(crate) fn must_end(&self) -> bool {
        self.orders.load(Ordering::Acquire) & END != 0
    }

    /// Waits for an order of any kind.
    pub(crate) async fn ordered(&self) {
        poll_fn(|task| {
            self.wait(task.waker());
            if self.must_drain() || self.must_end() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    pub(crate) fn state(&self) -> ConnectionState {
        self.lock().state
    }

    pub(crate) fn totals(&self) -> PeerTotals {
        self.lock().totals.clone()
    }

    pub(crate) fn publish_state(&self, state: ConnectionState) {
        self.lock().state = state;
    }

    pub(crate) fn publish_counts(&self, counts: &PeerCounts, answers: &CodeCounts) {
        let mut published = self.lock();
        published.totals.counts = *counts;
        published.totals.answers.copy(answers);
    }

    pub(crate) fn publish_dropped(&self, dropped_answers: u64) {
        self.lock().totals.dropped_answers = dropped_answers;
    }

    fn lock(&self) -> MutexGuard<'_, Published> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
