//! The content of the performance page: its comparisons, the times that operators ask for, and how the tables of
//! lab/published.toml are shown. Everything here names results; no line contains a figure.

/// Figure that each run of a row has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Throughput,
    Cpu,
    /// CPU of the HTTP benchmark, server and door together.
    DoorCpu,
    /// How long no client got an answer after a node was killed.
    Gap,
}

/// One of our rows against one peer row; each is a row of a file, selected by the fields in `ours` and `peer`.
pub(super) struct TableLine {
    pub(super) load: &'static str,
    pub(super) against: &'static str,
    pub(super) file: &'static str,
    pub(super) ours: &'static str,
    pub(super) peer: &'static str,
    pub(super) measure: Measure,
    /// True to show it on the front page as well.
    pub(super) is_front: bool,
}

const fn line(
    [load, against, file, ours, peer]: [&'static str; 5],
    measure: Measure,
    is_front: bool,
) -> TableLine {
    TableLine { load, against, file, ours, peer, measure, is_front }
}

use Measure::{Cpu, DoorCpu, Gap, Throughput};

const PIPELINED: &str = "moaf-scur-pipelined.json";
const SINGLE: &str = "moaf-scur-published.json";
const EVERY_PEER: &str = "lab/moaf-scur.json";
const LIVE: &str = "lab/charging-live.json";
const SCURRY: &str = "target=scurry";
const LUA: &str = "Valkey, rules in Lua";

/// All comparisons; those in which ours costs more come first.
#[rustfmt::skip]
pub(super) const LINES: &[TableLine] = &[
    line(["three nodes, by the clock: CPU of the leader", "one machine, `fsync`", LIVE, "target=scurry+replicas step=uniform",
        "target=scurry:fsync step=uniform"], Cpu, false),
    line(["a debit over HTTP: CPU", "over RESP", "charging-http.json", "interface=http", "interface=resp"], DoorCpu, false),
    line(["the module, charging, pipelined", "a plain HSET in Valkey", PIPELINED, "target=valkey+module",
        "target=valkey+hset"], Throughput, true),
    line(["the module in a cluster, on 2 copies: CPU", "the module alone", "valkey-replicas.json",
        "target=valkey-cluster+module acknowledged_copies=2", "target=valkey+module replicas=0"], Cpu, false),
    line(["charging, pipelined, `fsync`", "in memory", "durable.json", "target=scurry:fsync", "target=scurry:none"],
        Throughput, false),
    line(["SET and GET, single", "Valkey", "kv-published.json", SCURRY, "target=valkey"], Throughput, true),
    line(["SET and GET, pipelined", "Valkey", "kv-pipelined.json", SCURRY, "target=valkey"], Throughput, true),
    line(["SET and GET, pipelined", "Redis", "kv-pipelined.json", SCURRY, "target=redis"], Throughput, false),
    line(["charging, single", "Redis, rules in the client", EVERY_PEER, SCURRY, "target=redis+client"], Throughput, false),
    line(["charging, single", LUA, SINGLE, SCURRY, "target=valkey+lua"], Throughput, true),
    line(["charging, single", "MySQL NDB", EVERY_PEER, SCURRY, "target=ndb+client"], Throughput, false),
    line(["charging, single", "Ignite", EVERY_PEER, SCURRY, "target=ignite+java"], Throughput, false),
    line(["charging, single", "Hazelcast", EVERY_PEER, SCURRY, "target=hazelcast+client"], Throughput, false),
    line(["charging, one busy account", "Tarantool", "charging-hot.json", SCURRY, "target=tarantool+lua"], Throughput, false),
    line(["charging, pipelined", LUA, PIPELINED, SCURRY, "target=valkey+lua"], Throughput, true),
    line(["charging, pipelined, `fsync`", "the same, `always`", "durable-peers.json", "target=scurry:fsync",
        "target=valkey+lua:always"], Throughput, true),
    line(["three nodes, the leader killed: no answers", "the module in a Valkey Cluster", "failover-peers.json",
        "target=scurry+replicas", "target=valkey-cluster+module:always"], Gap, false),
];

/// Unit of a value.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    Bytes,
}

