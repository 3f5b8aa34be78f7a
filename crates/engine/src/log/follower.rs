//! Follows a log while it is being written: reads frames from any sequence up to the durable end. It never writes, and
//! reads nothing after the durable end, because those bytes may still change.

use super::{segment_name, segment_of};
use crate::log_id::{LogId, checksum};
use crate::{Disk, File};
use scurry_codec::{Frame, Framed, LogFormat, Seal, SegmentHeader, checked_frame, read_frame};
use scurry_ledger::Time;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use thiserror::Error;

/// Bytes of the first read, doubled up to the maximum: near the end of a log few bytes follow, far from it many.
const READ_LEN_MIN: usize = 16 << 10;
const READ_LEN_MAX: usize = 1 << 20;
/// Most bytes of the buffer that are kept between two reads.
const KEPT_LEN_MAX: usize = 4 << 20;
/// Most remembered positions: one for each of this many readers.
const POSITIONS_MAX: usize = 64;

/// Why a log cannot be followed.
#[derive(Debug, Error)]
pub enum FollowError {
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A segment file that does not belong to this log.
    #[error("{file} is no segment of this log: {why}")]
    Segment {
        /// The segment's file.
        file: String,
        /// The fault.
        why: String,
    },
    /// A durable frame that cannot be read.
    #[error("{file} cannot be read at byte {offset}, where sequence {sequence} should be")]
    Damaged {
        /// The segment's file.
        file: String,
        /// Byte offset of the damage.
        offset: u64,
        /// The sequence that is missing.
        sequence: u64,
    },
}

/// The position at which a frame begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePosition {
    /// The sequence of its first record.
    sequence: u64,
    /// The first sequence of its segment.
    segment: u64,
    offset: u64,
}

/// A reader of a log that serves several users one after another, each at its own position.
pub struct LogFollower<D: Disk> {
    disk: D,
    log: LogId,
    /// Remembered positions, the newest last.
    positions: VecDeque<FramePosition>,
    open: Option<Open<D::File>>,
    /// Bytes of the open segment, starting at or before the position.
    bytes: Vec<u8>,
    /// Bytes of the buffer that were consumed.
    taken: usize,
    position: FramePosition,
}

/// A frame that can be read.
#[derive(Clone, Copy, Debug)]
struct Found {
    len: usize,
    /// The sequence after the frame.
    next: u64,
    /// Number of records.
    count: u32,
    /// Time at which it was written.
    at: Time,
}

struct Open<F> {
    segment: u64,
    file: F,
    /// The seal of the segment's frames.
    seal: Seal,
}

impl FramePosition {
    /// Returns the sequence of the frame's first record.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl<D: Disk> LogFollower<D> {
    /// Creates a follower of the log in this directory.
    pub fn new(disk: D, log: LogId) -> LogFollower<D> {
        LogFollower {
            disk,
            log,
            positions: VecDeque::new(),
            open: None,
            bytes: Vec::new(),
            taken: 0,
            position: FramePosition { sequence: 0, segment: 0, offset: 0 },
        }
    }

    /// Forgets everything that was read: the files have been replaced by others.
    pub fn renew(&mut self) {
        self.open = None;
        self.positions.clear();
        self.position = FramePosition { sequence: 0, segment: 0, offset: 0 };
    }

    /// Returns the first sequence that is kept, None while the log has no segment.
    pub fn oldest(&mut self) -> io::Result<Option<u64>> {
        Ok(self.segments()?.first().copied())
    }

    /// Returns when the oldest kept frame was written, None while nothing is durable.
    pub fn kept_from(&mut self, durable: u64) -> Result<Option<Time>, FollowError> {
        while let Some(oldest) = self.oldest()?.filter(|&oldest| oldest <= durable) {
            // A segment that was removed meanwhile is no longer the oldest: look again.
            if let Some(begun) = self.begun_at(oldest)? {
                return Ok(Some(begun));
            }
        }
        Ok(None)
    }

    /// Returns the first sequence of the newest segment before which everything was written before this time; the
    /// oldest segment when none qualifies, None while nothing durable is kept. Frame times never decrease, so a binary
    /// search reads the first frame of a few segments only.
    pub fn segment_since(&mut self, time: Time, durable: u64) -> Result<Option<u64>, FollowError> {
        let mut segments = self.segments()?;
        segments.retain(|&first| first <= durable);
        let (mut before, mut after) = (0, segments.len());
        while before < after {
            let middle = before.midpoint(after);
            // A segment that was removed meanwhile was among the oldest.
            if self.begun_at(segments[middle])?.is_none_or(|begun| begun < time) {
                before = middle + 1;
            } else {
                after = middle;
            }
        }
        Ok(segments.get(before.saturating_sub(1)).copied())
    }

