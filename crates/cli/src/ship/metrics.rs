//! The metrics of a shipper over HTTP: `--metrics-listen`.

use super::tell::clock_ms;
use anyhow::Result;
use scurry_door_http::{Door, DoorSettings, open_metrics};
use scurry_server::{Exposition, MetricKind, Users};
use scurry_ship::Measures;
use std::net::SocketAddr;
use std::sync::Arc;

use MetricKind::{Counter, Gauge};

/// Connections at a time: some scrapers and a person.
const CONNECTIONS_MAX: usize = 64;

/// Opens a port with the metrics of a shipper. The page has counts and no ids, so anyone who reaches the address may read it.
pub(super) fn open(listen: SocketAddr, measures: Arc<Measures>) -> Result<Door> {
    let settings = DoorSettings {
        listen,
        listen_option: "--metrics-listen",
        connections_max: CONNECTIONS_MAX,
        threads: 1,
        tls: None,
        users: Arc::new(Users::new(None, &[])?),
        open_access_allowed: true,
        open_access_option: "--metrics-listen",
        hosts: Vec::new(),
        hosts_option: "--metrics-listen",
        unit_decimals: Default::default(),
    };
    let door = open_metrics(&settings, "ship", Arc::new(move |page| show(&measures, page)))?;
    eprintln!("http://{}/metrics is open", door.address());
    Ok(door)
}

fn show(measures: &Measures, page: &mut Exposition) {
    let now = measures.figures();
    let help = "Events that were given to the destination since the start.";
    page.single("scurry_ship_events_total", Counter, help, now.events);
    page.single("scurry_ship_bytes_total", Counter, "Bytes of these events.", now.bytes);
    let help = "Deliveries: all before them is at the destination.";
    page.single("scurry_ship_flushes_total", Counter, help, now.flushes);
    let help = "Attempts that failed and were begun again.";
    page.single("scurry_ship_failures_total", Counter, help, now.failures);
    let help = "Gaps: events that the store no longer kept when they were to be read.";
    page.single("scurry_ship_missed_total", Counter, help, now.missed);
    let help = "Commits of the store that are not read yet.";
    page.single("scurry_ship_behind_commits", Gauge, help, now.behind);
    let age_ms = match now.behind {
        0 => 0,
        _ => (clock_ms() - now.last_event_ms).max(0),
    };
    #[expect(clippy::cast_precision_loss, reason = "an age in seconds")]
    let seconds = age_ms as f64 / 1e3;
    let help = "Age of the last event that was read; 0 when there is none to read.";
    page.single("scurry_ship_lag_seconds", Gauge, help, seconds);
}
