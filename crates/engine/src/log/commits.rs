//! Tracks the committed bytes and how many of them are durable. It belongs to the shard and does no I/O: batches go
//! out, outcomes come back.

use super::{LogSpace, LogWriter, NoteError};
use crate::{Disk, Shard};
use scurry_codec::{ByteCount, Sequence};
use scurry_ledger::Time;
use std::io;

/// How durable a Change must be before its reply is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Not durable: no log is written.
    None,
    /// In the page cache: it survives a crash of the process, but not of the machine.
    Write,
    /// On the device.
    #[default]
    Fsync,
}

/// Frames on their way to the log.
#[derive(Debug)]
pub struct Batch {
    frames: Vec<u8>,
    /// Sequence of the first record, or of the next one when the batch has only a mark.
    first: Sequence,
    last: Sequence,
    sync: bool,
    written: bool,
    /// Whether the segment before it ends.
    ends_segment: bool,
    /// Space left in the log after this batch, in bytes.
    room: Option<LogSpace>,
    /// Why the reach of the log could not be noted in the file beside it.
    reach_error: Option<NoteError>,
}

/// Failure of the log: it cannot be trusted until the server has restarted and read it again. No more replies may be
/// sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub io::Error);

/// State of the batch that was given out last.
#[derive(Debug)]
enum State {
    /// No batch is in flight.
    Idle,
    /// A batch is in flight.
    Busy,
    /// The disk is full: this batch has to be written again.
    Full(Box<Batch>),
    /// A write or a sync has failed.
    Failed,
}

/// The commits of a shard.
#[derive(Debug)]
pub struct Commits {
    durability: Durability,
    state: State,
    /// Greatest sequence in the log, in the page cache at least.
    written: u64,
    /// Greatest sequence known to be on the device.
    synced: u64,
    /// The mark that was written last.
    marked: u64,
    spare: Vec<u8>,
    /// Bytes given to the log so far.
    bytes: u64,
    batches: u64,
    /// Bytes of the batch that is in flight.
    under_way: u64,
    room: LogSpace,
    /// Whether the next batch ends the segment before it.
    ends_segment: bool,
}

impl Commits {
    /// Creates the commits of a shard. `recovered` is the greatest sequence that recovery has found and made durable, 0
    /// in a new log.
    pub fn new(durability: Durability, recovered: u64) -> Commits {
        Commits {
            durability,
            state: State::Idle,
            written: recovered,
            synced: recovered,
            // The previous run may have written more after its last mark.
            marked: 0,
            spare: Vec::new(),
            bytes: 0,
            batches: 0,
            under_way: 0,
            room: LogSpace::UNKNOWN,
            ends_segment: false,
        }
    }

    /// Returns the durability mode.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns the sequence up to which replies may be sent.
    pub fn durable(&self) -> u64 {
        match self.durability {
            Durability::None => u64::MAX,
            Durability::Write => self.written,
            Durability::Fsync => self.synced,
        }
    }

    /// Returns the greatest sequence in the log, in the page cache at least.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the greatest sequence known to be on the device.
    pub fn synced(&self) -> u64 {
        self.synced
    }

    /// Marks the log as failed: it was written but found not to be durable. No more replies may be sent.
    pub fn fail(&mut self) {
        self.state = State::Failed;
    }

    /// Notes that the log is synced up to this sequence by another thread.
    pub fn note_synced(&mut self, sequence: u64) {
        self.synced = self.synced.max(sequence.min(self.written));
    }

    /// Notes that the group has this log committed up to a sequence: it is on the devices of a majority. Used when the
    /// replication thread writes the log. `bytes` is the total given to it.
    pub fn note_committed(&mut self, sequence: Sequence, bytes: ByteCount) {
        let sequence = sequence.get();
        self.bytes = bytes.get();
        self.written = self.written.max(sequence);
        self.synced = self.synced.max(sequence);
    }

    /// Returns the bytes and the batches given to the log.
    pub fn given(&self) -> (u64, u64) {
        (self.bytes, self.batches)
    }

