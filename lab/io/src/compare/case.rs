//! The loads.

use anyhow::{Context, Result};

/// One load: half of its requests are SET, half GET, with values of 100 bytes.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Connections that send.
    pub(super) connections: u32,
    /// Requests in flight on each.
    pub(super) depth: u32,
    /// Connections that are open beside them and silent.
    pub(super) idle: usize,
    /// Requests of a usual run: one to three seconds.
    pub(super) requests: u64,
}

/// Every load, in the order of the tables.
pub(crate) const CASES: &[Case] = &[
    Case {
        name: "600x1",
        about: "600 connections, one request in flight on each",
        connections: 600,
        depth: 1,
        idle: 0,
        requests: 300_000,
    },
    Case {
        name: "50x64",
        about: "50 connections, 64 requests in flight on each",
        connections: 50,
        depth: 64,
        idle: 0,
        requests: 8_000_000,
    },
    Case {
        name: "1x1",
        about: "one connection, one request in flight",
        connections: 1,
        depth: 1,
        idle: 0,
        requests: 40_000,
    },
    Case {
        name: "10000-50x1",
        about: "10,000 connections, of which 50 have one request in flight each",
        connections: 50,
        depth: 1,
        idle: 9_950,
        requests: 300_000,
    },
];

impl Case {
    /// Requests before measuring begins.
    pub(super) fn warmup(&self) -> u64 {
        self.requests / 10
    }
}

/// The case of this name.
///
/// # Errors
/// When there is none.
pub(super) fn find(name: &str) -> Result<&'static Case> {
    let found = CASES.iter().find(|case| case.name == name);
    found.with_context(|| format!("no case is called {name}: see `list`"))
}
