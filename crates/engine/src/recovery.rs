//! From files to a shard: the newest good snapshot, then what the log has after it.

use crate::log::{Cut, LogError, LogId, LogReader};
use crate::snapshot::{Ranges, SnapshotError, SnapshotReader, snapshot_of};
use crate::{Disk, KeyHasher, ReplayError, Shard};
use scurry_codec::{Record, RecordError, SnapshotEntry};
use scurry_ledger::Time;
use thiserror::Error;

/// Where recovery puts what it reads: one shard, or the shards of a server that has another
/// number of threads than the one that wrote.
pub trait Sink {
    /// Forgets everything: a snapshot has turned out to be damaged half-way.
    fn clear(&mut self);
    /// Takes an entry of a snapshot.
    fn restore(&mut self, entry: &SnapshotEntry<'_>) -> Result<(), ReplayError>;
    /// Applies a record of the log.
    fn replay(&mut self, record: &Record<'_>) -> Result<(), ReplayError>;
    /// Loads what the next records need.
    fn touch(&mut self, keys: &[&[u8]]);
}

impl Sink for Shard {
    fn clear(&mut self) {
        Shard::clear(self);
    }

    fn restore(&mut self, entry: &SnapshotEntry<'_>) -> Result<(), ReplayError> {
        Shard::restore(self, entry)
    }

    fn replay(&mut self, record: &Record<'_>) -> Result<(), ReplayError> {
        Shard::replay(self, record)
    }

    fn touch(&mut self, keys: &[&[u8]]) {
        let keys: Vec<_> = keys.iter().map(|key| self.key(key)).collect();
        Shard::touch(self, &keys);
    }
}

/// Why a shard cannot be recovered.
#[derive(Debug, Error)]
pub enum RecoveryError {
    /// The log is damaged, or its end is missing.
    #[error(transparent)]
    Log(#[from] LogError),
    /// No snapshot can be used, and the log alone does not reach back far enough.
    #[error("no snapshot can be used: {}", list(.0))]
    Snapshots(Vec<SnapshotError>),
    /// A record is not what a log holds.
    #[error("the log is damaged at sequence {sequence}: {error}; restore from a backup")]
    Record {
        /// Its sequence.
        sequence: u64,
        /// What is wrong.
        error: RecordError,
    },
    /// A record does not fit the state.
    #[error("sequence {sequence} does not fit what is there: {error}; restore from a backup")]
    Replay {
        /// Its sequence, or that of the snapshot.
        sequence: u64,
        /// What is wrong.
        error: ReplayError,
    },
    /// The snapshot shows more than the log has.
    #[error(
        "the log ends at sequence {last}, and {wanted} was synced once: its end was lost; restore \
         from a backup"
    )]
    Lost {
        /// The last sequence of the log.
        last: u64,
        /// What the snapshot shows.
        wanted: u64,
    },
}

fn list(errors: &[SnapshotError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What recovery has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries taken from the snapshot.
    pub entries: u64,
    /// How many the snapshot has.
    pub entries_all: u64,
    /// Records of the log that were applied.
    pub records: u64,
    /// Bytes of the log that were read.
    pub log_bytes: u64,
}

/// What recovery has found.
#[derive(Debug)]
pub struct Recovered {
    /// The sequence of the next record.
    pub next: u64,
    /// No clock may show less: the latest time at which anything was written.
    pub at: Time,
    /// The greatest version of an entity that the snapshot knows of.
    pub version_last: u64,
    /// First sequences of the log's segments.
    pub segments: Vec<u64>,
    /// The sequence at which the snapshot was begun that was used.
    pub snapshot: Option<u64>,
    /// Newer snapshots that could not be used.
    pub passed_over: Vec<SnapshotError>,
    /// The end of the log that was cut off.
    pub cut: Option<Cut>,
    /// How much was read.
    pub read: Progress,
}

/// How far a recovery goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To the end of the log, which is settled: what is cut is cut on the disk.
    End,
    /// To a sequence; nothing is written.
    Sequence(u64),
}

/// Records whose keys are loaded ahead together.
const AHEAD: usize = 64;

/// Recovers what the files of a log hold.
pub fn recover<D: Disk>(
    disk: &mut D,
    log: LogId,
    until: Until,
    sink: &mut impl Sink,
    mut progress: impl FnMut(&Progress),
) -> Result<Recovered, RecoveryError> {
    let mut read = Progress::default();
    let limit = match until {
        Until::End => u64::MAX,
        Until::Sequence(sequence) => sequence,
    };
    let base = restore(disk, log, limit, sink, &mut read, &mut progress)?;
    let mut at = base.at;
    let mut reader = LogReader::new(disk, log, base.begun + 1)?;
    let mut ahead = Ahead::default();
    while let Some(frame) = reader.frame()? {
        if frame.first() > limit {
            break;
        }
        at = at.max(frame.at());
        let mut sequence = frame.first();
        ahead.clear();
        for record in frame.records() {
            let record = record.map_err(|error| RecoveryError::Record { sequence, error })?;
            ahead.push(sequence, record);
            if ahead.is_full() {
                ahead.apply(sink, &base, limit, &mut read)?;
            }
            sequence += 1;
        }
        ahead.apply(sink, &base, limit, &mut read)?;
        read.log_bytes += frame.len() as u64;
        progress(&read);
    }
    let last = reader.next() - 1;
    if last.min(limit) < base.ranges.last() {
        return Err(RecoveryError::Lost { last, wanted: base.ranges.last() });
    }
    let (cut, segments) = (reader.cut().cloned(), reader.segments().to_vec());
    let next = reader.next();
    if until == Until::End {
        reader.settle()?;
    }
    let Base { begun, version_last, passed_over, .. } = base;
    let snapshot = (read.entries_all > 0 || begun > 0).then_some(begun);
    Ok(Recovered { next, at, version_last, segments, snapshot, passed_over, cut, read })
}

/// What the snapshot has given.
struct Base {
    begun: u64,
    at: Time,
    version_last: u64,
    ranges: Ranges,
    hasher: KeyHasher,
    passed_over: Vec<SnapshotError>,
}

/// Restores the newest snapshot that is good and shows nothing after `limit`.
fn restore<D: Disk>(
    disk: &mut D,
    log: LogId,
    limit: u64,
    sink: &mut impl Sink,
    read: &mut Progress,
    progress: &mut impl FnMut(&Progress),
) -> Result<Base, RecoveryError> {
    let names = disk.list().map_err(SnapshotError::from);
    let names = names.map_err(|error| RecoveryError::Snapshots(vec![error]))?;
    let mut snapshots: Vec<u64> = names.iter().filter_map(|name| snapshot_of(name)).collect();
    snapshots.sort_unstable();
    let mut passed_over = Vec::new();
    for begun in snapshots.into_iter().rev() {
        match restore_one(disk, log, begun, limit, sink, read, progress) {
            Ok(Some(base)) => return Ok(Base { passed_over, ..base }),
            // It shows more than is asked for.
            Ok(None) => {}
            Err(Unusable::Snapshot(error)) => passed_over.push(error),
            Err(Unusable::Replay(error)) => {
                return Err(RecoveryError::Replay { sequence: begun, error });
            }
        }
        sink.clear();
        *read = Progress::default();
    }
    let segments = names.iter().filter_map(|name| crate::log::segment_of(name)).min();
    if !passed_over.is_empty() && segments.is_none_or(|first| first > 1) {
        return Err(RecoveryError::Snapshots(passed_over));
    }
    Ok(Base {
        begun: 0,
        at: Time(0),
        version_last: 0,
        ranges: Ranges::default(),
        hasher: KeyHasher::new(0),
        passed_over,
    })
}

enum Unusable {
    Snapshot(SnapshotError),
    Replay(ReplayError),
}

fn restore_one<D: Disk>(
    disk: &mut D,
    log: LogId,
    begun: u64,
    limit: u64,
    sink: &mut impl Sink,
    read: &mut Progress,
    progress: &mut impl FnMut(&Progress),
) -> Result<Option<Base>, Unusable> {
    let mut reader = SnapshotReader::open(disk, log, begun).map_err(Unusable::Snapshot)?;
    let footer = *reader.footer();
    if footer.as_of > limit {
        return Ok(None);
    }
    read.entries_all = footer.entries;
    let mut failed = None;
    loop {
        let more = reader.chunk(|entry| {
            read.entries += 1;
            if failed.is_none() {
                failed = sink.restore(&entry).err();
            }
        });
        if let Some(error) = failed {
            return Err(Unusable::Replay(error));
        }
        if !more.map_err(Unusable::Snapshot)? {
            break;
        }
        progress(read);
    }
    let hasher = KeyHasher::new(reader.header().hash_seed);
    Ok(Some(Base {
        begun,
        at: footer.at,
        version_last: footer.version_last,
        ranges: reader.into_ranges(),
        hasher,
        passed_over: Vec::new(),
    }))
}

/// Records that are applied together, so that what they need is loaded together.
#[derive(Default)]
struct Ahead<'a> {
    records: Vec<(u64, Record<'a>)>,
}

impl<'a> Ahead<'a> {
    fn clear(&mut self) {
        self.records.clear();
    }

    fn push(&mut self, sequence: u64, record: Record<'a>) {
        self.records.push((sequence, record));
    }

    fn is_full(&self) -> bool {
        self.records.len() >= AHEAD
    }

    /// Applies what the snapshot does not show yet.
    fn apply(
        &mut self,
        sink: &mut impl Sink,
        base: &Base,
        limit: u64,
        read: &mut Progress,
    ) -> Result<(), RecoveryError> {
        let keys: Vec<&[u8]> = self.records.iter().filter_map(|(_, record)| record.key()).collect();
        sink.touch(&keys);
        for (sequence, record) in self.records.drain(..) {
            // Nothing is cleared while a snapshot is written, so one sequence stands for all.
            let as_of = record.key().map_or(base.begun, |key| {
                base.ranges.as_of(base.hasher.position(key))
            });
            if sequence <= as_of || sequence > limit {
                continue;
            }
            sink.replay(&record)
                .map_err(|error| RecoveryError::Replay { sequence, error })?;
            read.records += 1;
        }
        Ok(())
    }
}
