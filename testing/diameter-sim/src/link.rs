//! A link: one connection between a client and a door, as bytes in their order in each direction. A direction can stall,
//! or lose all that follows.

use std::collections::VecDeque;

/// Number of a link; each connection has its own.
pub(crate) type LinkId = usize;

/// The side of a link that receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Client,
    Door,
}

/// What travels.
#[derive(Clone, Debug)]
pub(crate) enum Chunk {
    Bytes(Vec<u8>),
    /// The sender has closed the connection.
    End,
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    under_way: VecDeque<Chunk>,
    last_due_ms: u64,
    stalled_until_ms: u64,
    is_lost: bool,
}

impl Direction {
    /// Sends a chunk. Returns when [`Direction::deliver`] is to be called for it.
    pub(crate) fn send(&mut self, chunk: Chunk, now_ms: u64, delay_ms: u64) -> Option<u64> {
        if self.is_lost {
            return None;
        }
        self.last_due_ms = self.last_due_ms.max(now_ms + delay_ms).max(self.stalled_until_ms);
        self.under_way.push_back(chunk);
        Some(self.last_due_ms)
    }

    /// Delivers the next chunk. An error is when to call again.
    pub(crate) fn deliver(&mut self, now_ms: u64) -> Result<Option<Chunk>, u64> {
        if now_ms < self.stalled_until_ms {
            return Err(self.stalled_until_ms);
        }
        Ok(self.under_way.pop_front())
    }

    pub(crate) fn stall(&mut self, until_ms: u64) {
        self.stalled_until_ms = self.stalled_until_ms.max(until_ms);
    }

    /// Loses what is under way and all that follows.
    pub(crate) fn lose(&mut self) {
        self.is_lost = true;
        self.under_way.clear();
    }

    /// Delivers what is under way from now on.
    pub(crate) fn heal(&mut self) {
        self.stalled_until_ms = 0;
    }
}

/// A connection, which lives until both of its sides have ended.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) client: usize,
    pub(crate) door: usize,
    to_client: Direction,
    to_door: Direction,
}

impl Link {
    pub(crate) fn new(client: usize, door: usize) -> Link {
        Link { client, door, to_client: Direction::default(), to_door: Direction::default() }
    }

    /// Returns the direction to this end.
    pub(crate) fn to(&mut self, end: End) -> &mut Direction {
        match end {
            End::Client => &mut self.to_client,
            End::Door => &mut self.to_door,
        }
    }
}
