//! INFO: describes the server in lines of `name:value`. A line with a counterpart in Valkey has its name, form and
//! section.

mod statistics;

use super::{Lines, replication};
use crate::execute::client::Client;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::report::{Question, Report};
use crate::net::port::PortKind;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use scurry_engine::Durability;
use scurry_resp::{Args, Reply};

/// Settings of this core and reports of all cores, from which sections are written.
struct Source<'a> {
    node: &'a Node,
    client: &'a Client,
    all: Report,
}

/// A section's title, its writer, and whether it is shown by default.
type Section = (&'static str, fn(&Source<'_>, &mut Lines), bool);

const SECTIONS: &[Section] = &[
    ("Server", server, true),
    ("Clients", clients, true),
    ("Memory", memory, true),
    ("Persistence", persistence, true),
    ("Stats", stats, true),
    ("Replication", |source, lines| replication::describe(source.node, source.client, lines), true),
    ("RDMA", rdma, true),
    ("Scurry", scurry, true),
    ("CPU", cpu, true),
    ("Commandstats", statistics::commands, false),
    ("Errorstats", statistics::errors, true),
    ("Cluster", cluster, true),
    ("Keyspace", keyspace, true),
];

/// Reports whether this argument of INFO asks for the section.
fn asks_for(argument: &[u8], (title, _, by_default): &Section) -> bool {
    let is = |word: &str| argument.eq_ignore_ascii_case(word.as_bytes());
    is(title) || is("all") || is("everything") || *by_default && is("default")
}

/// Answers INFO; needs the reports of all cores.
pub(crate) fn info(
    node: &Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    let Some(told) = client.told.take() else { return Effect::AskCores(Question::Report) };
    let source = Source { node, client, all: Report::of_all(&told) };
    let mut lines = Lines(String::new());
    for section in SECTIONS {
        let (title, write, by_default) = section;
        let none = args.len() == 1;
        if none && *by_default || args.iter_from(1).any(|name| asks_for(name, section)) {
            if !lines.0.is_empty() {
                lines.0.push_str("\r\n");
            }
            lines.0.push_str("# ");
            lines.0.push_str(title);
            lines.0.push_str("\r\n");
            write(&source, &mut lines);
        }
    }
    reply.verbatim(&lines.0);
    Effect::None
}

fn server(source: &Source<'_>, lines: &mut Lines) {
    let node = source.node;
    // The level of the generic commands that clients may assume; our own version follows.
    lines.line("redis_version", "7.2.4");
    lines.line("server_name", "scurry");
    lines.line("scurry_version", env!("CARGO_PKG_VERSION"));
    // The tables of time zones that this program has in itself.
    lines.line("tzdata_version", scurry_ledger::TZDATA_VERSION);
    // Valkey's name for it, and Redis's.
    for name in ["server_mode", "redis_mode"] {
        lines.line(name, if is_cluster(source) { "cluster" } else { "standalone" });
    }
    lines.line("os", std::env::consts::OS);
    lines.line("arch_bits", usize::BITS);
    lines.line("process_id", std::process::id());
    lines.line("run_id", format_args!("{:040x}", node.shared.run_id));
    lines.line("tcp_port", source.client.local.port());
    lines.line("threads", node.shared.slots.cores());
    lines.line("server_time_usec", node.now.time.0.saturating_mul(1000));
    lines.line("uptime_in_seconds", node.now.uptime_ms / 1000);
    lines.line("uptime_in_days", node.now.uptime_ms / 86_400_000);
    lines.line("durability", durability(node.durable.durability()));
}

fn clients(source: &Source<'_>, lines: &mut Lines) {
    lines.line("connected_clients", source.all.clients);
    // There is no cluster bus: the nodes of a group are not clients.
    lines.line("cluster_connections", 0);
    lines.line("maxclients", source.node.settings.clients_max);
    lines.line("blocked_clients", source.all.blocked);
    lines.line("clients_in_timeout_table", 0);
    // The unauthenticated part of connected_clients.
    lines.line("unauthenticated_clients", source.all.waiting);
    lines.line("tracking_clients", source.node.shared.trackers());
}

