//! Notes that a reader of a row's figures needs.

use super::RunCommand;
use crate::cores::Cores;
use crate::dialect::Dialect;
use crate::echo_sizes::EchoSizes;
use crate::log_growth::LogGrowth;
use crate::report::{duration, grouped};
use crate::row::Row;
use crate::target::Target;

/// CPU percent of its core at which a target counts as saturated, within the precision of the figure.
const BUSY_PERCENT: f64 = 95.0;
/// Share of its rate that an open loop must answer to have sustained it.
const KEPT_RATE_MIN: f64 = 0.99;
/// CPU percent of other work that is tolerated: interrupts alone stay below it.
const OTHER_PERCENT_MAX: f64 = 25.0;

/// Shortest warm-up of a JVM, seconds: with less, it still compiles while it is measured.
const JVM_WARMUP_SECONDS: f64 = 2.0;

impl RunCommand<'_> {
    /// Adds the notes on the figures to the row.
    pub(super) fn annotate(&self, target: Target, sizes: &EchoSizes, row: &mut Row) {
        let shared = self.placement(target).is_none_or(Cores::are_shared);
        if row.figures.loader_bound == Some(true) {
            let mut note =
                "loader-bound: the loader had less than 10 % of its core left".to_owned();
            if row.figures.cpu_percent.is_some_and(|percent| percent >= BUSY_PERCENT) {
                note.push_str(", though the target's core was full as well");
            }
            row.notes.push(note);
        }
        if let Some(percent) = other_work(row) {
            row.notes.push(format!(
                "other work took {percent:.0} % of a core meanwhile: the figures are disturbed"
            ));
        }
        let rate = row.figures.business_ops_per_s;
        if let (Some(wanted), Some(found)) = (row.load.rate, rate)
            && found < wanted * KEPT_RATE_MIN
        {
            row.notes.push(format!("did not keep the rate of {wanted} requests/s"));
        }
        if let Some(filesystem) = &row.filesystem {
            row.notes.push(format!("keeps its data on {filesystem}"));
        }
        row.notes.extend(row.figures.log.as_ref().map(LogGrowth::words));
        if target == Target::Echo {
            row.notes.push(sizes.origin.clone());
        }
        if target.is_http() {
            row.notes.push("a door and three servers share the cores of the target".to_owned());
        }
        if let Some(address) = self.arguments.address_of(target) {
            row.notes.push(format!(
                "at {address}: the lab neither started nor bound it, and does not see its CPU and memory"
            ));
        }
        if target == Target::TigerBeetle {
            let (connections, depth) = (row.load.connections, row.load.depth);
            row.notes.push(format!(
                "at most {depth} transfers in a batch, {connections} batches on their way; a RESERVE is a pending \
                 transfer, a TERMINATE posts it in part"
            ));
        }
        if target.jvm_system().is_some() && row.load.warmup_seconds < JVM_WARMUP_SECONDS {
            row.notes.push(
                "a JVM compiles what it runs often, and has had little time for that".to_owned(),
            );
        }
        if target.jvm_system().is_some() {
            row.notes.push(
                "loaded by its own client in a driver, whose CPU stands for the loader's"
                    .to_owned(),
            );
        }
        if target.is_ndb() {
            row.notes.push(
                "through its own client, a process on the loader's core whose CPU counts as the \
                 loader's; its data nodes have 2 GB for data from the start, so memory says nothing of \
                 what they hold"
                    .to_owned(),
            );
        }
        if target.is_ndb() && row.replicas > 0 {
            row.notes.push(
                "its data nodes share the cores of the target and commit together: CPU and memory \
                 are those of all"
                    .to_owned(),
            );
        }
        if matches!(target, Target::HazelcastJava | Target::HazelcastClient) {
            row.notes.push("its persistence is of the Enterprise edition only".to_owned());
        }
        if target.decides_in_client() {
            row.notes.push(
                "the rules run in the loader: CPU % and CPU us/op are the store's share alone"
                    .to_owned(),
            );
        }
        if let Some(path) = &self.arguments.lua_library
            && target.dialect() == Some(Dialect::Functions)
        {
            row.notes.push(format!("its Lua library is {}", path.display()));
        }
        if target.is_scurry() && !self.scurry.arguments.is_empty() {
            row.notes.push(format!("started with {}", self.scurry.arguments.join(" ")));
        }
        if let Some(cpu) = row.figures.replica_cpu_us_per_op {
            let place =
                if self.placement(target).is_some() { ", on the loader's core" } else { "" };
            row.notes.push(format!("its replicas take {cpu:.2} us of CPU an operation{place}"));
        } else if self.wanted_replicas() > 0 && row.replicas == 0 {
            let note = "it has no replicas: --replicas is for Valkey, Redis, Tarantool with a log, \
                        NDB, and Hazelcast and Ignite under kv";
            row.notes.push(note.to_owned());
        }
        if target.jvm_system().is_some() && row.replicas > 0 {
            row.notes.push(
                "its members share the cores of the target and are each other's backups, for which \
                 nobody waits: CPU and memory are those of all"
                    .to_owned(),
            );
        }
        let findings = findings(row);
        row.notes.extend(findings);
        let syncs = row.runs.iter().find_map(|run| run.syncs);
        row.notes
            .extend(self.scenario.slow_disk.zip(syncs).map(|(disk, syncs)| disk.describe(syncs)));
        if let (Some(batch), Some(rate)) = (row.load.batch, row.figures.business_ops_per_s) {
            let changes = grouped(rate * f64::from(batch));
            row.notes.push(format!("{batch} changes an operation, {changes} changes/s"));
        }
        if let (Some(copies), Some(short)) =
            (row.acknowledged_copies, row.figures.not_enough_copies)
        {
            row.notes.push(format!(
                "acknowledged on {copies} copies, by a WAIT behind each batch; not enough \
                 replicas for {short} operations"
            ));
        }
        if self.scenario.nodes > 1 {
            let parts = match target.jvm_system() {
                Some(_) => "the keys are parted in its own way",
                None => "each has a part of the slots, which only the loader knows",
            };
            let nodes = self.scenario.nodes;
            row.notes.push(format!("{nodes} nodes share the cores of the target; {parts}"));
        }
        if target.is_group() {
            row.notes.push(
                "a change is answered when 2 of 3 nodes have it on their device, which here is one and \
                 the same; the load goes to the node that leads"
                    .to_owned(),
            );
        }
        if target.is_cluster() {
            row.notes.push("3 primaries on the cores of the target".to_owned());
        }
        if target.is_yardstick() {
            row.notes.push("an HSET of four fields in the place of each operation".to_owned());
        }
        if !target.is_scurry() && self.scurry.threads.is_some_and(|threads| threads > 1) {
            row.notes.push("one thread: --threads is scurry's".to_owned());
        }
        if shared {
            row.notes.push(
                "loader and system under test share a core: compare CPU per operation, not \
                 throughput"
                    .to_owned(),
            );
        }
    }
}

