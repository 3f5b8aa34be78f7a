//! `scurry-lab recovery`: how fast one core reads a log and a snapshot back, with files as the
//! server writes them. What is recovered must be what was there, byte for byte.

mod report;
mod written;

use anyhow::{Context, Result, ensure};
use scurry_disk::Directory;
use scurry_engine::{Config, HashKey, Least, Progress, Recovered, Shard, Until, recover};

use crate::arguments::RecoveryArguments;
use crate::clock::{Clock, process_cpu_nanos};
use crate::cores::{Cores, bind_this_thread};
use crate::data_directory::DataDirectory;
use crate::figures::{per, rounded};
use crate::host::Host;
use crate::ladder::HASH_SEED;
use crate::scenario::Scenario;
use crate::testbed::write_json;
pub use report::{Pass, RecoveryReport, RecoveryRow};
use written::{LOG, Written, fingerprint, write_log, write_snapshot};

const NANOS: f64 = 1e9;

/// Writes the files, recovers them as often as asked, prints the table and writes it.
///
/// # Errors
/// When the files cannot be written or read, or something else comes back than went in.
pub fn recovery(arguments: &RecoveryArguments) -> Result<()> {
    arguments.check()?;
    let place = DataDirectory::find(arguments.directory.as_deref())?;
    let host = Host::look();
    if let Some(core) = Cores::choose(1)?.and_then(|cores| cores.target.first().copied()) {
        bind_this_thread(core)?;
    }
    let scenario = Scenario::built_in("moaf-scur")?;
    let charging = scenario.charging.as_ref().context("the scenario is no charging")?;
    let mut rows = Vec::new();
    let log = |place: &DataDirectory| {
        let directory = place.directory()?;
        let written = write_log(directory.path(), charging, arguments.accounts, arguments.records)?;
        Ok::<_, anyhow::Error>((directory, written))
    };
    let (directory, written) = log(&place)?;
    rows.push(row("log", directory.path(), &written, arguments.runs)?);
    drop(directory);
    if arguments.snapshot_accounts > 0 {
        let directory = place.directory()?;
        let accounts = arguments.snapshot_accounts;
        let written = write_snapshot(directory.path(), charging, accounts)?;
        rows.push(row("snapshot", directory.path(), &written, arguments.runs)?);
    }
    let report = RecoveryReport { filesystem: place.filesystem, host, rows };
    print!("{}", report.render());
    write_json(arguments.json.as_deref(), &report)
}

fn row(name: &str, path: &std::path::Path, written: &Written, runs: u32) -> Result<RecoveryRow> {
    let mut row = RecoveryRow {
        what: name.to_owned(),
        accounts: written.accounts,
        records: written.records,
        log_bytes: written.log_bytes,
        snapshot_bytes: written.snapshot_bytes,
        passes: Vec::new(),
    };
    for number in 1..=runs {
        let pass = pass(path, written, number).with_context(|| format!("{name}, run {number}"))?;
        row.passes.push(pass);
    }
    Ok(row)
}

/// When a part ended.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    cpu: u64,
    wall: u64,
}

impl Moment {
    fn now(clock: &Clock) -> Moment {
        Moment { cpu: process_cpu_nanos(), wall: clock.nanos() }
    }
}

/// Recovers once and compares.
fn pass(path: &std::path::Path, written: &Written, number: u32) -> Result<Pass> {
    let mut disk = Directory::open(path)?;
    let mut shard = Shard::new(Config { hash_key: HashKey::known(HASH_SEED), ..Config::default() });
    let clock = Clock::start();
    let begin = Moment::now(&clock);
    // The snapshot is restored when the log has got its length.
    let mut restored = None;
    let look = |progress: &Progress| {
        if restored.is_none() && progress.entries == progress.entries_all {
            restored = Some(Moment::now(&clock));
        }
    };
    let found = recover(&mut disk, LOG, HASH_SEED, Until::End(Least::default()), &mut shard, look)?;
    let end = Moment::now(&clock);
    let middle = restored.unwrap_or(begin);
    check(&mut shard, &found, written)?;
    let seconds = |from: u64, to: u64| rounded((to - from) as f64 / NANOS, 3);
    let rate = |count: u64, seconds: f64| rounded(per(count, seconds), 0);
    let snapshot_cpu = seconds(begin.cpu, middle.cpu);
    let log_cpu = seconds(middle.cpu, end.cpu);
    let log_seconds = seconds(middle.wall, end.wall);
    let snapshot_seconds = seconds(begin.wall, middle.wall);
    Ok(Pass {
        run: number,
        entries: found.read.entries,
        snapshot_cpu_seconds: snapshot_cpu,
        snapshot_seconds,
        entries_per_cpu_s: rate(found.read.entries, snapshot_cpu),
        records: found.read.records,
        log_cpu_seconds: log_cpu,
        log_seconds,
        changes_per_cpu_s: rate(found.read.records, log_cpu),
    })
}

/// Comparison of the recovered accounts with the written ones.
fn check(shard: &mut Shard, found: &Recovered, written: &Written) -> Result<()> {
    ensure!(found.read.records == written.records, "{} records came back", found.read.records);
    ensure!(found.next == written.next, "the next sequence is {}", found.next);
    ensure!(found.cut.as_ref().is_none_or(|cut| cut.bytes == 0), "a cut: {:?}", found.cut);
    ensure!(shard.totals() == &written.totals, "other totals than there were");
    let found = fingerprint(shard, written.accounts)?;
    ensure!(found == written.fingerprint, "an account is not as it was");
    Ok(())
}
