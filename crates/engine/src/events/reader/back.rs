//! Reads events from the newest to the oldest. Frames of a log can only be read forwards, so one pass over the frame
//! headers of a segment finds positions in it; the stretches after them are then read from the newest to the oldest.

use super::{EventAt, EventFilter, EventReader, Found, ReadEventsError, SCAN_LEN_MAX, Stop};
use crate::{Disk, FramePosition};
use scurry_ledger::Time;
use std::collections::VecDeque;

/// Bytes of a stretch, which is read forwards.
const STRETCH_LEN: u64 = 1 << 20;

/// Result of a backward read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack<T> {
    /// The formed events, the newest first.
    pub told: Vec<T>,
    /// Position before which the next read continues. None when nothing earlier is in the period.
    pub next: Option<EventAt>,
    /// Number of commits scanned.
    pub looked: u64,
    /// Time at which the oldest of them was written.
    pub reached: Option<Time>,
}

/// Collects the newest matching events before a position, while a stretch is read forwards.
struct NewestMatches<T> {
    before: EventAt,
    most: usize,
    /// Position, commit time and formed event, the oldest first.
    events: VecDeque<(EventAt, Time, T)>,
    /// Time at which the first frame of the stretch was written.
    begun: Option<Time>,
}

impl<T> NewestMatches<T> {
    fn add_match(
        &mut self,
        written: Time,
        found: &Found<'_>,
        form: &mut dyn FnMut(&Found<'_>) -> T,
    ) {
        if found.at >= self.before {
            return;
        }
        if self.events.len() == self.most {
            self.events.pop_front();
        }
        self.events.push_back((found.at, written, form(found)));
    }
}

impl<D: Disk> EventReader<D> {
    /// Reads events before this position, the newest first, until `most` were found or a segment or `SCAN_LEN_MAX`
    /// bytes were scanned. The position is that of a durable record, or the one after the last.
    pub fn read_back<T>(
        &mut self,
        before: EventAt,
        wanted: EventFilter<'_>,
        most: usize,
        form: &mut dyn FnMut(&Found<'_>) -> T,
    ) -> Result<ReadBack<T>, ReadEventsError> {
        let mut back = ReadBack { told: Vec::new(), next: None, looked: 0, reached: None };
        let (mut end, mut scanned) = (before.sequence + u64::from(before.index > 0), 0);
        let mut is_enough = false;
        // Times of frames never decrease: anything older is before the period.
        let is_before = |reached: Option<Time>| {
            let both = wanted.period.from.zip(reached);
            both.is_some_and(|(from, reached)| reached < from)
        };
        for place in self.log.places_before(end, STRETCH_LEN)?.into_iter().rev() {
            let most = most - back.told.len();
            let mut newest = NewestMatches { before, most, events: VecDeque::new(), begun: None };
            scanned += self.stretch(place, end, wanted, &mut newest, form)?;
            if let Some(&(at, written, _)) = newest.events.front()
                && newest.events.len() == most
            {
                (back.next, back.reached, is_enough) = (Some(at), Some(written), true);
                back.looked = before.sequence - at.sequence;
            }
            back.told.extend(newest.events.into_iter().rev().map(|(_, _, formed)| formed));
            if is_enough {
                return Ok(back);
            }
            end = place.sequence();
            back.reached = newest.begun.or(back.reached);
            if scanned >= SCAN_LEN_MAX || is_before(back.reached) {
                break;
            }
        }
        back.looked = before.sequence - end.min(before.sequence);
        let is_kept = self.log.oldest()?.is_some_and(|oldest| oldest < end);
        let goes_on = is_kept && back.reached.is_some() && !is_before(back.reached);
        back.next = goes_on.then(|| EventAt::record(end));
        Ok(back)
    }

    /// Reads forwards from a place to the end of a stretch. Returns the bytes read.
    fn stretch<T>(
        &mut self,
        place: FramePosition,
        end: u64,
        wanted: EventFilter<'_>,
        newest: &mut NewestMatches<T>,
        form: &mut dyn FnMut(&Found<'_>) -> T,
    ) -> Result<usize, ReadEventsError> {
        let mut scanned = 0;
        if !self.log.go_to(place)? {
            return Ok(scanned);
        }
        while self.log.next() < end {
            let Some(frame) = self.log.frame()? else { break };
            scanned += frame.len();
            let (written, mut records, mut sequence) = (frame.at(), frame.records(), frame.first());
            newest.begun.get_or_insert(written);
            while let Some(record) = records.next().filter(|_| sequence < end) {
                let record = record.map_err(|error| ReadEventsError::Record { sequence, error })?;
                let tell = &mut |found: &Found<'_>| {
                    newest.add_match(written, found, form);
                    Stop::GoOn
                };
                let told =
                    self.translator.tell(EventAt::record(sequence), written, &record, wanted, tell);
                told.map_err(|error| ReadEventsError::Change { sequence, error })?;
                sequence += 1;
            }
        }
        Ok(scanned)
    }
}
