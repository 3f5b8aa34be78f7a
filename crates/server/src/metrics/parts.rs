//! The metrics themselves, part by part.

use super::Source;
use crate::execute::commands::replication::word;
use crate::mail::report::{CoreReport, KeptLog, Report};
use crate::measures::histogram::Histogram;
use crate::metrics::exposition::{Exposition, MetricKind};
use scurry_consensus::shard::ShardView;
use scurry_engine::Durability;
use scurry_ledger::{Totals, UnitTotals};
use scurry_resp::table;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use MetricKind::{Counter, Gauge};

pub(super) fn process(source: &Source<'_>, page: &mut Exposition) {
    page.metric("scurry_info", Gauge, "Always 1; the labels say what runs.");
    let durability = match source.measurement.settings.storage.as_ref().map(|it| it.durability) {
        None | Some(Durability::None) => "none",
        Some(Durability::Write) => "write",
        Some(Durability::Fsync) => "fsync",
    };
    let shared = &source.measurement.shared;
    let (run_id, listen) = (format!("{:040x}", shared.run_id), shared.main.to_string());
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("durability", durability),
        ("run_id", &run_id),
        ("listen", &listen),
    ];
    page.sample(&labels, 1);
    let uptime_ms = source.cores.iter().map(|(_, core)| core.now.uptime_ms).max().unwrap_or(0);
    let help = "Since the server was started.";
    page.single("scurry_uptime_seconds", Gauge, help, uptime_ms as f64 / 1e3);
    let help = "1 when the core has answered within a second.";
    page.metric("scurry_core_up", Gauge, help);
    for (core, report) in source.measurement.cores.iter().enumerate() {
        page.sample(&[("core", &core.to_string())], u8::from(report.is_some()));
    }
    let help = "Time that the core's thread has had a processor.";
    let metric = ("scurry_core_cpu_seconds_total", Counter, help);
    source.each_core(page, metric, |core| core.cpu_ns as f64 / 1e9);
    let metric =
        ("scurry_connections", Gauge, "Open connections, those of the HTTP door included.");
    source.each_core(page, metric, |core| core.report.clients);
    let help = "Open connections that have not authenticated yet, or not ended their handshake.";
    source.each_core(page, ("scurry_connections_waiting", Gauge, help), |core| core.report.waiting);
    let help = "Connections that were closed because they did not come in, in time or for others.";
    let metric = ("scurry_connections_shown_out_total", Counter, help);
    source.each_core(page, metric, |core| core.report.counters.connections_shown_out);
    let metric = ("scurry_connections_accepted_total", Counter, "Connections that came.");
    source.each_core(page, metric, |core| core.report.counters.connections_accepted);
    let help = "Connections that were turned away because there were too many.";
    let metric = ("scurry_connections_refused_total", Counter, help);
    source.each_core(page, metric, |core| core.report.counters.connections_refused);
    let metric = ("scurry_received_bytes_total", Counter, "Read from clients.");
    source.each_core(page, metric, |core| core.report.counters.bytes_in);
    let metric = ("scurry_sent_bytes_total", Counter, "Sent to clients.");
    source.each_core(page, metric, |core| core.report.counters.bytes_out);
    let metric = ("scurry_protocol_errors_total", Counter, "Connections that did not speak RESP.");
    source.each_core(page, metric, |core| core.report.counters.protocol_errors);
    let help = "Times that the wall clock was set back, which prolongs every deadline by as much.";
    page.metric("scurry_clock_set_back_total", Counter, help);
    let sum: u64 = source.cores.iter().map(|(_, core)| core.report.counters.clock_set_back).sum();
    page.sample(&[], sum);
    let help = "Hashes of passwords that were computed: many without new clients are guesses.";
    let hashes = source.measurement.password_hashes;
    page.single("scurry_password_hashes_total", Counter, help, hashes);
}