    /// Returns when the first, durable frame of a segment was written, None when the segment was removed.
    fn begun_at(&mut self, segment: u64) -> Result<Option<Time>, FollowError> {
        let offset = SegmentHeader::LEN as u64;
        if !self.enter(FramePosition { sequence: segment, segment, offset })? {
            return Ok(None);
        }
        match self.find()? {
            Some(found) => Ok(Some(found.at)),
            None if self.is_gone()? => Ok(None),
            None => Err(self.damaged()),
        }
    }

    /// Moves to the frame that has this durable sequence. Returns false when it is no longer kept.
    pub fn seek(&mut self, sequence: u64) -> Result<bool, FollowError> {
        let segments = self.segments()?;
        let Some(at) = segments.partition_point(|&first| first <= sequence).checked_sub(1) else {
            return Ok(false);
        };
        let segment = segments[at];
        let begin = FramePosition { sequence: segment, segment, offset: SegmentHeader::LEN as u64 };
        let known = self.positions.iter().enumerate();
        let known = known
            .filter(|(_, position)| position.segment == segment && position.sequence <= sequence);
        let best = known.max_by_key(|(_, position)| position.sequence).map(|(index, _)| index);
        // The reader moves on and takes its remembered position along.
        let position = best.and_then(|index| self.positions.remove(index)).unwrap_or(begin);
        for position in [position, begin] {
            if !self.enter(position)? {
                return Ok(false);
            }
            while let Some(found) = self.find()? {
                if found.next > sequence {
                    return Ok(true);
                }
                self.pass(found);
            }
            // In a group, another file may have this name since the log was truncated.
            self.open = None;
            self.positions.retain(|position| position.segment != segment);
        }
        if self.is_gone()? { Ok(false) } else { Err(self.damaged()) }
    }

    /// Returns positions from which to read backwards before a sequence, which is that of a durable record or the one
    /// after it. The first position is the beginning of the segment; the others are about `apart` bytes apart, oldest
    /// first. Empty when nothing before the sequence is kept.
    pub fn places_before(
        &mut self,
        sequence: u64,
        apart: u64,
    ) -> Result<Vec<FramePosition>, FollowError> {
        let segments = self.segments()?;
        let Some(at) = segments.partition_point(|&first| first < sequence).checked_sub(1) else {
            return Ok(Vec::new());
        };
        let segment = segments[at];
        let mut last =
            FramePosition { sequence: segment, segment, offset: SegmentHeader::LEN as u64 };
        // In a group, another file may have this name since the log was truncated.
        self.open = None;
        if !self.enter(last)? {
            return Ok(Vec::new());
        }
        let mut places = vec![last];
        while self.next() < sequence {
            let Some(found) = self.find()? else {
                return if self.is_gone()? { Ok(Vec::new()) } else { Err(self.damaged()) };
            };
            if self.position.offset >= last.offset + apart {
                last = self.position;
                places.push(last);
            }
            self.pass(found);
        }
        Ok(places)
    }

    /// Moves to a position, from which [`LogFollower::frame`] then reads. Returns false when its segment was removed.
    pub fn go_to(&mut self, place: FramePosition) -> Result<bool, FollowError> {
        self.enter(place)
    }

    /// Reports whether the segment at the position is no longer kept. Its file may have been reused since.
    fn is_gone(&mut self) -> io::Result<bool> {
        let segment = self.position.segment;
        Ok(!self.segments()?.contains(&segment))
    }

    /// Returns the sequence at which [`LogFollower::frame`] continues.
    pub fn next(&self) -> u64 {
        self.position.sequence
    }

