//! Recovers a shard from files: the newest good snapshot, then the later records of the log.

mod chunks;
mod error;
mod gathered;
mod group;
mod read_ahead;
mod replay;

use crate::log::{DiscardedTail, LogError, LogReader};
use crate::log_id::LogId;
use crate::snapshot::{Ranges, SnapshotError, SnapshotReader, snapshot_name, snapshot_of};
use crate::{Disk, KeyHasher, PreparedEntry, Preparer, ReplayError, Shard, Step};
use chunks::Chunks;
pub use error::RecoveryError;
pub use group::{GroupEntry, GroupLog, look_at_group, survey_group};
use read_ahead::{ReadAhead, read_ahead};
use replay::{RecordBatch, Replay, apply};
use scurry_codec::{Record, SnapshotEntry};
use scurry_ledger::{Time, Totals};

/// Destination of recovery: one shard, or the shards of a server whose number of threads has changed since the files
/// were written.
pub trait Sink {
    /// Removes everything: a snapshot has turned out to be damaged after part of it was restored.
    fn clear(&mut self);
    /// Prepares for this many entries of a snapshot.
    fn make_room(&mut self, _entries: u64) {}
    /// Restores an entry of a snapshot.
    fn restore(&mut self, entry: &SnapshotEntry<'_>) -> Result<(), ReplayError>;
    /// Returns a preparer of entries for the reading thread. None when the shard of an entry is not known in advance.
    fn preparer(&self) -> Option<Preparer> {
        None
    }
    /// Restores prepared entries of a snapshot in order, with the totals that were counted for them.
    fn restore_all(
        &mut self,
        entries: &[SnapshotEntry<'_>],
        _prepared: &[PreparedEntry],
        _totals: &Totals,
    ) -> Result<(), ReplayError> {
        entries.iter().try_for_each(|entry| self.restore(entry))
    }
    /// Applies a record of the log other than a Change of an account.
    fn replay(&mut self, record: &Record<'_>) -> Result<(), ReplayError>;
    /// Applies Changes of one account in order. Returns the sequence of the first that does not fit.
    fn replay_account<'r>(
        &mut self,
        id: &[u8],
        steps: impl Iterator<Item = Step<'r>>,
    ) -> Result<(), (u64, ReplayError)>;
    /// Returns the hasher of keys that its shards use.
    fn hasher(&self) -> KeyHasher;
    /// Loads into the cache what the next records need, given the hashes of their keys.
    fn touch(&mut self, hashes: &[u64]);
}

impl Sink for Shard {
    fn clear(&mut self) {
        Shard::clear(self);
    }

    fn make_room(&mut self, entries: u64) {
        Shard::make_room(self, entries);
    }

    fn restore(&mut self, entry: &SnapshotEntry<'_>) -> Result<(), ReplayError> {
        Shard::restore(self, entry)
    }

    fn preparer(&self) -> Option<Preparer> {
        Some(Shard::preparer(self))
    }

    fn restore_all(
        &mut self,
        entries: &[SnapshotEntry<'_>],
        prepared: &[PreparedEntry],
        totals: &Totals,
    ) -> Result<(), ReplayError> {
        Shard::restore_all(self, entries, prepared, totals)
    }

    fn replay(&mut self, record: &Record<'_>) -> Result<(), ReplayError> {
        Shard::replay(self, record)
    }

    fn replay_account<'r>(
        &mut self,
        id: &[u8],
        steps: impl Iterator<Item = Step<'r>>,
    ) -> Result<(), (u64, ReplayError)> {
        Shard::replay_account(self, id, steps)
    }

    fn hasher(&self) -> KeyHasher {
        Shard::hasher(self)
    }

    fn touch(&mut self, hashes: &[u64]) {
        Shard::touch(self, hashes);
    }
}

/// Progress of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries restored from the snapshot.
    pub entries: u64,
    /// Entries in the snapshot.
    pub entries_all: u64,
    /// Records of the log applied.
    pub records: u64,
    /// Bytes of the log read.
    pub log_bytes: u64,
    /// Bytes of the log to read.
    pub log_bytes_all: u64,
}

/// Result of a recovery.
#[derive(Debug)]
pub struct Recovered {
    /// The sequence of the next record.
    pub next: u64,
    /// Latest time at which anything was written; the clock must not go below it.
    pub at: Time,
    /// The greatest version of an entity in the snapshot.
    pub version_last: u64,
    /// First sequences of the log's segments.
    pub segments: Vec<u64>,
    /// The sequence at which the used snapshot was begun.
    pub snapshot: Option<u64>,
    /// Newer snapshots that were unusable.
    pub passed_over: Vec<SnapshotError>,
    /// The end of the log that was cut off.
    pub cut: Option<DiscardedTail>,
    /// Amounts read.
    pub read: Progress,
}

impl Recovered {
    /// Returns the result for a snapshot without a log after it.
    fn of_snapshot(base: Base, next: u64, read: Progress) -> Recovered {
        let Base { begun, at, version_last, passed_over, .. } = base;
        let passed_over = passed_over.into_iter().map(|(_, error)| error).collect();
        let snapshot = Some(begun);
        Recovered {
            next,
            at,
            version_last,
            segments: vec![],
            snapshot,
            passed_over,
            cut: None,
            read,
        }
    }
}

/// Lower bound on the contents of a log's files. A start that finds less is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequiredExtent {
    /// Everything up to this sequence was on the device.
    pub sequence: u64,
    /// The log was begun after a snapshot, which must exist.
    pub snapshot: bool,
}

