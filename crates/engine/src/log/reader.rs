//! Reads a log back: every frame up to the end of what is good, and a verdict on what follows.
//!
//! What was written after the last sync may be on the device in any part and any order, so bytes
//! that are no frame end the log there, unless something later proves that they had been synced:
//! a frame whose mark lies above. Then it is damage, and nothing is guessed.

use super::{LogId, checksum, segment_name, segment_of};
use crate::{Disk, File};
use scurry_codec::{Frame, Framed, HeaderError, Seal, SegmentHeader, read_frame};
use std::io;
use thiserror::Error;

/// Bytes read at once.
const WINDOW_LEN: usize = 4 << 20;

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not a segment of this log, or of a later format.
    #[error("{file}: {error}")]
    Header {
        /// The segment's file.
        file: String,
        /// What is wrong.
        error: HeaderError,
    },
    /// It is a segment of another log.
    #[error("{file} belongs to another log: files of two stores were mixed")]
    Foreign {
        /// The segment's file.
        file: String,
    },
    /// What was promised to be on the device is not.
    #[error(
        "{file} is damaged at byte {offset}: sequence {sequence} was synced once and cannot be \
         read ({why}); restore from a backup"
    )]
    Damaged {
        /// The segment's file.
        file: String,
        /// Where the damage begins.
        offset: u64,
        /// The first sequence that is missing.
        sequence: u64,
        /// What proves it.
        why: String,
    },
    /// Segments are missing.
    #[error("the log begins at sequence {first}, and {wanted} is needed: files were removed")]
    Missing {
        /// The first sequence that is there.
        first: u64,
        /// The first that is needed.
        wanted: u64,
    },
}

/// The end of a log that was cut off: nothing of it had been promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment's file.
    pub file: String,
    /// Where the cut was made.
    pub offset: u64,
    /// Bytes behind it that were not zero.
    pub bytes: u64,
}

/// Reads the frames of a log in their order.
#[derive(Debug)]
pub struct LogReader<'d, D: Disk> {
    disk: &'d mut D,
    log: LogId,
    /// First sequences of the segments.
    segments: Vec<u64>,
    /// The segment that is read.
    at: usize,
    window: Option<Window<D::File>>,
    next: u64,
    marked: u64,
    cut: Option<Cut>,
    /// Segments behind the cut.
    lost: Vec<u64>,
    bytes: u64,
}

impl<'d, D: Disk> LogReader<'d, D> {
    /// A reader of the records from sequence `wanted` on, or from some before it.
    pub fn new(disk: &'d mut D, log: LogId, wanted: u64) -> Result<LogReader<'d, D>, LogError> {
        let names = disk.list()?;
        let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
        segments.sort_unstable();
        let mut reader = LogReader {
            disk,
            log,
            segments,
            at: 0,
            window: None,
            next: wanted,
            marked: 0,
            cut: None,
            lost: Vec::new(),
            bytes: 0,
        };
        let unborn = reader.drop_unborn()?;
        let after = reader.segments.partition_point(|&first| first <= wanted);
        match reader.segments.first() {
            Some(&first) if after == 0 => return Err(LogError::Missing { first, wanted }),
            None if wanted > 1 && unborn != Some(wanted) => {
                return Err(LogError::Missing { first: 1, wanted });
            }
            None => {}
            Some(_) => {
                reader.at = after - 1;
                reader.next = reader.segments[reader.at];
            }
        }
        Ok(reader)
    }

    /// The next frame, none at the end of what is good.
    pub fn frame(&mut self) -> Result<Option<Frame<'_>>, LogError> {
        loop {
            if self.window.is_none() && !self.open()? {
                return Ok(None);
            }
            let Some(window) = &mut self.window else { return Ok(None) };
            let len = match window.frame_len(self.log.seal())? {
                Ok(len) if window.first(len) == Some(self.next) => len,
                found => {
                    let why = match found {
                        Ok(_) => "a frame of another place".to_owned(),
                        Err(why) => why,
                    };
                    self.end_segment(&why)?;
                    continue;
                }
            };
            return self.take(len).map(Some);
        }
    }

    /// Bytes of the segments from here on.
    pub fn bytes_ahead(&mut self) -> Result<u64, LogError> {
        let mut len = 0;
        for &first in &self.segments[self.at..] {
            len += self.disk.open(&segment_name(first))?.len()?;
        }
        Ok(len)
    }

    /// The sequence after the last record that was read.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The segment that is read, by its first sequence, and where the next frame begins in it.
    /// None before the first frame and at the end.
    pub fn place(&self) -> Option<(u64, u64)> {
        let window = self.window.as_ref()?;
        Some((self.segments[self.at], window.offset()))
    }

    /// Bytes of the frames that were read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// First sequences of the segments, in their order.
    pub fn segments(&self) -> &[u64] {
        &self.segments
    }

    /// What was left out at the end.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Cuts off what is not good and makes what is good durable: what was only in the page cache
    /// when the process ended is shown to readers from now on.
    pub fn settle(mut self) -> Result<(), LogError> {
        self.window = None;
        for first in std::mem::take(&mut self.lost).into_iter().rev() {
            self.disk.remove(&segment_name(first))?;
        }
        for &first in self.segments.iter().rev() {
            let name = segment_name(first);
            let mut file = self.disk.open(&name)?;
            if let Some(cut) = self.cut.as_ref().filter(|cut| cut.file == name) {
                file.set_len(cut.offset)?;
            }
            file.sync()?;
            if first <= self.marked {
                // What lies before it is on the device.
                break;
            }
        }
        self.disk.sync_dir()?;
        Ok(())
    }

