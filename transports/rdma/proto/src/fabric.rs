//! The interface between the protocol and its transport: one reliable connection (a queue pair of type RC)
//! and the memory that is registered for it.
//!
//! The owner of the connection polls for completions and passes them on as [`Event`]s; nothing here blocks.
//! Work requests of one connection are executed in the order in which they were posted, and the bytes of a
//! write are in the peer's memory before the event that announces them.

use std::io;
use std::ops::Range;

/// Length of a control message, bytes.
pub const CONTROL_LEN: usize = 32;

/// Memory that the peer may write into.
///
/// A device writes without asking. Bytes beyond the announced ones are undefined, and a hostile peer may also
/// change announced bytes at any time.
pub trait Window {
    /// Returns the address of the first byte, as it is announced to the peer.
    fn address(&self) -> u64;
    /// Returns the key that permits the peer to write (`rkey`).
    fn key(&self) -> u32;
    /// Appends a copy of these bytes. Each byte is read once, so a check of the copy holds for the bytes that
    /// are used later; a window cannot be read in any other way.
    fn copy(&self, range: Range<usize>, to: &mut Vec<u8>);
    /// Makes visible the bytes that were written before the events passed on so far. With a device this does
    /// nothing.
    fn refresh(&mut self);
}

/// Bytes that a device may read: a vector, registered with its whole capacity.
///
/// When appending moves the vector, the registration no longer covers its bytes: [`Staging::is_registered`]
/// is then false, and the vector cannot be sent in place.
pub trait Staging {
    /// Returns the vector to append to. It must not be called while any part of the vector is being sent.
    fn vector(&mut self) -> &mut Vec<u8>;
    /// Returns the appended bytes.
    fn bytes(&self) -> &[u8];
    /// Reports whether the vector still lies where it was registered, with the same capacity: a vector may also
    /// grow without moving.
    fn is_registered(&self) -> bool;
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Address of the first byte in the peer's memory.
    pub address: u64,
    /// The key that the peer announced with the address.
    pub key: u32,
}

/// How a work request is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendFlags {
    /// The bytes are copied into the work request, so the device does not read them later.
    pub inline: bool,
    /// The completion is reported as [`Event::Sent`]. The completion of a request that is not signalled is
    /// implied by that of a later signalled one.
    pub signalled: bool,
}

/// Events of a completion queue about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The peer's SEND has used a receive entry: a control message, of a length that the peer chose.
    Control(&'a [u8]),
    /// The peer's WRITE_WITH_IMM has used a receive entry: its immediate in host byte order.
    Immediate(u32),
    /// The signalled work request of this number, and all requests before it, are complete.
    Sent(u64),
    /// The connection is broken: a work request failed, or the peer is gone. No event follows.
    Broken,
}

/// One reliable connection.
pub trait Queue {
    /// Memory that the peer writes into.
    type Window: Window;
    /// Memory that writes are sent from.
    type Staging: Staging;

    /// Registers `len` zeroed bytes that the peer may write into.
    ///
    /// # Errors
    /// When the device or the limit on pinned memory refuses it.
    fn window(&mut self, len: usize) -> io::Result<Self::Window>;

    /// Registers the whole capacity of a vector, whatever it holds.
    ///
    /// # Errors
    /// When the device or the limit on pinned memory refuses it.
    fn staging(&mut self, vector: Vec<u8>) -> io::Result<Self::Staging>;

    /// Deregisters the vector and returns it.
    fn unstage(&mut self, staging: Self::Staging) -> Vec<u8>;

    /// Returns the length of the longest inline request, bytes.
    fn inline_max(&self) -> usize;

    /// Posts `count` more receive entries, each of [`CONTROL_LEN`] bytes.
    ///
    /// # Errors
    /// When the device refuses them.
    fn post_receives(&mut self, count: usize) -> io::Result<()>;

    /// Queues a write of a part of a staging, with or without an immediate (in host byte order).
    /// [`Queue::ring`] submits it. The part must not change before the write completes, unless it is inline.
    fn write(
        &mut self,
        number: u64,
        from: &Self::Staging,
        part: Range<usize>,
        to: Target,
        immediate: Option<u32>,
        flags: SendFlags,
    );

    /// Queues a control message. It is always copied: inline, or into the connection's own memory.
    fn send(&mut self, number: u64, message: &[u8; CONTROL_LEN], signalled: bool);

    /// Submits all queued requests with one call (one doorbell).
    ///
    /// # Errors
    /// When the device refuses them; the connection is unusable then.
    fn ring(&mut self) -> io::Result<()>;
}