/// Returns the use of the loader's and the target's cores by anything else, 100 per core; None when it is small or
/// unknown.
fn other_work(row: &Row) -> Option<f64> {
    let figures = &row.figures;
    let is_ours =
        |core: usize| row.load.loader_core == Some(core) || row.load.target_cores.contains(&core);
    // Replicas share the loader's core, and their CPU time is reported separately.
    if row.load.loader_core.is_none() || row.replicas > 0 || figures.core_use.is_empty() {
        return None;
    }
    let busy: f64 =
        figures.core_use.iter().filter(|one| is_ours(one.core)).map(|one| one.busy_percent).sum();
    let other = busy - figures.cpu_percent? - (100.0 - figures.loader_idle_percent?);
    (other > OTHER_PERCENT_MAX).then_some(other)
}

/// Describes the findings of the median run beside its figures.
fn findings(row: &Row) -> Vec<String> {
    let shown = row.figures.business_ops_per_s;
    let median = row.runs.iter().find(|run| run.figures.business_ops_per_s == shown);
    let Some(run) = median else { return Vec::new() };
    let mut notes = Vec::new();
    if let Some(found) = &run.search {
        let limit = found.p99_ms;
        let (rates, trials) = (found.rates(), found.trials.len());
        let tries = if trials > rates { format!(" in {trials} trials") } else { String::new() };
        notes.push(match found.rate {
            Some(rate) => format!(
                "the highest rate with p99 <= {limit} ms of {rates} that were tried{tries}: {} requests/s",
                grouped(rate)
            ),
            None => {
                format!("none of the {rates} rates that were tried{tries} has p99 <= {limit} ms")
            }
        });
    }
    if run.search.is_some()
        && let Some(rate) = row.figures.ops_per_s_per_core
    {
        notes.push(format!("{} ops/s per core", grouped(rate)));
    }
    if let Some(uncorrected) = &row.figures.latency_uncorrected_us {
        notes.push(format!(
            "uncorrected, from when a request was written: p50 {}, p99 {}, max {}",
            duration(uncorrected.p50),
            duration(uncorrected.p99),
            duration(uncorrected.max)
        ));
    }
    if let Some(told) = run.totals {
        notes.push(format!(
            "totals were read {} times under the load, in {} at most",
            told.reads,
            duration(told.longest_us)
        ));
    }
    if let Some(losses) = row.losses {
        notes.push(format!(
            "{} runs: {} acknowledged requests lost, {} done twice, no answers for {} (median), {} at \
             most; all nodes together again after {} (median), p99 {} until then and {} before",
            row.runs.len(),
            losses.lost,
            losses.done_twice,
            duration(1_000.0 * losses.gap_ms_median),
            duration(1_000.0 * losses.gap_ms_max),
            duration(1_000.0 * losses.whole_ms_median),
            duration(losses.p99_meanwhile_us_median),
            duration(losses.p99_before_us_median),
        ));
    }
    notes.extend(run.denials.map(|denials| format!("{denials} reports were denied")));
    if let Some(live) = run.live {
        notes.push(format!(
            "{} denials, {} partial grants, {} duplicates with {} replays, {} sessions found their \
             account full (warm-up too)",
            live.denials, live.partial, live.duplicates, live.replays, live.busy
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Figures, Load};
    use crate::sampler::CoreUse;

    #[test]
    fn work_of_others_is_what_neither_loader_nor_target_did() {
        let core = |core, busy_percent| CoreUse { core, busy_percent, ..CoreUse::default() };
        let row = |core_use: Vec<CoreUse>| Row {
            load: Load { loader_core: Some(0), target_cores: vec![1], ..Load::default() },
            figures: Figures {
                cpu_percent: Some(90.0),
                loader_idle_percent: Some(60.0),
                core_use,
                ..Figures::default()
            },
            ..Row::default()
        };
        assert_eq!(other_work(&row(vec![core(0, 45.0), core(1, 99.0)])), None);
        let disturbed = row(vec![core(0, 99.0), core(1, 99.0), core(2, 99.0)]);
        assert_eq!(other_work(&disturbed), Some(68.0));
        assert_eq!(other_work(&row(vec![])), None);
    }
}
