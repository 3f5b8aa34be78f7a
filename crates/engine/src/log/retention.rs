//! How much of a log is kept although recovery does not need it, and the removal of the rest.

use super::spare::retire;
use super::{FollowError, LogFollower, segment_name, segment_of};
use crate::log_id::LogId;
use crate::{Disk, File};
use scurry_codec::{ByteCount, Sequence};
use scurry_ledger::Time;
use std::io;

/// How much of a log is kept although recovery does not need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogRetention {
    /// Nothing.
    #[default]
    Nothing,
    /// The newest full segments with this many bytes, and the open one.
    Bytes(ByteCount),
    /// All that was written in the last milliseconds, but no more than the bytes of [`LogRetention::Bytes`].
    Age {
        /// Milliseconds.
        ms: u64,
        /// Bytes; None for no limit.
        bytes_max: Option<ByteCount>,
    },
}

/// What a log has on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogExtent {
    /// Bytes of its segments.
    pub bytes: ByteCount,
    /// When its oldest frame was written. None while it has none.
    pub from: Option<Time>,
}

/// Removes segments that hold nothing after this sequence, the oldest first, as far as they need not be kept. The last
/// segment stays. A removed segment is deleted or kept as a spare.
pub fn forget<D: Disk>(
    disk: &mut D,
    log: LogId,
    sequence: Sequence,
    keep: LogRetention,
    now: Time,
) -> io::Result<()> {
    let segments = segments(disk)?;
    let needless = segments.windows(2).take_while(|pair| pair[1] <= sequence.next().get()).count();
    let needless = match keep {
        LogRetention::Nothing => needless,
        LogRetention::Bytes(least) => needless.min(before_bytes(disk, &segments, least)?),
        LogRetention::Age { ms, bytes_max } => {
            let since = Time(now.0.saturating_sub_unsigned(ms));
            let mut before = before_time(disk, log, (&segments, sequence), since)?;
            if let Some(most) = bytes_max {
                before = before.max(before_bytes(disk, &segments, most)?);
            }
            needless.min(before)
        }
    };
    retire(disk, &segments[..needless])
}

/// Returns what a log has on the device. Only its oldest frame is read, which must be durable.
pub fn extent<D: Disk>(disk: &mut D, log: LogId, durable: Sequence) -> io::Result<LogExtent> {
    let mut bytes = ByteCount(0);
    for first in segments(disk)? {
        match len_of(disk, first) {
            Ok(len) => bytes += len,
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let from = LogFollower::new(&mut *disk, log).kept_from(durable.get()).map_err(cannot_follow)?;
    Ok(LogExtent { bytes, from })
}

/// Returns the first sequences of the segments, ascending.
fn segments<D: Disk>(disk: &mut D) -> io::Result<Vec<u64>> {
    let names = disk.list()?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
    segments.sort_unstable();
    Ok(segments)
}

/// Returns the number of segments before the newest full ones that have this many bytes.
fn before_bytes<D: Disk>(disk: &mut D, segments: &[u64], least: ByteCount) -> io::Result<usize> {
    let full = segments.len().saturating_sub(1);
    let mut kept = ByteCount(0);
    for (before, &first) in segments[..full].iter().enumerate().rev() {
        if kept >= least {
            return Ok(before + 1);
        }
        kept += len_of(disk, first)?;
    }
    Ok(0)
}

/// Returns the number of segments in which all was written before this time. Segments after the sequence do not count:
/// they may not be written yet.
fn before_time<D: Disk>(
    disk: &mut D,
    log: LogId,
    (segments, sequence): (&[u64], Sequence),
    since: Time,
) -> io::Result<usize> {
    let mut follower = LogFollower::new(disk, log);
    let newest = follower.segment_since(since, sequence.get()).map_err(cannot_follow)?;
    Ok(newest.map_or(0, |newest| segments.partition_point(|&first| first < newest)))
}

/// Returns the length of the segment that begins with this sequence.
fn len_of<D: Disk>(disk: &mut D, first: u64) -> io::Result<ByteCount> {
    disk.open(&segment_name(first))?.len().map(ByteCount)
}

fn cannot_follow(error: FollowError) -> io::Error {
    match error {
        FollowError::Io(error) => error,
        error => io::Error::other(error),
    }
}