    /// Reports whether a batch is in flight.
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Busy)
    }

    /// Reports whether the disk is too full for the bytes that were already committed.
    pub fn is_full(&self) -> bool {
        matches!(self.state, State::Full(_))
    }

    /// Reports whether the log has failed and cannot be trusted.
    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed)
    }

    /// Returns the next batch for the log if there is something to write and no batch is in flight. The host passes its
    /// outcome to [`Commits::done`].
    pub fn batch(&mut self, shard: &mut Shard, now: Time) -> Option<Batch> {
        match std::mem::replace(&mut self.state, State::Busy) {
            State::Idle => {}
            State::Full(batch) => return Some(*batch),
            other => {
                self.state = other;
                return None;
            }
        }
        // Frames may have been sealed since the last batch.
        let written = self.written;
        let Some(journal) = shard.journal().filter(|journal| journal.next() - 1 > written) else {
            self.state = State::Idle;
            return None;
        };
        if !journal.is_empty() {
            journal.seal(self.synced, now);
        }
        let mut frames = std::mem::take(&mut self.spare);
        journal.take_sealed(&mut frames);
        let (first, last) = (self.written + 1, journal.next() - 1);
        Some(self.send(frames, first, last))
    }

    /// Returns a batch with a mark, when the log does not yet record that all of it is on the device. For idle shards.
    pub fn mark(&mut self, shard: &mut Shard, now: Time) -> Option<Batch> {
        let due = matches!(self.state, State::Idle) && self.marked < self.synced;
        let written = self.written;
        let journal = shard.journal().filter(|journal| due && journal.next() - 1 == written)?;
        journal.seal(self.synced, now);
        let mut frames = std::mem::take(&mut self.spare);
        journal.take_sealed(&mut frames);
        let next = journal.next();
        self.state = State::Busy;
        self.marked = self.synced;
        Some(self.send(frames, next, next - 1))
    }

    /// Makes the next batch begin a segment: for a snapshot, which makes all before it removable.
    pub fn end_segment(&mut self) {
        self.ends_segment = true;
    }

    fn send(&mut self, frames: Vec<u8>, first: u64, last: u64) -> Batch {
        self.bytes += frames.len() as u64;
        self.batches += 1;
        self.under_way = frames.len() as u64;
        let sync = self.durability == Durability::Fsync;
        Batch {
            frames,
            first: Sequence(first),
            last: Sequence(last),
            sync,
            written: false,
            ends_segment: std::mem::take(&mut self.ends_segment),
            room: None,
            reach_error: None,
        }
    }

    /// Records the space that the log's writer has left.
    pub fn note_room(&mut self, room: LogSpace) {
        self.room = room;
    }

    /// Returns the number of bytes for which the log surely has room, in addition to those committed. Unlimited until
    /// the writer's room was noted or a batch was returned.
    pub fn room_left(&self, shard: &mut Shard) -> u64 {
        let waiting = shard.journal().map_or(0, |journal| journal.len() as u64);
        self.room.sure().saturating_sub(waiting + self.under_way)
    }

    /// Reports whether space for the next segment is reserved.
    pub fn is_ahead(&self) -> bool {
        self.room.ahead > 0
    }

    /// Takes the outcome of a batch. When the disk was full the batch will be given out again.
    pub fn done(&mut self, batch: Batch, outcome: io::Result<()>) -> Result<(), Failed> {
        self.room = batch.room.unwrap_or(self.room);
        match outcome {
            // The log was marked as failed while this batch was in flight.
            _ if self.has_failed() => Ok(()),
            Ok(()) => {
                self.written = batch.last.get();
                if batch.sync {
                    self.synced = batch.last.get();
                }
                self.under_way = 0;
                self.spare = batch.frames;
                self.spare.clear();
                self.state = State::Idle;
                Ok(())
            }
            // Nothing in the batch was acknowledged, and its place in the log is still free: it can be retried.
            Err(error) if !batch.written && is_disk_full(&error) => {
                self.state = State::Full(Box::new(batch));
                Ok(())
            }
            Err(error) => {
                self.state = State::Failed;
                Err(Failed(error))
            }
        }
    }
}

impl Batch {
    /// Returns the bytes of its frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Reports whether it has no frames, which never happens.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Writes the batch, and syncs it if its durability requires that.
    pub fn run<D: Disk>(&mut self, writer: &mut LogWriter<D>) -> io::Result<()> {
        if !self.written {
            if std::mem::take(&mut self.ends_segment) {
                writer.end_segment();
            }
            let outcome = writer.write(self.first, &mut self.frames);
            self.room = Some(writer.room());
            outcome?;
            self.written = true;
        }
        if self.sync {
            writer.sync()?;
            self.reach_error = writer.note_reach(self.last).err();
        }
        Ok(())
    }

    /// Returns why the reach of the log could not be noted in its file. The batch is durable all the same, and each
    /// further batch tries again.
    pub fn reach_error(&self) -> Option<&NoteError> {
        self.reach_error.as_ref()
    }
}

/// Reports whether an error means that the disk, a quota or a file size limit is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
