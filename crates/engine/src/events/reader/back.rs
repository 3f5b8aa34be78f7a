//! Reads events from the newest to the oldest. Frames of a log can only be read in their order: so one walk over the
//! heads of a segment's frames finds places in it, and what lies behind each place is read from the newest place on.

use super::{EventAt, EventReader, Found, ReadEventsError, SCAN_LEN_MAX, Stop, Wanted};
use crate::{Disk, FramePosition};
use scurry_ledger::Time;
use std::collections::VecDeque;

/// Bytes that are read in the order of the log at once.
const STRETCH_LEN: u64 = 1 << 20;

/// Outcome of a reading from the newest to the oldest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack<T> {
    /// Each event as it was formed, the newest first.
    pub told: Vec<T>,
    /// Where to go on: with what is before this. None when nothing of the period is.
    pub next: Option<EventAt>,
    /// The commits that were looked through.
    pub looked: u64,
    /// When the oldest of them was written.
    pub reached: Option<Time>,
}

/// The newest of the events before a position that are wanted, while a stretch of the log is read.
struct Newest<T> {
    before: EventAt,
    most: usize,
    /// The oldest first: where it is, when it was written, and what was made of it.
    events: VecDeque<(EventAt, Time, T)>,
    /// When the first frame of the stretch was written.
    begun: Option<Time>,
}

impl<T> Newest<T> {
    fn take(&mut self, written: Time, found: &Found<'_>, form: &mut dyn FnMut(&Found<'_>) -> T) {
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
    /// Reads events before this position, the newest first, until there are as many as are wanted, a segment is
    /// gone through or much of it. The position is of a durable record, or the one behind the last.
    pub fn read_back<T>(
        &mut self,
        before: EventAt,
        wanted: Wanted<'_>,
        most: usize,
        form: &mut dyn FnMut(&Found<'_>) -> T,
    ) -> Result<ReadBack<T>, ReadEventsError> {
        let mut back = ReadBack { told: Vec::new(), next: None, looked: 0, reached: None };
        let (mut end, mut scanned) = (before.sequence + u64::from(before.index > 0), 0);
        let mut is_enough = false;
        // Times of frames never go back: what is older is from before the period.
        let is_before = |reached: Option<Time>| {
            let both = wanted.period.from.zip(reached);
            both.is_some_and(|(from, reached)| reached < from)
        };
        for place in self.log.places_before(end, STRETCH_LEN)?.into_iter().rev() {
            let most = most - back.told.len();
            let mut newest = Newest { before, most, events: VecDeque::new(), begun: None };
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

    /// Reads what lies between a place and the end of a stretch in the order of the log; the bytes of it.
    fn stretch<T>(
        &mut self,
        place: FramePosition,
        end: u64,
        wanted: Wanted<'_>,
        newest: &mut Newest<T>,
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
                    newest.take(written, found, form);
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
