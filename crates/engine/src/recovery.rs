//! From files to a shard: the newest good snapshot, then what the log has after it.

mod ahead;
mod chunks;
mod error;
mod gathered;
mod group;
mod replay;

use crate::log::{Cut, LogError, LogReader};
use crate::log_id::LogId;
use crate::snapshot::{Ranges, SnapshotError, SnapshotReader, snapshot_name, snapshot_of};
use crate::{Disk, KeyHasher, Prepared, Preparer, ReplayError, Shard, Step};
use ahead::{Ahead, read_ahead};
use chunks::Chunks;
pub use error::RecoveryError;
pub use group::{GroupEntry, GroupLog, look_at_group, survey_group};
use replay::{Replay, Sheaf, apply};
use scurry_codec::{Entry, Record};
use scurry_ledger::{Time, Totals};

/// Where recovery puts what it reads: one shard, or the shards of a server that has another
/// number of threads than the one that wrote.
pub trait Sink {
    /// Forgets everything: a snapshot has turned out to be damaged half-way.
    fn clear(&mut self);
    /// So many entries of a snapshot come.
    fn make_room(&mut self, _entries: u64) {}
    /// Takes an entry of a snapshot.
    fn restore(&mut self, entry: &Entry<'_>) -> Result<(), ReplayError>;
    /// For the thread that reads: what prepares entries. None where their shard is not known before they come.
    fn preparer(&self) -> Option<Preparer> {
        None
    }
    /// Takes entries of a snapshot, one after the other, as they were prepared, with the sums of those that were
    /// counted.
    fn restore_all(
        &mut self,
        entries: &[Entry<'_>],
        _prepared: &[Prepared],
        _totals: &Totals,
    ) -> Result<(), ReplayError> {
        entries.iter().try_for_each(|entry| self.restore(entry))
    }
    /// Applies a record of the log that is no Change of an account.
    fn replay(&mut self, record: &Record<'_>) -> Result<(), ReplayError>;
    /// Applies Changes of one account, one after the other. Where one does not fit, returns its
    /// sequence.
    fn replay_account<'r>(
        &mut self,
        id: &[u8],
        steps: impl Iterator<Item = Step<'r>>,
    ) -> Result<(), (u64, ReplayError)>;
    /// The hasher of keys, as its shards have it.
    fn hasher(&self) -> KeyHasher;
    /// Loads what the next records need: the hashes of their keys.
    fn touch(&mut self, hashes: &[u64]);
}

impl Sink for Shard {
    fn clear(&mut self) {
        Shard::clear(self);
    }

    fn make_room(&mut self, entries: u64) {
        Shard::make_room(self, entries);
    }

    fn restore(&mut self, entry: &Entry<'_>) -> Result<(), ReplayError> {
        Shard::restore(self, entry)
    }

    fn preparer(&self) -> Option<Preparer> {
        Some(Shard::preparer(self))
    }

    fn restore_all(
        &mut self,
        entries: &[Entry<'_>],
        prepared: &[Prepared],
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

/// The progress of recovery so far.
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
    /// Bytes of its segments that are read.
    pub log_bytes_all: u64,
}

/// The findings of recovery.
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

impl Recovered {
    /// A snapshot without a log behind it.
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

/// The least that the files of a log hold. A start that finds less is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Least {
    /// Everything up to this sequence was on the device.
    pub sequence: u64,
    /// The log was begun behind a snapshot.
    pub snapshot: bool,
}

/// How far a recovery goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To the end of the log, which is repaired: what is cut is cut on the disk.
    End(Least),
    /// To a sequence; nothing is written.
    Sequence(u64),
    /// As a sequence, of a log in a group which has that much: what is committed, while another thread may
    /// append behind it, or cut off what is there.
    Committed(u64),
}

/// Recovers what the files of a log hold.
pub fn recover<D: Disk>(
    disk: &mut D,
    log: LogId,
    until: Until,
    sink: &mut impl Sink,
    mut progress: impl FnMut(&Progress),
) -> Result<Recovered, RecoveryError> {
    let mut read = Progress::default();
    let (limit, least) = match until {
        Until::End(least) => (u64::MAX, least),
        Until::Sequence(sequence) => (sequence, Least::default()),
        Until::Committed(sequence) => (sequence, Least { sequence, snapshot: false }),
    };
    let hasher = sink.hasher();
    let base = restore(disk, log, limit, sink, &mut read, &mut progress)?;
    // Before anything is replayed: what lacks its base would not fit.
    if least.snapshot && !base.is_snapshot {
        return Err(base.without_snapshot());
    }
    let mut at = base.at;
    if matches!(until, Until::Committed(_)) && base.is_snapshot && base.begun >= limit {
        // All of it, and of the log there may be nothing yet.
        let next = base.begun + 1;
        return Ok(Recovered::of_snapshot(base, next, read));
    }
    let mut reader = LogReader::new(disk, log, base.begun + 1)?;
    if matches!(until, Until::Committed(_)) {
        reader = reader.in_group();
    }
    read.log_bytes_all = reader.bytes_ahead(limit)?;
    let reading = |ahead: &mut Ahead<Sheaf>| {
        let mut replay = Replay::new(&hasher, &base, limit, read);
        // What lies behind the limit is not looked at: it may be what the limit leaves out.
        while ahead.is_wanted()
            && reader.next() <= limit
            && let Some(frame) = reader.frame()?
        {
            at = at.max(frame.at());
            replay.frame(&frame, &mut |sheaf| ahead.give(sheaf))?;
        }
        replay.finish(&mut |sheaf| ahead.give(sheaf));
        Ok::<_, RecoveryError>(replay.read)
    };
    let mut hashes = Vec::new();
    let outcome: Result<_, RecoveryError> = read_ahead(reading, |sheaf| {
        progress(&sheaf.read);
        apply(sheaf, &mut hashes, sink)
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
    let is_whole = matches!(until, Until::End(_));
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

/// Gives snapshots that are damaged another name, so that they are not counted among those that
/// are kept.
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

/// The state that the snapshot has given; by default there was none.
#[derive(Default)]
struct Base {
    /// There was one.
    is_snapshot: bool,
    begun: u64,
    at: Time,
    version_last: u64,
    ranges: Ranges,
    /// The order that `ranges` are ranges of: that of the table which was walked over, whose secret ended with its
    /// process. None without a snapshot.
    order: Option<KeyHasher>,
    /// By the sequence at which each was begun.
    passed_over: Vec<(u64, SnapshotError)>,
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
    let names = disk.list().map_err(SnapshotError::Directory);
    let names = names.map_err(|error| RecoveryError::Snapshots(vec![error]))?;
    let mut snapshots: Vec<u64> = names.iter().filter_map(|name| snapshot_of(name)).collect();
    snapshots.sort_unstable();
    let mut passed_over = Vec::new();
    for begun in snapshots.into_iter().rev() {
        match restore_one(disk, log, begun, limit, sink, read, progress) {
            Ok(Some(base)) => return Ok(Base { passed_over, ..base }),
            // It shows more than is asked for.
            Ok(None) => {}
            // An older one would be used, and what the newer program has written be lost.
            Err(Unusable::Snapshot(error)) if error.is_of_newer_format() => {
                return Err(RecoveryError::Snapshots(vec![error]));
            }
            Err(Unusable::Snapshot(error)) => passed_over.push((begun, error)),
            Err(Unusable::Recovery(error)) => return Err(error),
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
    /// Why there is no snapshot that can be used.
    fn without_snapshot(self) -> RecoveryError {
        if self.passed_over.is_empty() {
            return RecoveryError::NoSnapshot;
        }
        RecoveryError::Snapshots(self.passed_over.into_iter().map(|(_, error)| error).collect())
    }

    /// The sequence that the snapshot shows of a key, or of what has none.
    fn as_of(&self, key: Option<&[u8]>) -> u64 {
        match (key, &self.order) {
            (Some(key), Some(order)) => self.ranges.as_of(order.position(key)),
            (Some(_), None) => 0,
            // Nothing is cleared while a snapshot is written: one sequence stands for all.
            (None, _) => self.begun,
        }
    }
}

/// Why a snapshot is not used.
enum Unusable {
    /// An older one may be.
    Snapshot(SnapshotError),
    /// None is.
    Recovery(RecoveryError),
}

impl From<RecoveryError> for Unusable {
    fn from(error: RecoveryError) -> Unusable {
        Unusable::Recovery(error)
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
) -> Result<Option<Base>, Unusable> {
    let mut reader = SnapshotReader::open(disk, log, begun).map_err(Unusable::Snapshot)?;
    let key = reader.header().key;
    let footer = *reader.footer();
    if footer.as_of > limit {
        return Ok(None);
    }
    read.entries_all = footer.entries;
    sink.make_room(footer.entries);
    let mut preparer = sink.preparer();
    let reading = |ahead: &mut Ahead<Chunks>| {
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
        // Also before a fault: what cannot be restored there is one that comes first.
        ahead.give(chunks);
        outcome
    };
    let outcome: Result<_, Unusable> = read_ahead(reading, |chunks| {
        chunks.restore(begun, sink, read)?;
        progress(read);
        Ok(())
    });
    outcome?.map_err(Unusable::Snapshot)?;
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
