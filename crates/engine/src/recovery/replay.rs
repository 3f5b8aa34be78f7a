//! Applies the records of a log that are newer than the snapshot.

use super::gathered::{GatheredRecords, RECORDS_MAX};
use super::read_ahead::{LONG_LEN, Load};
use super::{Base, Progress, RecoveryError, Sink};
use crate::key::position;
use crate::{KeyHasher, Step};
use scurry_codec::{DeferredRecord, Frame, Record, RecordSubject, read_raw_record};

/// Keys that are loaded into the cache together.
const AHEAD: usize = 64;

/// Leading bits of a key's position that select the part of the table.
const PART_BITS: u32 = 6;

/// Most records gathered in all parts together. Beyond it, parts are handed over in rotation, so that the applying
/// thread never waits until many parts are full. With evenly spread keys the last parts of the first round are nearly
/// full; later each is about two thirds full at its turn.
const GATHERED_MAX: usize = (RECORDS_MAX << PART_BITS) / 3;

/// Records on their way from the reading thread to the applying thread.
#[derive(Debug, Default)]
pub(super) struct RecordBatch {
    /// The sequence of a clear, which is applied before the records.
    clear: Option<u64>,
    records: GatheredRecords,
    /// Progress of reading.
    pub(super) read: Progress,
}

impl Load for RecordBatch {
    fn is_long(&self) -> bool {
        self.records.bytes() > LONG_LEN
    }
}

#[cfg(test)]
impl RecordBatch {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
}

/// Gathers records by part of the table.
pub(super) struct Replay<'b> {
    hasher: &'b KeyHasher,
    base: &'b Base,
    limit: u64,
    parts: Vec<RecordBatch>,
    /// Number of gathered records.
    gathered: usize,
    /// The part that is handed over next.
    turn: usize,
    pub(super) read: Progress,
}

impl<'b> Replay<'b> {
    /// Creates a replay up to the sequence `limit`.
    pub(super) fn new(
        hasher: &'b KeyHasher,
        base: &'b Base,
        limit: u64,
        read: Progress,
    ) -> Replay<'b> {
        let parts = std::iter::repeat_with(RecordBatch::default).take(1 << PART_BITS).collect();
        Replay { hasher, base, limit, parts, gathered: 0, turn: 0, read }
    }

    /// Adds the records of a frame. All are handed over for applying by the time [`Replay::finish`] returns. `give`
    /// takes a full batch and returns an empty one.
    pub(super) fn frame(
        &mut self,
        frame: &Frame<'_>,
        give: &mut impl FnMut(RecordBatch) -> RecordBatch,
    ) -> Result<(), RecoveryError> {
        let mut records = frame.records();
        let mut sequence = frame.first();
        while let Some(record) = records.pass() {
            let record = record.map_err(|error| RecoveryError::Record { sequence, error })?;
            let key = match record.about {
                RecordSubject::Key(key) => Some(key),
                RecordSubject::All | RecordSubject::Nothing => None,
            };
            let as_of = self.base.as_of(key);
            if sequence > as_of && sequence <= self.limit {
                match record.about {
                    RecordSubject::Key(key) => {
                        self.gather(self.hasher.hash(key), sequence, record.bytes, give);
                    }
                    RecordSubject::Nothing => {}
                    RecordSubject::All => {
                        self.finish(give);
                        self.parts[0].clear = Some(sequence);
                        self.give(0, give);
                    }
                }
                self.read.records += 1;
            }
            sequence += 1;
        }
        self.read.log_bytes += frame.len() as u64;
        Ok(())
    }

    /// Hands over all gathered records.
    pub(super) fn finish(&mut self, give: &mut impl FnMut(RecordBatch) -> RecordBatch) {
        for part in 0..self.parts.len() {
            if self.parts[part].records.len() > 0 {
                self.give(part, give);
            }
        }
    }

    /// Gathers a record. Hands over its part when full, and the next part in rotation when many are gathered.
    fn gather(
        &mut self,
        hash: u64,
        sequence: u64,
        record: &[u8],
        give: &mut impl FnMut(RecordBatch) -> RecordBatch,
    ) {
        let part = (position(hash) >> (u64::BITS - PART_BITS)) as usize;
        let records = &mut self.parts[part].records;
        records.push(hash, sequence, record);
        self.gathered += 1;
        if records.is_full() {
            self.give(part, give);
        } else if self.gathered >= GATHERED_MAX {
            self.give(self.turn, give);
            self.turn = (self.turn + 1) % self.parts.len();
        }
    }

    fn give(&mut self, part: usize, give: &mut impl FnMut(RecordBatch) -> RecordBatch) {
        let mut batch = std::mem::take(&mut self.parts[part]);
        self.gathered -= batch.records.len();
        batch.records.sort();
        batch.read = self.read;
        self.parts[part] = give(batch);
    }
}

/// Applies a sheaf, and empties it.
pub(super) fn apply(
    batch: &mut RecordBatch,
    hashes: &mut Vec<u64>,
    sink: &mut impl Sink,
) -> Result<(), RecoveryError> {
    if let Some(sequence) = batch.clear.take() {
        let outcome = sink.replay(&Record::Clear);
        outcome.map_err(|error| RecoveryError::Replay { sequence, error })?;
    }
    let part = &mut batch.records;
    part.load();
    let (mut place, mut loaded) = (0, 0);
    while place < part.len() {
        if place >= loaded {
            loaded = load(part, place, hashes, sink);
        }
        place = apply_at(part, place, sink)?;
    }
    part.clear();
    Ok(())
}

/// Loads the data that the next keys need into the cache, and returns the place after them.
fn load(part: &GatheredRecords, from: usize, hashes: &mut Vec<u64>, sink: &mut impl Sink) -> usize {
    hashes.clear();
    let mut place = from;
    while place < part.len() {
        if part.begins(place) {
            if hashes.len() == AHEAD {
                break;
            }
            hashes.push(part.hash(place));
        }
        place += 1;
    }
    sink.touch(hashes);
    place
}

/// Applies the records of one key at a place, and returns the place after them.
fn apply_at(
    part: &GatheredRecords,
    place: usize,
    sink: &mut impl Sink,
) -> Result<usize, RecoveryError> {
    let replay = |(sequence, error)| RecoveryError::Replay { sequence, error };
    let (id, first) = match read(part, place)? {
        (sequence, DeferredRecord::Account { id, change, left }) => {
            (id, Step { sequence, change, left })
        }
        (sequence, DeferredRecord::Other(record)) => {
            sink.replay(&record).map_err(|error| replay((sequence, error)))?;
            return Ok(place + 1);
        }
    };
    let (hash, mut next, mut broken) = (part.hash(place), place + 1, None);
    let others = std::iter::from_fn(|| {
        if next == part.len() || part.hash(next) != hash {
            return None;
        }
        match read(part, next) {
            Ok((sequence, DeferredRecord::Account { id: other, change, left })) if other == id => {
                next += 1;
                Some(Step { sequence, change, left })
            }
            Ok(_) => None,
            Err(error) => {
                broken = Some(error);
                None
            }
        }
    });
    sink.replay_account(id, std::iter::once(first).chain(others)).map_err(replay)?;
    broken.map_or(Ok(next), Err)
}

/// Decodes the record at a place, and returns it with its sequence.
#[inline]
fn read(part: &GatheredRecords, place: usize) -> Result<(u64, DeferredRecord<'_>), RecoveryError> {
    let (sequence, bytes) = part.record(place);
    match read_raw_record(bytes) {
        Ok(record) => Ok((sequence, record)),
        Err(error) => Err(RecoveryError::Record { sequence, error }),
    }
}
