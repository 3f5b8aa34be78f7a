//! What passes between a core and the host of its group: frames that were executed and reads that wait go up,
//! committed frames and the core's part come down.

use scurry_engine::{Shard, Shown};
use scurry_ledger::Time;
use scurry_replica::Sequence;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// A frame of a replicated log.
pub type Body = Arc<Vec<u8>>;

/// The way to wake a core that sleeps.
pub type Ring = Arc<dyn Fn() + Send + Sync>;

/// The name of a time in which a core leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(pub u64);

/// A step of a core, from 1: replies that are formed in it leave together, when it is confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(pub u64);

impl Turn {
    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// From a core to the host.
pub enum FromCore {
    /// Frames that were executed and sealed. The turn is confirmed when they are committed.
    Frames {
        /// The leadership in which they were executed.
        epoch: Epoch,
        /// The turn.
        turn: Turn,
        /// One behind another.
        frames: Vec<u8>,
    },
    /// Nothing was written in this turn, and something was shown: it is confirmed when a quorum has said that
    /// this node leads still.
    Read {
        /// The leadership in which it was shown.
        epoch: Epoch,
        /// The turn.
        turn: Turn,
    },
    /// All that was executed was sent, and no more is until [`ToCore::Resume`].
    Paused {
        /// The leadership that pauses.
        epoch: Epoch,
    },
    /// The core leads no more, and nothing waits. Its shard shows all up to this sequence.
    Resigned {
        /// The last sequence.
        executed: Sequence,
    },
    /// A snapshot counts from now on, and nothing needs the log up to a sequence any more.
    Snapshot {
        /// The sequences of it.
        shown: Shown,
        /// The sequence up to which nothing is needed.
        needless: Sequence,
    },
    /// The shard was not fit for what it was given.
    Broken(String),
}

/// From the host to a core, in this order.
pub enum ToCore {
    /// Committed frames, which follow what the core has.
    Apply(Vec<Body>),
    /// The core leads: it has applied all that is there. The log ends at this sequence and time.
    Lead {
        /// The name of this leadership.
        epoch: Epoch,
        /// The last sequence of the log.
        sequence: Sequence,
        /// The time of its last entry.
        at: Time,
    },
    /// Execute nothing, and say so.
    Pause,
    /// Go on; the log ends at this sequence and time.
    Resume {
        /// The last sequence of the log.
        sequence: Sequence,
        /// The time of its last entry.
        at: Time,
    },
    /// Another node leads, or none.
    Resign,
    /// The core's shard has nothing yet: another one takes its place when a snapshot can be used.
    Await,
    /// Something was executed and not committed: this shard takes the place of the one that shows it.
    Replace(Remade),
}

/// A shard that was made anew from the device.
pub struct Remade {
    /// The shard.
    pub shard: Box<Shard>,
    /// No clock may show less: what had expired by then is in no snapshot.
    pub at: Time,
}

/// Numbers that one side writes and the other reads.
#[derive(Debug, Default)]
pub struct Progress {
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
    /// The last turn of the core's present epoch whose replies may leave.
    pub fn confirmed(&self) -> Turn {
        Turn(self.confirmed.load(Ordering::Acquire))
    }

    /// Replies of all turns up to this one may leave.
    pub fn confirm(&self, turn: Turn) {
        self.confirmed.fetch_max(turn.0, Ordering::Release);
    }

    /// The last sequence that is committed, and on this node's device.
    pub fn committed(&self) -> Sequence {
        Sequence(self.committed.load(Ordering::Acquire))
    }

    /// All up to a sequence is committed, and on this node's device.
    pub fn commit(&self, sequence: Sequence) {
        self.committed.store(sequence.0, Ordering::Release);
    }

    /// Bytes of frames that the host has taken and that are not committed.
    pub fn uncommitted(&self) -> u64 {
        self.uncommitted.load(Ordering::Relaxed)
    }

    /// The core has sent so many bytes.
    pub fn sent(&self, bytes: u64) {
        self.uncommitted.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many bytes are committed, or given up.
    pub fn settled(&self, bytes: u64) {
        self.uncommitted.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The last sequence that the core's shard shows.
    pub fn applied(&self) -> Sequence {
        Sequence(self.applied.load(Ordering::Relaxed))
    }

    /// The core's shard shows all up to a sequence.
    pub fn note_applied(&self, sequence: Sequence) {
        self.applied.store(sequence.0, Ordering::Relaxed);
    }
}

/// The core's end.
pub struct CoreEnd {
    /// Tells the host; false when it has ended.
    host: Box<dyn Fn(FromCore) -> bool + Send>,
    orders: Receiver<ToCore>,
    /// Numbers that the host writes.
    pub progress: Arc<Progress>,
    /// Looked at and not taken yet.
    stash: Option<ToCore>,
}

impl CoreEnd {
    /// A core's end of these; `host` is false when the host has ended.
    pub fn new(
        host: Box<dyn Fn(FromCore) -> bool + Send>,
        orders: Receiver<ToCore>,
        progress: Arc<Progress>,
    ) -> CoreEnd {
        CoreEnd { host, orders, progress, stash: None }
    }

    /// Tells the host; false when it has ended.
    pub fn tell(&self, news: FromCore) -> bool {
        (self.host)(news)
    }

    /// The next order.
    pub fn order(&mut self) -> Option<ToCore> {
        self.stash.take().or_else(|| self.orders.try_recv().ok())
    }

    /// True when there is one.
    pub fn has_orders(&mut self) -> bool {
        self.stash = self.order();
        self.stash.is_some()
    }
}

/// The host's end.
pub(crate) struct HostEnd {
    pub(crate) orders: Sender<ToCore>,
    pub(crate) ring: Ring,
    pub(crate) progress: Arc<Progress>,
}

impl HostEnd {
    /// Orders the core; a core that has ended needs none.
    pub(crate) fn order(&self, order: ToCore) {
        if self.orders.send(order).is_ok() {
            (self.ring)();
        }
    }
}
