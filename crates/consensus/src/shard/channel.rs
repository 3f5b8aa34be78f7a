//! Messages between a core and the host of its group. The core sends executed frames and waiting reads; the host sends
//! committed frames and the core's role.

use crate::replica::{ByteCount, Sequence};
use crate::shard::state_check::DigestOrder;
use scurry_engine::{Compared, EntryCopy, Shard, SnapshotSequences};
use scurry_ledger::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// The bytes of a frame of a replicated log.
pub type FrameBytes = Arc<Vec<u8>>;

/// Function that wakes a sleeping core.
pub type WakeFn = Arc<dyn Fn() + Send + Sync>;

/// Id of a period in which a core leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(pub u64);

/// Number of a core's step, from 1. All replies that are formed in a turn are sent when it is confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(pub u64);

impl Turn {
    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Message from a core to the host.
pub enum FromCore {
    /// Executed and sealed frames. The turn is confirmed when they are committed.
    Frames {
        /// The leadership in which they were executed.
        epoch: Epoch,
        /// The turn.
        turn: Turn,
        /// The frames, concatenated.
        frames: Vec<u8>,
    },
    /// A turn that wrote nothing but showed something. It is confirmed when a majority has confirmed that this node
    /// still leads.
    Read {
        /// The leadership in which the turn ran.
        epoch: Epoch,
        /// The turn.
        turn: Turn,
    },
    /// Everything executed was sent, and nothing more is executed until [`ToCore::Resume`].
    Paused {
        /// The leadership that pauses.
        epoch: Epoch,
    },
    /// The core no longer leads, and no reply waits. Its shard shows everything up to this sequence.
    Resigned {
        /// The last executed sequence.
        executed: Sequence,
    },
    /// A snapshot counts from now on, and the log up to `needless` is no longer needed.
    Snapshot {
        /// The sequences that the snapshot shows.
        shown: SnapshotSequences,
        /// The last sequence that is no longer needed.
        needless: Sequence,
    },
    /// The core has written a digest of its memory, or compared that of the leader.
    Compared(Compared),
    /// Copies of the entries that [`ToCore::Copy`] has named.
    Copies(Vec<EntryCopy>),
    /// A frame could not be applied to the shard; the text has the reason.
    Broken(String),
}

/// Message from the host to a core; processed in the order in which they are sent.
pub enum ToCore {
    /// Committed frames that follow those the core has.
    Apply(Vec<FrameBytes>),
    /// The core leads: it has applied the whole log, which ends at this sequence and time.
    Lead {
        /// Id of this leadership.
        epoch: Epoch,
        /// The last sequence of the log.
        sequence: Sequence,
        /// The time of its last entry.
        at: Time,
    },
    /// Order to execute nothing, and to answer with [`FromCore::Paused`].
    Pause,
    /// Order to execute again; the log ends at this sequence and time.
    Resume {
        /// The last sequence of the log.
        sequence: Sequence,
        /// The time of its last entry.
        at: Time,
    },
    /// Order to a leader to write a digest of its memory.
    Digest(DigestOrder),
    /// Order to copy the entries whose keys have these hashes.
    Copy(Vec<u64>),
    /// Order to stop leading: another node leads, or none.
    Resign,
    /// The core's shard is still empty: it will be replaced when a snapshot can be used.
    Await,
    /// The shard that replaces the core's: that one shows executed records that were not committed, or lacks a
    /// snapshot.
    Replace(RebuiltShard),
}

/// A shard that was rebuilt from the device.
pub struct RebuiltShard {
    /// The shard.
    pub shard: Box<Shard>,
    /// Lowest time that the core's clock may show: snapshots omit what had expired by then.
    pub at: Time,
}

/// Numbers shared by a core and its host.
#[derive(Debug, Default)]
pub struct Progress {
    /// The last turn of the core's present epoch with replies that may be sent.
    confirmed: AtomicU64,
    /// The last sequence that is committed and on this node's device.
    committed: AtomicU64,
    /// Bytes of frames that the core has sent and that are neither committed nor given up.
    uncommitted: AtomicU64,
    /// The last sequence that the core's shard shows.
    applied: AtomicU64,
}

impl Progress {
    /// Returns the last turn of the core's present epoch with replies that may be sent.
    pub fn confirmed(&self) -> Turn {
        Turn(self.confirmed.load(Ordering::Acquire))
    }

