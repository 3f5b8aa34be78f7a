//! A buffered window over a segment: reads its frames in order, or searches for frames at any offset.

use super::LogError;
use crate::File;
use scurry_codec::{Frame, Framed, Seal, checked_frame, read_frame};

/// Bytes per read: few enough to be still in the cache when they are parsed.
const WINDOW_LEN: usize = 256 << 10;

/// Compared with the end of a segment, a page at a time.
const ZEROS: [u8; 4 << 10] = [0; 4 << 10];

/// A part of a segment, in memory.
#[derive(Debug)]
pub(super) struct Window<F> {
    /// The segment's file.
    pub(super) name: String,
    file: F,
    /// Buffer: bytes that were read, followed by free space.
    room: Vec<u8>,
    /// Offset in the file at which `room` begins.
    start: u64,
    /// Bytes of `room` that were consumed.
    at: usize,
    /// Bytes of `room` that were read.
    end: usize,
    len: u64,
}

impl<F: File> Window<F> {
    /// Opens a window at offset `start` of a file.
    pub(super) fn new(name: String, mut file: F, start: u64) -> Result<Window<F>, LogError> {
        let len = file.len().map_err(LogError::io(&name))?;
        Ok(Window { name, file, room: Vec::new(), start: start.min(len), at: 0, end: 0, len })
    }

    /// Returns the offset of the next frame in the file.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Returns the length of the next frame, or why the bytes there are not a frame.
    pub(super) fn frame_len(&mut self, seal: Seal) -> Result<Result<usize, String>, LogError> {
        loop {
            match read_frame(seal, self.rest()) {
                Framed::Frame(frame) => return Ok(Ok(frame.len())),
                Framed::Damaged(error) => return Ok(Err(error.to_string())),
                Framed::Torn => {}
            }
            if !self.fill()? {
                return Ok(Err("the frame is not complete".to_owned()));
            }
        }
    }

    /// Returns the first sequence of the next frame, which has this length.
    pub(super) fn first(&self, len: usize) -> Option<u64> {
        first_of(self.rest().get(..len)?)
    }

    /// Moves past the next frame and returns it. Its length is from [`Window::frame_len`].
    pub(super) fn next_frame(&mut self, seal: Seal, len: usize) -> Option<Frame<'_>> {
        let at = self.at;
        self.at += len;
        checked_frame(seal, &self.room[at..self.at])
    }

    /// Returns the next frame, which has this length.
    pub(super) fn peek(&self, seal: Seal, len: usize) -> Option<Frame<'_>> {
        checked_frame(seal, self.rest().get(..len)?)
    }

    /// Returns the bytes that were read and not consumed.
    fn rest(&self) -> &[u8] {
        &self.room[self.at..self.end]
    }

    /// Reads more bytes. Returns false at the end of the file.
    fn fill(&mut self) -> Result<bool, LogError> {
        self.room.copy_within(self.at..self.end, 0);
        self.start += self.at as u64;
        (self.at, self.end) = (0, self.end - self.at);
        let from = self.start + self.end as u64;
        let more = usize::try_from(self.len - from).unwrap_or(usize::MAX);
        let end = self.end + more.min(self.end.max(WINDOW_LEN));
        if self.room.len() < end {
            // Zeroed pages come from the system untouched; growing in place would write each of them.
            let mut room = vec![0; end];
            room[..self.end].copy_from_slice(&self.room[..self.end]);
            self.room = room;
        }
        let read = self.file.read_at(from, &mut self.room[self.end..end]);
        let read = read.map_err(LogError::io(&self.name))?;
        self.end += read;
        Ok(read > 0)
    }

    /// Searches the bytes after this position, at every offset, where the log would continue with sequence `next`.
    pub(super) fn behind(&mut self, seal: Seal, next: u64) -> Result<Behind, LogError> {
        while self.fill()? {}
        let rest = self.rest();
        let used = len_without_zeros(rest);
        let mut behind = Behind { written: 0, proof: None };
        // Frames from before the file became this segment have lower sequences.
        let (mut at, mut has_old) = (0, false);
        while at < used {
            // This cheap test rules out nearly all offsets.
            let is_plausible = words_of(&rest[at..])
                .is_some_and(|(first, synced)| synced < first && first < next + (1 << 40));
            if is_plausible && let Framed::Frame(frame) = read_frame(seal, &rest[at..]) {
                let place = self.start + (self.at + at) as u64;
                at += frame.len();
                if frame.first() < next {
                    has_old = true;
                    continue;
                }
                behind.written = at as u64;
                if behind.proof.is_none() && frame.synced() >= next {
                    behind.proof = Some((place, frame.synced()));
                }
            } else {
                at += 1;
            }
        }
        if !has_old {
            behind.written = used as u64;
        } else if words_of(rest).is_some_and(|(first, _)| first == next) {
            // An incomplete frame.
            behind.written = behind.written.max(len_of(rest).min(used) as u64);
        }
        Ok(behind)
    }
}

/// Bytes found after the end of a log.
#[derive(Debug)]
pub(super) struct Behind {
    /// Best estimate of the bytes up to the last one written since the file became this segment.
    pub(super) written: u64,
    /// A frame that proves more to have been synced: its offset and its mark.
    pub(super) proof: Option<(u64, u64)>,
}

/// Returns the length of the bytes without the zeros at their end. A segment is preallocated, so there are many.
fn len_without_zeros(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    while let Some(chunk) = bytes[..end].last_chunk::<{ ZEROS.len() }>()
        && *chunk == ZEROS
    {
        end -= ZEROS.len();
    }
    bytes[..end].iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

/// Reads the sequence of a frame's first record from its header.
fn first_of(frame: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*frame.get(8..)?.first_chunk()?))
}

/// Reads the first sequence of the frame and its mark from its header.
fn words_of(frame: &[u8]) -> Option<(u64, u64)> {
    Some((first_of(frame)?, u64::from_le_bytes(*frame.get(16..)?.first_chunk()?)))
}

/// Reads the frame's length from its header.
fn len_of(frame: &[u8]) -> usize {
    let bytes = frame.first_chunk().copied().unwrap_or_default();
    usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_do_not_count() {
        for len in [0, 1, ZEROS.len() - 1, ZEROS.len(), ZEROS.len() + 1, 3 * ZEROS.len() + 7] {
            for zeros in [0, 1, ZEROS.len() - 1, ZEROS.len(), 2 * ZEROS.len() + 9] {
                let mut bytes = vec![0; len];
                bytes.last_mut().into_iter().for_each(|byte| *byte = 1);
                bytes.resize(len + zeros, 0);
                assert_eq!(len_without_zeros(&bytes), len, "{zeros} zeros");
            }
        }
    }
}
