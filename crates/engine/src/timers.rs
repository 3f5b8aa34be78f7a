//! Schedules when to examine which entry again. An entry has at most one timer. It may fire too early, and is then
//! armed again, but never too late, so a command that moves a deadline later costs nothing here. A timer that is no
//! longer needed is removed at once.
//!
//! Timers of the same tick form a list. When the tick arrives, timers of accounts move from there into an order by
//! (time, id), in which the shard commits them (I9); those of values and entities need no order.

use crate::entry::{Armed, TableEntryKind, UNARMED};
use scurry_ledger::Time;
use std::collections::BTreeMap;

/// Milliseconds of one tick: entries that are due within the same tick share a list.
const TICK_MS: i64 = 16;

/// The tick of a timer in the order by time. It is before all other ticks.
pub(crate) const NEAR: u64 = 0;

const TICK_FIRST: u64 = 1;
const TICK_LAST: u64 = UNARMED - 1;

/// Link value at either end of a list.
const NONE: u32 = u32::MAX;

/// Nodes of one chunk. Nodes are allocated in chunks, so that growing never moves them.
const CHUNK_LEN: usize = 1_024;

/// Group of timers with lists of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerGroup {
    /// Timers of accounts.
    Accounts,
    /// Timers of values and entities.
    Others,
}

impl TimerGroup {
    /// Returns the lane of a kind of entry.
    pub(crate) fn of(kind: TableEntryKind) -> TimerGroup {
        if kind == TableEntryKind::Account { TimerGroup::Accounts } else { TimerGroup::Others }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct TimerNode {
    /// Hash of the entry's key.
    hash: u64,
    /// The tick; of a near timer, the time in milliseconds.
    at: u64,
    previous: u32,
    next: u32,
}

/// The timers of a shard.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    chunks: Vec<Box<[TimerNode]>>,
    /// Head of the list of unused nodes, linked by `next`.
    free: Option<u32>,
    /// Number of nodes ever used.
    used: u32,
    len: [u64; 2],
    /// The first timer of each tick that has one.
    ticks: [BTreeMap<u64, u32>; 2],
    /// Accounts whose tick has arrived, by (time, id).
    near: BTreeMap<(Time, Box<[u8]>), u32>,
    near_key_bytes: u64,
}

/// Returns the tick of a time. Ticks are counted from 1970 and reach the year 2527; later times get the last tick.
pub(crate) fn tick_of(time: Time) -> u64 {
    u64::try_from(time.0 / TICK_MS).unwrap_or(0).clamp(TICK_FIRST, TICK_LAST)
}

fn start_of(tick: u64) -> Time {
    Time(i64::try_from(tick).unwrap_or(i64::MAX).saturating_mul(TICK_MS))
}

impl Timers {
    /// Returns the number of armed timers of a lane.
    pub(crate) fn len(&self, lane: TimerGroup) -> u64 {
        self.len[lane as usize]
    }

    /// Arms a timer for a tick.
    pub(crate) fn arm(&mut self, lane: TimerGroup, hash: u64, tick: u64) -> Armed {
        let timer = self.allocate();
        let first = self.ticks[lane as usize].insert(tick, timer);
        *self.node_mut(timer) =
            TimerNode { hash, at: tick, previous: NONE, next: first.unwrap_or(NONE) };
        if let Some(first) = first {
            self.node_mut(first).previous = timer;
        }
        self.len[lane as usize] += 1;
        Armed { timer, tick }
    }

