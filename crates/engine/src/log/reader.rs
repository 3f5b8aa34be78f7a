//! Reads a log back: every frame up to the end of the good part, then decides whether the rest is a torn end or damage.
//!
//! Writes after the last sync may reach the device partly and in any order. So bytes that are not a frame end the log
//! there, unless a later frame proves that they had been synced: one whose mark is above. Then they are damage, and
//! reading fails instead of guessing.

use super::spare;
use super::tail::{ByteRange, Tail, rewrite};
use super::window::Window;
use super::{LogError, segment_name, segment_of};
use crate::log_id::{LogId, checksum};
use crate::{Disk, File};
use scurry_codec::{Frame, HeaderError, Index, LogEntry, LogFormat, Seal, SegmentHeader, Term};
use std::io;

/// The end of a log that was cut off. Nothing in it had been acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscardedTail {
    /// The segment's file.
    pub file: String,
    /// Byte offset of the cut.
    pub offset: u64,
    /// Bytes written there after the cut. Frames that were in the file before it became this segment are left out as
    /// far as they can be recognized.
    pub bytes: u64,
}

/// The last entry of a replicated log, which the next entry has to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Term of the last entry.
    pub term: Term,
    /// Index of the last entry.
    pub index: Index,
    /// The chain of the next entry.
    pub chain: u32,
}

impl History {
    fn behind(seal: Seal, place: &LogEntry, is_entry: bool) -> History {
        let chain = if is_entry { place.next_chain(seal) } else { place.chain };
        History { term: place.term, index: place.index, chain }
    }

    /// Reports whether a frame was written right after this history. The check is needed because entries that a deposed
    /// leader appended and another leader cut off can reappear with a file, with valid checksums.
    fn leads_to(history: Option<History>, frame: Option<Frame<'_>>) -> bool {
        let (Some(History { term, index, chain }), Some(frame)) = (history, frame) else {
            return frame.is_some();
        };
        frame.entry().is_some_and(|entry| {
            let index = if frame.count() > 0 { index.next() } else { index };
            entry.chain == chain && entry.index == index && entry.term >= term
        })
    }
}

/// Reads the frames of a log in their order.
#[derive(Debug)]
pub struct LogReader<'d, D: Disk> {
    disk: &'d mut D,
    log: LogId,
    /// First sequences of the segments.
    segments: Vec<u64>,
    /// Index in `segments` of the segment that is being read.
    at: usize,
    window: Option<Window<D::File>>,
    /// The seal of the frames of this segment.
    seal: Seal,
    /// The newest segment format that is accepted.
    newest: LogFormat,
    /// The end of a replicated log, as far as it has been read.
    history: Option<History>,
    next: u64,
    marked: u64,
    cut: Option<DiscardedTail>,
    /// Segments after the cut.
    lost: Vec<u64>,
    /// Frames that no mark proves to be on the device.
    tail: Tail,
    bytes: u64,
}

impl<'d, D: Disk> LogReader<'d, D> {
    /// Creates a reader that starts at or before sequence `wanted`.
    pub fn new(disk: &'d mut D, log: LogId, wanted: u64) -> Result<LogReader<'d, D>, LogError> {
        let names = disk.list().map_err(LogError::Directory)?;
        let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
        segments.sort_unstable();
        let after = segments.partition_point(|&first| first <= wanted);
        let next = match segments.first() {
            Some(&first) if after == 0 => return Err(LogError::Missing { first, wanted }),
            None if wanted > 1 => return Err(LogError::Missing { first: 1, wanted }),
            None => wanted,
            Some(_) => segments[after - 1],
        };
        Ok(LogReader {
            disk,
            log,
            segments,
            at: after.saturating_sub(1),
            window: None,
            seal: log.seal(),
            newest: LogFormat::Single,
            history: None,
            next,
            marked: 0,
            cut: None,
            lost: Vec::new(),
            tail: Tail::default(),
            bytes: 0,
        })
    }

    /// Accepts the log of a node of a group. Without this such a log is refused: a server without a group would serve
    /// entries that may still be taken back.
    pub fn in_group(self) -> LogReader<'d, D> {
        LogReader { newest: LogFormat::Replicated, ..self }
    }

