//! Counters of the door as a whole. Those of peers are in the table of peers.

use crate::latencies::Latencies;
use crate::link::{ConnectionState, Link};
use scurry_diameter::ResultCode;
use scurry_diameter::peer::CommandKind;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most pairs of command and Result-Code that are counted apart. The answers have about 30.
const ANSWERS_MAX: usize = 256;

/// Why a connection was refused, or ended for a fault of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFault {
    /// There were too many connections.
    TooMany,
    /// There were too many connections without capabilities.
    TooManyUnidentified,
    /// The handshake of TLS has failed or took too long.
    Tls,
    /// Capabilities were not exchanged in time.
    NoCapabilities,
    /// The first message was another one.
    BeforeCapabilities,
    /// The peer is not known: 3010.
    UnknownPeer,
    /// Another connection with the same Origin-Host stays: 4003.
    ElectionLost,
    /// The peer was refused with another code.
    Refused,
    /// The bytes were no message.
    Frame,
    /// A message was not complete in time.
    SlowMessage,
    /// The peer did not read.
    WriteTimeout,
    /// The peer did not answer the watchdog.
    Watchdog,
}

impl ConnectionFault {
    /// All faults, in the order of the counters.
    pub const ALL: [ConnectionFault; 12] = [
        ConnectionFault::TooMany,
        ConnectionFault::TooManyUnidentified,
        ConnectionFault::Tls,
        ConnectionFault::NoCapabilities,
        ConnectionFault::BeforeCapabilities,
        ConnectionFault::UnknownPeer,
        ConnectionFault::ElectionLost,
        ConnectionFault::Refused,
        ConnectionFault::Frame,
        ConnectionFault::SlowMessage,
        ConnectionFault::WriteTimeout,
        ConnectionFault::Watchdog,
    ];

    /// Returns its name, for labels of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            ConnectionFault::TooMany => "too_many",
            ConnectionFault::TooManyUnidentified => "too_many_unidentified",
            ConnectionFault::Tls => "tls",
            ConnectionFault::NoCapabilities => "no_capabilities",
            ConnectionFault::BeforeCapabilities => "before_capabilities",
            ConnectionFault::UnknownPeer => "unknown_peer",
            ConnectionFault::ElectionLost => "election_lost",
            ConnectionFault::Refused => "refused",
            ConnectionFault::Frame => "frame",
            ConnectionFault::SlowMessage => "slow_message",
            ConnectionFault::WriteTimeout => "write_timeout",
            ConnectionFault::Watchdog => "watchdog",
        }
    }
}

/// Number of answers by command and Result-Code.
pub type AnswerCounts = BTreeMap<(&'static str, ResultCode), u64>;

/// The counters at one moment.
#[derive(Clone, Debug, Default)]
pub struct DoorCounts {
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that are there, in the order of [`ConnectionState::ALL`].
    pub connections: [u64; ConnectionState::ALL.len()],
    /// Connections that were refused or ended for a fault, in the order of [`ConnectionFault::ALL`].
    pub faults: [u64; ConnectionFault::ALL.len()],
    /// Answers to requests of the application. Those that the peer machine has refused are counted for the peer only.
    pub answers: AnswerCounts,
    /// Durations of credit-control requests, from the read to the formed answer.
    pub latencies: Latencies,
}

impl DoorCounts {
    /// Returns how many connections had that fault.
    pub fn faults_of(&self, fault: ConnectionFault) -> u64 {
        self.faults[fault as usize]
    }

    /// Returns how many connections are in that state.
    pub fn connections_in(&self, state: ConnectionState) -> u64 {
        self.connections[state as usize]
    }
}

#[derive(Debug, Default)]
struct AnswerTable {
    counts: AnswerCounts,
    latencies: Latencies,
}

/// Counters of one door.
#[derive(Debug, Default)]
pub(crate) struct DoorMetrics {
    accepted: AtomicU64,
    faults: [AtomicU64; ConnectionFault::ALL.len()],
    answers: Mutex<AnswerTable>,
    /// All connections; the listener bounds their number.
    links: Mutex<BTreeMap<u64, Arc<Link>>>,
}

impl DoorMetrics {
    /// Counts a new connection. Its number is the count before it.
    pub(crate) fn connected(&self) -> Arc<Link> {
        let link = Arc::new(Link::new(self.accepted.fetch_add(1, Ordering::Relaxed)));
        self.links().insert(link.id, Arc::clone(&link));
        link
    }

    pub(crate) fn disconnected(&self, link: &Link) {
        self.links().remove(&link.id);
    }

    /// Orders all connections to end.
    pub(crate) fn drain_all(&self) {
        self.links().values().for_each(|link| link.drain());
    }

    pub(crate) fn fault(&self, fault: ConnectionFault) {
        self.faults[fault as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer, and how long it took if it was asked of the store.
    pub(crate) fn answered(&self, command: u32, result: ResultCode, duration_us: Option<u64>) {
        let mut answers = self.answers();
        let key = (CommandKind::of(command).name(), result);
        let has_room = answers.counts.len() < ANSWERS_MAX || answers.counts.contains_key(&key);
        *answers.counts.entry(if has_room { key } else { OTHER_ANSWER }).or_default() += 1;
        if let Some(duration_us) = duration_us {
            answers.latencies.note(duration_us);
        }
    }

    pub(crate) fn snapshot(&self) -> DoorCounts {
        let mut connections = [0; ConnectionState::ALL.len()];
        for link in self.links().values() {
            connections[link.state() as usize] += 1;
        }
        let answers = self.answers();
        DoorCounts {
            accepted: self.accepted.load(Ordering::Relaxed),
            connections,
            faults: std::array::from_fn(|at| self.faults[at].load(Ordering::Relaxed)),
            answers: answers.counts.clone(),
            latencies: answers.latencies,
        }
    }

    fn answers(&self) -> MutexGuard<'_, AnswerTable> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn links(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where answers are counted for which there is no room.
const OTHER_ANSWER: (&str, ResultCode) = ("other", ResultCode(0));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_the_order_of_the_counters() {
        assert!(ConnectionFault::ALL.iter().enumerate().all(|(at, fault)| *fault as usize == at));
        assert!(ConnectionState::ALL.iter().enumerate().all(|(at, state)| *state as usize == at));
    }
}
