//! The log of a node of a group, as the node reads it at its start: what each entry is, for the engine that
//! decides what is committed. What is applied to a shard is read by [`recover`](super::recover).

use super::{Least, RecoveryError};
use crate::Disk;
use crate::log::{
    Cut, LogError, LogReader, clear_incoming, give_way, read_base, segment_name, segment_of,
};
use crate::log_id::LogId;
use crate::snapshot::Shown;
use scurry_codec::{About, Frame, Late, LogBase, LogFormat, Record, RecordError, read_passed};
use scurry_ledger::Time;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEntry {
    /// The sequence of its first record.
    pub first: u64,
    /// The sequence of its last record.
    pub last: u64,
    /// Bytes of its frame.
    pub len: u32,
    /// When it was made.
    pub at: Time,
    /// The term whose leader made it.
    pub term: u64,
    /// The number of the entry, from 1.
    pub index: u64,
    /// Checksum of what all nodes have of it.
    pub content: u32,
    /// The bytes of the Group record that is all of it, where no command made it: members, or nothing. None of
    /// an entry that commands have made.
    pub members: Option<Vec<u8>>,
}

/// All that a node keeps of its log.
#[derive(Debug)]
pub struct GroupLog {
    /// The state before the first entry; none where that is the first one of the group.
    pub base: Option<LogBase>,
    /// The entries behind the base.
    pub entries: Vec<GroupEntry>,
    /// The greatest index that any frame says to be committed. It may lie behind the last entry: others have
    /// committed what this node's device did not take.
    pub committed: u64,
    /// The chain of the next entry.
    pub chain: u32,
    /// The sequence of the next record.
    pub next: u64,
    /// No clock may show less: the latest time at which anything was written.
    pub at: Time,
    /// First sequences of the log's segments.
    pub segments: Vec<u64>,
    /// The end of the log that was cut off.
    pub cut: Option<Cut>,
}

impl GroupLog {
    /// The last committed entry that is known and there, with these snapshots beside the log: its index and its last
    /// sequence.
    pub fn committed(&self, snapshots: &[Shown]) -> (u64, u64) {
        let base = self.base.as_ref().map_or((0, 0), |base| (base.index, base.sequence));
        // What a snapshot shows is committed, or it would not count.
        let shown = snapshots.iter().map(|shown| shown.as_of).max().unwrap_or(0);
        let is_shown = self.entries.last().is_some_and(|last| shown <= last.last);
        let is_committed =
            |entry: &&GroupEntry| entry.index <= self.committed || is_shown && entry.first <= shown;
        let last = self.entries.iter().rev().find(is_committed);
        last.map_or(base, |entry| (entry.index, entry.last))
    }

    /// The sequence that has to be committed before any of these snapshots can be used; none where one can, or
    /// there is none.
    pub fn shows(&self, snapshots: &[Shown]) -> Option<u64> {
        let base = self.base.as_ref()?;
        let (_, committed) = self.committed(snapshots);
        let shown = snapshots.iter().filter(|shown| shown.begun >= base.sequence);
        shown.map(|shown| shown.as_of).min().filter(|as_of| *as_of > committed)
    }
}

/// Reads all of a node's log behind its base, and repairs its end: what is cut is cut on the disk, and all that is
/// left is on the device. A log that ends before `least.sequence` is refused and left as it is. No snapshot is
/// asked for, whatever `least` says. An exchange of the log for another ([`LogWriter::begin_at`](crate::LogWriter::begin_at)) that a
/// crash has cut short is brought to its end.
pub fn survey_group<D: Disk>(
    disk: &mut D,
    log: LogId,
    least: Least,
) -> Result<GroupLog, RecoveryError> {
    let (base, sequence, start) = beginning(disk, log)?;
    let read = |disk: &mut D| read_group(disk, log, (base.as_ref(), start), least, true);
    let mut found = read(disk)?;
    if found.is_none() {
        // The base counts, and what is there is what it came in the place of; nothing behind it was promised.
        if least.sequence > sequence {
            return Err(RecoveryError::lost(sequence, least.sequence, None, None));
        }
        give_way(disk, sequence).map_err(LogError::Directory)?;
        found = read(disk)?;
    } else if base.is_some() && found.as_ref().is_some_and(|found| found.entries.is_empty()) {
        give_way(disk, sequence).map_err(LogError::Directory)?;
    }
    clear_incoming(disk).map_err(LogError::Directory)?;
    let found =
        found.ok_or(RecoveryError::Log(LogError::Missing { first: 0, wanted: sequence + 1 }))?;
    Ok(GroupLog { base, ..found })
}

