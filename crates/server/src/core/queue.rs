//! The queue of connections that want a turn, in three lanes: active connections, idle ones that wake or end, and new
//! ones. When ten thousand connect at once, they get their turns between the turns of the others.

use crate::connection::Connection;
use crate::net::transport::Transport;
use std::collections::VecDeque;

/// A connection without a request for this long is no longer active, ms.
const REST_MS: i64 = 1_000;

/// While this many new connections wait for a turn, no more are accepted. They wait in the system's backlog, where they
/// do not take a place in the lobby yet.
const COMING_MAX: usize = 128;

/// The lanes of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnLane {
    /// Connections that have sent a request lately.
    Working,
    /// Connections that have sent no request for a while, or that the peer has closed.
    Waking,
    /// Connections that have sent no request yet; they may need a handshake first.
    Coming,
}

/// Keys of connections per lane, in the order in which they were queued.
#[derive(Debug, Default)]
pub(super) struct TurnQueue {
    working: VecDeque<usize>,
    waking: VecDeque<usize>,
    coming: VecDeque<usize>,
}

impl TurnQueue {
    /// Queues a connection, unless it is queued already.
    pub(super) fn push<T: Transport>(
        &mut self,
        key: usize,
        connection: &mut Connection<T>,
        now_ms: i64,
    ) {
        if !connection.queued {
            connection.queued = true;
            let lane = if connection.client.command.is_empty() {
                TurnLane::Coming
            } else if connection.is_working(now_ms, REST_MS) {
                TurnLane::Working
            } else {
                TurnLane::Waking
            };
            self.lane(lane).push_back(key);
        }
    }

    /// Removes and returns the next connection of a lane.
    pub(super) fn pop(&mut self, lane: TurnLane) -> Option<usize> {
        self.lane(lane).pop_front()
    }

    /// Returns the number of queued connections in a lane.
    pub(super) fn len(&mut self, lane: TurnLane) -> usize {
        self.lane(lane).len()
    }

    /// Reports whether all lanes are empty.
    pub(super) fn is_empty(&self) -> bool {
        self.working.is_empty() && self.waking.is_empty() && self.coming.is_empty()
    }

    /// Reports whether more connections may be accepted: fewer than [`COMING_MAX`] new ones wait for a turn.
    pub(super) fn admits(&self) -> bool {
        self.coming.len() < COMING_MAX
    }

    fn lane(&mut self, lane: TurnLane) -> &mut VecDeque<usize> {
        match lane {
            TurnLane::Working => &mut self.working,
            TurnLane::Waking => &mut self.waking,
            TurnLane::Coming => &mut self.coming,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_accepted_while_many_that_came_wait_for_a_turn() {
        let mut queue = TurnQueue::default();
        queue.waking.extend(0..10_000);
        queue.coming.extend(0..COMING_MAX - 1);
        assert!(queue.admits());
        queue.coming.push_back(0);
        assert!(!queue.admits());
        assert_eq!(queue.pop(TurnLane::Coming), Some(0));
        assert!(queue.admits());
    }
}