pub(super) fn commands(source: &Source<'_>, page: &mut Exposition) {
    let specs = || table::all().flat_map(|spec| [spec].into_iter().chain(spec.subcommands));
    let help = "Requests executed or refused. A command over keys of several cores counts on each.";
    page.metric("scurry_commands_total", Counter, help);
    for (core, report) in &source.cores {
        let counted = specs()
            .map(|spec| (spec.lower_name(), report.report.measures.counts_of(spec.id).calls));
        let unknown = [("unknown".to_owned(), report.report.measures.unknown)];
        for (command, calls) in counted.chain(unknown).filter(|&(_, calls)| calls > 0) {
            page.sample(&[("command", &command), ("core", core)], calls);
        }
    }
    let help = "Requests answered with an error, those with an unknown command included.";
    page.metric("scurry_command_errors_total", Counter, help);
    for (core, report) in &source.cores {
        let counted = specs()
            .map(|spec| (spec.lower_name(), report.report.measures.counts_of(spec.id).errors));
        let unknown = [("unknown".to_owned(), report.report.measures.unknown)];
        for (command, errors) in counted.chain(unknown).filter(|&(_, errors)| errors > 0) {
            page.sample(&[("command", &command), ("core", core)], errors);
        }
    }
    let help = "From when a request was read until its reply was sent, the wait for the log \
                included; requests that are answered together count alike.";
    let name = "scurry_request_duration_seconds";
    histograms(source, page, (name, help), |core| &core.report.measures.requests);
    let help = "Execution alone, without any wait. Up to 16 commands are timed together, and each \
                counts with its share. Nothing is timed while both the slow log and the latency \
                monitor are off.";
    let name = "scurry_command_duration_seconds";
    histograms(source, page, (name, help), |core| &core.report.measures.executions);
}