/// Values that operators ask for: description, file, JSON pointer and unit.
pub(super) const TIMES: &[(&str, &str, &str, Unit)] = &[
    ("load 100,000,000 accounts, `fsync`", FILL, "/stores/0/filling/seconds", Unit::Seconds),
    (
        "write their snapshot under full load",
        FILL,
        "/stores/0/revival/snapshot_seconds",
        Unit::Seconds,
    ),
    ("start with them after SIGKILL", FILL, "/stores/0/revival/start_seconds", Unit::Seconds),
    ("memory of one of them", FILL, "/stores/0/bytes_per_account", Unit::Bytes),
    (
        "three nodes: no answers after the leader is killed, median",
        FAILOVER,
        "/rows/0/gap_ms_median",
        Unit::Milliseconds,
    ),
    ("the same, the longest of all runs", FAILOVER, "/rows/0/gap_ms_max", Unit::Milliseconds),
    (
        "three nodes: no answers while the leader hands over",
        "transfer.json",
        "/rows/0/gap_ms_median",
        Unit::Milliseconds,
    ),
    (
        "three nodes: until an empty node has replaced a lost one",
        "replace.json",
        "/rows/0/whole_ms_median",
        Unit::Milliseconds,
    ),
];

const FILL: &str = "fill-durable.json";
const FAILOVER: &str = "failover.json";

/// How one table of lab/published.toml is shown.
pub(super) struct TableFormat {
    pub(super) id: &'static str,
    /// Columns that name a row. Rows with the same words share a line.
    pub(super) keys: &'static [&'static str],
    /// Column that is printed as a word before the first value.
    pub(super) before: &'static str,
    /// Columns of values, with the text before and after each.
    pub(super) values: &'static [(&'static str, &'static str, &'static str)],
    /// Our row for comparison: the file, the fields to select the row (with `{COLUMN}` of the published row and
    /// `{value}`, the word before a value), the pointer to the figure, and its divisor. Only the first value of a row
    /// is compared, unless `{value}` occurs.
    pub(super) here: (&'static str, &'static str, &'static str, f64),
}

const RATE: &str = "/business_ops_per_s";

#[rustfmt::skip]
pub(super) const PUBLISHED: &[TableFormat] = &[
    TableFormat { id: "moaf-client-logic", keys: &["system", "logic"], before: "",
        values: &[("business_ops_per_s", "", ""), ("latency_avg_ms", "", " ms")],
        here: ("lab/moaf-scur.json", "target=scurry", RATE, 1.0) },
    TableFormat { id: "moaf-server-logic", keys: &["system", "logic", "replication"], before: "",
        values: &[("business_ops_per_s", "", ""), ("latency_avg_ms", "", " ms")],
        here: ("lab/moaf-scur.json", "target=scurry", RATE, 1.0) },
    TableFormat { id: "kts-persistence", keys: &["system", "persistence"], before: "operation",
        values: &[("requests_per_s", "", "")],
        here: ("lab/kts-persistence.json", "target=scurry:{persistence} step={operation}", RATE, 1.0) },
    TableFormat { id: "kts-index", keys: &["system"], before: "operation", values: &[("median_ms", "", " ms")],
        here: ("lab/kts-index.json", "target=scurry step={operation}", "/latency_us/p50", 1000.0) },
    TableFormat { id: "kts-replication", keys: &["system", "replication"], before: "operation",
        values: &[("requests_per_s", "", "")],
        here: ("lab/kts-replication.json", "target=valkey+module step={operation}", RATE, 1.0) },
    TableFormat { id: "entity-quorum", keys: &["method", "replicas", "overwrite"], before: "",
        values: &[("connections_1_rps", "x1", ""), ("connections_2_rps", "x2", ""), ("connections_4_rps", "x4", "")],
        here: ("lab/entity-quorum.json",
            "target=scurry-http:write step={method}_{replicas}_overwrite_{overwrite}_{value}", RATE, 1.0) },
    TableFormat { id: "ndb-interconnect", keys: &["interconnect"], before: "",
        values: &[("business_ops_per_s", "", ""), ("latency_low_ms", "", " ms"), ("latency_high_ms", "to", " ms")],
        here: ("lab/ndb-30-records.json", "target=scurry", RATE, 1.0) },
    TableFormat { id: "ncache-linear", keys: &["client_instances"], before: "", values: &[("requests_per_s", "", "")],
        here: ("lab/ncache-80-20.json", "target=scurry step=1_node_{client_instances}_connections", RATE, 1.0) },
    TableFormat { id: "charglt", keys: &["system"], before: "",
        values: &[("requested_tx_per_s", "", ""), ("p99_ms", "at p99", " ms")],
        here: ("lab/charglt.json", "target=scurry", RATE, 1.0) },
];
