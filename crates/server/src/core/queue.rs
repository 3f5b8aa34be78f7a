//! Connections that want a turn, in two lanes: those that are at work, and those that begin, wake or end. When
//! ten thousand of the latter come at once they get their turns between the turns of the former.

use crate::connection::Connection;
use crate::net::transport::Transport;
use std::collections::VecDeque;

/// A connection that has asked for nothing for so long is no longer at work, ms.
const REST_MS: i64 = 1_000;

/// The lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnLane {
    /// Connections that have sent a request lately.
    Working,
    /// Connections that have sent none yet, or none for a while, or whose peer has ended.
    Waking,
}

/// Keys of connections, each in the order in which it wanted a turn.
#[derive(Debug, Default)]
pub(super) struct TurnQueue {
    working: VecDeque<usize>,
    waking: VecDeque<usize>,
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
            let works = connection.is_working(now_ms, REST_MS);
            self.lane(if works { TurnLane::Working } else { TurnLane::Waking }).push_back(key);
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
        self.working.is_empty() && self.waking.is_empty()
    }

    fn lane(&mut self, lane: TurnLane) -> &mut VecDeque<usize> {
        match lane {
            TurnLane::Working => &mut self.working,
            TurnLane::Waking => &mut self.waking,
        }
    }
}
