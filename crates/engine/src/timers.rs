//! When to look at which entry again. An entry has one timer at most: it may fire too early
//! (then it is armed again), never too late, so a command that moves a deadline back costs
//! nothing here. A timer that is not needed is removed at once and leaves nothing behind.
//!
//! Timers that fire in the same tick form a list. Those of accounts pass from there, when their
//! tick has come, into an order by (time, id), in which the shard commits them (I9); those of
//! values and entities need none.

use crate::entry::{Armed, Kind, UNARMED};
use scurry_ledger::Time;
use std::collections::BTreeMap;

/// Milliseconds of one tick: entries that are due within it share a list.
const TICK_MS: i64 = 16;

/// The tick of a timer that stands in the order by time. It is before all others.
pub(crate) const NEAR: u64 = 0;

const TICK_FIRST: u64 = 1;
const TICK_LAST: u64 = UNARMED - 1;

/// Nothing before or after it in its list.
const NONE: u32 = u32::MAX;

/// Nodes of one chunk: growing never moves nodes, however many there are.
const CHUNK_LEN: usize = 1_024;

/// The lists that a timer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Timers of accounts.
    Accounts,
    /// Timers of values and entities.
    Others,
}

impl Lane {
    /// The lane of a kind.
    pub(crate) fn of(kind: Kind) -> Lane {
        if kind == Kind::Account { Lane::Accounts } else { Lane::Others }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Of the entry's key.
    hash: u64,
    /// The tick; of a near timer, the time in milliseconds.
    at: u64,
    previous: u32,
    next: u32,
}

/// The timers of a shard.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    chunks: Vec<Box<[Node]>>,
    /// Nodes that are not used, linked by `next`.
    free: Option<u32>,
    /// Nodes that were ever used.
    used: u32,
    len: [u64; 2],
    /// The first timer of each tick that has one.
    ticks: [BTreeMap<u64, u32>; 2],
    /// Accounts whose tick has come.
    near: BTreeMap<(Time, Box<[u8]>), u32>,
    near_key_bytes: u64,
}

/// The tick that a time falls into. Ticks are counted from 1970 and reach the year 2527; what
/// is later is looked at then.
pub(crate) fn tick_of(time: Time) -> u64 {
    u64::try_from(time.0 / TICK_MS).unwrap_or(0).clamp(TICK_FIRST, TICK_LAST)
}

fn start_of(tick: u64) -> Time {
    Time(i64::try_from(tick).unwrap_or(i64::MAX).saturating_mul(TICK_MS))
}

impl Timers {
    /// Timers of a lane that are armed.
    pub(crate) fn len(&self, lane: Lane) -> u64 {
        self.len[lane as usize]
    }

    /// Arms a timer for a tick.
    pub(crate) fn arm(&mut self, lane: Lane, hash: u64, tick: u64) -> Armed {
        let timer = self.allocate();
        let first = self.ticks[lane as usize].insert(tick, timer);
        *self.node_mut(timer) =
            Node { hash, at: tick, previous: NONE, next: first.unwrap_or(NONE) };
        if let Some(first) = first {
            self.node_mut(first).previous = timer;
        }
        self.len[lane as usize] += 1;
        Armed { timer, tick }
    }

    /// Removes a timer. The key is that of its entry.
    pub(crate) fn disarm(&mut self, lane: Lane, armed: Armed, key: &[u8]) {
        if armed.tick == UNARMED {
            return;
        }
        if armed.tick == NEAR {
            let time = self.near_time(armed);
            self.near.remove(&(time, Box::from(key)));
            self.near_key_bytes -= key.len() as u64;
        } else {
            self.unlink(lane, armed.timer);
        }
        self.free(armed.timer);
        self.len[lane as usize] -= 1;
    }

    /// The time for which a near timer stands in the order.
    pub(crate) fn near_time(&self, armed: Armed) -> Time {
        Time(i64::from_ne_bytes(self.node(armed.timer).at.to_ne_bytes()))
    }

