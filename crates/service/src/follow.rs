//! Following a store: reading what was committed, from a position on.

use crate::{Event, Position};

/// A read of committed events (`SCUR.WATCH`). It does not wait for events, because other requests share the
/// connection. A follower that has reached the end asks again later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    /// Where the read begins.
    pub from: FollowFrom,
    /// Most events of the reply, 1 to 1000.
    pub count: u16,
    /// Names of the events that are read; empty for all.
    pub names: Vec<&'static str>,
}

/// Where a follower begins. Each thread of a store has separate events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowFrom {
    /// At the oldest event of this thread that is kept.
    Oldest(u16),
    /// At the next event of this thread.
    Newest(u16),
    /// At the position where an earlier read ended.
    At(Position),
}

/// Committed events, each once and in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// The random number that identifies the store and its copies.
    pub store: u64,
    /// The events. The first is `missed` if the position of the read is no longer kept.
    pub events: Vec<Event<'static>>,
    /// Where the next read begins. A follower stores it together with the effects of the events.
    pub next: Position,
    /// The oldest position that is kept.
    pub oldest: Position,
    /// The position after all durable events. If `next` equals it, the follower has read everything.
    pub end: Position,
}