fn memory(source: &Source<'_>, lines: &mut Lines) {
    let (stats, connections) = (&source.all.stats, source.all.connection_bytes);
    let (used, resident) = (stats.memory_bytes + connections, resident_bytes());
    let max = source.node.settings.memory_max.unwrap_or(0);
    source.node.shared.note_memory(used);
    let peak = source.node.shared.memory_peak_bytes();
    for (name, bytes) in [
        ("used_memory", used),
        ("used_memory_rss", resident),
        ("used_memory_peak", peak),
        ("total_system_memory", system_bytes()),
        ("maxmemory", max),
    ] {
        lines.line(name, bytes);
        lines.line(&format!("{name}_human"), statistics::human(bytes));
    }
    let dataset = stats.memory.accounts + stats.memory.values + stats.memory.entities;
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    lines.line("used_memory_peak_perc", format_args!("{:.2}%", percent(used, peak)));
    lines.line("used_memory_dataset", dataset);
    lines.line("used_memory_dataset_perc", format_args!("{:.2}%", percent(dataset, used)));
    lines.line("used_memory_overhead", used.saturating_sub(dataset));
    lines.line(
        "mem_fragmentation_ratio",
        format_args!("{:.2}", resident as f64 / used.max(1) as f64),
    );
    lines.line("mem_fragmentation_bytes", signed(resident) - signed(used));
    // The parts of used_memory.
    for (kind, bytes) in [
        ("accounts", stats.memory.accounts),
        ("values", stats.memory.values),
        ("entities", stats.memory.entities),
        ("table", stats.memory.table),
        ("timers", stats.memory.timers),
        ("index", stats.memory.index),
        ("connections", connections),
    ] {
        lines.line(&format!("used_memory_{kind}"), bytes);
    }
    lines.line("maxmemory_policy", "noeviction");
    lines.line("mem_allocator", "libc");
    // These do not exist here.
    for never in [
        "used_memory_lua",
        "number_of_cached_scripts",
        "number_of_functions",
        "mem_not_counted_for_evict",
        "mem_replication_backlog",
        "mem_clients_slaves",
        "active_defrag_running",
        "lazyfree_pending_objects",
    ] {
        lines.line(never, 0);
    }
    lines.line("mem_clients_normal", connections);
    // Memory of unauthenticated connections; it is not a part of used_memory.
    lines.line("mem_clients_unauthenticated", source.all.lobby_bytes);
}

/// Returns the memory of the process, bytes; 0 where the system does not report it.
pub(crate) fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(4096)
}

/// Returns the memory of the machine, bytes; 0 where the system does not report it.
fn system_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = kilobytes.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.unwrap_or(0u64).saturating_mul(1024)
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Returns the word for a mode.
fn durability(durability: Durability) -> &'static str {
    match durability {
        Durability::None => "none",
        Durability::Write => "write",
        Durability::Fsync => "fsync",
    }
}

fn persistence(source: &Source<'_>, lines: &mut Lines) {
    let all = &source.all.durable;
    let status = |failed: bool| if failed { "err" } else { "ok" };
    let is_full = all.full || all.device_full;
    let log_enabled = u8::from(source.node.durable.durability() != Durability::None);
    lines.line("loading", 0);
    lines.line("async_loading", 0);
    // Snapshots and the log under the names that Redis and Valkey use.
    lines.line("rdb_changes_since_last_save", all.sequence.saturating_sub(all.snapshot_sequence));
    lines.line("rdb_bgsave_in_progress", u8::from(all.snapshot_running));
    lines.line("rdb_last_save_time", all.snapshot_time.0 / 1_000);
    lines.line("rdb_last_bgsave_status", status(all.snapshots_failed > 0));
    lines.line("rdb_saves", all.snapshots);
    lines.line("aof_enabled", log_enabled);
    // The log is never rewritten: a snapshot replaces the part before it.
    for never in ["aof_rewrite_in_progress", "aof_rewrite_scheduled", "aof_rewrites"] {
        lines.line(never, 0);
    }
    for none in ["aof_last_rewrite_time_sec", "aof_current_rewrite_time_sec"] {
        lines.line(none, -1);
    }
    lines.line("aof_last_bgrewrite_status", "ok");
    lines.line("aof_last_write_status", status(all.failed || is_full || all.device_still));
    lines.line("log_enabled", log_enabled);
    let log_status = match (is_full, all.device_still) {
        (true, _) => "full",
        (false, true) => "still",
        (false, false) => status(all.failed),
    };
    lines.line("log_status", log_status);
    // Sums over all threads.
    lines.line("log_sequence", all.sequence);
    lines.line("log_sequence_durable", all.durable);
    lines.line("log_sequence_synced", all.synced);
    lines.line("log_bytes", all.bytes);
    lines.line("log_batches", all.batches);
    lines.line("log_kept_bytes", all.kept.bytes);
    // 0 where it is not known.
    lines.line("log_kept_from", all.kept.from.map_or(0, |from| from.0 / 1_000));
    lines.line("log_can_keep_seconds", all.kept.possible_ms.map_or(0, |ms| ms / 1_000));
    lines.line("snapshot_in_progress", u8::from(all.snapshot_running));
    lines.line("snapshots_written", all.snapshots);
    lines.line("snapshots_failed", all.snapshots_failed);
    lines.line("snapshot_last_sequence", all.snapshot_sequence);
    lines.line("snapshot_last_time", all.snapshot_time.0 / 1_000);
}

