//! Notes about logs, in a file beside their directories. One note is the reach of a log, so that a start that finds
//! less knows that files are missing (docs/formats/reach.md). The other is the vote that a node has given, so that it
//! votes for no other node in that term (docs/formats/ballot.md).

use crate::File;
use crate::log_id::{LogId, checksum};
use scurry_codec::{Ballot, HeaderError, SyncedPart, Term};
use std::io;
use thiserror::Error;

/// Bytes of a copy: one sector, which a device writes atomically.
const COPY_LEN: u64 = 512;
/// Bytes of the file for each core: two copies, the older of which is overwritten.
const CORE_LEN: u64 = 2 * COPY_LEN;

/// Why a note cannot be read.
#[derive(Debug, Error)]
pub enum NoteError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A newer program wrote it.
    #[error("{0}")]
    Newer(HeaderError),
    /// The file belongs to another log.
    #[error("it belongs to another log: files of two stores were mixed")]
    Foreign,
    /// Both copies are damaged.
    #[error("what it says of core {core} is damaged")]
    Damaged {
        /// The core of the log.
        core: u32,
    },
}

/// A fact to note about a log. A later note compares greater.
pub trait Note: Copy + Ord + Default {
    /// Appends the bytes of a copy.
    fn encode(self, log: LogId, out: &mut Vec<u8>);
    /// Decodes a copy, and the log that it belongs to.
    fn decode(bytes: &[u8]) -> Result<(LogId, Self), HeaderError>;
}

/// The reach of a log: everything up to this sequence was on the device.
impl Note for u64 {
    fn encode(self, log: LogId, out: &mut Vec<u8>) {
        SyncedPart { log_id: log.id, core: log.core, sequence: self }.encode(checksum, out);
    }

    fn decode(bytes: &[u8]) -> Result<(LogId, u64), HeaderError> {
        let SyncedPart { log_id, core, sequence } = SyncedPart::decode(checksum, bytes)?;
        Ok((LogId { id: log_id, core }, sequence))
    }
}

/// A vote in a term. It is on the device before it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vote {
    /// The greatest term seen.
    pub term: Term,
    /// The node that got the vote in this term, 0 for none.
    pub node: u64,
}

impl Note for Vote {
    fn encode(self, log: LogId, out: &mut Vec<u8>) {
        let Vote { term, node } = self;
        Ballot { log_id: log.id, core: log.core, term, vote: node }.encode(checksum, out);
    }

    fn decode(bytes: &[u8]) -> Result<(LogId, Vote), HeaderError> {
        let Ballot { log_id, core, term, vote } = Ballot::decode(checksum, bytes)?;
        Ok((LogId { id: log_id, core }, Vote { term, node: vote }))
    }
}

/// The reach of a log, in its file.
pub type LogReach<F> = NoteFile<F, u64>;
/// The vote of a node in the group of a log, in its file.
pub type LogBallot<F> = NoteFile<F, Vote>;

/// The note of one log in a file of notes.
#[derive(Debug)]
pub struct NoteFile<F, N> {
    file: F,
    log: LogId,
    newest: N,
    /// Index of the damaged copy, 0 or 1, when the other copy is whole.
    damaged: Option<u64>,
}

impl<F: File> LogReach<F> {
    /// Returns the reach: everything up to this sequence was on the device.
    pub fn sequence(&self) -> u64 {
        self.newest
    }
}

impl<F: File, N: Note> NoteFile<F, N> {
    /// Returns the bytes of the whole file, for the logs of cores 0, 1, .. and their notes.
    pub fn file_of(logs: impl Iterator<Item = (LogId, N)>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (log, note) in logs {
            let copy = copy_of(log, note);
            bytes.extend_from_slice(&copy);
            bytes.extend_from_slice(&copy);
        }
        bytes
    }

    /// Reports whether any log's note differs from the default. A first start that was interrupted leaves a file with
    /// defaults only. An unreadable copy counts as a note.
    pub fn has_begun(bytes: &[u8]) -> bool {
        let mut copies = bytes.chunks(COPY_LEN as usize);
        copies.any(|copy| N::decode(copy).map_or(true, |(_, note)| note != N::default()))
    }

    /// Opens the note of a log.
    pub fn open(file: F, log: LogId) -> Result<NoteFile<F, N>, NoteError> {
        let mut noted = NoteFile { file, log, newest: N::default(), damaged: None };
        let copies = noted.copies()?;
        let newest = copies.into_iter().flatten().max();
        noted.newest = newest.ok_or(NoteError::Damaged { core: log.core })?;
        noted.damaged = (0..).zip(copies).find_map(|(at, copy)| copy.is_none().then_some(at));
        Ok(noted)
    }

    /// Rewrites, durably, the copy that was damaged when the file was opened. Returns false when both were whole.
    pub fn repair_damaged_copy(&mut self) -> Result<bool, NoteError> {
        let Some(at) = self.damaged else { return Ok(false) };
        self.file.write_at(self.begin() + at * COPY_LEN, &copy_of(self.log, self.newest))?;
        self.file.sync()?;
        self.damaged = None;
        Ok(true)
    }

    /// Reports whether one copy is damaged and the other was read.
    pub fn is_damaged(&self) -> bool {
        self.damaged.is_some()
    }

    /// Returns the newest note.
    pub fn newest(&self) -> N {
        self.newest
    }

    /// Writes this note durably, unless an equal or greater one is there. After a failure or a crash the file has
    /// either the old note or this one.
    pub fn raise(&mut self, note: N) -> Result<(), NoteError> {
        if note <= self.newest {
            return Ok(());
        }
        // Reads the file again: another handle may have written it.
        let [first, second] = self.copies()?;
        let newest = first.max(second);
        if newest.is_none_or(|newest| newest < note) {
            let at = if first < second { 0 } else { COPY_LEN };
            self.file.write_at(self.begin() + at, &copy_of(self.log, note))?;
            self.file.sync()?;
        }
        self.newest = newest.map_or(note, |newest| newest.max(note));
        Ok(())
    }

    fn begin(&self) -> u64 {
        u64::from(self.log.core) * CORE_LEN
    }

    /// Reads both copies; a damaged one is None.
    fn copies(&mut self) -> Result<[Option<N>; 2], NoteError> {
        let mut found = [None; 2];
        for (at, found) in (0..).zip(&mut found) {
            let mut bytes = [0; COPY_LEN as usize];
            let read = self.file.read_at(self.begin() + at * COPY_LEN, &mut bytes)?;
            match N::decode(&bytes[..read]) {
                Ok((log, note)) if log == self.log => *found = Some(note),
                Ok(_) => return Err(NoteError::Foreign),
                Err(error @ HeaderError::Newer { .. }) => return Err(NoteError::Newer(error)),
                Err(_) => {}
            }
        }
        Ok(found)
    }
}

/// Encodes a copy, padded with zeros.
fn copy_of(log: LogId, note: impl Note) -> [u8; COPY_LEN as usize] {
    let mut bytes = Vec::with_capacity(COPY_LEN as usize);
    note.encode(log, &mut bytes);
    let mut copy = [0; COPY_LEN as usize];
    copy[..bytes.len()].copy_from_slice(&bytes);
    copy
}
