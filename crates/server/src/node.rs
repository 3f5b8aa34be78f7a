//! What commands work on: the shard, the time of this turn, the settings, the counters.

use crate::clock::{Clock, Reading};
use crate::counters::Counters;
use crate::settings::Settings;
use crate::users::Desk;
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
    /// Where passwords are given to be checked.
    pub(crate) desk: Desk,
}

impl Node {
    pub(crate) fn new(settings: Settings, local_addr: SocketAddr, run_id: u64, desk: Desk) -> Node {
        let clock = Clock::start();
        Node {
            shard: Shard::new(Config {
                limits: settings.limits.clone(),
                memory_max: settings.memory_max,
                hash_seed: run_id,
            }),
            now: clock.read(),
            clock,
            settings,
            local_addr,
            counters: Counters::default(),
            clients: 0,
            run_id,
            scratch: Scratch::default(),
            desk,
        }
    }
}