/// End point of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryEnd {
    /// To the end of the log, which is repaired on the disk.
    End(RequiredExtent),
    /// To a sequence; nothing is written.
    Sequence(u64),
    /// To a committed sequence of a log in a group, which is known to reach that far; nothing is written. Another
    /// thread may append or truncate after that sequence meanwhile.
    Committed(u64),
}

/// Recovers a shard from the files of a log.
pub fn recover<D: Disk>(
    disk: &mut D,
    log: LogId,
    until: RecoveryEnd,
    sink: &mut impl Sink,
    mut progress: impl FnMut(&Progress),
) -> Result<Recovered, RecoveryError> {
    let mut read = Progress::default();
    let (limit, least) = match until {
        RecoveryEnd::End(least) => (u64::MAX, least),
        RecoveryEnd::Sequence(sequence) => (sequence, RequiredExtent::default()),
        RecoveryEnd::Committed(sequence) => {
            (sequence, RequiredExtent { sequence, snapshot: false })
        }
    };
    let hasher = sink.hasher();
    let base = restore(disk, log, limit, sink, &mut read, &mut progress)?;
    // Checked before the replay, whose records would not fit without the base.
    if least.snapshot && !base.is_snapshot {
        return Err(base.without_snapshot());
    }
    let mut at = base.at;
    if matches!(until, RecoveryEnd::Committed(_)) && base.is_snapshot && base.begun >= limit {
        // The snapshot covers the whole range, and the log may still be empty.
        let next = base.begun + 1;
        return Ok(Recovered::of_snapshot(base, next, read));
    }
    let mut reader = LogReader::new(disk, log, base.begun + 1)?;
    if matches!(until, RecoveryEnd::Committed(_)) {
        reader = reader.in_group();
    }
    read.log_bytes_all = reader.bytes_ahead(limit)?;
    let reading = |ahead: &mut ReadAhead<RecordBatch>| {
        let mut replay = Replay::new(&hasher, &base, limit, read);
        // Frames after the limit are not read: they may be uncommitted, or damaged.
        while ahead.is_wanted()
            && reader.next() <= limit
            && let Some(frame) = reader.frame()?
        {
            at = at.max(frame.at());
            replay.frame(&frame, &mut |batch| ahead.give(batch))?;
        }
        replay.finish(&mut |batch| ahead.give(batch));
        Ok::<_, RecoveryError>(replay.read)
    };
    let mut hashes = Vec::new();
    let outcome: Result<_, RecoveryError> = read_ahead(reading, |batch| {
        progress(&batch.read);
        apply(batch, &mut hashes, sink)
    });
    read = outcome??;
    progress(&read);
    let last = reader.next() - 1;
    let wanted = base.ranges.last().max(least.sequence);
    if last.min(limit) < wanted {
        let newest = reader.segments().last().copied();
        return Err(RecoveryError::lost(last, wanted, reader.cut(), newest));
    }
    let (cut, segments) = (reader.cut().cloned(), reader.segments().to_vec());
    let next = reader.next();
    let is_whole = matches!(until, RecoveryEnd::End(_));
    if is_whole {
        reader.repair()?;
    }
    let Base { begun, version_last, passed_over, .. } = base;
    if is_whole {
        set_aside(disk, &passed_over)?;
    }
    let passed_over = passed_over.into_iter().map(|(_, error)| error).collect();
    let snapshot = (read.entries_all > 0 || begun > 0).then_some(begun);
    Ok(Recovered { next, at, version_last, segments, snapshot, passed_over, cut, read })
}

/// Renames damaged snapshots, so that they do not count among the kept ones.
fn set_aside<D: Disk>(
    disk: &mut D,
    passed_over: &[(u64, SnapshotError)],
) -> Result<(), RecoveryError> {
    let damaged = |(_, error): &&(u64, SnapshotError)| !matches!(error, SnapshotError::Io { .. });
    for (begun, _) in passed_over.iter().filter(damaged) {
        let name = snapshot_name(*begun);
        disk.rename(&name, &format!("damaged-{name}")).map_err(LogError::Directory)?;
    }
    Ok(())
}

