//! RDMA counters for INFO and `/metrics`.

use scurry_rdma::Counters;
use scurry_rdma_proto::Counts;
use scurry_server::AdapterCount;

/// Returns each counter with its metric name: first the connections' counters, closed ones included, then the device's.
pub(crate) fn counts_of(counts: &Counts, device: &Counters) -> [AdapterCount; 18] {
    let lines = [
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
        ("scurry_rdma_immediates_total", "Of them, those that told the peer.", counts.immediates),
        (
            "scurry_rdma_inline_writes_total",
            "Of them, those whose bytes were in the request.",
            counts.inline,
        ),
        ("scurry_rdma_control_messages_total", "Control messages that were sent.", counts.sends),
        ("scurry_rdma_announcements_total", "Windows that were announced.", counts.announcements),
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
    ];
    lines.map(|(name, help, value)| AdapterCount { name, help, value })
}