fn histograms(
    source: &Source<'_>,
    page: &mut Exposition,
    (name, help): (&'static str, &str),
    of: impl Fn(&CoreReport) -> &Histogram,
) {
    page.metric(name, MetricKind::Histogram, help);
    for (core, report) in &source.cores {
        let histogram = of(report);
        page.histogram(&[("core", core)], histogram.cumulative(), histogram.sum_seconds());
    }
}

pub(super) fn accounts(source: &Source<'_>, page: &mut Exposition) {
    let metric = ("scurry_keys", Gauge, "Keys that exist, of all kinds.");
    source.each_core(page, metric, |core| core.report.stats.keys);
    let metric = ("scurry_entities", Gauge, "Entities that live.");
    source.each_core(page, metric, |core| core.report.stats.entities);
    let metric = ("scurry_commits_total", Counter, "Changes, denials and expiries included.");
    source.each_core(page, metric, |core| core.report.stats.commits);
    let metric = ("scurry_duplicates_total", Counter, "Duplicates that got their stored answer.");
    source.each_core(page, metric, |core| core.report.stats.replays);
    let help = "Requests that were denied, by result code and cause: of several items by that of \
                the first that was denied.";
    page.metric("scurry_denials_total", Counter, help);
    for (core, report) in &source.cores {
        let denials = &report.report.stats.denials;
        for (code, cause, count) in [
            ("CREDIT_LIMIT_REACHED", "balance", denials.balance),
            ("CREDIT_LIMIT_REACHED", "no_bucket", denials.no_bucket),
            ("CREDIT_LIMIT_REACHED", "limit", denials.limit),
            ("CREDIT_LIMIT_REACHED", "items", denials.items),
            ("CHAIN_DENIED", "chain", denials.chain),
            ("SERVICE_DENIED", "status", denials.status),
        ] {
            page.sample(&[("cause", cause), ("code", code), ("core", core)], count);
        }
    }
    let help = "Requests that changed nothing, such as those to unknown accounts.";
    source.each_core(page, ("scurry_rejections_total", Counter, help), |core| {
        core.report.stats.rejects
    });
    let help = "What timers have ended: open sessions, buckets with something in them, values and \
                entities. What a command finds due it ends itself, and is not counted.";
    page.metric("scurry_expiries_total", Counter, help);
    for (core, report) in &source.cores {
        let stats = &report.report.stats;
        for (kind, count) in [
            ("session", stats.sessions_expired),
            ("bucket", stats.buckets_expired),
            ("key", stats.expired),
        ] {
            page.sample(&[("kind", kind), ("core", core)], count);
        }
    }
    let help = "Accounts, values and entities in which something will expire or be forgotten.";
    source.each_core(page, ("scurry_timers", Gauge, help), |core| core.report.stats.timers);
    let metric = ("scurry_out_of_memory_total", Counter, "Commands refused for want of memory.");
    source.each_core(page, metric, |core| core.report.stats.out_of_memory);
    let help = "Keys that one look-up has compared at most: above 16 a client makes keys collide.";
    source.each_core(page, ("scurry_longest_probe", Gauge, help), |core| {
        u64::from(core.report.stats.longest_probe)
    });
}

pub(super) fn totals(source: &Source<'_>, page: &mut Exposition) {
    let mut totals = Totals::default();
    source.cores.iter().for_each(|(_, core)| totals.add(&core.report.totals));
    page.single("scurry_accounts", Gauge, "Accounts that exist.", totals.accounts);
    page.single("scurry_sessions_open", Gauge, "Sessions that are open.", totals.sessions);
    let units: BTreeMap<&str, &UnitTotals> =
        totals.units.iter().map(|unit| (unit.unit.as_str(), unit)).collect();
    let help = "Held for sessions now, in minor units.";
    units_gauge(page, &units, ("scurry_holds_units", help), |unit| unit.held);
    let help = "Available now, in minor units.";
    units_gauge(page, &units, ("scurry_available_units", help), |unit| unit.available);
    // Deleting an account reduces these sums, so they are not counters.
    type Sum = (&'static str, &'static str, fn(&UnitTotals) -> i128);
    let sums: [Sum; 7] = [
        ("scurry_credited_units", "Credited to accounts that exist.", |unit| unit.credited),
        ("scurry_refunded_units", "Refunded to accounts that exist.", |unit| unit.refunded),
        ("scurry_consumed_units", "Debited from accounts that exist.", |unit| unit.consumed),
        ("scurry_expired_units", "Expired in accounts that exist.", |unit| unit.expired),
        ("scurry_voided_units", "Voided in accounts that exist.", |unit| unit.voided),
        ("scurry_overdrawn_units", "Of the debits, those below a floor.", |unit| unit.overdrawn),
        ("scurry_uncollected_units", "Used and not debited.", |unit| unit.uncollected),
    ];
    for (name, help, value) in sums {
        units_gauge(page, &units, (name, help), value);
    }
    let help = "available + held - credited - refunded + consumed + expired + voided: 0, or the \
                store has lost or made units.";
    units_gauge(page, &units, ("scurry_conservation_error_units", help), |unit| {
        unit.available + unit.held - unit.credited - unit.refunded
            + unit.consumed
            + unit.expired
            + unit.voided
    });
}

fn units_gauge(
    page: &mut Exposition,
    units: &BTreeMap<&str, &UnitTotals>,
    (name, help): (&'static str, &str),
    value: impl Fn(&UnitTotals) -> i128,
) {
    page.metric(name, Gauge, help);
    for (unit, totals) in units {
        page.sample(&[("unit", unit)], value(totals));
    }
}

pub(super) fn log(source: &Source<'_>, page: &mut Exposition) {
    let durable = |core: &CoreReport| core.report.durable.clone();
    let help = "0 when the log takes changes, 1 when it has no room or, on a node of a group, the \
                device stands still, 2 when it has failed.";
    source.each_core(page, ("scurry_log_trouble", Gauge, help), |core| {
        let durable = &core.report.durable;
        let waits = durable.full || durable.device_full || durable.device_still;
        if durable.failed { 2 } else { u8::from(waits) }
    });
    let metric = ("scurry_log_sequence", Gauge, "Sequence of the last change.");
    source.each_core(page, metric, |core| durable(core).sequence);
    let help = "Changes up to this sequence are as durable as --durability says.";
    let metric = ("scurry_log_durable_sequence", Gauge, help);
    source.each_core(page, metric, |core| durable(core).durable);
    let metric = ("scurry_log_bytes_total", Counter, "Bytes that were given to the log.");
    source.each_core(page, metric, |core| durable(core).bytes);
    let metric = ("scurry_log_kept_bytes", Gauge, "Bytes of the log on the device.");
    source.each_core(page, metric, |core| durable(core).kept.bytes);
    let help =
        "Time of the oldest change that the log keeps, Unix seconds; absent while there is none.";
    kept_gauge(source, page, ("scurry_log_kept_from_timestamp_seconds", help), |kept| {
        kept.from.map(|from| from.0 as f64 / 1e3)
    });
    let help = "Age up to which --keep-log says to keep the log; absent if it names none.";
    kept_gauge(source, page, ("scurry_log_keep_seconds", help), |kept| {
        kept.wanted_ms.map(|ms| ms as f64 / 1e3)
    });
    let help = "Age for which there is room if the log grows on as it did; absent without --keep-log, and in the \
                first minute.";
    kept_gauge(source, page, ("scurry_log_can_keep_seconds", help), |kept| {
        kept.possible_ms.map(|ms| ms as f64 / 1e3)
    });
    let help = "Writes of the log: with fsync each is a sync of the device too.";
    let metric = ("scurry_log_batches_total", Counter, help);
    source.each_core(page, metric, |core| durable(core).batches);
    let help = "From when a batch of changes was given to the log until it was as durable as \
                --durability says.";
    let name = "scurry_log_write_duration_seconds";
    histograms(source, page, (name, help), |core| &core.log_writes);
    let metric = ("scurry_snapshot_running", Gauge, "1 while a snapshot is written.");
    source.each_core(page, metric, |core| u8::from(durable(core).snapshot_running));
    let metric = ("scurry_snapshots_total", Counter, "Snapshots that were written.");
    source.each_core(page, metric, |core| durable(core).snapshots);
    let metric = ("scurry_snapshots_failed_total", Counter, "Snapshots that were not.");
    source.each_core(page, metric, |core| durable(core).snapshots_failed);
    let help = "Since the last snapshot of this run was written; absent when there is none.";
    page.metric("scurry_snapshot_age_seconds", Gauge, help);
    for (core, report) in &source.cores {
        let Report { durable, .. } = &report.report;
        if durable.snapshots > 0 {
            let age_ms = (report.now.time.0 - durable.snapshot_time.0).max(0);
            page.sample(&[("core", core)], age_ms as f64 / 1e3);
        }
    }
    let metric = ("scurry_snapshot_sequence", Gauge, "Sequence at which that snapshot began.");
    source.each_core(page, metric, |core| durable(core).snapshot_sequence);
}

fn kept_gauge(
    source: &Source<'_>,
    page: &mut Exposition,
    (name, help): (&'static str, &str),
    value: impl Fn(&KeptLog) -> Option<f64>,
) {
    page.metric(name, Gauge, help);
    for (core, report) in &source.cores {
        if let Some(value) = value(&report.report.durable.kept) {
            page.sample(&[("core", core)], value);
        }
    }
}

/// Adds the metrics of a group; none for a store on one machine.
pub(super) fn group(source: &Source<'_>, page: &mut Exposition) {
    let Some(view) = &source.measurement.group else { return };
    let help = "1 when service goes on without any one of the nodes, as far as this node sees.";
    let why = view.cannot_lose(source.measurement.uptime_ms);
    let can_lose = u8::from(why.is_none());
    page.single("scurry_group_can_lose_a_node", Gauge, help, can_lose);
    let help = "Always 1; the label says why service would end with one more node lost. Absent when it goes on.";
    page.metric("scurry_group_cannot_lose_a_node", Gauge, help);
    if let Some(why) = why {
        page.sample(&[("why", &why)], 1);
    }
    page.metric(
        "scurry_group_info",
        Gauge,
        "Always 1; the label says which node of the group this is.",
    );
    page.sample(&[("node", &view.node.to_string())], 1);
    let members = &view.members;
    let nodes = || members.iter().map(|member| (member.id.to_string(), member));
    let help = "1 for a node of the group that this one reaches, itself included.";
    page.metric("scurry_group_member_connected", Gauge, help);
    for (node, member) in nodes() {
        let address = SocketAddr::new(member.addresses.ip, member.addresses.main).to_string();
        page.sample(&[("node", &node), ("address", &address)], u8::from(member.is_connected));
    }
    page.metric("scurry_group_member_votes", Gauge, "1 for a node of the group that has a vote.");
    for (node, member) in nodes() {
        page.sample(&[("node", &node)], u8::from(member.votes));
    }
    let help = "Entries that a node lacks, over all threads; only the node that leads knows it.";
    page.metric("scurry_group_member_lag_entries", Gauge, help);
    for (node, member) in nodes() {
        if let Some(lag) = member.lag {
            page.sample(&[("node", &node)], lag);
        }
    }
    let help =
        "By how much this node's wall clock is ahead of the middle one of the nodes' clocks.";
    let off_seconds = view.clock_off_ms as f64 / 1e3;
    page.single("scurry_group_clock_off_seconds", Gauge, help, off_seconds);
    page.single("scurry_group_members", Gauge, "Nodes of the group.", members.len());
    let connected = members.iter().filter(|member| member.is_connected).count();
    let help = "Nodes of the group that this one reaches, itself included.";
    page.single("scurry_group_members_connected", Gauge, help, connected);
    let shards = || view.shards.iter().enumerate().map(|(core, it)| (core.to_string(), it));
    let help = "Always 1; the label says what this node is for the thread's log.";
    page.metric("scurry_group_role", Gauge, help);
    for (core, shard) in shards() {
        page.sample(&[("core", &core), ("role", word(shard.role))], 1);
    }
    let help =
        "Always 1; the label says which node leads the thread's log. Absent while no node does.";
    page.metric("scurry_group_leader", Gauge, help);
    for (core, shard) in shards() {
        if let Some(leader) = shard.leader {
            page.sample(&[("core", &core), ("node", &leader.to_string())], 1);
        }
    }
    type Number = (&'static str, MetricKind, &'static str, fn(&ShardView) -> u64);
    let numbers: [Number; 7] = [
        ("scurry_group_serves", Gauge, "1 when this node executes the thread's commands.", |it| {
            it.serves.into()
        }),
        ("scurry_group_term", Gauge, "Term of the thread's log.", |it| it.term.get()),
        ("scurry_group_elections_total", Counter, "How often another leader was seen.", |it| {
            it.elections
        }),
        (
            "scurry_group_committed_sequence",
            Gauge,
            "Changes up to this sequence are on the devices of a majority, as far as this node knows.",
            |it| it.committed.get(),
        ),
        (
            "scurry_group_stored_sequence",
            Gauge,
            "Changes up to this sequence are on the device of this node.",
            |it| it.stored.get(),
        ),
        (
            "scurry_group_applied_sequence",
            Gauge,
            "Changes up to this sequence are in the memory of this node.",
            |it| it.applied.get(),
        ),
        (
            "scurry_group_compared_sequence",
            Gauge,
            "At this sequence a part of the memory of this node was last compared with the leader's and was the same.",
            |it| it.compared.get(),
        ),
    ];
    let help =
        "How long ago the leader had no more than the memory of this node shows; 0 on the leader.";
    page.metric("scurry_group_age_seconds", Gauge, help);
    for (core, _) in shards() {
        if let Some(age_ms) = core.parse().ok().and_then(|core| view.age_ms(core)) {
            page.sample(&[("core", &core)], age_ms as f64 / 1e3);
        }
    }
    for (name, kind, help, value) in numbers {
        page.metric(name, kind, help);
        for (core, shard) in shards() {
            page.sample(&[("core", &core)], value(shard));
        }
    }
}

pub(super) fn memory(source: &Source<'_>, page: &mut Exposition) {
    let help = "Memory by what it is for, as the server counts it.";
    page.metric("scurry_memory_bytes", Gauge, help);
    for (core, report) in &source.cores {
        let memory = &report.report.stats.memory;
        for (kind, bytes) in [
            ("accounts", memory.accounts),
            ("values", memory.values),
            ("entities", memory.entities),
            ("table", memory.table),
            ("timers", memory.timers),
            ("index", memory.index),
            ("connections", report.report.connection_bytes),
        ] {
            page.sample(&[("kind", kind), ("core", core)], bytes);
        }
    }
    let help = "Memory of connections that have not authenticated yet; it takes nothing from --max-memory.";
    let metric = ("scurry_memory_waiting_bytes", Gauge, help);
    source.each_core(page, metric, |core| core.report.lobby_bytes);
    let help = "Bound on memory (--max-memory); 0 for none.";
    let max = source.measurement.settings.memory_max.unwrap_or(0);
    page.single("scurry_memory_max_bytes", Gauge, help, max);
    let help = "Resident memory of the process.";
    let resident = crate::execute::commands::info::resident_bytes();
    page.single("process_resident_memory_bytes", Gauge, help, resident);
}

/// Adds the metrics of RDMA; none without it.
pub(super) fn rdma(source: &Source<'_>, page: &mut Exposition) {
    if source.measurement.settings.adapter.is_none() {
        return;
    }
    let metric = ("scurry_rdma_connections", Gauge, "Open connections over RDMA.");
    source.each_core(page, metric, |core| core.report.adapter.connections);
    let help = "Memory that is pinned for them; it is part of that of connections.";
    let metric = ("scurry_rdma_pinned_bytes", Gauge, help);
    source.each_core(page, metric, |core| core.report.adapter.pinned_bytes);
    let Some((_, first)) = source.cores.first() else { return };
    for (number, count) in first.report.adapter.counts.iter().enumerate() {
        let value = |core: &CoreReport| core.report.adapter.counts[number].value;
        source.each_core(page, (count.name, Counter, count.help), value);
    }
}
