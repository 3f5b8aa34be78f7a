//! What commands work on: the shard, the time of this turn, the settings, the counters.

use crate::clock::{Clock, Reading};
use crate::counters::Counters;
use crate::settings::Settings;
use crate::watch::Watch;
use scurry_engine::{Config, Shard};
use scurry_resp::Scratch;
use std::net::SocketAddr;

/// One core's state, apart from its connections. Nothing of it is shared.
pub(crate) struct Node {
    pub(crate) shard: Shard,
    pub(crate) settings: Settings,
    /// Where it really listens.
    pub(crate) local_addr: SocketAddr,
    pub(crate) clock: Clock,
    /// The time of this turn of the loop: every command of a turn sees the same.
    pub(crate) now: Reading,
    pub(crate) counters: Counters,
    /// Open connections.
    pub(crate) clients: usize,
    /// The engine's hash seed, which also names this run of the server.
    pub(crate) run_id: u64,
    pub(crate) scratch: Scratch<'static>,
    /// What took long.
    pub(crate) watch: Watch,
    /// SHUTDOWN was asked for.
    pub(crate) stop_asked: bool,
}

impl Node {
    pub(crate) fn new(settings: Settings, local_addr: SocketAddr, run_id: u64) -> Node {
        let clock = Clock::start();
        Node {
            shard: Shard::new(Config {
                limits: settings.limits.clone(),
                memory_max: settings.memory_max,
                hash_seed: run_id,
                node: settings.node,
                entity_index: settings.entity_index,
                entity_tombstone_ms: settings.entity_tombstone_ms,
                ..Config::default()
            }),
            now: clock.read(),
            clock,
            settings,
            local_addr,
            counters: Counters::default(),
            clients: 0,
            run_id,
            scratch: Scratch::default(),
            watch: Watch::default(),
            stop_asked: false,
        }
    }
}
