//! What passes between a core and the host of its group: frames that were executed and reads that wait go up,
//! committed frames and the core's part come down.

use crate::mail::mesh::Bell;
use scurry_engine::{Shard, Shown};
use scurry_ledger::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// A frame of a replicated log.
pub(crate) type Body = Arc<Vec<u8>>;

/// The name of a time in which a core leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch(pub(crate) u64);

/// From a core to the host.
pub(crate) enum FromCore {
    /// Frames that were executed and sealed. The turn is confirmed when they are committed.
    Frames { epoch: Epoch, turn: u64, frames: Vec<u8> },
    /// Nothing was written in this turn, and something was shown: it is confirmed when a quorum has said that
    /// this node leads still.
    Read { epoch: Epoch, turn: u64 },
    /// All that was executed was sent, and no more is until [`ToCore::Resume`].
    Paused { epoch: Epoch },
    /// The core leads no more, and nothing waits. Its shard shows all up to this sequence.
    Resigned { executed: u64 },
    /// A snapshot counts from now on, and nothing needs the log up to a sequence any more.
    Snapshot { shown: Shown, needless: u64 },
    /// The shard was not fit for what it was given.
    Broken(String),
}

/// From the host to a core, in this order.
pub(crate) enum ToCore {
    /// Committed frames, which follow what the core has.
    Apply(Vec<Body>),
    /// The core leads: it has applied all that is there. The log ends at this sequence and time.
    Lead { epoch: Epoch, sequence: u64, at: Time },
    /// Execute nothing, and say so.
    Pause,
    /// Go on; the log ends at this sequence and time.
    Resume { sequence: u64, at: Time },
    /// Another node leads, or none.
    Resign,
    /// Something was executed and not committed: this shard takes the place of the one that shows it.
    Replace(Box<Shard>),
}

/// Numbers that one side writes and the other reads.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The last turn of the core's present epoch whose replies may leave.
    confirmed: AtomicU64,
    /// The last sequence that is committed, and on this node's device.
    committed: AtomicU64,
    /// Bytes of frames that the host has taken and that are not committed.
    uncommitted: AtomicU64,
    /// The last sequence that the core's shard shows.
    applied: AtomicU64,
}

impl Progress {
    pub(crate) fn confirmed(&self) -> u64 {
        self.confirmed.load(Ordering::Acquire)
    }

    pub(crate) fn confirm(&self, turn: u64) {
        self.confirmed.fetch_max(turn, Ordering::Release);
    }

    pub(crate) fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    pub(super) fn commit(&self, sequence: u64) {
        self.committed.store(sequence, Ordering::Release);
    }

    pub(crate) fn uncommitted(&self) -> u64 {
        self.uncommitted.load(Ordering::Relaxed)
    }

    /// The core has sent so many bytes.
    pub(crate) fn sent(&self, bytes: u64) {
        self.uncommitted.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many bytes are committed, or given up.
    pub(super) fn settled(&self, bytes: u64) {
        self.uncommitted.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Relaxed)
    }

    pub(crate) fn note_applied(&self, sequence: u64) {
        self.applied.store(sequence, Ordering::Relaxed);
    }
}

/// The core's end.
pub(crate) struct CoreEnd {
    /// Tells the host; false when it has ended.
    pub(super) host: Box<dyn Fn(FromCore) -> bool + Send>,
    pub(super) orders: Receiver<ToCore>,
    pub(crate) progress: Arc<Progress>,
    /// Looked at and not taken yet.
    pub(super) stash: Option<ToCore>,
}

impl CoreEnd {
    /// Tells the host; false when it has ended.
    pub(crate) fn tell(&self, news: FromCore) -> bool {
        (self.host)(news)
    }

    /// The next order.
    pub(crate) fn order(&mut self) -> Option<ToCore> {
        self.stash.take().or_else(|| self.orders.try_recv().ok())
    }

    /// True when there is one.
    pub(crate) fn has_orders(&mut self) -> bool {
        self.stash = self.order();
        self.stash.is_some()
    }
}

/// The host's end.
pub(super) struct HostEnd {
    pub(super) orders: Sender<ToCore>,
    pub(super) bell: Arc<Bell>,
    pub(super) progress: Arc<Progress>,
}

impl HostEnd {
    /// Orders the core; a core that has ended needs none.
    pub(super) fn order(&self, order: ToCore) {
        if self.orders.send(order).is_ok() {
            self.bell.ring();
        }
    }
}