/// The same of a log that somebody else may write, without a change to any file. An exchange of the log is an
/// error here: it is under way, or the next start ends it.
pub fn look_at_group<D: Disk>(
    disk: &mut D,
    log: LogId,
    least: Least,
) -> Result<GroupLog, RecoveryError> {
    let (base, _, start) = beginning(disk, log)?;
    let found = read_group(disk, log, (base.as_ref(), start), least, false)?;
    Ok(GroupLog { base, ..found.ok_or(RecoveryError::Exchange)? })
}

/// The base of a log, its sequence, and the chain of the entry behind it.
fn beginning<D: Disk>(
    disk: &mut D,
    log: LogId,
) -> Result<(Option<LogBase>, u64, u32), RecoveryError> {
    let base = read_base(disk, log)?;
    let (sequence, start) = base.as_ref().map_or_else(
        || (0, log.seal_in(LogFormat::Replicated).chain_start()),
        |base| (base.sequence, base.chain),
    );
    Ok((base, sequence, start))
}

/// Reads the log behind a base, whose chain the first entry has; none where the log does not go on there.
fn read_group<D: Disk>(
    disk: &mut D,
    log: LogId,
    (base, start): (Option<&LogBase>, u32),
    least: Least,
    repairs: bool,
) -> Result<Option<GroupLog>, RecoveryError> {
    let (base_index, base_sequence) = base.map_or((0, 0), |base| (base.index, base.sequence));
    let names = disk.list().map_err(LogError::Directory)?;
    let is_empty = !names.iter().any(|name| segment_of(name).is_some());
    let mut found = GroupLog {
        base: None,
        entries: vec![],
        committed: base_index,
        chain: start,
        next: base_sequence + 1,
        at: Time(base.map_or(0, |base| base.at)),
        segments: vec![],
        cut: None,
    };
    if is_empty && base.is_some() {
        if base_sequence < least.sequence {
            return Err(RecoveryError::lost(base_sequence, least.sequence, None, None));
        }
        return Ok(Some(found));
    }
    let mut reader = LogReader::new(disk, log, base_sequence + 1)?.in_group();
    let other = |first, index| match base {
        Some(_) => Ok(None),
        None => Err(RecoveryError::Beginning { file: segment_name(first), index }),
    };
    while let Some(frame) = reader.frame()? {
        let Some(place) = frame.entry() else {
            return Err(RecoveryError::Single { file: segment_name(frame.first()) });
        };
        found.committed = found.committed.max(place.committed);
        found.at = found.at.max(frame.at());
        if frame.next() <= base_sequence + 1 {
            // An entry up to the base, or a mark.
            continue;
        }
        let follows = (base_index + 1, start, base_sequence + 1);
        if found.entries.is_empty() && (place.index, place.chain, frame.first()) != follows {
            return other(frame.first(), place.index);
        }
        if frame.count() == 0 {
            continue;
        }
        let sequence = frame.first();
        let members = members_of(&frame);
        found.entries.push(GroupEntry {
            first: sequence,
            last: frame.next() - 1,
            len: u32::try_from(frame.len()).unwrap_or(u32::MAX),
            at: frame.at(),
            term: place.term,
            index: place.index,
            content: place.content,
            members: members.map_err(|error| RecoveryError::Record { sequence, error })?,
        });
    }
    if found.entries.is_empty()
        && let Some(history) = reader.history()
        && (history.index, history.chain, reader.next()) != (base_index, start, base_sequence + 1)
    {
        return other(reader.next(), history.index);
    }
    let (last, cut) = (reader.next() - 1, reader.cut().cloned());
    found.segments = reader.segments().to_vec();
    if last < least.sequence {
        let newest = found.segments.last().copied();
        return Err(RecoveryError::lost(last, least.sequence, cut.as_ref(), newest));
    }
    (found.chain, found.next) = (reader.history().map_or(start, |history| history.chain), last + 1);
    if repairs {
        reader.repair()?;
    }
    Ok(Some(GroupLog { cut, ..found }))
}

/// The bytes of the Group record that is all of a frame.
fn members_of(frame: &Frame<'_>) -> Result<Option<Vec<u8>>, RecordError> {
    if frame.count() != 1 {
        return Ok(None);
    }
    let Some(passed) = frame.records().pass().transpose()? else { return Ok(None) };
    if passed.about != About::Nothing {
        return Ok(None);
    }
    Ok(match read_passed(passed.bytes)? {
        Late::Other(Record::Group { members }) => Some(members.to_vec()),
        Late::Other(_) | Late::Account { .. } => None,
    })
}
