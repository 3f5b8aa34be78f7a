//! Writes the log: one segment after another.

use super::ahead::Ahead;
use super::base::{begin_at, write_base};
use super::spare::retire;
use super::truncate::truncate;
use super::{LogReach, NoteError, Room, segment_name, segment_of};
use crate::log_id::{LogId, checksum};
use crate::{Disk, File};
use scurry_codec::{LogBase, LogFormat, SegmentHeader};
use std::io;

/// A segment is closed before it grows beyond this, bytes; a frame that is longer has its own.
pub const SEGMENT_LEN_MAX: u64 = 64 << 20;

/// The end of a log. After an error of [`LogWriter::write`] the same bytes may be written again;
/// after one of [`LogWriter::sync`] nothing is known of what is on the device.
#[derive(Debug)]
pub struct LogWriter<D: Disk> {
    disk: D,
    log: LogId,
    len_max: u64,
    file: Option<D::File>,
    /// Where the next frame goes.
    offset: u64,
    /// Names and files were made that the directory may lose.
    is_dir_dirty: bool,
    ahead: Ahead<D::File>,
    /// The first sequence of the open segment.
    first: u64,
    /// The file that says how far the log has come.
    reach: Option<LogReach<D::File>>,
    /// The format of segments that are begun.
    format: LogFormat,
}

impl<D: Disk> LogWriter<D> {
    /// A writer that begins a segment with its first write.
    pub fn new(disk: D, log: LogId, len_max: u64) -> LogWriter<D> {
        let ahead = Ahead::new(len_max);
        LogWriter {
            disk,
            log,
            len_max,
            file: None,
            offset: 0,
            is_dir_dirty: false,
            ahead,
            first: 0,
            reach: None,
            format: LogFormat::Single,
        }
    }

    /// The writer of segments of another format.
    pub fn in_format(self, format: LogFormat) -> LogWriter<D> {
        LogWriter { format, ..self }
    }

    /// The writer of a log that says beside it how far it has come.
    pub fn with_reach(self, reach: LogReach<D::File>) -> LogWriter<D> {
        LogWriter { reach: Some(reach), ..self }
    }