    /// Allows the replies of all turns up to this one to be sent.
    pub fn confirm(&self, turn: Turn) {
        self.confirmed.fetch_max(turn.0, Ordering::Release);
    }

    /// Returns the last sequence that is committed and on this node's device.
    pub fn committed(&self) -> Sequence {
        Sequence(self.committed.load(Ordering::Acquire))
    }

    /// Records that everything up to a sequence is committed and on this node's device.
    pub fn commit(&self, sequence: Sequence) {
        let before = self.committed.swap(sequence.0, Ordering::Release);
        // The core may have shown what it was told before.
        assert!(before <= sequence.0, "the commit goes back from {before} to {sequence:?}");
    }

    /// Returns the bytes of frames that the core has sent and that are neither committed nor given up.
    pub fn uncommitted(&self) -> ByteCount {
        ByteCount(self.uncommitted.load(Ordering::Relaxed))
    }

    /// Counts bytes that the core has sent.
    pub fn sent(&self, bytes: ByteCount) {
        self.uncommitted.fetch_add(bytes.0, Ordering::Relaxed);
    }

    /// Subtracts bytes that are committed or given up.
    pub fn settled(&self, bytes: ByteCount) {
        let before = ByteCount(self.uncommitted.fetch_sub(bytes.0, Ordering::Relaxed));
        // Below 0 the count wraps, and the core executes nothing any more.
        assert!(before >= bytes, "{bytes} bytes are settled and {before} were sent");
    }

    /// Returns the last sequence that the core's shard shows.
    pub fn applied(&self) -> Sequence {
        Sequence(self.applied.load(Ordering::Relaxed))
    }

    /// Records that the core's shard shows everything up to a sequence.
    pub fn note_applied(&self, sequence: Sequence) {
        self.applied.store(sequence.0, Ordering::Relaxed);
    }
}

/// The core's end of the channel.
pub struct CoreEnd {
    /// Sends to the host; false when the host has ended.
    host: Box<dyn Fn(FromCore) -> bool + Send>,
    orders: Receiver<ToCore>,
    /// Numbers that the host writes and the core reads, or the reverse.
    pub progress: Arc<Progress>,
    /// The next order, already received by [`CoreEnd::has_orders`].
    stash: Option<ToCore>,
}

impl CoreEnd {
    /// Creates the core's end; `host` sends to the host and returns false when the host has ended.
    pub fn new(
        host: Box<dyn Fn(FromCore) -> bool + Send>,
        orders: Receiver<ToCore>,
        progress: Arc<Progress>,
    ) -> CoreEnd {
        CoreEnd { host, orders, progress, stash: None }
    }

    /// Sends to the host; false when the host has ended.
    pub fn tell(&self, news: FromCore) -> bool {
        (self.host)(news)
    }

    /// Returns the next order; None when no order waits.
    pub fn order(&mut self) -> Option<ToCore> {
        self.stash.take().or_else(|| self.orders.try_recv().ok())
    }

    /// Returns true when an order waits.
    pub fn has_orders(&mut self) -> bool {
        self.stash = self.order();
        self.stash.is_some()
    }
}

/// The host's end of the channel.
pub(crate) struct HostEnd {
    pub(crate) orders: Sender<ToCore>,
    pub(crate) ring: WakeFn,
    pub(crate) progress: Arc<Progress>,
}

impl HostEnd {
    /// Sends an order and wakes the core. Does nothing when the core has ended.
    pub(crate) fn order(&self, order: ToCore) {
        if self.orders.send(order).is_ok() {
            (self.ring)();
        }
    }
}
