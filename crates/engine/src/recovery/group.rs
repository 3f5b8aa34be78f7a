//! The log of a node of a group, as the node reads it at its start: what each entry is, for the engine that
//! decides what is committed. What is applied to a shard is read by [`recover`](super::recover).

use super::{Least, RecoveryError};
use crate::Disk;
use crate::log::{Cut, History, LogReader, segment_name};
use crate::log_id::LogId;
use scurry_codec::{About, Frame, Late, LogFormat, Record, RecordError, read_passed};
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

/// All of a node's log.
#[derive(Debug)]
pub struct GroupLog {
    /// The entries, from the first one of the group on.
    pub entries: Vec<GroupEntry>,
    /// The greatest index that any frame says to be committed. It may lie behind the last entry: others have
    /// committed what this node's device did not take.
    pub committed: u64,
    /// The end of the log, which the next entry has to follow; none in a log without frames.
    pub history: Option<History>,
    /// The sequence of the next record.
    pub next: u64,
    /// No clock may show less: the latest time at which anything was written.
    pub at: Time,
    /// First sequences of the log's segments.
    pub segments: Vec<u64>,
    /// The end of the log that was cut off.
    pub cut: Option<Cut>,
}

/// Reads all of a node's log, and repairs its end: what is cut is cut on the disk, and all that is left is on
/// the device. A log that ends before `least.sequence` is refused and left as it is. No snapshot is asked
/// for, whatever `least` says: the log of a group begins with its first entry.
pub fn survey_group<D: Disk>(
    disk: &mut D,
    log: LogId,
    least: Least,
) -> Result<GroupLog, RecoveryError> {
    let mut reader = LogReader::new(disk, log, 1)?.in_group();
    let (mut entries, mut committed, mut at) = (Vec::new(), 0, Time(0));
    let mut is_first = true;
    while let Some(frame) = reader.frame()? {
        let Some(place) = frame.entry() else {
            return Err(RecoveryError::Single { file: segment_name(frame.first()) });
        };
        let index = u64::from(frame.count() > 0);
        let start = log.seal_in(LogFormat::Replicated).chain_start();
        if is_first && (place.index, place.chain) != (index, start) {
            let file = segment_name(frame.first());
            return Err(RecoveryError::Beginning { file, index: place.index });
        }
        is_first = false;
        committed = committed.max(place.committed);
        at = at.max(frame.at());
        if frame.count() == 0 {
            continue;
        }
        let sequence = frame.first();
        let members = members_of(&frame);
        entries.push(GroupEntry {
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
    let (last, cut) = (reader.next() - 1, reader.cut().cloned());
    let segments = reader.segments().to_vec();
    if last < least.sequence {
        let newest = segments.last().copied();
        return Err(RecoveryError::lost(last, least.sequence, cut.as_ref(), newest));
    }
    let (history, next) = (reader.history(), reader.next());
    reader.repair()?;
    Ok(GroupLog { entries, committed, history, next, at, segments, cut })
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