    /// Reads the next frame with records, which begins at a durable sequence. None when the segment that should have it
    /// was removed.
    pub fn frame(&mut self) -> Result<Option<Frame<'_>>, FollowError> {
        let Some((seal, range)) = self.advance()? else { return Ok(None) };
        let frame = checked_frame(seal, &self.bytes[range]);
        frame.map(Some).ok_or_else(|| self.damaged())
    }

    /// Reads the next frame as [`LogFollower::frame`] does, and returns its bytes as they are in the log.
    pub fn raw(&mut self) -> Result<Option<&[u8]>, FollowError> {
        let Some((_, range)) = self.advance()? else { return Ok(None) };
        Ok(Some(&self.bytes[range]))
    }

    /// Reads frames with records, as they are in the log, from the one with the sequence `first` to the last that
    /// begins at or before `last`, and stops after the frame that reaches `len_max` bytes. `last` must be durable and,
    /// in a group's log, committed: an uncommitted entry may be cut off and its sequences given to other entries. None
    /// when the frames are no longer kept.
    pub fn frames(
        &mut self,
        first: u64,
        last: u64,
        len_max: usize,
    ) -> Result<Option<Vec<Vec<u8>>>, FollowError> {
        let (mut frames, mut len) = (Vec::new(), 0);
        if first > last {
            return Ok(Some(frames));
        }
        // What followed the commit index when the file was opened may have been truncated since.
        self.open = None;
        if !self.seek(first)? {
            return Ok(None);
        }
        while self.next() <= last && len < len_max {
            let Some(frame) = self.raw()? else { return Ok(None) };
            len += frame.len();
            frames.push(frame.to_vec());
        }
        self.remember(self.position());
        Ok(Some(frames))
    }

    /// Moves past the next frame with records, and returns the range of its bytes.
    fn advance(&mut self) -> Result<Option<(Seal, Range<usize>)>, FollowError> {
        let mut is_anew = false;
        loop {
            let Some(found) = self.find()? else {
                let at = self.position;
                // The bytes that were read ahead may have been overwritten since: read them once more.
                if !is_anew {
                    is_anew = true;
                    self.open = None;
                    if self.enter(at)? {
                        continue;
                    }
                }
                let (sequence, offset) = (at.sequence, SegmentHeader::LEN as u64);
                if sequence != at.segment {
                    if self.enter(FramePosition { sequence, segment: sequence, offset })? {
                        continue;
                    }
                    // The next call begins here.
                    self.position = at;
                    self.open = None;
                }
                if self.oldest()?.is_none_or(|oldest| oldest > sequence) {
                    return Ok(None);
                }
                return Err(self.damaged());
            };
            let begin = self.taken;
            self.pass(found);
            if found.count > 0
                && let Some(open) = &self.open
            {
                return Ok(Some((open.seal, begin..self.taken)));
            }
        }
    }

    /// Returns the position of the next frame, for [`LogFollower::remember`].
    pub fn position(&self) -> FramePosition {
        self.position
    }

    /// Remembers where a reader will continue, so that its next seek begins there.
    pub fn remember(&mut self, position: FramePosition) {
        self.positions.retain(|other| *other != position);
        if self.positions.len() >= POSITIONS_MAX {
            self.positions.pop_front();
        }
        self.positions.push_back(position);
    }

    fn segments(&mut self) -> io::Result<Vec<u64>> {
        let names = self.disk.list()?;
        let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
        segments.sort_unstable();
        Ok(segments)
    }

    /// Moves to a position. Returns false when its segment was removed.
    fn enter(&mut self, position: FramePosition) -> Result<bool, FollowError> {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_LEN_MAX);
        self.taken = 0;
        self.position = position;
        if self.open.as_ref().is_some_and(|open| open.segment == position.segment) {
            return Ok(true);
        }
        let name = segment_name(position.segment);
        let mut file = match self.disk.open(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut head = [0; SegmentHeader::LEN];
        let len = file.read_at(0, &mut head)?;
        let format = match self.format_of(position.segment, &head[..len]) {
            Ok(format) => format,
            Err(_) if self.is_gone()? => return Ok(false),
            Err(why) => return Err(FollowError::Segment { file: name, why }),
        };
        let seal = self.log.seal_in(format);
        self.open = Some(Open { segment: position.segment, file, seal });
        Ok(true)
    }

    /// Returns the format of a segment, or why the header is not that of a segment of this log.
    fn format_of(&self, segment: u64, head: &[u8]) -> Result<LogFormat, String> {
        let header = SegmentHeader::decode(checksum, head).map_err(|error| error.to_string())?;
        let found = LogId { id: header.log_id, core: header.core };
        if found == self.log && header.first == segment {
            return Ok(header.format);
        }
        Err("it belongs to another log".to_owned())
    }

    /// Returns the frame at the position if it is valid and has the expected sequence, with its bytes in the buffer.
    fn find(&mut self) -> io::Result<Option<Found>> {
        let mut more = READ_LEN_MIN;
        loop {
            let Some(open) = &self.open else { return Ok(None) };
            let bytes = &self.bytes[self.taken..];
            match read_frame(open.seal, bytes) {
                Framed::Frame(frame) if frame.first() == self.position.sequence => {
                    let (len, next, count) = (frame.len(), frame.next(), frame.count());
                    return Ok(Some(Found { len, next, count, at: frame.at() }));
                }
                Framed::Frame(_) | Framed::Damaged(_) => return Ok(None),
                // Space that was never written: nothing follows.
                Framed::Torn if bytes.get(..4) == Some(&[0; 4]) => return Ok(None),
                Framed::Torn => {}
            }
            if !self.fill(more)? {
                return Ok(None);
            }
            more = (2 * more).min(READ_LEN_MAX);
        }
    }

    /// Reads more bytes into the buffer. Returns false at the end of the file.
    fn fill(&mut self, more: usize) -> io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(false) };
        self.bytes.drain(..self.taken);
        self.taken = 0;
        let have = self.bytes.len();
        self.bytes.resize(have + more, 0);
        let read =
            open.file.read_at(self.position.offset + have as u64, &mut self.bytes[have..])?;
        self.bytes.truncate(have + read);
        Ok(read > 0)
    }

    /// Moves past the frame at the position.
    fn pass(&mut self, found: Found) {
        self.taken += found.len;
        self.position.offset += found.len as u64;
        self.position.sequence = found.next;
    }

    fn damaged(&self) -> FollowError {
        let FramePosition { sequence, segment, offset } = self.position;
        FollowError::Damaged { file: segment_name(segment), offset, sequence }
    }
}
