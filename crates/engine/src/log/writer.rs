//! Writes the log: one segment after another.

use super::base::{begin_at, write_base};
use super::next_segment::NextSegment;
use super::truncate::truncate;
use super::{LogReach, LogRetention, LogSpace, NoteError, forget, segment_name, segment_of};
use crate::log_id::{LogId, checksum};
use crate::{Disk, File};
use scurry_codec::{Index, LogBase, LogFormat, SegmentHeader, Sequence};
use scurry_ledger::Time;
use std::io;

/// A segment is closed before it grows beyond this, bytes; a frame that is longer has its own.
pub const SEGMENT_LEN_MAX: u64 = 64 << 20;

/// The append end of a log. After an error of [`LogWriter::write`] the same bytes may be written again; after an error
/// of [`LogWriter::sync`] the content of the device is unknown.
#[derive(Debug)]
pub struct LogWriter<D: Disk> {
    disk: D,
    log: LogId,
    len_max: u64,
    file: Option<D::File>,
    /// Offset of the next frame.
    offset: u64,
    /// Files were created or renamed since the directory was last synced.
    is_dir_dirty: bool,
    next_segment: NextSegment<D::File>,
    /// The first sequence of the open segment.
    first: u64,
    /// The file that notes the reach of the log.
    reach: Option<LogReach<D::File>>,
    /// The format of new segments.
    format: LogFormat,
}

impl<D: Disk> LogWriter<D> {
    /// Creates a writer that begins a segment with its first write.
    pub fn new(disk: D, log: LogId, len_max: u64) -> LogWriter<D> {
        let next_segment = NextSegment::new(len_max);
        LogWriter {
            disk,
            log,
            len_max,
            file: None,
            offset: 0,
            is_dir_dirty: false,
            next_segment,
            first: 0,
            reach: None,
            format: LogFormat::Single,
        }
    }

    /// Sets the format of new segments.
    pub fn in_format(self, format: LogFormat) -> LogWriter<D> {
        LogWriter { format, ..self }
    }

    /// Sets the file that notes the reach of the log.
    pub fn with_reach(self, reach: LogReach<D::File>) -> LogWriter<D> {
        LogWriter { reach: Some(reach), ..self }
    }