    /// The last segment may have been created and not written yet: it holds nothing then.
    /// Returns its first sequence.
    fn drop_unborn(&mut self) -> Result<Option<u64>, LogError> {
        let Some(&last) = self.segments.last() else { return Ok(None) };
        let mut head = [0; SegmentHeader::LEN];
        let name = segment_name(last);
        let len = self.disk.open(&name)?.read_at(0, &mut head)?;
        let is_blank = len < SegmentHeader::LEN || head.iter().all(|&byte| byte == 0);
        let is_torn = matches!(
            SegmentHeader::decode(checksum, &head[..len]),
            Err(HeaderError::Checksum | HeaderError::Short | HeaderError::Magic(_))
        );
        if is_blank || is_torn && !self.has_frame(last)? {
            self.disk.remove(&name)?;
            self.segments.pop();
            return Ok(Some(last));
        }
        Ok(None)
    }

    /// True when any frame of this log can be read in the segment.
    fn has_frame(&mut self, first: u64) -> Result<bool, LogError> {
        let file = self.disk.open(&segment_name(first))?;
        let mut window = Window::new(file, SegmentHeader::LEN as u64)?;
        Ok(window.find(self.log.seal(), first, first.saturating_sub(1))?.is_some())
    }

    /// Opens the segment that is to be read; false when there is none.
    fn open(&mut self) -> Result<bool, LogError> {
        let Some(&first) = self.segments.get(self.at) else { return Ok(false) };
        let name = segment_name(first);
        let mut file = self.disk.open(&name)?;
        let mut head = [0; SegmentHeader::LEN];
        let len = file.read_at(0, &mut head)?;
        let header = SegmentHeader::decode(checksum, &head[..len])
            .map_err(|error| LogError::Header { file: name.clone(), error })?;
        let found = LogId { id: header.log_id, core: header.core };
        if found != self.log || header.first != first {
            return Err(LogError::Foreign { file: name });
        }
        self.window = Some(Window::new(file, SegmentHeader::LEN as u64)?);
        Ok(true)
    }

    fn take(&mut self, len: usize) -> Result<Frame<'_>, LogError> {
        let Some(window) = &mut self.window else {
            return Err(io::Error::other("no segment is open").into());
        };
        let Framed::Frame(frame) = read_frame(self.log.seal(), window.take(len)) else {
            return Err(io::Error::other("a frame was read twice and differs").into());
        };
        self.next = frame.next();
        self.marked = self.marked.max(frame.synced());
        self.bytes += len as u64;
        Ok(frame)
    }

    /// What follows is no frame: the segment ends, or the log, or it is damaged.
    fn end_segment(&mut self, why: &str) -> Result<(), LogError> {
        let Some(mut window) = self.window.take() else { return Ok(()) };
        let first = self.segments[self.at];
        let (file, offset) = (segment_name(first), window.offset());
        self.at += 1;
        if self.segments.get(self.at) == Some(&self.next) {
            return Ok(());
        }
        let mut bytes = window.rest()?;
        let mut proof = window.find(self.log.seal(), self.next, self.next)?;
        let mut where_found = file.clone();
        for &later in &self.segments[self.at..] {
            let name = segment_name(later);
            let mut window = Window::new(self.disk.open(&name)?, 0)?;
            bytes += window.rest()?;
            if proof.is_none() {
                proof = window.find(self.log.seal(), self.next, self.next)?;
                where_found = name;
            }
        }
        if let Some((at, mark)) = proof {
            let why = format!("{why}; {where_found} says at byte {at} that {mark} was synced");
            return Err(LogError::Damaged { file, offset, sequence: self.next, why });
        }
        self.cut = Some(Cut { file, offset, bytes });
        self.lost = self.segments.split_off(self.at);
        Ok(())
    }
}

/// A part of a segment, in memory.
#[derive(Debug)]
struct Window<F> {
    file: F,
    bytes: Vec<u8>,
    /// Where `bytes` begins in the file.
    start: u64,
    /// What was taken of `bytes`.
    at: usize,
    len: u64,
}

impl<F: File> Window<F> {
    fn new(mut file: F, start: u64) -> io::Result<Window<F>> {
        let len = file.len()?;
        Ok(Window { file, bytes: Vec::new(), start, at: 0, len })
    }

    /// Where the next frame is, in the file.
    fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The length of the frame that comes next, or why there is none.
    fn frame_len(&mut self, seal: Seal) -> io::Result<Result<usize, String>> {
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

    fn first(&self, len: usize) -> Option<u64> {
        first_of(self.bytes.get(self.at..self.at + len)?)
    }

    fn take(&mut self, len: usize) -> &[u8] {
        self.at += len;
        &self.bytes[self.at - len..self.at]
    }

    /// Reads on; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        self.bytes.drain(..self.at);
        self.start += self.at as u64;
        self.at = 0;
        let have = self.bytes.len();
        let more = usize::try_from(self.len - (self.start + have as u64)).unwrap_or(usize::MAX);
        let more = more.min(have.max(WINDOW_LEN));
        self.bytes.resize(have + more, 0);
        let read = self.file.read_at(self.start + have as u64, &mut self.bytes[have..])?;
        self.bytes.truncate(have + read);
        Ok(read > 0)
    }

    /// Bytes from here to the last that is not zero.
    fn rest(&mut self) -> io::Result<u64> {
        while self.fill()? {}
        let rest = &self.bytes[self.at..];
        let last = rest.iter().rposition(|&byte| byte != 0);
        Ok(last.map_or(0, |last| last as u64 + 1))
    }

    /// A frame behind this place, at any byte, with sequences after `after` and a mark of at
    /// least `mark`: where it is, and its mark.
    fn find(&mut self, seal: Seal, after: u64, mark: u64) -> io::Result<Option<(u64, u64)>> {
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
