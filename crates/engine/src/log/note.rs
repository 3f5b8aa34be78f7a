//! Notes about logs, in a file that lies beside their directories: how far each had come, so that a
//! start that finds less knows that files are missing (docs/formats/reach.md), and the vote that a node
//! has given, so that it gives no other (docs/formats/ballot.md).

use crate::File;
use crate::log_id::{LogId, checksum};
use scurry_codec::{Ballot, HeaderError, Reach};
use std::io;
use thiserror::Error;

/// Bytes of a copy: what a device writes whole or not at all.
const COPY_LEN: u64 = 512;
/// Bytes of the file for each core: two copies, of which the older one is written.
const CORE_LEN: u64 = 2 * COPY_LEN;

/// Why a file does not say what was noted of a log.
#[derive(Debug, Error)]
pub enum NoteError {
    /// A file that cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A newer program wrote it.
    #[error("{0}")]
    Newer(HeaderError),
    /// A file of other logs.
    #[error("it belongs to another log: files of two stores were mixed")]
    Foreign,
    /// Neither copy is what was written.
    #[error("what it says of core {core} is damaged")]
    Damaged {
        /// The core of the log.
        core: u32,
    },
}

/// A fact that can be noted of a log. A later note is greater.
pub trait Note: Copy + Ord + Default {
    /// Appends the bytes of a copy.
    fn encode(self, log: LogId, out: &mut Vec<u8>);
    /// Reads a copy, and the log that it is about.
    fn decode(bytes: &[u8]) -> Result<(LogId, Self), HeaderError>;
}

/// The sequence up to which everything was on the device.
impl Note for u64 {
    fn encode(self, log: LogId, out: &mut Vec<u8>) {
        Reach { log_id: log.id, core: log.core, sequence: self }.encode(checksum, out);
    }

    fn decode(bytes: &[u8]) -> Result<(LogId, u64), HeaderError> {
        let Reach { log_id, core, sequence } = Reach::decode(checksum, bytes)?;
        Ok((LogId { id: log_id, core }, sequence))
    }
}

/// A vote in a term. It is on the device before it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vote {
    /// The greatest term that was seen.
    pub term: u64,
    /// The node that has the vote in this term, 0 for none.
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

/// How far a log had come.
pub type LogReach<F> = Noted<F, u64>;
/// The vote of a node in the group of a log.
pub type LogBallot<F> = Noted<F, Vote>;

/// The place of one log in such a file.
#[derive(Debug)]
pub struct Noted<F, N> {
    file: F,
    log: LogId,
    newest: N,
    /// The copy that is damaged beside one that is whole: 0 or 1.
    damaged: Option<u64>,
}

impl<F: File> LogReach<F> {
    /// Everything up to here was on the device.
    pub fn sequence(&self) -> u64 {
        self.newest
    }
}

impl<F: File, N: Note> Noted<F, N> {
    /// The whole file, for the logs of cores 0, 1, .. and what is noted of each.
    pub fn file_of(logs: impl Iterator<Item = (LogId, N)>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (log, note) in logs {
            let copy = copy_of(log, note);
            bytes.extend_from_slice(&copy);
            bytes.extend_from_slice(&copy);
        }
        bytes
    }

    /// False for the bytes of a file that says of every log that it holds nothing: all that a first
    /// start leaves which was cut short. What cannot be read may have said anything.
    pub fn has_begun(bytes: &[u8]) -> bool {
        let mut copies = bytes.chunks(COPY_LEN as usize);
        copies.any(|copy| N::decode(copy).map_or(true, |(_, note)| note != N::default()))
    }

    /// Reads what the file says of a log.
    pub fn open(file: F, log: LogId) -> Result<Noted<F, N>, NoteError> {
        let mut noted = Noted { file, log, newest: N::default(), damaged: None };
        let copies = noted.copies()?;
        let newest = copies.into_iter().flatten().max();
        noted.newest = newest.ok_or(NoteError::Damaged { core: log.core })?;
        noted.damaged = (0..).zip(copies).find_map(|(at, copy)| copy.is_none().then_some(at));
        Ok(noted)
    }

    /// Writes the copy anew that was damaged when the file was opened, durably. False where both were whole.
    pub fn mend(&mut self) -> Result<bool, NoteError> {
        let Some(at) = self.damaged else { return Ok(false) };
        self.file.write_at(self.begin() + at * COPY_LEN, &copy_of(self.log, self.newest))?;
        self.file.sync()?;
        self.damaged = None;
        Ok(true)
    }

    /// True where one copy is damaged, and the other one was read.
    pub fn is_damaged(&self) -> bool {
        self.damaged.is_some()
    }

    /// The newest note.
    pub fn newest(&self) -> N {
        self.newest
    }

    /// Notes this, unless as much is noted, and makes it durable. After a failure, and wherever the
    /// machine stops, the file says what it said before, or this.
    pub fn raise(&mut self, note: N) -> Result<(), NoteError> {
        if note <= self.newest {
            return Ok(());
        }
        // Read again: there may be another handle.
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

    /// The note in each copy, none in one that is damaged.
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

/// A copy, with zeros up to its end.
fn copy_of(log: LogId, note: impl Note) -> [u8; COPY_LEN as usize] {
    let mut bytes = Vec::with_capacity(COPY_LEN as usize);
    note.encode(log, &mut bytes);
    let mut copy = [0; COPY_LEN as usize];
    copy[..bytes.len()].copy_from_slice(&bytes);
    copy
}
