//! The base of a group's log on a device: what the log was before the first entry that is kept, in a file beside
//! its segments (docs/formats/base.md), and the exchange of a whole log for one that begins at another base.

use super::{LogError, segment_name, segment_of};
use crate::log_id::{LogId, checksum};
use crate::snapshot::{snapshot_name, snapshot_of};
use crate::{Disk, File};
use scurry_codec::LogBase;
use std::io;

/// The file with the base of a group's log.
pub const BASE_NAME: &str = "base";
/// The file until it counts.
const NEXT: &str = "next-base";
/// A snapshot that another node has sent, until the base that it goes with is there.
const INCOMING: &str = "incoming-";

/// The file of a snapshot that another node has sent, begun at a sequence, for a log that begins behind the last
/// record of `base`.
pub fn incoming_name(base: u64, begun: u64) -> String {
    format!("{INCOMING}{base:020}-{begun:020}")
}

/// The sequences of base and beginning, by the file's name.
fn incoming_of(name: &str) -> Option<(u64, u64)> {
    let (base, begun) = name.strip_prefix(INCOMING)?.split_once('-')?;
    Some((base.parse().ok()?, begun.parse().ok()?))
}

/// The base of a log; none where all of the group's entries are kept.
pub fn read_base<D: Disk>(disk: &mut D, log: LogId) -> Result<Option<LogBase>, LogError> {
    let names = disk.list().map_err(LogError::Directory)?;
    if !names.iter().any(|name| name == BASE_NAME) {
        return Ok(None);
    }
    // One byte more than there can be is seen.
    let mut bytes = vec![0; LogBase::LEN_MAX + 1];
    let read = disk.open(BASE_NAME).and_then(|mut file| file.read_at(0, &mut bytes));
    bytes.truncate(read.map_err(LogError::io(BASE_NAME))?);
    match LogBase::decode(checksum, &bytes) {
        Ok((of, base)) if of == (log.id, log.core) => Ok(Some(base)),
        Ok(_) => Err(LogError::Foreign { file: BASE_NAME.to_owned() }),
        Err(error) => Err(LogError::Header { file: BASE_NAME.to_owned(), error }),
    }
}

/// Writes the base of a log, durably: entries up to it need not be kept any more.
pub fn write_base<D: Disk>(disk: &mut D, log: LogId, base: &LogBase) -> io::Result<()> {
    let mut bytes = Vec::new();
    base.encode((log.id, log.core), checksum, &mut bytes);
    let mut file = disk.create(NEXT, 0)?;
    file.write_at(0, &bytes)?;
    file.sync()?;
    disk.rename(NEXT, BASE_NAME)?;
    disk.sync_dir()
}

/// Puts a snapshot that another node has sent, and that is on the device, in the place of all that is there: the
/// log begins anew behind `base`. After a crash there is what was there before, or the next survey ends it.
pub(super) fn begin_at<D: Disk>(disk: &mut D, log: LogId, base: &LogBase) -> io::Result<()> {
    write_base(disk, log, base)?;
    give_way(disk, base.sequence)
}

/// Removes the segments and snapshots of a log that another has taken the place of, and gives the snapshot that it
/// begins with its name. The newest segment goes first: what is left by a crash has no gap.
pub(crate) fn give_way<D: Disk>(disk: &mut D, base: u64) -> io::Result<()> {
    let names = disk.list()?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
    segments.sort_unstable();
    for first in segments.into_iter().rev() {
        disk.remove(&segment_name(first))?;
        disk.sync_dir()?;
    }
    for begun in names.iter().filter_map(|name| snapshot_of(name)).filter(|begun| *begun < base) {
        disk.remove(&snapshot_name(begun))?;
    }
    for (name, (of, begun)) in names.iter().filter_map(|name| Some((name, incoming_of(name)?))) {
        if of == base {
            disk.rename(name, &snapshot_name(begun))?;
        }
    }
    disk.sync_dir()
}

/// Removes what was sent and did not come to count.
pub fn clear_incoming<D: Disk>(disk: &mut D) -> io::Result<()> {
    for name in disk.list()?.iter().filter(|name| incoming_of(name).is_some()) {
        disk.remove(name)?;
    }
    Ok(())
}