    /// The first tick of a lane that has timers.
    pub(crate) fn first_tick(&self, lane: Lane) -> Option<u64> {
        self.ticks[lane as usize].first_key_value().map(|(tick, _)| *tick)
    }

    /// A timer of the first tick of a lane, and the hash of its key.
    pub(crate) fn first(&self, lane: Lane) -> Option<(u32, u64)> {
        let (_, timer) = self.ticks[lane as usize].first_key_value()?;
        Some((*timer, self.node(*timer).hash))
    }

    /// Moves an account's timer from the list of its tick into the order by (time, id).
    pub(crate) fn bring_near(&mut self, timer: u32, time: Time, key: &[u8]) -> Armed {
        self.unlink(Lane::Accounts, timer);
        self.node_mut(timer).at = u64::from_ne_bytes(time.0.to_ne_bytes());
        self.near.insert((time, Box::from(key)), timer);
        self.near_key_bytes += key.len() as u64;
        Armed { timer, tick: NEAR }
    }

    /// The first of the order by (time, id).
    pub(crate) fn first_near(&self) -> Option<(Time, &[u8])> {
        self.near.first_key_value().map(|((time, key), _)| (*time, &**key))
    }

    /// No timer has to be looked at before this. Values and entities are removed when their
    /// tick is over: reads do not show them since their own time.
    pub(crate) fn next(&self) -> Option<Time> {
        let near = self.near.first_key_value().map(|((time, _), _)| *time);
        let account = self.first_tick(Lane::Accounts).map(start_of);
        let other = self.first_tick(Lane::Others).map(|tick| start_of(tick + 1));
        [near, account, other].into_iter().flatten().min()
    }

    pub(crate) fn clear(&mut self) {
        *self = Timers::default();
    }

    /// Bytes of nodes, lists and orders.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let nodes = self.chunks.len() * (CHUNK_LEN * size_of::<Node>() + 8 + 16);
        let ticks: usize = self.ticks.iter().map(BTreeMap::len).sum();
        nodes as u64
            + ticks as u64 * TREE_TICK_BYTES
            + self.near.len() as u64 * TREE_NEAR_BYTES
            + self.near_key_bytes
    }

    fn node(&self, timer: u32) -> &Node {
        &self.chunks[timer as usize / CHUNK_LEN][timer as usize % CHUNK_LEN]
    }

    fn node_mut(&mut self, timer: u32) -> &mut Node {
        &mut self.chunks[timer as usize / CHUNK_LEN][timer as usize % CHUNK_LEN]
    }

    fn allocate(&mut self) -> u32 {
        if let Some(timer) = self.free {
            let next = self.node(timer).next;
            self.free = (next != NONE).then_some(next);
            return timer;
        }
        if self.used as usize == self.chunks.len() * CHUNK_LEN {
            self.chunks.push(vec![Node::default(); CHUNK_LEN].into_boxed_slice());
        }
        self.used += 1;
        assert!(self.used < NONE, "a shard has fewer than 2^32 entries");
        self.used - 1
    }

    fn free(&mut self, timer: u32) {
        self.node_mut(timer).next = self.free.unwrap_or(NONE);
        self.free = Some(timer);
    }

    fn unlink(&mut self, lane: Lane, timer: u32) {
        let Node { at, previous, next, .. } = *self.node(timer);
        if next != NONE {
            self.node_mut(next).previous = previous;
        }
        if previous != NONE {
            self.node_mut(previous).next = next;
        } else if next != NONE {
            self.ticks[lane as usize].insert(at, next);
        } else {
            self.ticks[lane as usize].remove(&at);
        }
    }
}

/// A key of 8 bytes and a value of 4 in a B-tree that is two thirds full.
const TREE_TICK_BYTES: u64 = 20;
/// A key of 24 bytes and a value of 4 likewise, and the block of the id.
const TREE_NEAR_BYTES: u64 = 48 + 16;
