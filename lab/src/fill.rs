//! `scurry-lab fill`: fills a store with very many accounts, measures its memory, loads it, and does the same with
//! fewer accounts to compare.

use anyhow::{Context, Result, ensure};
use scurry_ledger::Name;
use serde::Serialize;

use crate::arguments::FillArguments;
use crate::figures::{per, rounded};
use crate::filling::Filling;
use crate::host::Host;
use crate::measure::{Bench, Copies};
use crate::progress::RunCount;
use crate::report::{Grid, duration, grouped};
use crate::routes::Ports;
use crate::row::{Figures, RestartFigures};
use crate::scenario::{Bucket, Scenario};
use crate::snapshotter::Snapshots;
use crate::target::{Durability, Target};
use crate::testbed::{Testbed, allow_files, write_json};

/// The pipelined form, in which the store is the limit.
const SESSIONS: u32 = 3_200;
const CONNECTIONS: u32 = 50;
const DEPTH: u32 = 64;
const FILES: u64 = 1_000;
const WARMUP_SECONDS: f64 = 2.0;

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FillReport {
    /// Buckets of each account.
    pub buckets: u32,
    /// Seconds of the load.
    pub seconds: f64,
    /// Extra arguments of the server.
    pub server_arguments: Vec<String>,
    /// File system type, with `--recovery`.
    pub filesystem: Option<String>,
    /// Machine of the measurement.
    #[serde(flatten)]
    pub host: Host,
    /// One row for each store.
    pub stores: Vec<StoreRow>,
    /// Throughput of the first store in percent of the second's; None with one store.
    pub percent_of_second: Option<f64>,
}

/// Results of one store.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StoreRow {
    /// How it was filled.
    pub filling: Filling,
    /// Resident memory per account, bytes.
    pub bytes_per_account: f64,
    /// Figures of moaf-scur on it.
    pub load: Figures,
    /// Snapshot under load and restart after a kill, with `--recovery`.
    pub revival: Option<RestartFigures>,
}

/// Fills, loads and audits each store, prints the table and writes it.
///
/// # Errors
/// When a store refuses an account, runs out of memory, or fails its audit.
pub fn fill(arguments: &FillArguments) -> Result<()> {
    let sizes = arguments.stores()?;
    allow_files(FILES)?;
    let testbed = Testbed::prepare(&arguments.common)?;
    if arguments.recovery {
        testbed.place.check()?;
    }
    let mut report = FillReport {
        buckets: arguments.buckets,
        seconds: arguments.seconds,
        server_arguments: testbed.scurry.arguments.clone(),
        filesystem: arguments.recovery.then(|| testbed.place.filesystem.clone()),
        host: testbed.host.clone(),
        ..FillReport::default()
    };
    for accounts in sizes {
        testbed.go_on()?;
        report.stores.push(store(&testbed, arguments, accounts)?);
    }
    let rates = report.stores.iter().filter_map(|store| store.load.business_ops_per_s);
    if let [first, second] = rates.collect::<Vec<f64>>().as_slice() {
        report.percent_of_second = Some(rounded(100.0 * first / second, 1));
    }
    print!("{}", report.render());
    write_json(arguments.common.json.as_deref(), &report)
}

