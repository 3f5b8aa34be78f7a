//! Reads the log of a node of a group at its start: the kind of each entry, for the engine that decides which entries
//! are committed. [`recover`](super::recover) reads the records that are applied to a shard.

use super::{RecoveryError, RequiredExtent};
use crate::Disk;
use crate::log::{
    DiscardedTail, LogError, LogReader, clear_incoming, read_base, remove_replaced_log,
    segment_name, segment_of,
};
use crate::log_id::LogId;
use crate::snapshot::SnapshotSequences;
use scurry_codec::{
    ByteCount, DeferredRecord, Frame, Index, LogBase, LogFormat, LogPosition, Record, RecordError,
    RecordSubject, Sequence, Term, read_raw_record,
};
use scurry_ledger::Time;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEntry {
    /// The sequence of its first record.
    pub first: Sequence,
    /// The sequence of its last record.
    pub last: Sequence,
    /// Length of its frame.
    pub len: ByteCount,
    /// Time at which the leader made it.
    pub at: Time,
    /// The term whose leader made it.
    pub term: Term,
    /// The index of the entry, from 1.
    pub index: Index,
    /// Checksum of the part of the entry that is equal on all nodes.
    pub content: u32,
    /// The bytes of the Group record of an entry without commands: a change of members, or an empty entry. None for an
    /// entry that commands have made.
    pub members: Option<Vec<u8>>,
}

/// The log of a node, as kept on its device.
#[derive(Debug)]
pub struct GroupLog {
    /// The state before the first entry, None when the log begins with the group's first entry.
    pub base: Option<LogBase>,
    /// The entries after the base.
    pub entries: Vec<GroupEntry>,
    /// The greatest index that a frame reports as committed. It may be after the last entry: other nodes have committed
    /// entries that this node's device did not get.
    pub committed: Index,
    /// The chain of the next entry.
    pub chain: u32,
    /// The sequence of the next record.
    pub next: Sequence,
    /// Latest time at which anything was written; the clock must not go below it.
    pub at: Time,
    /// First sequences of the log's segments.
    pub segments: Vec<u64>,
    /// The end of the log that was cut off.
    pub cut: Option<DiscardedTail>,
}

impl GroupLog {
    /// Returns the end of the last kept entry that is known to be committed, given the snapshots beside
    /// the log.
    pub fn committed(&self, snapshots: &[SnapshotSequences]) -> LogPosition {
        let base = self.base.as_ref().map(LogBase::position).unwrap_or_default();
        // A published snapshot shows only committed entries.
        let shown = snapshots.iter().map(|shown| shown.as_of).max().unwrap_or_default();
        let is_shown = self.entries.last().is_some_and(|last| shown <= last.last);
        let is_committed =
            |entry: &&GroupEntry| entry.index <= self.committed || is_shown && entry.first <= shown;
        let last = self.entries.iter().rev().find(is_committed);
        last.map_or(base, |entry| LogPosition { index: entry.index, sequence: entry.last })
    }

    /// Returns the sequence that must be committed before any of these snapshots can be used. None when one can be used
    /// already, or none is suitable.
    pub fn shows(&self, snapshots: &[SnapshotSequences]) -> Option<Sequence> {
        let base = self.base.as_ref()?;
        let committed = self.committed(snapshots).sequence;
        let shown = snapshots.iter().filter(|shown| shown.begun >= base.sequence);
        shown.map(|shown| shown.as_of).min().filter(|as_of| *as_of > committed)
    }
}

/// Reads a node's log after its base, and repairs its end: the bad end is cut off on the disk, and the rest is made
/// durable. A log that ends before `least.sequence` is refused and left unchanged. `least.snapshot` is ignored. An
/// exchange of the log ([`LogWriter::begin_at`](crate::LogWriter::begin_at)) that a crash interrupted is completed.
pub fn survey_group<D: Disk>(
    disk: &mut D,
    log: LogId,
    least: RequiredExtent,
) -> Result<GroupLog, RecoveryError> {
    let (base, sequence, start) = beginning(disk, log)?;
    let read = |disk: &mut D| read_group(disk, log, (base.as_ref(), start), least, true);
    let mut found = read(disk)?;
    if found.is_none() {
        // The base is in force, and the old log that it replaces is still there; nothing after the base was
        // acknowledged.
        if least.sequence > sequence.get() {
            return Err(RecoveryError::lost(sequence.get(), least.sequence, None, None));
        }
        remove_replaced_log(disk, sequence).map_err(LogError::Directory)?;
        found = read(disk)?;
    } else if base.is_some() && found.as_ref().is_some_and(|found| found.entries.is_empty()) {
        remove_replaced_log(disk, sequence).map_err(LogError::Directory)?;
    }
    clear_incoming(disk).map_err(LogError::Directory)?;
    let found = found
        .ok_or(RecoveryError::Log(LogError::Missing { first: 0, wanted: sequence.next().get() }))?;
    Ok(GroupLog { base, ..found })
}

