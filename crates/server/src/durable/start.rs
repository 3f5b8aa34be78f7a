//! Opens a directory and returns shards that can serve: lock, manifest, recovery, and redistribution over another
//! number of threads.

use super::divide::{Spread, divide};
use crate::settings::StartError;
use crate::slots::Slots;
use scurry_disk::{Directory, DiskFile, Manifest, Store};
use scurry_engine::{
    Config, Durability, LogId, LogReach, LogRetention, Progress, Recovered, RecoveryEnd,
    RecoveryError, RequiredExtent, Shard, Version, recover,
};
use scurry_ledger::Time;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval between progress reports of recovery.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Progress of recovery, over all threads that wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryProgress {
    /// Keys read from snapshots.
    pub entries: u64,
    /// Keys in the snapshots that were opened so far.
    pub entries_all: u64,
    /// Changes of the logs that were applied.
    pub records: u64,
    /// Bytes of the logs that were read.
    pub log_bytes: u64,
    /// Bytes of all logs.
    pub log_bytes_all: u64,
}

/// Results of recovery, over all threads that wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Final progress: everything was read.
    pub read: RecoveryProgress,
    /// Notes for the operator: ends of logs that were cut off, snapshots that were skipped.
    pub notes: Vec<String>,
}

/// How much of the log is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    /// A snapshot is begun when the log has grown by this many bytes.
    pub(crate) snapshot_log_bytes: u64,
    /// How much of the log is kept although no snapshot needs it.
    pub(crate) log: LogRetention,
    /// Number of logs that share the disk.
    pub(crate) threads: u16,
}

/// The shard, the log and the files that a core starts with.
pub(crate) struct CoreStart {
    pub(crate) shard: Shard,
    pub(crate) log: LogId,
    /// The sequence of the next record.
    pub(crate) next: u64,
    /// Bytes of the log after the snapshot that was used.
    pub(crate) logged_bytes: u64,
    pub(crate) durability: Durability,
    /// The random number that identifies the store and its copies.
    pub(crate) store: u64,
    /// Generation of the log, the first part of event positions.
    pub(crate) generation: u32,
    /// One for the log, one for the maintenance thread, and one for readers of events.
    pub(crate) directories: [Directory; 3],
    /// Files that note the log's reach: one for the log, one for the maintenance thread. None if it could not be opened,
    /// which was reported.
    pub(crate) reaches: [Option<LogReach<DiskFile>>; 2],
    pub(crate) retention: Retention,
}

/// A directory that was recovered.
pub(crate) struct Opened {
    /// The store, which holds the lock.
    pub(crate) store: Arc<Store>,
    pub(crate) manifest: Manifest,
    pub(crate) cores: Vec<CoreStart>,
    /// Lower bound for all clocks.
    pub(crate) time: Time,
    pub(crate) report: RecoveryReport,
}

/// The store to open, and the settings to open it with.
pub(crate) struct Plan<'p> {
    pub(crate) path: &'p Path,
    pub(crate) threads: u16,
    pub(crate) durability: Durability,
    pub(crate) retention: Retention,
    /// Configuration of the shards.
    pub(crate) config: Config,
}

/// Sums of what several threads have read.
#[derive(Default)]
pub(super) struct Meter {
    sums: [AtomicU64; 5],
}

impl Meter {
    pub(super) fn add(&self, before: &mut Progress, now: &Progress) {
        let parts = |of: &Progress| {
            [of.entries, of.entries_all, of.records, of.log_bytes, of.log_bytes_all]
        };
        for ((sum, now), before) in self.sums.iter().zip(parts(now)).zip(parts(before)) {
            // When a snapshot is given up, the difference is negative; wrapping arithmetic subtracts it.
            sum.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
        }
        *before = *now;
    }

    pub(super) fn read(&self) -> RecoveryProgress {
        let [entries, entries_all, records, log_bytes, log_bytes_all] =
            [0, 1, 2, 3, 4].map(|at: usize| self.sums[at].load(Ordering::Relaxed));
        RecoveryProgress { entries, entries_all, records, log_bytes, log_bytes_all }
    }
}

