//! Reads a snapshot back.

use super::{snapshot_name, snapshot_of};
use crate::log_id::{LogId, checksum};
use crate::{Disk, File};
use scurry_codec::{
    Chunked, ENTRY_LEN_MIN, FrameError, HeaderError, RecordError, Seal, Sequence, SnapshotEntry,
    SnapshotFooter, SnapshotHeader, checked_chunk, read_chunk,
};
use std::io;
use thiserror::Error;

/// Bytes read at once.
const WINDOW_LEN: usize = 1 << 20;

/// Reason for an incomplete snapshot whose footer counts differ from its chunks.
const MISCOUNTED: &str = "its end counts other chunks";

/// Ranges on either side of the guess that are searched first.
const NEAR_LEN: usize = 8;

/// Why a snapshot cannot be used.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The files cannot be listed.
    #[error("the directory of the snapshots: {0}")]
    Directory(io::Error),
    /// The file cannot be read.
    #[error("{file}: {error}")]
    Io {
        /// The file.
        file: String,
        /// The fault.
        error: io::Error,
    },
    /// A file that is not a snapshot of this log, or has a later format.
    #[error("{file}: {error}")]
    Header {
        /// The file.
        file: String,
        /// The fault.
        error: HeaderError,
    },
    /// A snapshot of another log.
    #[error("{file} belongs to another log: files of two stores were mixed")]
    Foreign {
        /// The file.
        file: String,
    },
    /// A chunk is damaged.
    #[error("{file} is damaged at byte {offset}: {error}")]
    Damaged {
        /// The file.
        file: String,
        /// Offset of the chunk.
        offset: u64,
        /// The fault.
        error: FrameError,
    },
    /// An entry of a chunk cannot be read.
    #[error("{file} is damaged in the chunk at byte {offset}: {error}")]
    Entry {
        /// The file.
        file: String,
        /// Offset of the chunk.
        offset: u64,
        /// The fault.
        error: RecordError,
    },
    /// Chunks or the end are missing.
    #[error("{file} is not complete: {why}")]
    Incomplete {
        /// The file.
        file: String,
        /// The missing part.
        why: &'static str,
    },
}

impl SnapshotError {
    /// Reports whether a newer program wrote it.
    pub fn is_of_newer_format(&self) -> bool {
        matches!(self, SnapshotError::Header { error: HeaderError::Newer { .. }, .. })
    }

    /// Reports whether it is damaged, as opposed to an I/O error or a newer format.
    pub fn is_damage(&self) -> bool {
        let is_refused = matches!(self, SnapshotError::Directory(_) | SnapshotError::Io { .. });
        !is_refused && !self.is_of_newer_format()
    }
}

/// The sequences of a snapshot's oldest and newest content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotSequences {
    /// All of the snapshot shows at least this sequence.
    pub begun: Sequence,
    /// Some of the snapshot shows this sequence, none a later one.
    pub as_of: Sequence,
}

/// Returns the sequences of a log's snapshots whose header and footer are readable, the oldest first.
pub fn shown_by_snapshots<D: Disk>(disk: &mut D, log: LogId) -> io::Result<Vec<SnapshotSequences>> {
    let mut begun: Vec<u64> = disk.list()?.iter().filter_map(|name| snapshot_of(name)).collect();
    begun.sort_unstable();
    let shown = begun.into_iter().filter_map(|begun| {
        let reader = SnapshotReader::open(disk, log, begun).ok()?;
        let as_of = Sequence(reader.footer().as_of);
        Some(SnapshotSequences { begun: Sequence(begun), as_of })
    });
    Ok(shown.collect())
}

