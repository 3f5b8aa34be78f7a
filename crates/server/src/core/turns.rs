//! The turns of connections. Connections are handled in groups and in steps: first the input of the whole group is
//! read, then the memory that its requests need is prefetched, then all requests are executed, then all replies are
//! sent. The requests of many connections thus overlap their cache misses, as pipelined requests of one connection do.

use super::queue::TurnLane;
use super::{Core, ENDED_MS_MAX, LINGER_MS_MAX};
use crate::connection::{AfterTurn, Connection, Executed};
use crate::durable::HeldOutput;
use crate::execute::node::LOOKAHEAD_MAX;
use std::io;

/// Maximum number of connections in a group. Their buffers and what their requests need fit into the cache.
const CONNECTIONS_MAX: usize = 32;
/// The same for waking and new connections: each may take a millisecond for its handshake.
const OTHERS_MAX: usize = 8;
/// The least time that waking and new connections get before the active ones have another turn, ns.
pub(super) const OTHERS_NS_MIN: u64 = 200_000;
/// A group that has found this many requests takes no more connections.
const REQUESTS_ENOUGH: usize = LOOKAHEAD_MAX;

/// The connections of the group, each with the result of its execution.
pub(super) type Group = Vec<(usize, Executed)>;

impl Core {
    /// Gives each queued active connection a turn, then the waking and the new ones: each of these two lanes for half
    /// as long as the active ones took, but at least for [`OTHERS_NS_MIN`].
    pub(super) fn take_turns(&mut self) {
        let begun_ns = self.node.clock.monotonic_ns();
        let left = self.queue.len(TurnLane::Working);
        if left > 0 {
            self.take_lane(TurnLane::Working, left, CONNECTIONS_MAX, u64::MAX);
        }
        // Each of the other lanes gets half of the time that the active one took, so that none of them starves.
        let took_ns = self.node.clock.monotonic_ns().saturating_sub(begun_ns);
        self.others_ns = (took_ns / 2).max(OTHERS_NS_MIN);
        for lane in [TurnLane::Waking, TurnLane::Coming] {
            let left = self.queue.len(lane);
            if left > 0 {
                let until_ns = self.node.clock.monotonic_ns() + self.others_ns;
                self.take_lane(lane, left, OTHERS_MAX, until_ns);
            }
        }
    }

    /// Gives `left` connections of a lane their turns, in groups of `most`, or stops at `until_ns`.
    fn take_lane(&mut self, lane: TurnLane, mut left: usize, most: usize, until_ns: u64) {
        let mut group = std::mem::take(&mut self.group);
        while left > 0 {
            if self.node.is_congested() {
                self.congested = true;
                break;
            }
            let mut found = 0;
            while left > 0 && group.len() < most && found < REQUESTS_ENOUGH {
                left -= 1;
                let Some(key) = self.queue.pop(lane) else { break };
                if let Some(requests) = self.arrive(key) {
                    found += requests;
                    group.push((key, Executed::Blocked));
                }
            }
            let connections = group.iter().filter_map(|(key, _)| self.connections.get(*key));
            self.node.touch(connections.flat_map(Connection::hashes));
            group.retain_mut(|(key, executed)| match self.execute(*key) {
                Some(outcome) => {
                    *executed = outcome;
                    true
                }
                None => false,
            });
            if self.node.durable.is_batch_full(&mut self.node.shard) {
                self.node.commit();
            }
            // Replies are sent from here on; requests of the next group have arrived by this time.
            self.node.now_ns = self.node.clock.monotonic_ns();
            for (key, executed) in group.drain(..) {
                self.leave(key, executed);
            }
            if self.node.now_ns >= until_ns {
                break;
            }
        }
        self.group = group;
    }

    /// Reads the input of a connection. Returns the number of requests found, or None when the connection is lost.
    fn arrive(&mut self, key: usize) -> Option<usize> {
        let connection = self.connections.get_mut(key)?;
        connection.queued = false;
        match connection.arrive(&mut self.node, &mut self.pool) {
            Ok(()) => Some(connection.found()),
            Err(error) => {
                self.lose(key, &error);
                None
            }
        }
    }

    /// Executes the requests found. None when there is nothing to send yet, or when the connection is gone.
    fn execute(&mut self, key: usize) -> Option<Executed> {
        loop {
            let connection = self.connections.get_mut(key)?;
            let executed = connection.execute(&mut self.node, &mut self.pool);
            self.node.look_at_commits();
            let Executed::AskCores(question) = executed else { return Some(executed) };
            if connection.has_pending(&self.node) {
                // Replies before this one are not durable yet.
                return Some(Executed::Yield);
            }
            if !self.ask(key, question) {
                self.connections.get_mut(key)?.count_memory(&mut self.node);
                return None;
            }
            self.arrive(key)?;
        }
    }

    /// Sends the replies, and carries out the resulting action for the connection.
    fn leave(&mut self, key: usize, executed: Executed) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let turn = connection.leave(executed, &mut self.node, &mut self.pool);
        connection.count_memory(&mut self.node);
        let ended_until_ms = self.node.now.uptime_ms + ENDED_MS_MAX;
        if connection.waits_without_peer(ended_until_ms) {
            self.ended.push(connection.client.ticket, ended_until_ms);
        }
        // The command may have been AUTH, or the handshake may have ended.
        if connection.is_misplaced() {
            self.place(key);
        }
        let Some(connection) = self.connections.get_mut(key) else { return };
        match turn {
            Ok(AfterTurn::AwaitSocket) => {}
            Ok(AfterTurn::AwaitLog(sequence)) => {
                let replies = HeldOutput::Replies(connection.client.ticket);
                self.node.durable.hold(sequence, replies);
            }
            Ok(AfterTurn::Yield) => self.enqueue(key),
            Ok(AfterTurn::Linger) => {
                let until_ms = self.node.now.uptime_ms + LINGER_MS_MAX;
                self.lingering.push(connection.client.ticket, until_ms);
                self.enqueue(key);
            }
            Ok(AfterTurn::Close) => self.close(key),
            Err(error) => self.lose(key, &error),
        }
    }

    fn lose(&mut self, key: usize, error: &io::Error) {
        if let Some(connection) = self.connections.get(key) {
            tracing::debug!(client = connection.client.id, "connection lost: {error}");
            self.close(key);
        }
    }
}