/// Opens a store, recovers it, and distributes it over the threads.
pub(crate) fn open(
    plan: &Plan<'_>,
    tell: &(dyn Fn(&RecoveryProgress) + Sync),
) -> Result<Opened, StartError> {
    let store = Store::open(plan.path)?;
    store.refuse_group()?;
    let manifest = match store.manifest()? {
        Some(manifest) => manifest,
        None => begin(&store, plan.threads)?,
    };
    // Checked before anything is removed: the files of another generation may be the right ones, and the manifest an
    // old copy.
    let least = store.least(&manifest)?;
    for generation in store.generations().map_err(StartError::store)? {
        if generation != manifest.generation {
            store.remove_generation(generation).map_err(StartError::store)?;
        }
    }
    let with_valid_checksum = store.mend_notes(&manifest)?;
    let same = manifest.threads == plan.threads;
    let mut shards: Vec<Shard> =
        (0..plan.threads).map(|_| Shard::new(plan.config.clone())).collect();
    let recovered = if same {
        side_by_side(&store, (&manifest, &least), &mut shards, tell)?
    } else {
        one_after_the_other(&store, (&manifest, &least), &mut shards, tell)?
    };
    let mut opened = Opened {
        store: Arc::new(store),
        manifest,
        cores: vec![],
        time: Time(0),
        report: recovered.1,
    };
    opened.report.notes.extend(with_valid_checksum);
    let mut nexts = vec![1; shards.len()];
    let mut logged = vec![0; shards.len()];
    let mut version_last = 0;
    for (core, found) in recovered.0.iter().enumerate() {
        opened.time = opened.time.max(found.at);
        version_last = version_last.max(found.version_last);
        if same {
            nexts[core] = found.next;
            logged[core] = found.read.log_bytes;
        }
    }
    // All shards give versions above every version that any of the old logs contains.
    for shard in &mut shards {
        shard.note_version(Version::new(version_last).unwrap_or(Version::LAST));
    }
    if !same {
        opened.manifest = divide(&opened.store, &manifest, &mut shards, opened.time, None)?;
        opened.report.notes.push(format!(
            "divided among {} threads, which were {} before",
            plan.threads, manifest.threads
        ));
    }
    let reached: Vec<u64> = nexts.iter().map(|next| next - 1).collect();
    let noted = opened.store.raise_reach(&opened.manifest, &reached);
    opened.report.notes.extend(match noted {
        Ok(true) => None,
        Ok(false) => Some(String::from(
            "no file said how far the logs had come (it was removed): nothing that is \
             missing at their ends was noticed",
        )),
        // A full disk must not prevent the start.
        Err(error) => Some(format!("not noted: {error}")),
    });
    let each = shards.into_iter().zip(nexts.into_iter().zip(logged));
    for (core, (shard, (next, logged_bytes))) in (0..).zip(each) {
        let generation = opened.manifest.generation;
        let directory = || opened.store.core(generation, core).map_err(StartError::store);
        let reach = || opened.store.reach(&opened.manifest, core).ok().flatten();
        opened.cores.push(CoreStart {
            shard,
            log: opened.manifest.log(core),
            next,
            logged_bytes,
            durability: plan.durability,
            store: opened.manifest.store,
            generation: opened.manifest.generation_of_events(),
            directories: [directory()?, directory()?, directory()?],
            reaches: [reach(), reach()],
            retention: plan.retention,
        });
    }
    Ok(opened)
}

/// Creates the manifest of an empty store.
pub(super) fn begin(store: &Store, threads: u16) -> Result<Manifest, StartError> {
    let store_id = getrandom::u64()
        .map_err(io::Error::other)
        .map_err(StartError::system("a random number"))?;
    let manifest = Manifest::new(store_id, threads);
    store.write_reach(&manifest, &vec![0; usize::from(threads)])?;
    store.write_manifest(&manifest)?;
    Ok(manifest)
}

type Found = (Vec<Recovered>, RecoveryReport);