/// The sequence that each range of positions in a snapshot shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// First position of each range, and its sequence; both ascend.
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Returns the sequence that the range of this position shows.
    pub fn as_of(&self, position: u64) -> u64 {
        let (start, near) = self.near(position);
        let after = start + near.partition_point(|&(from, _)| from <= position);
        after.checked_sub(1).map_or(0, |at| self.ranges[at].1)
    }

    /// Returns ranges that include that of a position, with the index of the first. Most snapshots have ranges of
    /// similar width, so the search starts where the range would be if all widths were equal, and widens from there.
    fn near(&self, position: u64) -> (usize, &[(u64, u64)]) {
        let len = self.ranges.len();
        let guess = usize::try_from((u128::from(position) * len as u128) >> 64).unwrap_or(len);
        let mut width = NEAR_LEN;
        loop {
            let (start, end) = (guess.saturating_sub(width), (guess + width).min(len));
            let is_behind = start == 0 || self.ranges[start].0 <= position;
            if is_behind && (end == len || self.ranges[end].0 > position) {
                return (start, &self.ranges[start..end]);
            }
            width *= NEAR_LEN;
        }
    }

    /// Returns the greatest sequence of any range.
    pub fn last(&self) -> u64 {
        self.ranges.last().map_or(0, |&(_, as_of)| as_of)
    }

    /// Iterates over the first position of each range and its sequence; both ascend.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ranges.iter().copied()
    }

    fn push(&mut self, from: u64, as_of: u64) {
        match self.ranges.last() {
            Some(&(_, last)) if last == as_of => {}
            _ => self.ranges.push((from, as_of)),
        }
    }
}

/// Reader of a snapshot, chunk by chunk.
#[derive(Debug)]
pub struct SnapshotReader<F> {
    name: String,
    file: F,
    seal: Seal,
    header: SnapshotHeader,
    footer: SnapshotFooter,
    ranges: Ranges,
    bytes: Vec<u8>,
    /// Offset of `bytes` in the file.
    start: u64,
    at: usize,
    /// Offset of the footer.
    end: u64,
    /// Position at which the next chunk must begin, None after the last.
    position: Option<u64>,
    chunks: u64,
    entries: u64,
}

impl<F: File> SnapshotReader<F> {
    /// Opens a snapshot and checks its header and footer.
    pub fn open<D: Disk<File = F>>(
        disk: &mut D,
        log: LogId,
        begun: u64,
    ) -> Result<SnapshotReader<F>, SnapshotError> {
        let name = snapshot_name(begun);
        let io = |error| SnapshotError::Io { file: name.clone(), error };
        let mut file = disk.open(&name).map_err(io)?;
        let len = file.len().map_err(io)?;
        let mut head = [0; SnapshotHeader::LEN];
        let read = file.read_at(0, &mut head).map_err(io)?;
        let at_header = |error| SnapshotError::Header { file: name.clone(), error };
        let header = SnapshotHeader::decode(checksum, &head[..read]).map_err(at_header)?;
        if (LogId { id: header.log_id, core: header.core }) != log || header.log_next != begun + 1 {
            return Err(SnapshotError::Foreign { file: name });
        }
        let start = SnapshotHeader::LEN as u64;
        let ends = start + SnapshotFooter::LEN as u64;
        if len < ends {
            return Err(SnapshotError::Incomplete { file: name, why: "its end is missing" });
        }
        let end = len - SnapshotFooter::LEN as u64;
        let mut foot = [0; SnapshotFooter::LEN];
        file.read_at(end, &mut foot).map_err(io)?;
        let footer = SnapshotFooter::decode(log.seal(), &foot)
            .map_err(|error| SnapshotError::Header { file: name.clone(), error })?;
        // Checked here because the caller allocates memory for this many entries.
        if footer.entries > (end - start) / ENTRY_LEN_MIN as u64 {
            return Err(SnapshotError::Incomplete { file: name, why: MISCOUNTED });
        }
        Ok(SnapshotReader {
            name,
            file,
            seal: log.seal(),
            header,
            footer,
            ranges: Ranges::default(),
            bytes: Vec::new(),
            start,
            at: 0,
            end,
            position: Some(0),
            chunks: 0,
            entries: 0,
        })
    }

    /// Returns the header.
    pub fn header(&self) -> &SnapshotHeader {
        &self.header
    }

    /// Returns the footer.
    pub fn footer(&self) -> &SnapshotFooter {
        &self.footer
    }

    /// Returns the sequences that the chunks read so far show.
    pub fn into_ranges(self) -> Ranges {
        self.ranges
    }

