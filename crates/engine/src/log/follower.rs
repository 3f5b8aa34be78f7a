//! Follows a log that is being written: frames from any sequence on, as far as they are durable.
//! It never writes, and looks at nothing behind what is durable: what is there may change.

use super::{LogId, checksum, segment_name, segment_of};
use crate::{Disk, File};
use scurry_codec::{Frame, Framed, SegmentHeader, read_frame};
use std::collections::VecDeque;
use std::io;
use thiserror::Error;

/// Bytes read at first and at once: at the end of a log there are few, far from it there are many.
const READ_LEN_MIN: usize = 16 << 10;
const READ_LEN_MAX: usize = 1 << 20;
/// Bytes of the buffer that are kept between two reads.
const KEPT_LEN_MAX: usize = 4 << 20;
/// Places that are remembered: one for each of so many readers.
const PLACES_MAX: usize = 64;

/// Why a log cannot be followed.
#[derive(Debug, Error)]
pub enum FollowError {
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A segment is not one of this log.
    #[error("{file} is no segment of this log: {why}")]
    Segment {
        /// The segment's file.
        file: String,
        /// The fault.
        why: String,
    },
    /// Something durable cannot be read.
    #[error("{file} cannot be read at byte {offset}, where sequence {sequence} should be")]
    Damaged {
        /// The segment's file.
        file: String,
        /// Where.
        offset: u64,
        /// The sequence that is missing.
        sequence: u64,
    },
}

/// Where a frame begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The sequence of its first record.
    sequence: u64,
    /// The first sequence of its segment.
    segment: u64,
    offset: u64,
}

/// One reader of a log after another, each at its own place.
pub struct LogFollower<D: Disk> {
    disk: D,
    log: LogId,
    /// The newest last.
    places: VecDeque<Place>,
    open: Option<Open<D::File>>,
    /// Bytes of the open segment from the place on.
    bytes: Vec<u8>,
    /// Bytes of them that were taken.
    taken: usize,
    place: Place,
}

/// A frame that can be read.
#[derive(Clone, Copy, Debug)]
struct Found {
    len: usize,
    /// The sequence behind it.
    next: u64,
    /// The records.
    count: u32,
}

struct Open<F> {
    segment: u64,
    file: F,
}

impl<D: Disk> LogFollower<D> {
    /// A follower of the log in this directory.
    pub fn new(disk: D, log: LogId) -> LogFollower<D> {
        LogFollower {
            disk,
            log,
            places: VecDeque::new(),
            open: None,
            bytes: Vec::new(),
            taken: 0,
            place: Place { sequence: 0, segment: 0, offset: 0 },
        }
    }

    /// The first sequence that is kept; none while the log has no segment.
    pub fn oldest(&mut self) -> io::Result<Option<u64>> {
        Ok(self.segments()?.first().copied())
    }

    /// Goes to the frame that has this sequence, which is durable. False when it is not kept any
    /// more.
    pub fn seek(&mut self, sequence: u64) -> Result<bool, FollowError> {
        let segments = self.segments()?;
        let Some(at) = segments.partition_point(|&first| first <= sequence).checked_sub(1) else {
            return Ok(false);
        };
        let segment = segments[at];
        let begin = Place { sequence: segment, segment, offset: SegmentHeader::LEN as u64 };
        let known = self.places.iter().enumerate();
        let known =
            known.filter(|(_, place)| place.segment == segment && place.sequence <= sequence);
        let best = known.max_by_key(|(_, place)| place.sequence).map(|(index, _)| index);
        // The reader moves on, and its place with it.
        let place = best.and_then(|index| self.places.remove(index)).unwrap_or(begin);
        if !self.enter(place)? {
            return Ok(false);
        }
        while let Some(found) = self.find()? {
            if found.next > sequence {
                return Ok(true);
            }
            self.pass(found);
        }
        if self.is_gone()? { Ok(false) } else { Err(self.damaged()) }
    }

    /// True when the segment at the place is not kept any more. Its file may be another one since.
    fn is_gone(&mut self) -> io::Result<bool> {
        let segment = self.place.segment;
        Ok(!self.segments()?.contains(&segment))
    }

    /// The sequence that [`LogFollower::frame`] goes on with.
    pub fn next(&self) -> u64 {
        self.place.sequence
    }