fn store(testbed: &Testbed, arguments: &FillArguments, accounts: u32) -> Result<StoreRow> {
    let scenario = scenario(accounts, arguments.buckets, arguments.seconds)?;
    let bench = Bench {
        scenario: &scenario,
        target: Target::Scurry,
        durability: if arguments.recovery { Durability::Fsync } else { Durability::None },
        place: &testbed.place.path,
        snapshots: Snapshots::None,
        revives: arguments.recovery,
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
    let measured = bench.measure(1, 1).with_context(|| format!("{accounts} accounts"))?;
    ensure!(measured.run.is_sound(), "{accounts} accounts: {}", measured.run.audit);
    let filling = measured.filling.context("the store was not filled")?;
    let bytes_per_account = filling.bytes_per_record();
    let revival = measured.run.revival;
    Ok(StoreRow { filling, bytes_per_account, load: measured.run.figures, revival })
}

/// Returns moaf-scur, pipelined, with this many accounts and buckets.
fn scenario(accounts: u32, buckets: u32, seconds: f64) -> Result<Scenario> {
    let mut scenario = Scenario::built_in("moaf-scur")?;
    scenario.accounts = accounts;
    scenario.seconds = seconds;
    scenario.warmup_seconds = WARMUP_SECONDS.min(seconds);
    (scenario.sessions, scenario.connections, scenario.depth) = (SESSIONS, CONNECTIONS, DEPTH);
    let charging = scenario.charging.as_mut().context("the scenario is no charging")?;
    let wanted = usize::try_from(buckets)?;
    charging.bucket.truncate(wanted);
    for number in charging.bucket.len()..wanted {
        let like = &charging.bucket[0];
        let priority = i32::try_from(number)?.saturating_add(like.priority);
        let id = Name::new(format!("b{number}").as_bytes()).context("too many buckets")?;
        charging.bucket.push(Bucket { id, priority, ..like.clone() });
    }
    scenario.check()?;
    Ok(scenario)
}

impl FillReport {
    /// Renders the report as text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&[
            "accounts",
            "load time s",
            "accounts/s",
            "RSS MB",
            "bytes/account",
            "moaf-scur ops/s",
            "CPU us/op",
            "p99",
            "loader idle %",
        ]);
        for store in &self.stores {
            let load = &store.load;
            let number = |value: Option<f64>, digits: usize| {
                value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
            };
            grid.push(vec![
                grouped(f64::from(store.filling.records)),
                format!("{:.1}", store.filling.seconds),
                grouped(store.filling.records_per_s),
                format!("{:.1}", store.filling.memory_after as f64 / 1e6),
                format!("{:.1}", store.bytes_per_account),
                load.business_ops_per_s.map_or("-".to_owned(), grouped),
                number(load.cpu_us_per_op, 3),
                load.latency_us.as_ref().map_or("-".to_owned(), |l| duration(l.p99)),
                number(load.loader_idle_percent, 0),
            ]);
        }
        let mut out = format!(
            "\n{}{} buckets per account; moaf-scur with {SESSIONS} sessions over {CONNECTIONS} \
             connections, depth {DEPTH}, for {} s, audited; one run each: no claim\n{}, {} cores, \
             Linux {}\n",
            grid.render(),
            self.buckets,
            self.seconds,
            self.host.cpu,
            self.host.cores,
            self.host.kernel
        );
        if let Some(percent) = self.percent_of_second {
            out.push_str(&format!("throughput is {percent} % of that with fewer accounts\n"));
        }
        out.push_str(&self.revivals());
        for store in &self.stores {
            let accounts = grouped(f64::from(store.filling.records));
            out.push_str(&format!("memory with {accounts} accounts, before the load:\n"));
            for line in &store.filling.info {
                out.push_str(&format!("  {line}\n"));
            }
        }
        out
    }

    /// Renders snapshots and restarts as text; empty when none were measured.
    fn revivals(&self) -> String {
        let mut grid = Grid::new(&[
            "accounts",
            "snapshot MB",
            "s",
            "MB/s",
            "disk alone s",
            "ops/s before",
            "meanwhile",
            "p99.9 before",
            "meanwhile",
            "start reads MB",
            "s",
            "disk alone s",
        ]);
        let mut is_empty = true;
        for store in &self.stores {
            let Some(revival) = &store.revival else { continue };
            is_empty = false;
            let rate = |of: &Figures| of.business_ops_per_s.map_or("-".to_owned(), grouped);
            let p999 =
                |of: &Figures| of.latency_us.as_ref().map_or("-".to_owned(), |l| duration(l.p999));
            let mb = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
            grid.push(vec![
                grouped(f64::from(store.filling.records)),
                mb(revival.snapshot_bytes),
                format!("{:.1}", revival.snapshot_seconds),
                format!("{:.1}", per(revival.snapshot_bytes, revival.snapshot_seconds) / 1e6),
                format!("{:.1}", revival.write_alone_seconds),
                rate(&store.load),
                rate(&revival.during),
                p999(&store.load),
                p999(&revival.during),
                mb(revival.start_bytes),
                format!("{:.1}", revival.start_seconds),
                format!("{:.1}", revival.read_alone_seconds),
            ]);
        }
        if is_empty {
            return String::new();
        }
        format!(
            "\n{}a snapshot under the load, then SIGKILL and a start with none of its files in memory until an \
             account is answered, all units audited after it; the disk alone writes as many bytes, each 1 MiB \
             synced, and reads the same files; fsync on {}\n",
            grid.render(),
            self.filesystem.as_deref().unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_have_as_many_buckets_as_asked_for() {
        for buckets in [1, 2, 5] {
            let charging = scenario(10, buckets, 1.0).unwrap().charging.unwrap();
            let mut ids: Vec<&str> = charging.bucket.iter().map(|b| b.id.as_str()).collect();
            ids.dedup();
            assert_eq!(ids.len(), buckets as usize, "{ids:?}");
        }
    }

    #[test]
    fn the_report_compares_two_stores() {
        let store = StoreRow {
            filling: Filling {
                records: 7,
                info: vec!["used_memory:1".into()],
                ..Filling::default()
            },
            ..StoreRow::default()
        };
        let report = FillReport {
            stores: vec![store],
            percent_of_second: Some(80.5),
            ..FillReport::default()
        };
        let text = report.render();
        assert!(text.contains("80.5 % of that with fewer") && text.contains("  used_memory:1\n"));
    }
}
