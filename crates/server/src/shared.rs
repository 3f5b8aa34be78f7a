//! State that all cores of a server share. Fixed at the start, except gauges and counts that cores write with atomics.

use crate::slots::Slots;
use scurry_tls::ExpiryGauge;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// Minimum time between two log lines about failed connections, ms.
const FAULTS_PAUSE_MS: i64 = 1_000;

/// Shared state; one per server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) slots: Slots,
    /// Where plain clients connect.
    pub(crate) main: SocketAddr,
    /// Where cluster clients reach each core.
    pub(crate) core_addresses: Vec<SocketAddr>,
    /// Identifies this run of the server.
    pub(crate) run_id: u64,
    /// Open connections of all cores, without those from within the process.
    pub(crate) clients: AtomicUsize,
    /// Unauthenticated clients among them.
    pub(crate) waiting: AtomicUsize,
    /// Open connections from within the process.
    pub(crate) inside: AtomicUsize,
    next_client: AtomicU64,
    gauges: Vec<Gauge>,
    /// The highest observed memory of all cores, bytes.
    memory_peak_bytes: AtomicU64,
    /// Connections in MONITOR, of all cores.
    pub(crate) monitors: AtomicUsize,
    /// Connections that track, of all cores.
    pub(crate) trackers: AtomicUsize,
    /// Cores that have not answered all that was sent before the server began to stop.
    pub(crate) draining: AtomicUsize,
    /// End of the validity of the certificate that is shown to other nodes.
    pub(crate) node_certificate: Arc<ExpiryGauge>,
    /// When a core may log the next line about faults, ms of uptime.
    faults_after_ms: AtomicI64,
}

/// Sizes that one core has last published. They fill a separate cache line, so that the writing core does not disturb
/// the others.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Gauge {
    memory_bytes: AtomicU64,
}

impl Shared {
    pub(crate) fn new(main: SocketAddr, core_addresses: Vec<SocketAddr>, run_id: u64) -> Shared {
        let cores = core_addresses.len();
        Shared {
            slots: Slots::new(u16::try_from(cores).unwrap_or(u16::MAX)),
            main,
            core_addresses,
            run_id,
            clients: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            inside: AtomicUsize::new(0),
            next_client: AtomicU64::new(1),
            gauges: (0..cores).map(|_| Gauge::default()).collect(),
            memory_peak_bytes: AtomicU64::new(0),
            monitors: AtomicUsize::new(0),
            trackers: AtomicUsize::new(0),
            draining: AtomicUsize::new(cores),
            node_certificate: Arc::default(),
            faults_after_ms: AtomicI64::new(0),
        }
    }

    pub(crate) fn next_client(&self) -> u64 {
        self.next_client.fetch_add(1, Ordering::Relaxed)
    }

    /// Uncounts a connection that is gone.
    pub(crate) fn release_connection(&self, inside: bool) {
        let places = if inside { &self.inside } else { &self.clients };
        places.fetch_sub(1, Ordering::Relaxed);
    }

    /// Reports whether the core may log a line about faults: no other has done so lately. True reserves the line.
    pub(crate) fn may_tell_faults(&self, uptime_ms: i64) -> bool {
        let next = |after_ms| (after_ms <= uptime_ms).then_some(uptime_ms + FAULTS_PAUSE_MS);
        self.faults_after_ms.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Reports whether any connection is in MONITOR.
    #[inline]
    pub(crate) fn is_monitored(&self) -> bool {
        self.monitors.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of tracking connections.
    #[inline]
    pub(crate) fn trackers(&self) -> usize {
        self.trackers.load(Ordering::Relaxed)
    }

    /// Publishes the memory of a core.
    pub(crate) fn publish(&self, core: u16, memory_bytes: u64) {
        self.gauges[usize::from(core)].memory_bytes.store(memory_bytes, Ordering::Relaxed);
    }

    /// Returns the memory of the other cores, bytes.
    pub(crate) fn memory_bytes_beside(&self, core: u16) -> u64 {
        self.beside(core).map(|gauge| gauge.memory_bytes.load(Ordering::Relaxed)).sum()
    }

    /// Raises the peak to the memory of all cores that a core has observed.
    pub(crate) fn note_memory(&self, bytes: u64) {
        self.memory_peak_bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Returns the highest observed memory, bytes.
    pub(crate) fn memory_peak_bytes(&self) -> u64 {
        self.memory_peak_bytes.load(Ordering::Relaxed)
    }

    fn beside(&self, core: u16) -> impl Iterator<Item = &Gauge> {
        let others = move |index: &usize| *index != usize::from(core);
        (0..self.gauges.len()).filter(others).map(|index| &self.gauges[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_once_a_second_by_whoever_comes_first() {
        let address: SocketAddr = ([127, 0, 0, 1], 6389).into();
        let shared = Shared::new(address, vec![address], 1);
        let told = [0, 0, 1, 999, 1_000, 1_001, 5_000, 5_999, 6_000];
        let told = told.map(|uptime_ms| shared.may_tell_faults(uptime_ms));
        assert_eq!(told, [true, false, false, false, true, false, true, false, true]);
    }
}
