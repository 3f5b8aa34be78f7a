//! The base of a group's log: the state before the first kept entry, in a file beside its segments
//! (docs/formats/base.md). Also the exchange of a whole log for one that begins at another base.

use super::{LogError, segment_name, segment_of};
use crate::log_id::{LogId, checksum};
use crate::snapshot::{snapshot_name, snapshot_of};
use crate::{Disk, File};
use scurry_codec::{LogBase, Sequence};
use std::io;

/// The file with the base of a group's log.
pub const BASE_NAME: &str = "base";
/// Temporary name of the base file, until it is renamed.
const NEXT: &str = "next-base";
/// Prefix of a snapshot that another node has sent, until its base is written.
const INCOMING: &str = "incoming-";

/// Returns the file name of a snapshot that another node has sent, begun at sequence `begun`, for a log that begins
/// after the last record of `base`.
pub fn incoming_name(base: u64, begun: u64) -> String {
    format!("{INCOMING}{base:020}-{begun:020}")
}

/// Parses the sequences of base and beginning from the file's name.
fn incoming_of(name: &str) -> Option<(u64, u64)> {
    let (base, begun) = name.strip_prefix(INCOMING)?.split_once('-')?;
    Some((base.parse().ok()?, begun.parse().ok()?))
}

/// Reads the base of a log, None when all of the group's entries are kept.
pub fn read_base<D: Disk>(disk: &mut D, log: LogId) -> Result<Option<LogBase>, LogError> {
    let names = disk.list().map_err(LogError::Directory)?;
    if !names.iter().any(|name| name == BASE_NAME) {
        return Ok(None);
    }
    // One byte more than the maximum, to notice a file that is too long.
    let mut bytes = vec![0; LogBase::LEN_MAX + 1];
    let read = disk.open(BASE_NAME).and_then(|mut file| file.read_at(0, &mut bytes));
    bytes.truncate(read.map_err(LogError::io(BASE_NAME))?);
    match LogBase::decode(checksum, &bytes) {
        Ok((of, base)) if of == (log.id, log.core) => Ok(Some(base)),
        Ok(_) => Err(LogError::Foreign { file: BASE_NAME.to_owned() }),
        Err(error) => Err(LogError::Header { file: BASE_NAME.to_owned(), error }),
    }
}

/// Writes the base of a log durably: entries up to it may be removed.
pub fn write_base<D: Disk>(disk: &mut D, log: LogId, base: &LogBase) -> io::Result<()> {
    let mut bytes = Vec::new();
    base.encode((log.id, log.core), checksum, &mut bytes);
    let mut file = disk.create(NEXT, 0)?;
    file.write_at(0, &bytes)?;
    file.sync()?;
    disk.rename(NEXT, BASE_NAME)?;
    disk.sync_dir()
}

/// Replaces the log and its snapshots with a snapshot from another node, which is on the device. The new log begins
/// after `base`. After a crash either the old log is intact, or the next survey completes the exchange.
pub(super) fn begin_at<D: Disk>(disk: &mut D, log: LogId, base: &LogBase) -> io::Result<()> {
    write_base(disk, log, base)?;
    remove_replaced_log(disk, base.sequence)
}

/// Removes the segments and snapshots of a replaced log, and gives the received snapshot its final name. The newest
/// segment is removed first, so that a crash leaves no gap.
pub(crate) fn remove_replaced_log<D: Disk>(disk: &mut D, base: Sequence) -> io::Result<()> {
    let names = disk.list()?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
    segments.sort_unstable();
    for first in segments.into_iter().rev() {
        disk.remove(&segment_name(first))?;
        disk.sync_dir()?;
    }
    for begun in
        names.iter().filter_map(|name| snapshot_of(name)).filter(|begun| *begun < base.get())
    {
        disk.remove(&snapshot_name(begun))?;
    }
    for (name, (of, begun)) in names.iter().filter_map(|name| Some((name, incoming_of(name)?))) {
        if of == base.get() {
            disk.rename(name, &snapshot_name(begun))?;
        }
    }
    disk.sync_dir()
}

/// Removes received snapshots that were never used.
pub fn clear_incoming<D: Disk>(disk: &mut D) -> io::Result<()> {
    for name in disk.list()?.iter().filter(|name| incoming_of(name).is_some()) {
        disk.remove(name)?;
    }
    Ok(())
}