fn stats(source: &Source<'_>, lines: &mut Lines) {
    let counters = &source.all.counters;
    lines.line("total_connections_received", counters.connections_accepted);
    lines.line("rejected_connections", counters.connections_refused);
    lines.line("unauthenticated_connections_closed", counters.connections_shown_out);
    lines.line("total_commands_processed", counters.commands);
    lines.line("total_error_replies", counters.errors);
    lines.line("protocol_errors", counters.protocol_errors);
    lines.line("password_hashes_computed", source.node.settings.users.computed());
    let rates = source.all.rates;
    lines.line("instantaneous_ops_per_sec", format_args!("{:.0}", rates.commands));
    for (name, bytes) in [("input", rates.bytes_in), ("output", rates.bytes_out)] {
        lines.line(&format!("instantaneous_{name}_kbps"), format_args!("{:.2}", bytes / 1024.0));
    }
    lines.line("total_net_input_bytes", counters.bytes_in);
    lines.line("total_net_output_bytes", counters.bytes_out);
    lines.line("keyspace_hits", counters.hits);
    lines.line("keyspace_misses", counters.misses);
    lines.line("expired_keys", source.all.stats.expired);
    for never in [
        "evicted_keys",
        "evicted_clients",
        "sync_full",
        "sync_partial_ok",
        "sync_partial_err",
        "pubsub_channels",
        "pubsub_patterns",
        "pubsubshard_channels",
        "latest_fork_usec",
        "total_forks",
        "active_defrag_hits",
        "active_defrag_misses",
        "active_defrag_key_hits",
        "active_defrag_key_misses",
        "slave_expires_tracked_keys",
        "migrate_cached_sockets",
        "client_output_buffer_limit_disconnections",
    ] {
        lines.line(never, 0);
    }
    lines.line("clock_set_back", counters.clock_set_back);
    lines.line("longest_probe", source.all.stats.longest_probe);
    lines.line("tracking_total_keys", source.all.tracked.keys);
    lines.line("tracking_total_items", source.all.tracked.items);
    lines.line("tracking_total_prefixes", 0);
}

fn rdma(source: &Source<'_>, lines: &mut Lines) {
    lines.line("rdma_enabled", u8::from(source.node.settings.adapter.is_some()));
    if source.node.settings.adapter.is_none() {
        return;
    }
    let report = &source.all.adapter;
    lines.line("rdma_connections", report.connections);
    lines.line("rdma_pinned_bytes", report.pinned_bytes);
    for count in &report.counts {
        let name = count.name.trim_start_matches("scurry_").trim_end_matches("_total");
        lines.line(name, count.value);
    }
}

fn scurry(source: &Source<'_>, lines: &mut Lines) {
    let (stats, totals) = (&source.all.stats, &source.all.totals);
    lines.line("accounts", totals.accounts);
    lines.line("sessions", totals.sessions);
    lines.line("commits", stats.commits);
    lines.line("denials", stats.denials.sum());
    // By result code.
    lines.line("denials_credit_limit_reached", stats.denials.for_credit());
    lines.line("denials_service_denied", stats.denials.status);
    lines.line("denials_chain_denied", stats.denials.chain);
    lines.line("replays", stats.replays);
    lines.line("rejects", stats.rejects);
    lines.line("entities", stats.entities);
    lines.line("expiries", stats.expiries);
    lines.line("request_ns_up_to", statistics::durations(&source.all.measures.requests));
    for unit in &totals.units {
        lines.line(
            &format!("unit_{}", unit.unit.as_str()),
            format_args!(
                "available={},held={},credited={},refunded={},consumed={},expired={},voided={},\
                 overdrawn={},uncollected={}",
                unit.available,
                unit.held,
                unit.credited,
                unit.refunded,
                unit.consumed,
                unit.expired,
                unit.voided,
                unit.overdrawn,
                unit.uncollected,
            ),
        );
    }
}

fn cpu(_: &Source<'_>, lines: &mut Lines) {
    for (who, end) in [(UsageWho::RUSAGE_SELF, ""), (UsageWho::RUSAGE_CHILDREN, "_children")] {
        let Ok(usage) = getrusage(who) else { continue };
        for (name, time) in
            [("used_cpu_sys", usage.system_time()), ("used_cpu_user", usage.user_time())]
        {
            let microseconds = time.num_microseconds();
            lines.line(
                &format!("{name}{end}"),
                format_args!("{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000),
            );
        }
    }
}

fn cluster(source: &Source<'_>, lines: &mut Lines) {
    lines.line("cluster_enabled", u8::from(is_cluster(source)));
}

/// Reports whether this is a thread's port, whose clients need to know the slots. The CLUSTER commands work on every
/// port.
fn is_cluster(source: &Source<'_>) -> bool {
    source.client.port == PortKind::Core
}

fn keyspace(source: &Source<'_>, lines: &mut Lines) {
    let keys = source.all.stats.keys;
    if keys > 0 {
        lines.line(
            "db0",
            format_args!("keys={keys},expires={},avg_ttl=0", source.all.stats.expiring),
        );
    }
}