    /// Reads the next frame, None at the end of the good part.
    pub fn frame(&mut self) -> Result<Option<Frame<'_>>, LogError> {
        loop {
            if self.window.is_none() && !self.open()? {
                return Ok(None);
            }
            let Some(window) = &mut self.window else { return Ok(None) };
            let len = match window.frame_len(self.seal)? {
                Ok(len)
                    if window.first(len) == Some(self.next)
                        && History::leads_to(self.history, window.peek(self.seal, len)) =>
                {
                    len
                }
                found => {
                    let why = match found {
                        Ok(_) => "a frame of another place".to_owned(),
                        Err(why) => why,
                    };
                    self.end_segment(&why)?;
                    continue;
                }
            };
            return self.read_frame(len).map(Some);
        }
    }

    /// Returns the bytes of the remaining segments that may have records up to a sequence. Later segments are not
    /// opened: another thread may be removing them.
    pub fn bytes_ahead(&mut self, last: u64) -> Result<u64, LogError> {
        let mut len = 0;
        for &first in self.segments[self.at..].iter().filter(|&&first| first <= last) {
            let name = segment_name(first);
            let len_of = self.disk.open(&name).and_then(|mut file| file.len());
            len += len_of.map_err(LogError::io(&name))?;
        }
        Ok(len)
    }

    /// Returns the sequence after the last record that was read.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the first sequence of the segment that is being read, and the offset of the next frame in it. None
    /// before the first frame and at the end.
    pub fn position(&self) -> Option<(u64, u64)> {
        let window = self.window.as_ref()?;
        Some((self.segments[self.at], window.offset()))
    }

    /// Returns the end of a replicated log as far as it has been read, None for the log of a single server.
    pub fn history(&self) -> Option<History> {
        self.history
    }

    /// Returns the bytes of the frames that were read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the first sequences of the segments, in order.
    pub fn segments(&self) -> &[u64] {
        &self.segments
    }

    /// Returns the end of the log that was cut off, if any.
    pub fn cut(&self) -> Option<&DiscardedTail> {
        self.cut.as_ref()
    }

    /// Cuts off the bad end, removes spares, and makes the good part durable. Readers are served it from now on, and
    /// some of it may only have been in the page cache when the process ended. It is written again, because a sync that
    /// failed before may have left pages that the kernel considers written.
    pub fn repair(mut self) -> Result<(), LogError> {
        self.window = None;
        spare::clear(self.disk).map_err(LogError::Directory)?;
        for first in std::mem::take(&mut self.lost).into_iter().rev() {
            let name = segment_name(first);
            self.disk.remove(&name).map_err(LogError::io(&name))?;
        }
        for &first in self.segments.iter().rev() {
            let name = segment_name(first);
            let cut = self.cut.as_ref().filter(|cut| cut.file == name).map(|cut| cut.offset);
            let unproven = self.tail.unproven_bytes(first);
            let repaired = self.disk.open(&name).and_then(|mut file| {
                if let Some(offset) = cut {
                    file.set_len(offset)?;
                }
                unproven.map_or(Ok(()), |range| rewrite(&mut file, range))?;
                file.sync()
            });
            repaired.map_err(LogError::io(&name))?;
            if first <= self.marked {
                // Everything before this segment is on the device.
                break;
            }
        }
        self.disk.sync_dir().map_err(LogError::Directory)
    }

    /// Opens the current segment. Returns false when none is left.
    fn open(&mut self) -> Result<bool, LogError> {
        let Some(&first) = self.segments.get(self.at) else { return Ok(false) };
        let name = segment_name(first);
        let mut head = [0; SegmentHeader::LEN];
        let opened = self.disk.open(&name).and_then(|mut file| {
            let len = file.read_at(0, &mut head)?;
            Ok((file, len))
        });
        let (file, len) = opened.map_err(LogError::io(&name))?;
        let header = match SegmentHeader::decode(checksum, &head[..len]) {
            Ok(header) => header,
            // Every header error except a whole header of a newer program.
            Err(error) if !matches!(error, HeaderError::Newer { .. }) => {
                let error = LogError::Header { file: name.clone(), error };
                self.handle_missing_header(Window::new(name, file, 0)?, error)?;
                return Ok(false);
            }
            Err(error) => return Err(LogError::Header { file: name, error }),
        };
        if header.format > self.newest {
            return Err(LogError::Replicated { file: name });
        }
        let found = LogId { id: header.log_id, core: header.core };
        if found == self.log && header.first < first {
            let error = LogError::Stale { file: name.clone(), first: header.first };
            self.handle_missing_header(Window::new(name, file, 0)?, error)?;
            return Ok(false);
        }
        if found != self.log || header.first != first {
            return Err(LogError::Foreign { file: name });
        }
        self.seal = self.log.seal_in(header.format);
        self.window = Some(Window::new(name, file, SegmentHeader::LEN as u64)?);
        Ok(true)
    }

    /// Handles a segment without a header of its own. It was created, or made from a spare, and not written yet, so it
    /// ends the log. But when its first frame is good, the header was good too, as both are in one sector: then it is
    /// damage.
    fn handle_missing_header(
        &mut self,
        window: Window<D::File>,
        error: LogError,
    ) -> Result<(), LogError> {
        let name = window.name.clone();
        let file = self.disk.open(&name).map_err(LogError::io(&name))?;
        let mut behind = Window::new(name.clone(), file, SegmentHeader::LEN as u64)?;
        // The missing header would have named the format, so both are tried.
        for format in [LogFormat::Single, LogFormat::Replicated] {
            if let Ok(len) = behind.frame_len(self.log.seal_in(format))?
                && behind.first(len) == Some(self.next)
            {
                return Err(error);
            }
        }
        let kept = self.at;
        self.at += 1;
        self.end(window, kept, &error.to_string())
    }

    fn read_frame(&mut self, len: usize) -> Result<Frame<'_>, LogError> {
        let Some(window) = &mut self.window else {
            return Err(LogError::Directory(io::Error::other("no segment is open")));
        };
        let (segment, offset) = (self.segments[self.at], window.offset());
        let Some(frame) = window.next_frame(self.seal, len) else {
            let error = io::Error::other("a frame is shorter than its header");
            return Err(LogError::Io { file: segment_name(segment), error });
        };
        self.next = frame.next();
        if let Some(place) = frame.entry() {
            self.history = Some(History::behind(self.seal, place, frame.count() > 0));
        }
        self.marked = self.marked.max(frame.synced());
        let end = offset + len as u64;
        self.tail.add(self.next, ByteRange { segment, range: offset..end });
        self.tail.proven(self.marked);
        self.bytes += len as u64;
        Ok(frame)
    }

    /// Ends the segment at bytes that are not a frame: the next segment follows, or the log ends, or it is damaged.
    fn end_segment(&mut self, why: &str) -> Result<(), LogError> {
        let Some(window) = self.window.take() else { return Ok(()) };
        self.at += 1;
        if self.segments.get(self.at) == Some(&self.next) {
            return Ok(());
        }
        self.end(window, self.at, why)
    }

    /// Ends the log at the window and keeps this many segments, unless a later frame proves that more had been synced.
    fn end(&mut self, mut window: Window<D::File>, kept: usize, why: &str) -> Result<(), LogError> {
        let (cut_file, offset) = (window.name.clone(), window.offset());
        let behind = window.behind(self.seal, self.next)?;
        let (mut bytes, mut proof) = (behind.written, behind.proof);
        let mut where_found = cut_file.clone();
        for &later in &self.segments[self.at..] {
            let name = segment_name(later);
            let file = self.disk.open(&name).map_err(LogError::io(&name))?;
            let mut window = Window::new(name.clone(), file, 0)?;
            let behind = window.behind(self.seal, self.next)?;
            bytes += behind.written;
            if proof.is_none() {
                (proof, where_found) = (behind.proof, name);
            }
        }
        if let Some((at, mark)) = proof {
            let why = format!("{why}; {where_found} says at byte {at} that {mark} was synced");
            return Err(LogError::Damaged { file: cut_file, offset, sequence: self.next, why });
        }
        self.cut = Some(DiscardedTail { file: cut_file, offset, bytes });
        self.lost = self.segments.split_off(kept);
        self.at = self.segments.len();
        Ok(())
    }
}
