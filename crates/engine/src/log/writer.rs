//! Writes the log: one segment after another.

use super::{LogId, segment_name};
use crate::{Disk, File};
use scurry_codec::{SEGMENT_HEADER_LEN, SegmentHeader};
use std::collections::VecDeque;
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
    /// First sequences of the segments, the open one last.
    segments: VecDeque<u64>,
    /// Names and files were made that the directory may lose.
    is_dir_dirty: bool,
}

impl<D: Disk> LogWriter<D> {
    /// The writer of a log whose older segments are given. A segment is begun with the first
    /// write.
    pub fn new(disk: D, log: LogId, len_max: u64, segments: Vec<u64>) -> LogWriter<D> {
        LogWriter {
            disk,
            log,
            len_max,
            file: None,
            offset: 0,
            segments: segments.into(),
            is_dir_dirty: false,
        }
    }

    /// Writes frames, the first record of which has the sequence `first`.
    pub fn write(&mut self, first: u64, frames: &[u8]) -> io::Result<()> {
        let is_full = self.offset + frames.len() as u64 > self.len_max
            && self.offset > SEGMENT_HEADER_LEN as u64;
        if self.file.is_none() || is_full {
            self.begin(first)?;
        }
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("no segment is open"));
        };
        file.write_at(self.offset, frames)?;
        self.offset += frames.len() as u64;
        Ok(())
    }

    /// Makes everything that was written durable. A failure is final, whatever its cause: the
    /// kernel may have dropped what it could not write, and a second try would not say so.
    pub fn sync(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.sync().map_err(|error| io::Error::other(format!("not synced: {error}")))?;
        }
        if self.is_dir_dirty {
            self.disk.sync_dir()?;
            self.is_dir_dirty = false;
        }
        Ok(())
    }

    /// Removes segments that hold nothing after this sequence. The open one stays.
    pub fn forget(&mut self, sequence: u64) -> io::Result<()> {
        while let Some(&second) = self.segments.get(1)
            && second <= sequence + 1
        {
            let first = self.segments[0];
            self.disk.remove(&segment_name(first))?;
            self.segments.pop_front();
            self.is_dir_dirty = true;
        }
        Ok(())
    }

    /// Bytes of the open segment.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Begins a segment. What is in the old one was synced with its last batch, or is by whoever
    /// syncs behind the writer.
    fn begin(&mut self, first: u64) -> io::Result<()> {
        let mut file = self.disk.create(&segment_name(first), self.len_max)?;
        self.is_dir_dirty = true;
        let header = SegmentHeader { log_id: self.log.id, core: self.log.core, first };
        file.write_at(0, &header.encode())?;
        self.offset = SEGMENT_HEADER_LEN as u64;
        self.file = Some(file);
        if self.segments.back() != Some(&first) {
            self.segments.push_back(first);
        }
        Ok(())
    }
}
