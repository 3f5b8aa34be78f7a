//! A window over a segment: the frames in it, one after another or wherever they are.

use super::LogError;
use crate::File;
use scurry_codec::{Framed, Seal, read_frame};

/// Bytes read at once.
const WINDOW_LEN: usize = 4 << 20;

/// A part of a segment, in memory.
#[derive(Debug)]
pub(super) struct Window<F> {
    /// The segment's file.
    pub(super) name: String,
    file: F,
    bytes: Vec<u8>,
    /// Where `bytes` begins in the file.
    start: u64,
    /// What was taken of `bytes`.
    at: usize,
    len: u64,
}

impl<F: File> Window<F> {
    /// The bytes of a file from `start` on.
    pub(super) fn new(name: String, mut file: F, start: u64) -> Result<Window<F>, LogError> {
        let len = file.len().map_err(LogError::io(&name))?;
        Ok(Window { name, file, bytes: Vec::new(), start: start.min(len), at: 0, len })
    }

    /// Where the next frame is, in the file.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The length of the frame that comes next, or why there is none.
    pub(super) fn frame_len(&mut self, seal: Seal) -> Result<Result<usize, String>, LogError> {
        loop {
            match read_frame(seal, &self.bytes[self.at..]) {
                Framed::Frame(frame) => return Ok(Ok(frame.len())),
                Framed::Damaged(error) => return Ok(Err(error.to_string())),
                Framed::Torn => {}
            }
            if !self.fill()? {
                return Ok(Err("the frame is not complete".to_owned()));
            }
        }
    }

    /// The first sequence of the frame of this length that comes next.
    pub(super) fn first(&self, len: usize) -> Option<u64> {
        first_of(self.bytes.get(self.at..self.at + len)?)
    }

    /// Moves behind the frame that comes next.
    pub(super) fn take(&mut self, len: usize) -> &[u8] {
        self.at += len;
        &self.bytes[self.at - len..self.at]
    }

    /// Reads on; false at the end of the file.
    fn fill(&mut self) -> Result<bool, LogError> {
        self.bytes.drain(..self.at);
        self.start += self.at as u64;
        self.at = 0;
        let have = self.bytes.len();
        let more = usize::try_from(self.len - (self.start + have as u64)).unwrap_or(usize::MAX);
        let more = more.min(have.max(WINDOW_LEN));
        self.bytes.resize(have + more, 0);
        let read = self.file.read_at(self.start + have as u64, &mut self.bytes[have..]);
        let read = read.map_err(LogError::io(&self.name))?;
        self.bytes.truncate(have + read);
        Ok(read > 0)
    }

    /// Bytes from here to the last that is not zero.
    pub(super) fn rest(&mut self) -> Result<u64, LogError> {
        while self.fill()? {}
        let rest = &self.bytes[self.at..];
        let last = rest.iter().rposition(|&byte| byte != 0);
        Ok(last.map_or(0, |last| last as u64 + 1))
    }

    /// A frame behind this place, at any byte, with sequences after `after` and a mark of at
    /// least `mark`: where it is, and its mark.
    pub(super) fn find(
        &mut self,
        seal: Seal,
        after: u64,
        mark: u64,
    ) -> Result<Option<(u64, u64)>, LogError> {
        while self.fill()? {}
        let rest = &self.bytes[self.at..];
        let words = |at: usize| Some((first_of(&rest[at..])?, synced_of(&rest[at..])?));
        for at in 0..rest.len() {
            // Nearly all bytes are passed over by this alone.
            let plausible = words(at).is_some_and(|(first, synced)| {
                first >= after && first - after < 1 << 40 && synced >= mark && synced < first
            });
            if plausible && let Framed::Frame(frame) = read_frame(seal, &rest[at..]) {
                return Ok(Some((self.start + (self.at + at) as u64, frame.synced())));
            }
        }
        Ok(None)
    }
}

/// The sequence of a frame's first record, by its header.
fn first_of(frame: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*frame.get(8..)?.first_chunk()?))
}

/// A frame's mark, by its header.
fn synced_of(frame: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*frame.get(16..)?.first_chunk()?))
}