    /// Writes frames, starting with the record of sequence `first`, and zeros up to the end of the block, which the
    /// next frames overwrite. The buffer is unchanged afterwards.
    pub fn write(&mut self, first: Sequence, frames: &mut Vec<u8>) -> io::Result<()> {
        let is_full = self.offset + frames.len() as u64 > self.len_max
            && self.offset > SegmentHeader::LEN as u64;
        if self.file.is_none() || is_full {
            self.begin(first.get())?;
        }
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("no segment is open"));
        };
        let len = frames.len();
        let end = self.offset + len as u64;
        // A segment with a single frame may be longer than the limit, and ends with that frame.
        let padded = end.next_multiple_of(D::File::BLOCK_LEN).min(self.len_max.max(end));
        frames.resize(len + usize::try_from(padded - end).unwrap_or(0), 0);
        let outcome = file.write_at(self.offset, frames);
        frames.truncate(len);
        outcome?;
        self.offset = end;
        Ok(())
    }

    /// Makes everything that was written durable. A failure is final, whatever its cause: the kernel may have dropped
    /// pages that it could not write, and a second sync would report success.
    pub fn sync(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            let segment = segment_name(self.first);
            file.sync()
                .map_err(|error| io::Error::other(format!("{segment}: not synced: {error}")))?;
        }
        if self.is_dir_dirty {
            self.disk.sync_dir()?;
            self.is_dir_dirty = false;
        }
        Ok(())
    }

    /// Cuts off the entries of a replicated log from an index on, because another leader has replaced them. Durable
    /// when it returns. After an error or a crash the log ends there or at some later entry. The next write begins a
    /// segment.
    pub fn truncate(&mut self, index: Index) -> io::Result<()> {
        self.file = None;
        self.offset = 0;
        truncate(&mut self.disk, self.log, index)
    }

    /// Replaces a replicated log with an empty one that begins after a base. The snapshot of that base is on the device
    /// under [`incoming_name`](crate::incoming_name). After an error or a crash either the old log is intact, or the
    /// next start completes the exchange.
    pub fn begin_at(&mut self, base: &LogBase) -> io::Result<()> {
        self.file = None;
        self.offset = 0;
        begin_at(&mut self.disk, self.log, base)
    }

    /// Removes the entries of a replicated log up to a base, as far as they need not be kept. Ages count from the time of
    /// the base.
    pub fn forget(&mut self, base: &LogBase, keep: LogRetention) -> io::Result<()> {
        write_base(&mut self.disk, self.log, base)?;
        forget(&mut self.disk, self.log, base.sequence, keep, Time(base.at))
    }

    /// Ends the open segment, so that the next write begins one: what it has can be removed when a snapshot has it,
    /// without waiting until the segment is full. Does nothing while no space is reserved for the next segment: commits
    /// that were accepted may need the rest of this one.
    pub fn end_segment(&mut self) {
        let is_begun = self.offset > SegmentHeader::LEN as u64;
        if let Some(file) = self.file.as_mut().filter(|_| is_begun && self.next_segment.is_there())
        {
            // It gives the rest of its space back. A segment that keeps it is read the same way.
            let _ = file.set_len(self.offset);
            self.file = None;
            self.offset = 0;
        }
    }

    /// Notes that everything up to `last` was synced. The reach file is raised once for each segment with records,
    /// before any reply depends on them, so that a start notices when a segment is missing.
    pub fn note_reach(&mut self, last: Sequence) -> Result<(), NoteError> {
        let last = last.get();
        match &mut self.reach {
            Some(reach) if reach.sequence() < self.first && self.first <= last => reach.raise(last),
            _ => Ok(()),
        }
    }

    /// Writes to the reach file that everything up to `last` was synced.
    pub fn raise_reach(&mut self, last: Sequence) -> Result<(), NoteError> {
        self.reach.as_mut().map_or(Ok(()), |reach| reach.raise(last.get()))
    }

    /// Reserves space for the next segment, unless it is reserved. For hosts that accept no command the log might not
    /// have space for. After an error the next segment is created when this one is full.
    pub fn set_ahead(&mut self) -> io::Result<()> {
        self.next_segment.set_aside(&mut self.disk)
    }

    /// Fills the next segment with zeros, twice as fast as this one is written, so that syncs have no metadata to
    /// write. For callers that may block between two batches. On file systems that cannot reserve space without
    /// writing, a full disk is thus noticed while half of this segment is left. An error is not a failure of the log.
    pub fn fill_ahead(&mut self) -> io::Result<()> {
        self.set_ahead()?;
        self.next_segment.fill(&mut self.disk, 2 * self.offset)
    }

    /// Returns the reserved space in bytes.
    pub fn room(&self) -> LogSpace {
        let left = if self.file.is_some() { self.len_max.saturating_sub(self.offset) } else { 0 };
        let next = self.len_max.saturating_sub(SegmentHeader::LEN as u64);
        LogSpace { left, ahead: if self.next_segment.is_there() { next } else { 0 } }
    }

    /// Returns the bytes of the open segment.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the first sequence of the open segment, 0 before the first write.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Begins a segment. The old one was synced with its last batch, or will be by the thread that syncs after the
    /// writer.
    fn begin(&mut self, first: u64) -> io::Result<()> {
        let name = segment_name(first);
        self.is_dir_dirty = true;
        // Without [`LogWriter::set_ahead`] the space has to be found now.
        self.set_ahead()?;
        let mut file = match self.next_segment.rename_to_segment(&mut self.disk, &name) {
            Ok(Some(file)) => file,
            Ok(None) | Err(_) => self.disk.create(&name, self.len_max)?,
        };
        if self.file.is_none() {
            // If a crash kept the name of a later segment but not that of the first, the log would seem to have lost
            // its beginning.
            self.disk.sync_dir()?;
        }
        let header =
            SegmentHeader { log_id: self.log.id, core: self.log.core, first, format: self.format };
        let mut bytes = Vec::new();
        header.encode(checksum, &mut bytes);
        file.write_at(0, &bytes)?;
        self.offset = SegmentHeader::LEN as u64;
        self.first = first;
        self.file = Some(file);
        Ok(())
    }
}

/// Syncs segments with records after this sequence, which a writer has written but not synced. For a thread that syncs
/// after the writer. Returns the first sequence of the newest segment, 0 without any.
pub fn sync_behind<D: Disk>(disk: &mut D, sequence: u64) -> io::Result<u64> {
    let names = disk.list()?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
    segments.sort_unstable();
    let from = segments.partition_point(|&first| first <= sequence + 1).saturating_sub(1);
    for &first in &segments[from..] {
        disk.open(&segment_name(first))?.sync()?;
    }
    disk.sync_dir()?;
    Ok(segments.last().copied().unwrap_or(0))
}
