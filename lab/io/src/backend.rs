//! The candidates by name.

use std::net::TcpListener;

use anyhow::{Context, Result};

use crate::readiness::{self, Readiness};
use crate::ring::{self, Files, RING, Receive, RingPlan, Send, Wait, Work};
use crate::runtime;

/// One way to do the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Readiness(Readiness),
    Runtime,
    Ring(RingPlan),
}

/// A candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) backend: Backend,
    /// Compared when nothing else is asked for.
    pub(crate) is_default: bool,
}

const fn candidate(name: &'static str, about: &'static str, backend: Backend) -> Candidate {
    Candidate { name, about, backend, is_default: true }
}

/// A loop that never sleeps uses all of its core, so its CPU time says nothing: on demand only.
const fn on_demand(candidate: Candidate) -> Candidate {
    Candidate { is_default: false, ..candidate }
}

const BATCH: Wait = Wait::Batch { events: 16, micros: 50 };

/// Every candidate, in the order of the tables.
pub(crate) const CANDIDATES: &[Candidate] = &[
    candidate(
        "epoll",
        "mio, edge-triggered, read until short, one write",
        Backend::Readiness(Readiness { busy: false }),
    ),
    candidate("tokio", "current_thread, a task per connection", Backend::Runtime),
    candidate("ring", "multishot receive, submitted sends, deferred work", Backend::Ring(RING)),
    candidate(
        "ring-registered",
        "ring, with sockets in the ring's own table",
        Backend::Ring(RingPlan { files: Files::Registered, ..RING }),
    ),
    candidate(
        "ring-direct",
        "ring, with a system call per send",
        Backend::Ring(RingPlan { send: Send::Direct, ..RING }),
    ),
    candidate(
        "ring-single",
        "ring, asking for each receive anew",
        Backend::Ring(RingPlan { receive: Receive::Single, ..RING }),
    ),
    candidate(
        "ring-bundle",
        "ring, one completion for several buffers",
        Backend::Ring(RingPlan { receive: Receive::Bundled, ..RING }),
    ),
    candidate(
        "ring-coop",
        "ring, with COOP_TASKRUN for DEFER_TASKRUN",
        Backend::Ring(RingPlan { work: Work::Cooperative, ..RING }),
    ),
    candidate(
        "ring-arrival",
        "ring, waiting for its sends and one completion more",
        Backend::Ring(RingPlan { wait: Wait::Arrival, ..RING }),
    ),
    candidate(
        "ring-batch",
        "ring, waiting for 16 completions or 50 microseconds",
        Backend::Ring(RingPlan { wait: BATCH, ..RING }),
    ),
    on_demand(candidate(
        "epoll-busy",
        "epoll, asking without a pause",
        Backend::Readiness(Readiness { busy: true }),
    )),
    on_demand(candidate(
        "ring-busy",
        "ring, looking without a pause",
        Backend::Ring(RingPlan { wait: Wait::Busy, ..RING }),
    )),
];

/// The candidate of this name.
///
/// # Errors
/// When there is none.
pub(crate) fn find(name: &str) -> Result<Candidate> {
    let found = CANDIDATES.iter().find(|candidate| candidate.name == name);
    found.copied().with_context(|| format!("no candidate is called {name}: see `list`"))
}

impl Backend {
    /// Serves until it is killed.
    ///
    /// # Errors
    /// When the kernel refuses something that no connection is to blame for.
    pub(crate) fn serve(self, listener: TcpListener) -> Result<()> {
        match self {
            Backend::Readiness(plan) => readiness::serve(listener, plan)?,
            Backend::Runtime => runtime::serve(listener)?,
            Backend::Ring(plan) => ring::serve(listener, plan).context("serving by io_uring")?,
        }
        Ok(())
    }
}
