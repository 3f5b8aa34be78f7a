//! Applies the records of a log that the snapshot does not show yet.

use super::gathered::Gathered;
use super::{Base, RecoveryError, Sink};
use crate::KeyHasher;
use crate::key::position;
use scurry_codec::Frame;

/// Keys that are loaded ahead together.
const AHEAD: usize = 64;

/// Gathers records and applies them key by key.
pub(super) struct Replay<'b> {
    hasher: &'b KeyHasher,
    base: &'b Base,
    limit: u64,
    gathered: Gathered,
    hashes: Vec<u64>,
}

impl<'b> Replay<'b> {
    /// Up to a sequence.
    pub(super) fn new(hasher: &'b KeyHasher, base: &'b Base, limit: u64) -> Replay<'b> {
        let gathered = Gathered::default();
        Replay { hasher, base, limit, gathered, hashes: Vec::with_capacity(AHEAD) }
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
        while let Some(record) = records.next() {
            let record = record.map_err(|error| RecoveryError::Record { sequence, error })?;
            let hash = record.key().map(|key| self.hasher.hash(key));
            // Nothing is cleared while a snapshot is written: one sequence stands for all.
            let as_of = hash.map_or(self.base.begun, |hash| self.base.ranges.as_of(position(hash)));
            if sequence > as_of && sequence <= self.limit {
                match hash {
                    Some(hash) => self.gathered.push(hash, sequence, &record),
                    None => {
                        self.finish(sink)?;
                        let outcome = sink.replay(&record);
                        outcome.map_err(|error| RecoveryError::Replay { sequence, error })?;
                    }
                }
                if self.gathered.is_full() {
                    self.finish(sink)?;
                }
                taken += 1;
            }
            sequence += 1;
        }
        Ok(taken)
    }

    /// Applies what is gathered.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) -> Result<(), RecoveryError> {
        self.gathered.sort();
        let (mut place, mut loaded) = (0, 0);
        while place < self.gathered.len() {
            if place == loaded {
                loaded = self.load(place, sink);
            }
            place = self.apply(place, sink)?;
        }
        self.gathered.clear();
        Ok(())
    }

    /// Loads what the next keys need, and returns the place behind them.
    fn load(&mut self, from: usize, sink: &mut impl Sink) -> usize {
        let is_start = |&place: &usize| self.gathered.begins(place);
        let behind = (from..self.gathered.len()).filter(is_start).nth(AHEAD);
        let places = from..behind.unwrap_or(self.gathered.len());
        self.gathered.touch(places.clone());
        self.hashes.clear();
        let starts = places.clone().filter(is_start);
        self.hashes.extend(starts.map(|place| self.gathered.hash(place)));
        sink.touch(&self.hashes);
        places.end
    }

    /// Applies what stands together at a place, and returns the place behind it.
    fn apply(&self, place: usize, sink: &mut impl Sink) -> Result<usize, RecoveryError> {
        let failed = |(sequence, error)| RecoveryError::Replay { sequence, error };
        let changes = self.gathered.changes(place);
        if changes.is_empty() {
            let (sequence, record) = self.gathered.record(place);
            sink.replay(&record).map_err(|error| failed((sequence, error)))?;
            return Ok(place + 1);
        }
        let behind = changes.end;
        sink.replay_account(changes.map(|place| self.gathered.record(place))).map_err(failed)?;
        Ok(behind)
    }
}
