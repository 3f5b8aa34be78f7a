//! What was committed, and how far it is durable. It stays with the shard and opens nothing:
//! batches go out, outcomes come back.

use super::{LogWriter, NoteError, Room};
use crate::{Disk, Shard};
use scurry_ledger::Time;
use std::io;

/// How durable a Change is before its answer leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Not at all: there is no log.
    None,
    /// In the page cache: it survives the process, and not the machine.
    Write,
    /// On the device.
    #[default]
    Fsync,
}

/// Frames on their way to the log.
#[derive(Debug)]
pub struct Batch {
    frames: Vec<u8>,
    /// Of the first record, or of the next one where there is only a mark.
    first: u64,
    last: u64,
    sync: bool,
    written: bool,
    /// Bytes that the log has room for behind it.
    room: Option<Room>,
    /// Why nothing beside the log says how far it has come.
    unsaid: Option<NoteError>,
}

/// The log cannot be trusted any more: nothing may be answered until the server was started
/// again and has read it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub io::Error);

/// The fate of a batch that was not made durable.
#[derive(Debug)]
enum State {
    /// Nothing is under way.
    Idle,
    /// A batch is.
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
    /// Bytes that were given to the log.
    bytes: u64,
    batches: u64,
    /// Bytes of the batch that was given out and is not written.
    under_way: u64,
    room: Room,
}

impl Commits {
    /// `recovered` is the greatest sequence that recovery has found and made durable, 0 in a new
    /// log.
    pub fn new(durability: Durability, recovered: u64) -> Commits {
        Commits {
            durability,
            state: State::Idle,
            written: recovered,
            synced: recovered,
            // What the last run has written may lie behind its last mark.
            marked: 0,
            spare: Vec::new(),
            bytes: 0,
            batches: 0,
            under_way: 0,
            room: Room::UNKNOWN,
        }
    }

    /// The mode.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// The sequence up to which replies may leave.
    pub fn durable(&self) -> u64 {
        match self.durability {
            Durability::None => u64::MAX,
            Durability::Write => self.written,
            Durability::Fsync => self.synced,
        }
    }

    /// Greatest sequence in the log, in the page cache at least.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Greatest sequence known to be on the device.
    pub fn synced(&self) -> u64 {
        self.synced
    }

    /// The log was found not to be durable although it was written: nothing may be answered.
    pub fn fail(&mut self) {
        self.state = State::Failed;
    }

    /// Something else than this log has made it durable up to here.
    pub fn note_synced(&mut self, sequence: u64) {
        self.synced = self.synced.max(sequence.min(self.written));
    }

    /// The log is written by somebody else, who has it up to here where replies may rely on it: on a majority
    /// of a group's devices.
    /// `bytes` were given to it in all.
    pub fn note_committed(&mut self, sequence: u64, bytes: u64) {
        self.bytes = bytes;
        self.written = self.written.max(sequence);
        self.synced = self.synced.max(sequence);
    }

    /// Bytes and batches that were given to the log.
    pub fn given(&self) -> (u64, u64) {
        (self.bytes, self.batches)
    }

    /// True while a batch is under way.
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Busy)
    }

    /// True while the disk has no room for what was committed already.
    pub fn is_full(&self) -> bool {
        matches!(self.state, State::Full(_))
    }

    /// True when the log cannot be trusted any more.
    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed)
    }

    /// The next batch for the log, if there is something to write and nothing is under way. The
    /// host hands its outcome to [`Commits::done`].
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
        journal.take(&mut frames);
        let (first, last) = (self.written + 1, journal.next() - 1);
        Some(self.send(frames, first, last))
    }

    /// A mark, when the log does not say yet that all of it is on the device: for a shard that
    /// is idle.
    pub fn mark(&mut self, shard: &mut Shard, now: Time) -> Option<Batch> {
        let due = matches!(self.state, State::Idle) && self.marked < self.synced;
        let written = self.written;
        let journal = shard.journal().filter(|journal| due && journal.next() - 1 == written)?;
        journal.seal(self.synced, now);
        let mut frames = std::mem::take(&mut self.spare);
        journal.take(&mut frames);
        let next = journal.next();
        self.state = State::Busy;
        self.marked = self.synced;
        Some(self.send(frames, next, next - 1))
    }

    fn send(&mut self, frames: Vec<u8>, first: u64, last: u64) -> Batch {
        self.bytes += frames.len() as u64;
        self.batches += 1;
        self.under_way = frames.len() as u64;
        let sync = self.durability == Durability::Fsync;
        Batch { frames, first, last, sync, written: false, room: None, unsaid: None }
    }

    /// Notes what the log has room for behind what was written last, as its writer says.
    pub fn note_room(&mut self, room: Room) {
        self.room = room;
    }

    /// Bytes that the log is sure to take beyond what was committed. Known once the writer's room
    /// was noted, or a batch has come back.
    pub fn room_left(&self, shard: &mut Shard) -> u64 {
        let waiting = shard.journal().map_or(0, |journal| journal.len() as u64);
        self.room.sure().saturating_sub(waiting + self.under_way)
    }

    /// True when the next segment's room is set aside.
    pub fn is_ahead(&self) -> bool {
        self.room.ahead > 0
    }

    /// A batch is durable, or not. When the disk was full it will be given out again.
    pub fn done(&mut self, batch: Batch, outcome: io::Result<()>) -> Result<(), Failed> {
        self.room = batch.room.unwrap_or(self.room);
        match outcome {
            // It failed elsewhere meanwhile.
            _ if self.has_failed() => Ok(()),
            Ok(()) => {
                self.written = batch.last;
                if batch.sync {
                    self.synced = batch.last;
                }
                self.under_way = 0;
                self.spare = batch.frames;
                self.spare.clear();
                self.state = State::Idle;
                Ok(())
            }
            // Nothing was promised of it and its place in the log is still its own.
            Err(error) if !batch.written && is_want_of_room(&error) => {
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
    /// Bytes of its frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// True without frames: never.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Writes it, and makes it durable where it has to be.
    pub fn run<D: Disk>(&mut self, writer: &mut LogWriter<D>) -> io::Result<()> {
        if !self.written {
            let outcome = writer.write(self.first, &mut self.frames);
            self.room = Some(writer.room());
            outcome?;
            self.written = true;
        }
        if self.sync {
            writer.sync()?;
            self.unsaid = writer.note_reach(self.last).err();
        }
        Ok(())
    }

    /// Why nothing beside the log says how far it has come, when that was tried and failed. The
    /// batch is as durable as ever, and each batch to come tries again.
    pub fn unsaid(&self) -> Option<&NoteError> {
        self.unsaid.as_ref()
    }
}

/// True when an error says that the disk is full, or as much of it as is allowed.
pub fn is_want_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
