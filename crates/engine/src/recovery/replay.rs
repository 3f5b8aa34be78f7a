//! Applies the records of a log that the snapshot does not show yet.

use super::gathered::Gathered;
use super::{Base, RecoveryError, Sink};
use crate::key::position;
use crate::{KeyHasher, Step};
use scurry_codec::{About, Frame, Late, Record, read_passed};

/// Keys that are loaded ahead together.
const AHEAD: usize = 64;

/// First bits of a key's position that tell the parts apart.
const PART_BITS: u32 = 6;

/// Gathers records, by parts of the table, and applies them key by key.
pub(super) struct Replay<'b> {
    hasher: &'b KeyHasher,
    base: &'b Base,
    limit: u64,
    parts: Vec<Gathered>,
    hashes: Vec<u64>,
}

impl<'b> Replay<'b> {
    /// Up to a sequence.
    pub(super) fn new(hasher: &'b KeyHasher, base: &'b Base, limit: u64) -> Replay<'b> {
        let parts = std::iter::repeat_with(Gathered::default).take(1 << PART_BITS).collect();
        Replay { hasher, base, limit, parts, hashes: Vec::with_capacity(AHEAD) }
    }

    /// Takes those of a frame in, and returns how many. They are applied by the time of
    /// [`Replay::finish`].
    pub(super) fn frame(
        &mut self,
        frame: &Frame<'_>,
        sink: &mut impl Sink,
    ) -> Result<u64, RecoveryError> {
        let mut records = frame.records();
        let (mut sequence, mut taken) = (frame.first(), 0);
        while let Some(record) = records.pass() {
            let record = record.map_err(|error| RecoveryError::Record { sequence, error })?;
            let key = match record.about {
                About::Key(key) => Some(key),
                About::All | About::Nothing => None,
            };
            let as_of = self.base.as_of(key);
            if sequence > as_of && sequence <= self.limit {
                match record.about {
                    About::Key(key) => {
                        self.take(self.hasher.hash(key), sequence, record.bytes, sink)?;
                    }
                    About::Nothing => {}
                    About::All => {
                        self.finish(sink)?;
                        let outcome = sink.replay(&Record::Clear);
                        outcome.map_err(|error| RecoveryError::Replay { sequence, error })?;
                    }
                }
                taken += 1;
            }
            sequence += 1;
        }
        Ok(taken)
    }

    /// Applies what is gathered.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) -> Result<(), RecoveryError> {
        for part in &mut self.parts {
            apply(part, &mut self.hashes, sink)?;
        }
        Ok(())
    }

    /// Gathers a record; a part that is full is applied.
    fn take(
        &mut self,
        hash: u64,
        sequence: u64,
        record: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), RecoveryError> {
        let part = &mut self.parts[(position(hash) >> (u64::BITS - PART_BITS)) as usize];
        part.push(hash, sequence, record);
        if part.is_full() { apply(part, &mut self.hashes, sink) } else { Ok(()) }
    }
}

/// Applies a part, and empties it.
fn apply(
    part: &mut Gathered,
    hashes: &mut Vec<u64>,
    sink: &mut impl Sink,
) -> Result<(), RecoveryError> {
    part.sort();
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

/// Loads what the next keys need, and returns the place behind them.
fn load(part: &Gathered, from: usize, hashes: &mut Vec<u64>, sink: &mut impl Sink) -> usize {
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

/// Applies what stands together at a place, and returns the place behind it.
fn apply_at(part: &Gathered, place: usize, sink: &mut impl Sink) -> Result<usize, RecoveryError> {
    let replay = |(sequence, error)| RecoveryError::Replay { sequence, error };
    let (id, first) = match read(part, place)? {
        (sequence, Late::Account { id, change, left }) => (id, Step { sequence, change, left }),
        (sequence, Late::Other(record)) => {
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
            Ok((sequence, Late::Account { id: other, change, left })) if other == id => {
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

/// Reads the record at a place, and says its sequence.
#[inline]
fn read(part: &Gathered, place: usize) -> Result<(u64, Late<'_>), RecoveryError> {
    let (sequence, bytes) = part.record(place);
    match read_passed(bytes) {
        Ok(record) => Ok((sequence, record)),
        Err(error) => Err(RecoveryError::Record { sequence, error }),
    }
}
