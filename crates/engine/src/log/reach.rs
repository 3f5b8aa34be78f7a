//! How far logs had come, in a file that lies beside their directories: a start that finds less
//! knows that files are missing. docs/formats/reach.md has the bytes.

use crate::File;
use crate::log_id::{LogId, checksum};
use scurry_codec::{HeaderError, Reach};
use std::io;
use thiserror::Error;

/// Bytes of a copy: what a device writes whole or not at all.
const COPY_LEN: u64 = 512;
/// Bytes of the file for each core: two copies, of which the older one is written.
const CORE_LEN: u64 = 2 * COPY_LEN;

/// Why a file does not say how far a log had come.
#[derive(Debug, Error)]
pub enum ReachError {
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

/// The place of one log in that file.
#[derive(Debug)]
pub struct LogReach<F> {
    file: F,
    log: LogId,
    sequence: u64,
}

impl<F: File> LogReach<F> {
    /// The whole file, for the logs of cores 0, 1, .. and how far each has come.
    pub fn file_of(logs: impl Iterator<Item = (LogId, u64)>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (log, sequence) in logs {
            let copy = copy_of(log, sequence);
            bytes.extend_from_slice(&copy);
            bytes.extend_from_slice(&copy);
        }
        bytes
    }

    /// False for the bytes of a file that says of every log that it holds nothing: all that a first
    /// start leaves which was cut short. What cannot be read may have said anything.
    pub fn has_begun(bytes: &[u8]) -> bool {
        let mut copies = bytes.chunks(COPY_LEN as usize);
        copies.any(|copy| !matches!(Reach::decode(checksum, copy), Ok(Reach { sequence: 0, .. })))
    }

    /// Reads what the file says of a log.
    pub fn open(file: F, log: LogId) -> Result<LogReach<F>, ReachError> {
        let mut reach = LogReach { file, log, sequence: 0 };
        let newest = reach.copies()?.into_iter().flatten().max();
        reach.sequence = newest.ok_or(ReachError::Damaged { core: log.core })?;
        Ok(reach)
    }

    /// Everything up to here was on the device.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Says that everything up to here is on the device, unless it says as much. After a failure,
    /// and wherever the machine stops, it says what it said before, or this.
    pub fn raise(&mut self, sequence: u64) -> Result<(), ReachError> {
        if sequence <= self.sequence {
            return Ok(());
        }
        // Read again: there may be another handle.
        let [first, second] = self.copies()?;
        let newest = first.max(second);
        if newest.is_none_or(|newest| newest < sequence) {
            let at = if first < second { 0 } else { COPY_LEN };
            self.file.write_at(self.begin() + at, &copy_of(self.log, sequence))?;
            self.file.sync()?;
        }
        self.sequence = newest.map_or(sequence, |newest| newest.max(sequence));
        Ok(())
    }

    fn begin(&self) -> u64 {
        u64::from(self.log.core) * CORE_LEN
    }

    /// The reach that each copy says, none of one that is damaged.
    fn copies(&mut self) -> Result<[Option<u64>; 2], ReachError> {
        let mut found = [None; 2];
        for (at, found) in (0..).zip(&mut found) {
            let mut bytes = [0; Reach::LEN];
            let read = self.file.read_at(self.begin() + at * COPY_LEN, &mut bytes)?;
            match Reach::decode(checksum, &bytes[..read]) {
                Ok(reach) if (LogId { id: reach.log_id, core: reach.core }) == self.log => {
                    *found = Some(reach.sequence);
                }
                Ok(_) => return Err(ReachError::Foreign),
                Err(error @ HeaderError::Newer { .. }) => return Err(ReachError::Newer(error)),
                Err(_) => {}
            }
        }
        Ok(found)
    }
}

/// A copy, with zeros up to its end.
fn copy_of(log: LogId, sequence: u64) -> [u8; COPY_LEN as usize] {
    let mut bytes = Vec::with_capacity(Reach::LEN);
    Reach { log_id: log.id, core: log.core, sequence }.encode(checksum, &mut bytes);
    let mut copy = [0; COPY_LEN as usize];
    copy[..Reach::LEN].copy_from_slice(&bytes);
    copy
}
