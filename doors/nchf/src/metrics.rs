//! Counters of the door.

use crate::labelled_counts::LabelledCounts;
use crate::request::Consumer;
use crate::version::Version;
use scurry_sbi::nrf::{NrfState, NrfView};
use scurry_server::{Exposition, MetricKind};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is asked of the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Release,
    Event,
}

impl Operation {
    const ALL: [Operation; 4] =
        [Operation::Create, Operation::Update, Operation::Release, Operation::Event];

    const fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Update => "update",
            Operation::Release => "release",
            Operation::Event => "event",
        }
    }
}

/// Counters by version, then operation.
type Requests = [[AtomicU64; 4]; 2];

/// Counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By consumer.
    requests: LabelledCounts<Requests>,
    /// Attempts to notify, by the address and then why.
    failed_notices: LabelledCounts<LabelledCounts<AtomicU64>>,
    left_out: AtomicU64,
    refused_tokens: AtomicU64,
    late: AtomicU64,
}

impl Metrics {
    pub(crate) fn asked(&self, version: Version, operation: Operation, consumer: &Consumer) {
        let requests = self.requests.of(&consumer.label());
        requests[version as usize][operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an attempt to notify a consumer at this address.
    pub(crate) fn notice_failed(&self, authority: &str, why: &str) {
        self.failed_notices.of(authority).of(why).fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn left_out(&self, count: usize) {
        self.left_out.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn refused_token(&self) {
        self.refused_tokens.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the counters to a page.
    pub(crate) fn show(&self, page: &mut Exposition) {
        let help = "Requests of Nchf that were read, by consumer, version and operation.";
        page.metric("scurry_nchf_requests_total", MetricKind::Counter, help);
        for (consumer, requests) in self.requests.all() {
            for version in [Version::V2, Version::V3] {
                for operation in Operation::ALL {
                    let count =
                        requests[version as usize][operation as usize].load(Ordering::Relaxed);
                    let (version, operation) = (version.word(), operation.name());
                    let labels = [
                        ("consumer", &consumer[..]),
                        ("version", version),
                        ("operation", operation),
                    ];
                    if count > 0 {
                        page.sample(&labels, count);
                    }
                }
            }
        }
        let help = "Attempts to notify a consumer of Nchf that failed, by its address and why.";
        page.metric("scurry_nchf_notice_failures_total", MetricKind::Counter, help);
        for (authority, whys) in self.failed_notices.all() {
            for (why, count) in whys.all() {
                let labels = [("authority", &authority[..]), ("why", &why[..])];
                page.sample(&labels, count.load(Ordering::Relaxed));
            }
        }
        let help = "Members of requests of Nchf that were wrong, and so left out.";
        let left_out = self.left_out.load(Ordering::Relaxed);
        page.single("scurry_nchf_left_out_total", MetricKind::Counter, help, left_out);
        let help = "Requests of Nchf whose access token was refused.";
        let refused = self.refused_tokens.load(Ordering::Relaxed);
        page.single("scurry_nchf_refused_tokens_total", MetricKind::Counter, help, refused);
        let help = "Requests of Nchf whose sender did not wait for the answer any more.";
        let late = self.late.load(Ordering::Relaxed);
        page.single("scurry_nchf_late_total", MetricKind::Counter, help, late);
    }
}

/// Adds the registration at an NRF to a page.
pub(crate) fn show_nrf(view: &NrfView, page: &mut Exposition) {
    let help = "1 for the state of the registration at an NRF.";
    page.metric("scurry_nchf_nrf_state", MetricKind::Gauge, help);
    for state in NrfState::ALL {
        page.sample(&[("state", state.name())], u8::from(view.state == state));
    }
    let counts = &view.counts;
    let help = "Registrations at an NRF, and heartbeats, by what became of them.";
    page.metric("scurry_nchf_nrf_requests_total", MetricKind::Counter, help);
    for (request, outcome, count) in [
        ("registration", "taken", counts.registrations),
        ("registration", "failed", counts.registrations_failed),
        ("heartbeat", "taken", counts.heartbeats),
        ("heartbeat", "failed", counts.heartbeats_failed),
    ] {
        page.sample(&[("request", request), ("outcome", outcome)], count);
    }
}
