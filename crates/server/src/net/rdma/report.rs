//! What was counted of RDMA, for INFO and `/metrics`.

use scurry_rdma::Counters;
use scurry_rdma_proto::Counts;

/// Of one core, or of several together.
#[derive(Clone, Debug, Default)]
pub(crate) struct RdmaReport {
    /// Open connections.
    pub(crate) connections: u64,
    /// Memory that is pinned for them, bytes.
    pub(crate) pinned_bytes: u64,
    /// Counts of connections, those that are closed included.
    pub(crate) counts: Counts,
    /// Counts of requests to the device.
    pub(crate) device: Counters,
}

impl RdmaReport {
    /// Takes one more open connection in.
    pub(crate) fn take_in(&mut self, pinned_bytes: u64, counts: &Counts) {
        self.connections += 1;
        self.pinned_bytes += pinned_bytes;
        self.counts.add(counts);
    }

    /// Adds that of another core.
    pub(crate) fn add(&mut self, other: &RdmaReport) {
        self.connections += other.connections;
        self.pinned_bytes += other.pinned_bytes;
        self.counts.add(&other.counts);
        self.device.add(&other.device);
    }

    /// Each count: the name of its metric, what it is, and its value.
    pub(crate) fn lines(&self) -> [(&'static str, &'static str, u64); 18] {
        let (counts, device) = (&self.counts, &self.device);
        [
            (
                "scurry_rdma_messages_in_total",
                "Messages that have come: data with an immediate, and control.",
                counts.messages_in,
            ),
            (
                "scurry_rdma_copies_in_total",
                "Times that bytes were copied out of a window.",
                counts.copies_in,
            ),
            (
                "scurry_rdma_copied_in_bytes_total",
                "Bytes that were copied out of a window.",
                counts.copied_in_bytes,
            ),
            (
                "scurry_rdma_copies_out_total",
                "Times that bytes were copied to be sent.",
                counts.copies_out,
            ),
            (
                "scurry_rdma_copied_out_bytes_total",
                "Bytes that were copied to be sent.",
                counts.copied_out_bytes,
            ),
            ("scurry_rdma_writes_total", "Writes into memory of peers.", counts.writes),
            (
                "scurry_rdma_immediates_total",
                "Of them, those that told the peer.",
                counts.immediates,
            ),
            (
                "scurry_rdma_inline_writes_total",
                "Of them, those whose bytes were in the request.",
                counts.inline,
            ),
            (
                "scurry_rdma_control_messages_total",
                "Control messages that were sent.",
                counts.sends,
            ),
            (
                "scurry_rdma_announcements_total",
                "Windows that were announced.",
                counts.announcements,
            ),
            (
                "scurry_rdma_stalls_out_total",
                "Times that replies waited for a window.",
                counts.stalls_out,
            ),
            (
                "scurry_rdma_stalls_in_total",
                "Times that a full window had none behind it.",
                counts.stalls_in,
            ),
            ("scurry_rdma_signalled_total", "Requests whose end was to be told.", counts.signalled),
            (
                "scurry_rdma_doorbells_total",
                "Calls that handed requests to the device.",
                device.doorbells,
            ),
            (
                "scurry_rdma_receive_doorbells_total",
                "Calls that handed receive entries to it.",
                device.receive_doorbells,
            ),
            ("scurry_rdma_completions_total", "Completions that were taken.", device.completions),
            (
                "scurry_rdma_completion_events_total",
                "Wake-ups by completions.",
                device.completion_events,
            ),
            (
                "scurry_rdma_registrations_total",
                "Memory registered and given back.",
                device.registrations,
            ),
        ]
    }
}