    /// Removes a timer. `key` is the key of its entry.
    pub(crate) fn disarm(&mut self, lane: TimerGroup, armed: Armed, key: &[u8]) {
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

    /// Returns the time of a timer that is in the order by time.
    pub(crate) fn near_time(&self, armed: Armed) -> Time {
        Time(i64::from_ne_bytes(self.node(armed.timer).at.to_ne_bytes()))
    }

    /// Reports whether a timer is that of a key with this hash.
    pub(crate) fn is_of(&self, armed: Armed, hash: u64) -> bool {
        let (chunk, place) = (armed.timer as usize / CHUNK_LEN, armed.timer as usize % CHUNK_LEN);
        self.chunks.get(chunk).is_some_and(|chunk| {
            chunk[place].hash == hash && (armed.tick == NEAR || chunk[place].at == armed.tick)
        })
    }

    /// Returns the first tick of a lane that has timers.
    pub(crate) fn first_tick(&self, lane: TimerGroup) -> Option<u64> {
        self.ticks[lane as usize].first_key_value().map(|(tick, _)| *tick)
    }

    /// Returns a timer of the first tick of a lane, with the hash of its key.
    pub(crate) fn first(&self, lane: TimerGroup) -> Option<(u32, u64)> {
        let (_, timer) = self.ticks[lane as usize].first_key_value()?;
        Some((*timer, self.node(*timer).hash))
    }

    /// Moves an account's timer from the list of its tick into the order by (time, id).
    pub(crate) fn bring_near(&mut self, timer: u32, time: Time, key: &[u8]) -> Armed {
        self.unlink(TimerGroup::Accounts, timer);
        self.node_mut(timer).at = u64::from_ne_bytes(time.0.to_ne_bytes());
        self.near.insert((time, Box::from(key)), timer);
        self.near_key_bytes += key.len() as u64;
        Armed { timer, tick: NEAR }
    }

    /// Returns the first account in the order by (time, id).
    pub(crate) fn first_near(&self) -> Option<(Time, &[u8])> {
        self.near.first_key_value().map(|((time, key), _)| (*time, &**key))
    }

    /// Returns the time before which no timer has to be examined. Values and entities are removed only when their tick
    /// is over: reads have hidden them since their expiry.
    pub(crate) fn next(&self) -> Option<Time> {
        let near = self.near.first_key_value().map(|((time, _), _)| *time);
        let account = self.first_tick(TimerGroup::Accounts).map(start_of);
        let other = self.first_tick(TimerGroup::Others).map(|tick| start_of(tick + 1));
        [near, account, other].into_iter().flatten().min()
    }

    pub(crate) fn clear(&mut self) {
        *self = Timers::default();
    }

    /// Returns the bytes of nodes, lists and orders.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let nodes = self.chunks.len() * (CHUNK_LEN * size_of::<TimerNode>() + 8 + 16);
        let ticks: usize = self.ticks.iter().map(BTreeMap::len).sum();
        nodes as u64
            + ticks as u64 * TREE_TICK_BYTES
            + self.near.len() as u64 * TREE_NEAR_BYTES
            + self.near_key_bytes
    }

    fn node(&self, timer: u32) -> &TimerNode {
        &self.chunks[timer as usize / CHUNK_LEN][timer as usize % CHUNK_LEN]
    }

    fn node_mut(&mut self, timer: u32) -> &mut TimerNode {
        &mut self.chunks[timer as usize / CHUNK_LEN][timer as usize % CHUNK_LEN]
    }

    fn allocate(&mut self) -> u32 {
        if let Some(timer) = self.free {
            let next = self.node(timer).next;
            self.free = (next != NONE).then_some(next);
            return timer;
        }
        if self.used as usize == self.chunks.len() * CHUNK_LEN {
            self.chunks.push(vec![TimerNode::default(); CHUNK_LEN].into_boxed_slice());
        }
        self.used += 1;
        assert!(self.used < NONE, "a shard has fewer than 2^32 entries");
        self.used - 1
    }

    fn free(&mut self, timer: u32) {
        self.node_mut(timer).next = self.free.unwrap_or(NONE);
        self.free = Some(timer);
    }

    fn unlink(&mut self, lane: TimerGroup, timer: u32) {
        let TimerNode { at, previous, next, .. } = *self.node(timer);
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

/// Bytes of a key of 8 and a value of 4 in a B-tree that is two thirds full.
const TREE_TICK_BYTES: u64 = 20;
/// Bytes of a key of 24 and a value of 4 in such a tree, plus the allocated block of the id.
const TREE_NEAR_BYTES: u64 = 48 + 16;
