//! Why a connection is closed. Each reason is one plain line for the log.

use std::io;

/// The reason why one connection ends. Others are not affected.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The peer sent a control message of this length, bytes.
    #[error("the peer has sent a control message of {0} bytes, and not of 32")]
    ControlLength(usize),
    /// The peer sent a control message with this opcode.
    #[error("the peer has sent a control message of the unknown kind {0}")]
    Opcode(u16),
    /// A server sent a message of this kind to a client that did not ask for it.
    #[error("the server has sent a control message of kind {0} without a request")]
    Unasked(u16),
    /// The peer announced a window of this length, bytes.
    #[error("the peer has announced a window of {0} bytes; from 64 KiB to 16 MiB are allowed")]
    WindowLength(u32),
    /// The peer announced a window of another length than before, bytes.
    #[error("the peer has announced a window of {now} bytes after one of {before}")]
    WindowChanged {
        /// Length of the earlier window.
        before: u32,
        /// Length of the new window.
        now: u32,
    },
    /// The peer announced a window that starts here and extends beyond the last address.
    #[error("the peer has announced a window at {0:#x}, which goes beyond the last address")]
    WindowAddress(u64),
    /// The peer announced more windows than are kept.
    #[error("the peer has announced {0} windows ahead; fill one before the next is announced")]
    Windows(usize),
    /// The peer claims to have written more bytes than the window had room for.
    #[error("the peer says that it has written {told} bytes where there was room for {room}")]
    Overrun {
        /// Bytes that the peer announced.
        told: u32,
        /// Room that was left in the window, bytes.
        room: usize,
    },
    /// The peer sends too many messages without data.
    #[error("the peer sends messages without data faster than they are allowed")]
    Flood,
    /// The peer sent and acknowledged nothing for this time, ms.
    #[error("nothing was heard of the peer for {0} ms, though it has something to take or to say")]
    Silent(i64),
    /// Memory could not be registered.
    #[error("cannot register memory for RDMA: {0}; see the limit on locked memory (ulimit -l)")]
    Memory(#[source] io::Error),
    /// The device refused a work request.
    #[error("the RDMA device has refused a request: {0}")]
    Device(#[source] io::Error),
    /// The device reported the completion of a work request that is not in flight.
    #[error("the RDMA device has told the end of request {0}, which is not under way")]
    Completion(u64),
    /// The connection is broken: a request failed, or the peer is gone.
    #[error("the connection is gone")]
    Gone,
}
