//! The seam between the protocol and what carries it: one reliable connection (a queue pair of
//! type RC) and the memory that is registered for it.
//!
//! Whoever owns the connection polls for completions and hands them on as [`Event`]s; nothing here
//! waits. Work requests of one connection are carried out in the order in which they were posted,
//! and what a write carries is in the peer's memory before the event that tells the peer of it.

use std::io;
use std::ops::Range;

/// Length of a control message, bytes.
pub const CONTROL_LEN: usize = 32;

/// Memory that the peer may write into.
///
/// A device writes without asking, so what lies behind the bytes that the peer has announced is
/// nobody's business, and a hostile peer may change those that it has announced, too.
pub trait Window {
    /// Where the peer writes: the address of the first byte, as it is announced.
    fn address(&self) -> u64;
    /// The key that allows the peer to write (`rkey`).
    fn key(&self) -> u32;
    /// Appends a copy of these bytes. Each is read once, so what is checked of the copy is what is
    /// used; there is no other way to look at them.
    fn copy(&self, range: Range<usize>, to: &mut Vec<u8>);
    /// Makes visible what was written before the events that were handed on so far. A device has
    /// nothing to do.
    fn refresh(&mut self);
}

/// Bytes that a device may read: the room of a vector, all of its capacity, registered.
///
/// When appending makes the vector move, what is registered is not what it holds any more:
/// [`Staging::is_registered`] says so, and then it cannot be sent from in place.
pub trait Staging {
    /// To append to. Not while any of it is being sent.
    fn vector(&mut self) -> &mut Vec<u8>;
    /// The bytes that were appended.
    fn bytes(&self) -> &[u8];
    /// True while the vector lies where it was registered, and has no more room than it had then: it
    /// may grow without moving.
    fn is_registered(&self) -> bool;
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Address of the first byte in the peer's memory.
    pub address: u64,
    /// The key that the peer has announced with it.
    pub key: u32,
}

/// How a work request is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// The bytes are copied into the work request: nothing is read later.
    pub inline: bool,
    /// Signalled: the end is told, as [`Event::Sent`]. Of requests that are not signalled the end is known by
    /// that of a later one.
    pub signalled: bool,
}

/// Events of a completion queue about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The peer's SEND has used a receive entry: a control message, of any length the peer chose.
    Control(&'a [u8]),
    /// The peer's WRITE_WITH_IMM has used a receive entry: its immediate in host order.
    Immediate(u32),
    /// The signalled work request of this number, and all before it, are done.
    Sent(u64),
    /// The connection is broken: a work request has failed, or the peer has gone. Nothing follows.
    Broken,
}

/// One reliable connection.
pub trait Queue {
    /// Memory for the peer.
    type Window: Window;
    /// Memory for what is sent.
    type Staging: Staging;

    /// Registers memory that the peer may write into, zeroed, of so many bytes.
    ///
    /// # Errors
    /// When the device or the limit on pinned memory refuses it.
    fn window(&mut self, len: usize) -> io::Result<Self::Window>;

    /// Registers the room of a vector, whatever it holds.
    ///
    /// # Errors
    /// When the device or the limit on pinned memory refuses it.
    fn staging(&mut self, vector: Vec<u8>) -> io::Result<Self::Staging>;

    /// Ends the registration, and gives the vector back.
    fn unstage(&mut self, staging: Self::Staging) -> Vec<u8>;

    /// The longest inline request, bytes.
    fn inline_max(&self) -> usize;

    /// Room for so many more receive entries, each of [`CONTROL_LEN`] bytes.
    ///
    /// # Errors
    /// When the device refuses them.
    fn post_receives(&mut self, count: usize) -> io::Result<()>;

    /// Queues a write of a part of a staging, with an immediate (in host order) or without one.
    /// It leaves with [`Queue::ring`]. The part must not change before the write is done, unless it
    /// is inline.
    fn write(
        &mut self,
        number: u64,
        from: &Self::Staging,
        part: Range<usize>,
        to: Target,
        immediate: Option<u32>,
        manner: Manner,
    );

    /// Queues a control message. It is always copied: inline, or into the connection's own memory.
    fn send(&mut self, number: u64, message: &[u8; CONTROL_LEN], signalled: bool);

    /// Everything that is queued leaves, with one call (one doorbell).
    ///
    /// # Errors
    /// When the device refuses it; the connection is of no use then.
    fn ring(&mut self) -> io::Result<()>;
}