/// Reads a log as [`survey_group`] does, but changes no file, so another process may write the log. An exchange of the
/// log is an error here: it is in progress, or the next start completes it.
pub fn look_at_group<D: Disk>(
    disk: &mut D,
    log: LogId,
    least: RequiredExtent,
) -> Result<GroupLog, RecoveryError> {
    let (base, _, start) = beginning(disk, log)?;
    let found = read_group(disk, log, (base.as_ref(), start), least, false)?;
    Ok(GroupLog { base, ..found.ok_or(RecoveryError::Exchange)? })
}

/// Returns the base of a log, its sequence, and the chain of the entry after it.
fn beginning<D: Disk>(
    disk: &mut D,
    log: LogId,
) -> Result<(Option<LogBase>, Sequence, u32), RecoveryError> {
    let base = read_base(disk, log)?;
    let (sequence, start) = base.as_ref().map_or_else(
        || (Sequence(0), log.seal_in(LogFormat::Replicated).chain_start()),
        |base| (base.sequence, base.chain),
    );
    Ok((base, sequence, start))
}

/// Reads the log after a base; the first entry must have the base's chain. None when the log does not continue at the
/// base.
fn read_group<D: Disk>(
    disk: &mut D,
    log: LogId,
    (base, start): (Option<&LogBase>, u32),
    least: RequiredExtent,
    repairs: bool,
) -> Result<Option<GroupLog>, RecoveryError> {
    let LogPosition { index: base_index, sequence: base_sequence } =
        base.map(LogBase::position).unwrap_or_default();
    let names = disk.list().map_err(LogError::Directory)?;
    let is_empty = !names.iter().any(|name| segment_of(name).is_some());
    let mut found = GroupLog {
        base: None,
        entries: vec![],
        committed: base_index,
        chain: start,
        next: base_sequence.next(),
        at: Time(base.map_or(0, |base| base.at)),
        segments: vec![],
        cut: None,
    };
    if is_empty && base.is_some() {
        if base_sequence.get() < least.sequence {
            return Err(RecoveryError::lost(base_sequence.get(), least.sequence, None, None));
        }
        return Ok(Some(found));
    }
    let mut reader = LogReader::new(disk, log, base_sequence.next().get())?.in_group();
    let other = |first, index: Index| match base {
        Some(_) => Ok(None),
        None => Err(RecoveryError::Beginning { file: segment_name(first), index }),
    };
    while let Some(frame) = reader.frame()? {
        let Some(place) = frame.entry() else {
            return Err(RecoveryError::Single { file: segment_name(frame.first()) });
        };
        found.committed = found.committed.max(place.committed);
        found.at = found.at.max(frame.at());
        if frame.next() <= base_sequence.next().get() {
            // An entry up to the base, or a mark.
            continue;
        }
        let follows = (base_index.next(), start, base_sequence.next().get());
        if found.entries.is_empty() && (place.index, place.chain, frame.first()) != follows {
            return other(frame.first(), place.index);
        }
        if frame.count() == 0 {
            continue;
        }
        let sequence = frame.first();
        let members = members_of(&frame);
        found.entries.push(GroupEntry {
            first: Sequence(sequence),
            last: Sequence(frame.next() - 1),
            len: ByteCount(frame.len() as u64),
            at: frame.at(),
            term: place.term,
            index: place.index,
            content: place.content,
            members: members.map_err(|error| RecoveryError::Record { sequence, error })?,
        });
    }
    if found.entries.is_empty()
        && let Some(history) = reader.history()
        && (history.index, history.chain, reader.next())
            != (base_index, start, base_sequence.next().get())
    {
        return other(reader.next(), history.index);
    }
    let (last, cut) = (reader.next() - 1, reader.cut().cloned());
    found.segments = reader.segments().to_vec();
    if last < least.sequence {
        let newest = found.segments.last().copied();
        return Err(RecoveryError::lost(last, least.sequence, cut.as_ref(), newest));
    }
    (found.chain, found.next) =
        (reader.history().map_or(start, |history| history.chain), Sequence(last).next());
    if repairs {
        reader.repair()?;
    }
    Ok(Some(GroupLog { cut, ..found }))
}

/// Returns the bytes of the Group record, when it is the only record of the frame.
fn members_of(frame: &Frame<'_>) -> Result<Option<Vec<u8>>, RecordError> {
    if frame.count() != 1 {
        return Ok(None);
    }
    let Some(passed) = frame.records().pass().transpose()? else { return Ok(None) };
    if passed.about != RecordSubject::Nothing {
        return Ok(None);
    }
    Ok(match read_raw_record(passed.bytes)? {
        DeferredRecord::Other(Record::Group { members }) => Some(members.to_vec()),
        DeferredRecord::Other(_) | DeferredRecord::Account { .. } => None,
    })
}
