//! Connections that want a turn, in lanes: those that are at work, those that wake or end, and those that
//! come. When ten thousand come at once they get their turns between the turns of the others.

use crate::connection::Connection;
use crate::net::transport::Transport;
use std::collections::VecDeque;

/// A connection that has asked for nothing for so long is no longer at work, ms.
const REST_MS: i64 = 1_000;

/// While so many that came wait for a turn no more are accepted: they wait in the system's backlog, where no
/// place of the lobby is theirs yet.
const COMING_MAX: usize = 128;

/// The lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnLane {
    /// Connections that have sent a request lately.
    Working,
    /// Connections that have sent none for a while, or whose peer has ended.
    Waking,
    /// Connections that have sent none yet: a handshake may come first.
    Coming,
}

/// Keys of connections, each in the order in which it wanted a turn.
#[derive(Debug, Default)]
pub(super) struct TurnQueue {
    working: VecDeque<usize>,
    waking: VecDeque<usize>,
    coming: VecDeque<usize>,
}

impl TurnQueue {
    /// Queues a connection, unless it is queued.
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

    /// The one whose turn it is.
    pub(super) fn pop(&mut self, lane: TurnLane) -> Option<usize> {
        self.lane(lane).pop_front()
    }

    /// How many are queued.
    pub(super) fn len(&mut self, lane: TurnLane) -> usize {
        self.lane(lane).len()
    }

    /// True when nobody is.
    pub(super) fn is_empty(&self) -> bool {
        self.working.is_empty() && self.waking.is_empty() && self.coming.is_empty()
    }

    /// True while those that came have had their turns, but for a few.
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