/// Recovers the shards in parallel: each thread its own.
fn side_by_side(
    store: &Store,
    (manifest, least): (&Manifest, &[RequiredExtent]),
    shards: &mut [Shard],
    tell: &(dyn Fn(&RecoveryProgress) + Sync),
) -> Result<Found, StartError> {
    let meter = Meter::default();
    let (done, outcomes) = channel();
    let mut all = Vec::new();
    thread::scope(|scope| -> Result<(), StartError> {
        for (core, (shard, &least)) in (0..).zip(shards.iter_mut().zip(least)) {
            let mut directory = store.core(manifest.generation, core).map_err(StartError::store)?;
            let (meter, done) = (&meter, done.clone());
            thread::Builder::new()
                .name(format!("recovery-{core}"))
                .spawn_scoped(scope, move || {
                    let mut before = Progress::default();
                    let outcome = recover(
                        &mut directory,
                        manifest.log(core),
                        RecoveryEnd::End(least),
                        shard,
                        |progress| meter.add(&mut before, progress),
                    );
                    // The receiver exists until the last thread has ended, so sending cannot fail.
                    let _ = done.send((core, outcome));
                })
                .map_err(StartError::system("a thread for recovery"))?;
        }
        drop(done);
        loop {
            match outcomes.recv_timeout(REPORT_EVERY) {
                Ok(outcome) => all.push(outcome),
                Err(RecvTimeoutError::Timeout) => tell(&meter.read()),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    })?;
    all.sort_by_key(|(core, _)| *core);
    let mut report = RecoveryReport { read: meter.read(), notes: vec![] };
    let mut found = Vec::new();
    for (core, outcome) in all {
        let one = outcome.map_err(|error| StartError::recovery(manifest, core, error))?;
        note(&mut report, core, &one);
        found.push(one);
    }
    Ok((found, report))
}

/// Recovers the logs one after the other, and gives every key to the thread that owns it now.
fn one_after_the_other(
    store: &Store,
    (manifest, least): (&Manifest, &[RequiredExtent]),
    shards: &mut [Shard],
    tell: &(dyn Fn(&RecoveryProgress) + Sync),
) -> Result<Found, StartError> {
    let slots = Slots::new(u16::try_from(shards.len()).unwrap_or(u16::MAX));
    let meter = Meter::default();
    let mut report = RecoveryReport::default();
    let mut all = Vec::new();
    for (core, &least) in (0..manifest.threads).zip(least) {
        let mut directory = store.core(manifest.generation, core).map_err(StartError::store)?;
        let mut before = Progress::default();
        let mut told = 0;
        let is_read = |key: &[u8]| Slots::new(manifest.threads).owner_of(key) == core;
        let mut spread = Spread { shards: &mut *shards, slots, is_read: &is_read };
        let found = recover(
            &mut directory,
            manifest.log(core),
            RecoveryEnd::End(least),
            &mut spread,
            |progress| {
                meter.add(&mut before, progress);
                let read = meter.read();
                let now = read.entries + read.records;
                if now >= told + 1_000_000 {
                    told = now;
                    tell(&read);
                }
            },
        )
        .map_err(|error| StartError::recovery(manifest, core, error))?;
        note(&mut report, core, &found);
        all.push(found);
    }
    report.read = meter.read();
    Ok((all, report))
}

fn note(report: &mut RecoveryReport, core: u16, found: &Recovered) {
    if let Some(cut) = &found.cut
        && cut.bytes > 0
    {
        report.notes.push(format!(
            "thread {core}: {} bytes at the end of {} were not complete and had been promised to \
             no client; cut off at byte {}",
            cut.bytes, cut.file, cut.offset
        ));
    }
    for error in &found.passed_over {
        report.notes.push(format!(
            "thread {core}: a snapshot was passed over, and an older one used: {error}"
        ));
    }
}

impl StartError {
    pub(super) fn store(source: io::Error) -> StartError {
        StartError::Store(source.into())
    }

    pub(super) fn recovery(manifest: &Manifest, core: u16, source: RecoveryError) -> StartError {
        StartError::Recovery {
            place: format!("g{}/{core}", manifest.generation),
            source: Box::new(source),
        }
    }
}
