//! `scurry-lab http2-memory`: the memory of the HTTP door with many HTTP/2 connections in one state. Each state has a
//! server of its own, because a server keeps pages that it has used once.

mod connection;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::arguments::Http2MemoryArguments;
use crate::figures::rounded;
use crate::host::Host;
use crate::measure::{Bench, Copies};
use crate::progress::RunCount;
use crate::report::{Grid, grouped};
use crate::routes::Ports;
use crate::scenario::Scenario;
use crate::snapshotter::Snapshots;
use crate::target::{Durability, Target, network_door};
use crate::testbed::{Testbed, allow_files, write_json};
use connection::IdleConnection;

/// Files of the lab and the server beside the connections.
const FILES: u64 = 200;

/// State of the connections of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    name: &'static str,
    /// The step has the command line's number of connections divided by this.
    share: u32,
    /// Requests that were answered before.
    answered: u32,
    /// Requests that are open: their bodies have not ended.
    open: OpenRequests,
}

/// Open requests of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OpenRequests {
    count: u32,
    /// Bytes of a long header of each.
    header_len: usize,
    /// Bytes of the body of each that are sent.
    body_len: usize,
}

const NONE: OpenRequests = OpenRequests { count: 0, header_len: 0, body_len: 0 };
/// The bounds of docs/http.md: 128 streams, 64 KiB of headers as RFC 9113 counts them, 256 KiB of a body.
const FULL: OpenRequests = OpenRequests { count: 128, header_len: 60_000, body_len: 255 * 1_024 };
const STATES: [State; 4] = [
    State { name: "idle", share: 1, answered: 0, open: NONE },
    State { name: "idle after an answer", share: 1, answered: 1, open: NONE },
    State {
        name: "100 open requests",
        share: 10,
        answered: 0,
        open: OpenRequests { count: 100, ..NONE },
    },
    State { name: "at the bounds", share: 250, answered: 0, open: FULL },
];

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Http2MemoryReport {
    /// Machine of the measurement.
    #[serde(flatten)]
    pub host: Host,
    /// One row for each state of the connections.
    pub rows: Vec<Http2MemoryRow>,
}

/// Memory of a server in one state of its connections.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Http2MemoryRow {
    /// Name of the state.
    pub state: String,
    /// Connections.
    pub connections: u32,
    /// Open requests of each connection.
    pub open_requests: u32,
    /// Bytes of heads and bodies of open requests that each connection has sent.
    pub sent_bytes: u64,
    /// Resident memory before the connections, bytes.
    pub memory_before: u64,
    /// Resident memory with the connections, bytes.
    pub memory_after: u64,
    /// Memory that was added, bytes for each connection.
    pub bytes_per_connection: f64,
    /// The same for each open request; None without.
    pub bytes_per_request: Option<f64>,
}

/// Weighs a server in each state, prints the table and writes it.
///
/// # Errors
/// When the server does not start, or does not keep the connections and requests open.
pub fn http2_memory(arguments: &Http2MemoryArguments) -> Result<()> {
    arguments.check()?;
    allow_files(u64::from(arguments.connections) + FILES)?;
    let testbed = Testbed::prepare(&arguments.common)?;
    let mut report = Http2MemoryReport { host: testbed.host.clone(), rows: Vec::new() };
    for state in STATES {
        testbed.go_on()?;
        let connections = (arguments.connections / state.share).max(1);
        let row = weigh(&testbed, &state, connections);
        report
            .rows
            .push(row.with_context(|| format!("{connections} connections, {}", state.name))?);
    }
    print!("{}", report.render());
    write_json(arguments.common.json.as_deref(), &report)
}

fn weigh(testbed: &Testbed, state: &State, connections: u32) -> Result<Http2MemoryRow> {
    let scenario = Scenario { connections, ..Scenario::built_in("nchf")? };
    let bench = Bench {
        scenario: &scenario,
        target: Target::ScurryNchf,
        durability: Durability::None,
        place: &testbed.place.path,
        snapshots: Snapshots::None,
        revives: false,
        address: None,
        program: testbed.program.clone(),
        cores: testbed.cores.as_ref(),
        scurry: &testbed.scurry,
        ports: Ports::Main,
        rdma: None,
        copies: Copies::default(),
        echo_sizes: "",
        library: None,
        interrupted: &testbed.interrupted,
        step: RunCount::default(),
        quiet: testbed.quiet,
    };
    let fleet = bench.start()?;
    let door = network_door(fleet.first().address());
    // What the door sets up with its first connection is not counted.
    let mut first = IdleConnection::open(door)?;
    first.exchange()?;
    let memory_before = fleet.resident_bytes()?;
    let mut open = Vec::new();
    for _ in 0..connections {
        testbed.go_on()?;
        let mut connection = IdleConnection::open(door)?;
        for _ in 0..state.answered {
            connection.exchange()?;
        }
        connection.begin(&state.open)?;
        open.push(connection);
    }
    // The door has read everything that was sent before it answers a PING, and has kept all requests open.
    open.iter_mut().try_for_each(IdleConnection::ping)?;
    let memory_after = fleet.resident_bytes()?;
    let added = memory_after.saturating_sub(memory_before) as f64 / f64::from(connections);
    let requests = state.open;
    let sent_bytes = u64::from(requests.count) * (requests.header_len + requests.body_len) as u64;
    Ok(Http2MemoryRow {
        state: state.name.to_owned(),
        connections,
        open_requests: requests.count,
        sent_bytes,
        memory_before,
        memory_after,
        bytes_per_connection: rounded(added, 1),
        bytes_per_request: (requests.count > 0)
            .then(|| rounded(added / f64::from(requests.count), 1)),
    })
}

impl Http2MemoryReport {
    /// Renders the report as text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "<connections",
            "number",
            "open requests each",
            "sent each MB",
            "RSS before MB",
            "RSS MB",
            "bytes/connection",
            "bytes/request",
        ]);
        let mb = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
        for row in &self.rows {
            grid.push(vec![
                row.state.clone(),
                grouped(f64::from(row.connections)),
                row.open_requests.to_string(),
                mb(row.sent_bytes),
                mb(row.memory_before),
                mb(row.memory_after),
                grouped(row.bytes_per_connection),
                row.bytes_per_request.map_or("-".to_owned(), grouped),
            ]);
        }
        format!(
            "\n{}memory of the whole process, without the kernel's buffers of sockets; one run each: no claim\n{}, {} \
             cores, Linux {}\n",
            grid.render(),
            self.host.cpu,
            self.host.cores,
            self.host.kernel
        )
    }
}