/// State restored from the snapshot; the default is without one.
#[derive(Default)]
struct Base {
    /// Whether a snapshot was used.
    is_snapshot: bool,
    begun: u64,
    at: Time,
    version_last: u64,
    ranges: Ranges,
    /// The hasher that defines the order of `ranges`: that of the table that wrote the snapshot, whose secret ended
    /// with its process. None without a snapshot.
    order: Option<KeyHasher>,
    /// Unusable snapshots, by the sequence at which each was begun.
    passed_over: Vec<(u64, SnapshotError)>,
}

/// Restores the newest good snapshot that shows nothing after `limit`.
fn restore<D: Disk>(
    disk: &mut D,
    log: LogId,
    limit: u64,
    sink: &mut impl Sink,
    read: &mut Progress,
    progress: &mut impl FnMut(&Progress),
) -> Result<Base, RecoveryError> {
    let names = disk.list().map_err(SnapshotError::Directory);
    let names = names.map_err(|error| RecoveryError::Snapshots(vec![error]))?;
    let mut snapshots: Vec<u64> = names.iter().filter_map(|name| snapshot_of(name)).collect();
    snapshots.sort_unstable();
    let mut passed_over = Vec::new();
    for begun in snapshots.into_iter().rev() {
        match restore_one(disk, log, begun, limit, sink, read, progress) {
            Ok(Some(base)) => return Ok(Base { passed_over, ..base }),
            // It shows sequences after the limit.
            Ok(None) => {}
            // Refused: with an older snapshot, the writes of the newer program would be lost.
            Err(SnapshotFault::Snapshot(error)) if error.is_of_newer_format() => {
                return Err(RecoveryError::Snapshots(vec![error]));
            }
            Err(SnapshotFault::Snapshot(error)) => passed_over.push((begun, error)),
            Err(SnapshotFault::Recovery(error)) => return Err(error),
        }
        sink.clear();
        *read = Progress::default();
    }
    let segments = names.iter().filter_map(|name| crate::log::segment_of(name)).min();
    let is_needed = segments.is_none_or(|first| first > 1);
    let base = Base { passed_over, ..Base::default() };
    let is_missed = !base.passed_over.is_empty() && is_needed;
    if is_missed { Err(base.without_snapshot()) } else { Ok(base) }
}

impl Base {
    /// Returns why no snapshot can be used.
    fn without_snapshot(self) -> RecoveryError {
        if self.passed_over.is_empty() {
            return RecoveryError::NoSnapshot;
        }
        RecoveryError::Snapshots(self.passed_over.into_iter().map(|(_, error)| error).collect())
    }

    /// Returns the sequence up to which the snapshot shows a key, or shows records without a key.
    fn as_of(&self, key: Option<&[u8]>) -> u64 {
        match (key, &self.order) {
            (Some(key), Some(order)) => self.ranges.as_of(order.position(key)),
            (Some(_), None) => 0,
            // A clear voids a snapshot that is being written, so one sequence holds for everything.
            (None, _) => self.begun,
        }
    }
}

/// Why a snapshot is not used.
enum SnapshotFault {
    /// This snapshot is unusable; try an older one.
    Snapshot(SnapshotError),
    /// Recovery fails as a whole.
    Recovery(RecoveryError),
}

impl From<RecoveryError> for SnapshotFault {
    fn from(error: RecoveryError) -> SnapshotFault {
        SnapshotFault::Recovery(error)
    }
}

fn restore_one<D: Disk>(
    disk: &mut D,
    log: LogId,
    begun: u64,
    limit: u64,
    sink: &mut impl Sink,
    read: &mut Progress,
    progress: &mut impl FnMut(&Progress),
) -> Result<Option<Base>, SnapshotFault> {
    let mut reader = SnapshotReader::open(disk, log, begun).map_err(SnapshotFault::Snapshot)?;
    let key = reader.header().key;
    let footer = *reader.footer();
    if footer.as_of > limit {
        return Ok(None);
    }
    read.entries_all = footer.entries;
    sink.make_room(footer.entries);
    let mut preparer = sink.preparer();
    let reading = |ahead: &mut ReadAhead<Chunks>| {
        let mut chunks = Chunks::default();
        let outcome = loop {
            match reader.next_chunk() {
                Ok(Some((offset, bytes))) if ahead.is_wanted() => {
                    if chunks.push(offset, bytes, preparer.as_mut()) {
                        chunks = ahead.give(chunks);
                    }
                }
                Ok(_) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // Also given before an error: an error in restoring these chunks comes first.
        ahead.give(chunks);
        outcome
    };
    let outcome: Result<_, SnapshotFault> = read_ahead(reading, |chunks| {
        chunks.restore(begun, sink, read)?;
        progress(read);
        Ok(())
    });
    outcome?.map_err(SnapshotFault::Snapshot)?;
    Ok(Some(Base {
        is_snapshot: true,
        begun,
        at: footer.at,
        version_last: footer.version_last,
        ranges: reader.into_ranges(),
        order: Some(KeyHasher::new(key)),
        passed_over: Vec::new(),
    }))
}

#[cfg(test)]
mod tests;