    /// The next frame with records, which begins at a durable sequence; none when the segment that
    /// should have it is gone.
    pub fn frame(&mut self) -> Result<Option<Frame<'_>>, FollowError> {
        loop {
            let Some(found) = self.find()? else {
                let sequence = self.place.sequence;
                let offset = SegmentHeader::LEN as u64;
                if sequence != self.place.segment
                    && self.enter(Place { sequence, segment: sequence, offset })?
                {
                    continue;
                }
                if self.oldest()?.is_none_or(|oldest| oldest > sequence) {
                    return Ok(None);
                }
                return Err(self.damaged());
            };
            let begin = self.taken;
            self.pass(found);
            if found.count > 0 {
                return match read_frame(self.log.seal(), &self.bytes[begin..]) {
                    Framed::Frame(frame) => Ok(Some(frame)),
                    _ => Err(self.damaged()),
                };
            }
        }
    }

    /// Where the frame is that comes next, for [`LogFollower::remember`].
    pub fn place(&self) -> Place {
        self.place
    }

    /// Remembers where a reader will go on: its next seek begins there.
    pub fn remember(&mut self, place: Place) {
        self.places.retain(|other| *other != place);
        if self.places.len() >= PLACES_MAX {
            self.places.pop_front();
        }
        self.places.push_back(place);
    }

    fn segments(&mut self) -> io::Result<Vec<u64>> {
        let names = self.disk.list()?;
        let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
        segments.sort_unstable();
        Ok(segments)
    }

    /// Goes to a place. False when its segment is gone.
    fn enter(&mut self, place: Place) -> Result<bool, FollowError> {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_LEN_MAX);
        self.taken = 0;
        self.place = place;
        if self.open.as_ref().is_some_and(|open| open.segment == place.segment) {
            return Ok(true);
        }
        let name = segment_name(place.segment);
        let mut file = match self.disk.open(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut head = [0; SegmentHeader::LEN];
        let len = file.read_at(0, &mut head)?;
        if let Err(why) = self.is_of(place.segment, &head[..len]) {
            return if self.is_gone()? {
                Ok(false)
            } else {
                Err(FollowError::Segment { file: name, why })
            };
        }
        self.open = Some(Open { segment: place.segment, file });
        Ok(true)
    }

    /// Why this is not the header of a segment of this log.
    fn is_of(&self, segment: u64, head: &[u8]) -> Result<(), String> {
        let header = SegmentHeader::decode(checksum, head).map_err(|error| error.to_string())?;
        let found = LogId { id: header.log_id, core: header.core };
        if found == self.log && header.first == segment {
            return Ok(());
        }
        Err("it belongs to another log".to_owned())
    }

    /// The frame at the place, when it is there and the right one; it is in memory then.
    fn find(&mut self) -> io::Result<Option<Found>> {
        let mut more = READ_LEN_MIN;
        loop {
            let bytes = &self.bytes[self.taken..];
            match read_frame(self.log.seal(), bytes) {
                Framed::Frame(frame) if frame.first() == self.place.sequence => {
                    let (len, next, count) = (frame.len(), frame.next(), frame.count());
                    return Ok(Some(Found { len, next, count }));
                }
                Framed::Frame(_) | Framed::Damaged(_) => return Ok(None),
                // Room that was never written: nothing follows.
                Framed::Torn if bytes.get(..4) == Some(&[0; 4]) => return Ok(None),
                Framed::Torn => {}
            }
            if !self.fill(more)? {
                return Ok(None);
            }
            more = (2 * more).min(READ_LEN_MAX);
        }
    }

    /// Reads on; false at the end of the file.
    fn fill(&mut self, more: usize) -> io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(false) };
        self.bytes.drain(..self.taken);
        self.taken = 0;
        let have = self.bytes.len();
        self.bytes.resize(have + more, 0);
        let read = open.file.read_at(self.place.offset + have as u64, &mut self.bytes[have..])?;
        self.bytes.truncate(have + read);
        Ok(read > 0)
    }

    /// Moves behind the frame at the place.
    fn pass(&mut self, found: Found) {
        self.taken += found.len;
        self.place.offset += found.len as u64;
        self.place.sequence = found.next;
    }

    fn damaged(&self) -> FollowError {
        let Place { sequence, segment, offset } = self.place;
        FollowError::Damaged { file: segment_name(segment), offset, sequence }
    }
}
