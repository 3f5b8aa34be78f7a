//! Reads a snapshot back.

use super::snapshot_name;
use crate::log::LogId;
use crate::{Disk, File};
use scurry_codec::{
    ChunkError, HeaderError, SNAPSHOT_FOOTER_LEN, SNAPSHOT_HEADER_LEN, SnapshotEntry,
    SnapshotFooter, SnapshotHeader, chunk_len, read_chunk,
};
use std::io;
use thiserror::Error;

/// Bytes read at once.
const WINDOW_LEN: usize = 1 << 20;

/// Why a snapshot cannot be used.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not a snapshot of this log, or of a later format.
    #[error("{file}: {error}")]
    Header {
        /// Its file.
        file: String,
        /// What is wrong.
        error: HeaderError,
    },
    /// It is a snapshot of another log.
    #[error("{file} belongs to another log: files of two stores were mixed")]
    Foreign {
        /// Its file.
        file: String,
    },
    /// A chunk is damaged.
    #[error("{file} is damaged at byte {offset}: {error}")]
    Damaged {
        /// Its file.
        file: String,
        /// Where the chunk begins.
        offset: u64,
        /// What is wrong.
        error: ChunkError,
    },
    /// Chunks are missing, or its end.
    #[error("{file} is not complete: {why}")]
    Incomplete {
        /// Its file.
        file: String,
        /// What is missing.
        why: &'static str,
    },
}

/// Up to which sequence each range of positions is in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// Position at which a range begins, and its sequence; both ascend.
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// The sequence that the range of this position shows.
    pub fn as_of(&self, position: u64) -> u64 {
        let after = self.ranges.partition_point(|&(from, _)| from <= position);
        after.checked_sub(1).map_or(0, |at| self.ranges[at].1)
    }

    /// The greatest sequence that is shown anywhere.
    pub fn last(&self) -> u64 {
        self.ranges.last().map_or(0, |&(_, as_of)| as_of)
    }

    fn push(&mut self, from: u64, as_of: u64) {
        match self.ranges.last() {
            Some(&(_, last)) if last == as_of => {}
            _ => self.ranges.push((from, as_of)),
        }
    }
}

/// A snapshot that is read chunk after chunk.
#[derive(Debug)]
pub struct SnapshotReader<F> {
    name: String,
    file: F,
    header: SnapshotHeader,
    footer: SnapshotFooter,
    ranges: Ranges,
    bytes: Vec<u8>,
    /// Where `bytes` begins in the file.
    start: u64,
    at: usize,
    /// Where the footer begins.
    end: u64,
    /// Where the next chunk has to begin, none after the last.
    position: Option<u64>,
    chunks: u64,
    entries: u64,
}

impl<F: File> SnapshotReader<F> {
    /// Opens a snapshot and looks at both ends.
    pub fn open<D: Disk<File = F>>(
        disk: &mut D,
        log: LogId,
        begun: u64,
    ) -> Result<SnapshotReader<F>, SnapshotError> {
        let name = snapshot_name(begun);
        let mut file = disk.open(&name)?;
        let len = file.len()?;
        let mut head = [0; SNAPSHOT_HEADER_LEN];
        let read = file.read_at(0, &mut head)?;
        let at_header = |error| SnapshotError::Header { file: name.clone(), error };
        let header = SnapshotHeader::decode(&head[..read]).map_err(at_header)?;
        if (LogId { id: header.log_id, core: header.core }) != log || header.begun != begun {
            return Err(SnapshotError::Foreign { file: name });
        }
        let ends = (SNAPSHOT_HEADER_LEN + SNAPSHOT_FOOTER_LEN) as u64;
        if len < ends {
            return Err(SnapshotError::Incomplete { file: name, why: "its end is missing" });
        }
        let end = len - SNAPSHOT_FOOTER_LEN as u64;
        let mut foot = [0; SNAPSHOT_FOOTER_LEN];
        file.read_at(end, &mut foot)?;
        let footer = SnapshotFooter::decode(log.id, &foot)
            .map_err(|error| SnapshotError::Header { file: name.clone(), error })?;
        Ok(SnapshotReader {
            name,
            file,
            header,
            footer,
            ranges: Ranges::default(),
            bytes: Vec::new(),
            start: SNAPSHOT_HEADER_LEN as u64,
            at: 0,
            end,
            position: Some(0),
            chunks: 0,
            entries: 0,
        })
    }

    /// What it says of itself at its beginning.
    pub fn header(&self) -> &SnapshotHeader {
        &self.header
    }

    /// What it says of itself at its end.
    pub fn footer(&self) -> &SnapshotFooter {
        &self.footer
    }

    /// What was read so far shows these sequences.
    pub fn into_ranges(self) -> Ranges {
        self.ranges
    }

    /// Visits the entries of the next chunk; false when there is none, and all was there.
    pub fn chunk(
        &mut self,
        mut visit: impl FnMut(SnapshotEntry<'_>),
    ) -> Result<bool, SnapshotError> {
        let Some(position) = self.position else {
            return self.finish();
        };
        self.fill()?;
        let damaged = |error| SnapshotError::Damaged {
            file: self.name.clone(),
            offset: self.start + self.at as u64,
            error,
        };
        let chunk = read_chunk(self.header.log_id, &self.bytes[self.at..]).map_err(damaged)?;
        if chunk.from() != position || chunk.as_of() < self.ranges.last() {
            return self.incomplete("a chunk is missing");
        }
        let mut entries = chunk.entries();
        while let Some(entry) = entries.next() {
            visit(entry.map_err(damaged)?);
        }
        self.ranges.push(position, chunk.as_of());
        self.chunks += 1;
        self.entries += u64::from(chunk.count());
        self.position = (chunk.to() != 0).then_some(chunk.to());
        self.at += chunk.len();
        Ok(true)
    }

    fn finish(&self) -> Result<bool, SnapshotError> {
        let offset = self.start + self.at as u64;
        let counted = (self.chunks, self.entries, self.ranges.last());
        if offset != self.end
            || counted != (self.footer.chunks, self.footer.entries, self.footer.as_of)
        {
            return self.incomplete("its end counts other chunks");
        }
        Ok(false)
    }

    fn incomplete<T>(&self, why: &'static str) -> Result<T, SnapshotError> {
        Err(SnapshotError::Incomplete { file: self.name.clone(), why })
    }

    /// Reads on until a chunk is there, or the file ends.
    fn fill(&mut self) -> Result<(), SnapshotError> {
        loop {
            let have = self.bytes.len() - self.at;
            let wanted = chunk_len(&self.bytes[self.at..]).unwrap_or(usize::MAX);
            let left = self.end - (self.start + self.bytes.len() as u64);
            if have >= wanted || left == 0 {
                return Ok(());
            }
            self.bytes.drain(..self.at);
            self.start += self.at as u64;
            self.at = 0;
            let more = if wanted == usize::MAX { WINDOW_LEN } else { wanted.max(WINDOW_LEN) };
            let more = more.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.bytes.resize(have + more, 0);
            let from = self.start + have as u64;
            let read = self.file.read_at(from, &mut self.bytes[have..])?;
            self.bytes.truncate(have + read);
            if read == 0 {
                return self.incomplete("the file ends early");
            }
        }
    }
}