    /// Visits the entries of the next chunk. Returns false at the end, when the snapshot was complete.
    pub fn chunk(
        &mut self,
        mut visit: impl FnMut(&SnapshotEntry<'_>),
    ) -> Result<bool, SnapshotError> {
        let Some((offset, bytes)) = self.next_chunk()? else { return Ok(false) };
        let mut outcome = Ok(());
        for entry in checked_chunk(bytes).into_iter().flat_map(|chunk| chunk.entries()) {
            match entry {
                Ok(entry) => visit(&entry),
                Err(error) => outcome = Err(error),
            }
        }
        match outcome {
            Ok(()) => Ok(true),
            Err(error) => Err(SnapshotError::Entry { file: self.name.clone(), offset, error }),
        }
    }

    /// Returns the next chunk and its offset in the file. None at the end, when the snapshot was complete. Its entries
    /// are counted, but not decoded.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<(u64, &[u8])>, SnapshotError> {
        let Some(position) = self.position else {
            return self.finish().map(|()| None);
        };
        let offset = self.start + self.at as u64;
        let chunk = loop {
            match read_chunk(self.seal, &self.bytes[self.at..]) {
                Chunked::Chunk(chunk) => break chunk,
                Chunked::Damaged(error) => {
                    return Err(SnapshotError::Damaged { file: self.name.clone(), offset, error });
                }
                Chunked::Torn => {}
            }
            if !self.fill()? {
                return self.incomplete("a chunk is cut off");
            }
        };
        let (positions, as_of, count) = (chunk.positions(), chunk.as_of(), chunk.count());
        let from = self.at;
        let to = from + chunk.len();
        if positions.from != position || as_of < self.ranges.last() {
            return self.incomplete("a chunk is missing");
        }
        self.ranges.push(position, as_of);
        self.chunks += 1;
        self.entries += u64::from(count);
        self.position = (positions.to != 0).then_some(positions.to);
        self.at = to;
        Ok(Some((offset, &self.bytes[from..to])))
    }

    fn finish(&self) -> Result<(), SnapshotError> {
        let offset = self.start + self.at as u64;
        let counted = (self.chunks, self.entries, self.ranges.last());
        if offset != self.end
            || counted != (self.footer.chunks, self.footer.entries, self.footer.as_of)
        {
            return self.incomplete(MISCOUNTED);
        }
        Ok(())
    }

    fn incomplete<T>(&self, why: &'static str) -> Result<T, SnapshotError> {
        Err(SnapshotError::Incomplete { file: self.name.clone(), why })
    }

    /// Reads more bytes. Returns false at the end of the chunks.
    fn fill(&mut self) -> Result<bool, SnapshotError> {
        self.bytes.drain(..self.at);
        self.start += self.at as u64;
        self.at = 0;
        let have = self.bytes.len();
        let left = self.end - (self.start + have as u64);
        let more = have.max(WINDOW_LEN).min(usize::try_from(left).unwrap_or(usize::MAX));
        self.bytes.resize(have + more, 0);
        let read = self.file.read_at(self.start + have as u64, &mut self.bytes[have..]);
        let read = read.map_err(|error| SnapshotError::Io { file: self.name.clone(), error })?;
        self.bytes.truncate(have + read);
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_a_position_is_found_however_wide_ranges_are() {
        let even = |n: u64| n << 54;
        let narrow_first = |n: u64| n * n * n;
        let narrow_last = |n: u64| u64::MAX - (1_000 - n).pow(3);
        for begins in [even, narrow_first, narrow_last] {
            let mut ranges = Ranges::default();
            let froms: Vec<u64> = (0..1_000).map(|n| if n == 0 { 0 } else { begins(n) }).collect();
            for (as_of, &from) in (7..).zip(&froms) {
                ranges.push(from, as_of);
            }
            for (as_of, &from) in (7..).zip(&froms) {
                assert_eq!(ranges.as_of(from), as_of);
                assert_eq!(ranges.as_of(from.saturating_sub(1)), (as_of - 1).max(7));
            }
            assert_eq!(ranges.as_of(u64::MAX), 1_006);
        }
        assert_eq!(Ranges::default().as_of(5), 0);
    }
}