    /// Writes frames, the first record of which has the sequence `first`, and zeros up to the end of
    /// a block, which the next frames take the place of. The buffer has the same bytes afterwards.
    pub fn write(&mut self, first: u64, frames: &mut Vec<u8>) -> io::Result<()> {
        let is_full = self.offset + frames.len() as u64 > self.len_max
            && self.offset > SegmentHeader::LEN as u64;
        if self.file.is_none() || is_full {
            self.begin(first)?;
        }
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("no segment is open"));
        };
        let len = frames.len();
        let end = self.offset + len as u64;
        // A segment with a single frame may be longer than others, and ends with it.
        let padded = end.next_multiple_of(D::File::BLOCK_LEN).min(self.len_max.max(end));
        frames.resize(len + usize::try_from(padded - end).unwrap_or(0), 0);
        let outcome = file.write_at(self.offset, frames);
        frames.truncate(len);
        outcome?;
        self.offset = end;
        Ok(())
    }

    /// Makes everything that was written durable. A failure is final, whatever its cause: the
    /// kernel may have dropped what it could not write, and a second try would not say so.
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

    /// Cuts the entries of a replicated log from an index on off: another leader has put others in their
    /// place. Durable when it returns, and after an error or a crash the log ends there or at some
    /// entry behind; the next write begins a segment.
    pub fn truncate(&mut self, index: u64) -> io::Result<()> {
        self.file = None;
        self.offset = 0;
        truncate(&mut self.disk, self.log, index)
    }

    /// Begins a replicated log anew behind a base, in the place of what is there: the snapshot that goes with it
    /// is on the device as [`incoming_name`](crate::incoming_name) says. After an error or a crash there is what
    /// was there, or a start ends it.
    pub fn begin_at(&mut self, base: &LogBase) -> io::Result<()> {
        self.file = None;
        self.offset = 0;
        begin_at(&mut self.disk, self.log, base)
    }

    /// Lets go of the entries of a replicated log up to a base, as far as nobody wants to keep `keep` bytes of it.
    pub fn forget(&mut self, base: &LogBase, keep: u64) -> io::Result<()> {
        write_base(&mut self.disk, self.log, base)?;
        forget(&mut self.disk, base.sequence, keep)
    }

    /// Everything up to `last` was synced. Once for each segment that has records the file beside
    /// the log says so, before any answer shows them: a segment that goes missing is missed.
    pub fn note_reach(&mut self, last: u64) -> Result<(), NoteError> {
        match &mut self.reach {
            Some(reach) if reach.sequence() < self.first && self.first <= last => reach.raise(last),
            _ => Ok(()),
        }
    }

    /// Everything up to `last` was synced, and the file beside the log is to say so.
    pub fn raise_reach(&mut self, last: u64) -> Result<(), NoteError> {
        self.reach.as_mut().map_or(Ok(()), |reach| reach.raise(last))
    }

    /// Sets the room of the next segment aside, unless it is: for whoever accepts nothing that the
    /// log might not take. After an error the next segment is created when this one is full.
    pub fn set_ahead(&mut self) -> io::Result<()> {
        self.ahead.set_aside(&mut self.disk)
    }

    /// Fills the next segment twice as fast as this one is written, so that syncs have no metadata
    /// to write: for whoever may block between two batches. Where room could not be set aside
    /// without writing to it, half of this one is left when that is found out. An error is no
    /// failure of the log.
    pub fn fill_ahead(&mut self) -> io::Result<()> {
        self.set_ahead()?;
        self.ahead.fill(&mut self.disk, 2 * self.offset)
    }

    /// Bytes that are set aside.
    pub fn room(&self) -> Room {
        let left = if self.file.is_some() { self.len_max.saturating_sub(self.offset) } else { 0 };
        let next = self.len_max.saturating_sub(SegmentHeader::LEN as u64);
        Room { left, ahead: if self.ahead.is_there() { next } else { 0 } }
    }

    /// Bytes of the open segment.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The first sequence of the open segment, 0 before the first write.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Begins a segment. What is in the old one was synced with its last batch, or is by whoever
    /// syncs behind the writer.
    fn begin(&mut self, first: u64) -> io::Result<()> {
        let name = segment_name(first);
        self.is_dir_dirty = true;
        // Who set nothing aside before has to find the room now.
        self.set_ahead()?;
        let mut file = match self.ahead.take(&mut self.disk, &name) {
            Ok(Some(file)) => file,
            Ok(None) | Err(_) => self.disk.create(&name, self.len_max)?,
        };
        if self.file.is_none() {
            // Were a later segment's name kept and the first one's not, a log would seem to have
            // lost its beginning.
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

/// Takes segments away that hold nothing after this sequence, the oldest first, as long as those
/// that were written full after them have at least `keep` bytes. The last one stays. What is taken
/// away is removed, or used again by the writer.
pub fn forget<D: Disk>(disk: &mut D, sequence: u64, keep: u64) -> io::Result<()> {
    let names = disk.list()?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
    segments.sort_unstable();
    let mut kept = 0;
    for &first in segments.iter().rev().skip(1) {
        kept += if keep == 0 { 0 } else { disk.open(&segment_name(first))?.len()? };
    }
    let mut needless = 0;
    for pair in segments.windows(2) {
        if pair[1] > sequence + 1 {
            break;
        }
        if keep > 0 {
            kept -= disk.open(&segment_name(pair[0]))?.len()?;
            if kept < keep {
                break;
            }
        }
        needless += 1;
    }
    retire(disk, &segments[..needless])
}

/// Makes durable what a writer has written and not synced, of the segments that hold anything
/// after this sequence: for whoever syncs behind a writer. Returns the first sequence of the newest
/// segment, 0 without any.
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
