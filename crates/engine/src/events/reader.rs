//! Reads events out of a log that is being written.

mod back;

pub use back::ReadBack;

use super::{Event, Low, Origin, Told, events_of};
use crate::{Disk, FollowError, LogFollower, LogId};
use scurry_codec::{Balance, ChangeError, Record, RecordError, decode_change};
use scurry_ledger::{Change, Name, Time};
use std::io;
use thiserror::Error;

/// Bytes of the log that one read goes through at most: what passes a narrow choice may be long in
/// coming, and others wait.
const SCAN_LEN_MAX: usize = 16 << 20;

/// A position among the events of a log: before the event of this record that has this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventAt {
    /// The sequence of the record.
    pub sequence: u64,
    /// The event's index among those of the record, crossings not counted.
    pub index: u32,
}

impl EventAt {
    /// Before everything that a record says.
    pub fn record(sequence: u64) -> EventAt {
        EventAt { sequence, index: 0 }
    }
}

/// The events that a reader wants to see.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Thresholds.
    pub lows: &'a [Low],
    /// Of this account alone.
    pub account: Option<&'a [u8]>,
    /// Of this period alone.
    pub period: Span,
    /// Of this unit, or of none.
    pub unit: Option<Name>,
}

/// A period of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first moment; none when it has no beginning.
    pub from: Option<Time>,
    /// The first moment behind it; none when it has no end.
    pub to: Option<Time>,
}

impl Span {
    /// True for what happened in it.
    fn has(&self, time: Time) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time < to)
    }
}

/// An event, and where it was found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The position.
    pub at: EventAt,
    /// For a crossing, which comes with the event at its position: the number of its threshold among
    /// those that are wanted, from 1.
    pub crossing: Option<usize>,
    /// When it was committed.
    pub time: Time,
    /// The account; empty for what is about all.
    pub account: &'a [u8],
    /// The event.
    pub event: &'a Event,
    /// Where it comes from.
    pub origin: &'a Origin,
    /// The bucket that it is about, as the commit left it; none where there is none any more.
    pub balance: Option<&'a Balance>,
}

/// Whether a reader wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next event, please.
    GoOn,
    /// The end: that was the last one, with the crossings that come with it.
    Enough,
}

/// How a read went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// A gap: what was asked for is not kept any more, and it began here instead.
    pub missed_to: Option<u64>,
    /// Where to go on.
    pub next: EventAt,
    /// The first sequence that is kept.
    pub oldest: u64,
    /// When the last commit that was looked at was written.
    pub reached: Option<Time>,
}

/// Why events cannot be read.
#[derive(Debug, Error)]
pub enum ReadEventsError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] FollowError),
    /// A record of it cannot be read.
    #[error("the record of sequence {sequence}: {error}")]
    Record {
        /// The sequence.
        sequence: u64,
        /// The fault.
        error: RecordError,
    },
    /// A Change in it cannot be read.
    #[error("the record of sequence {sequence}: {error}")]
    Change {
        /// The sequence.
        sequence: u64,
        /// The fault.
        error: ChangeError,
    },
}

impl From<io::Error> for ReadEventsError {
    fn from(error: io::Error) -> ReadEventsError {
        ReadEventsError::Log(error.into())
    }
}

/// Reads the events of one log, for one reader after another.
pub struct EventReader<D: Disk> {
    log: LogFollower<D>,
    translator: Translator,
}

/// Makes events of records.
#[derive(Debug)]
struct Translator {
    change: Change,
    events: Vec<Told>,
}

impl<D: Disk> EventReader<D> {
    /// A reader of the log in this directory.
    pub fn new(disk: D, log: LogId) -> EventReader<D> {
        let change = Change { at: Time(0), ops: Vec::new() };
        let translator = Translator { change, events: Vec::new() };
        EventReader { log: LogFollower::new(disk, log), translator }
    }

    /// The first sequence that is kept; none while the log has no segment.
    pub fn oldest(&mut self) -> Result<Option<u64>, ReadEventsError> {
        Ok(self.log.oldest()?)
    }

    /// When the oldest that is kept was written; none while nothing durable is.
    pub fn kept_from(&mut self, durable: u64) -> Result<Option<Time>, ReadEventsError> {
        Ok(self.log.kept_from(durable)?)
    }

    /// Where to begin with what was committed at this time or later: nothing of it stands before, and at
    /// most a segment of earlier commits behind.
    pub fn since(&mut self, time: Time, durable: u64) -> Result<EventAt, ReadEventsError> {
        let segment = self.log.segment_since(time, durable)?;
        Ok(EventAt::record(segment.unwrap_or(durable + 1)))
    }

    /// Tells events from this position on, as far as they are durable, until `tell` has enough or much
    /// of the log was gone through. Nothing is skipped in silence.
    pub fn read(
        &mut self,
        from: EventAt,
        durable: u64,
        wanted: Wanted<'_>,
        tell: &mut dyn FnMut(&Found<'_>) -> Stop,
    ) -> Result<Read, ReadEventsError> {
        let oldest = self.log.oldest()?.unwrap_or(durable + 1);
        let mut read = Read { missed_to: None, next: from, oldest, reached: None };
        if from.sequence < oldest {
            read.missed_to = Some(oldest);
            read.next = EventAt::record(oldest);
        }
        if read.next.sequence > durable {
            return Ok(read);
        }
        if !self.log.seek(read.next.sequence)? {
            // Removed since it was looked for: the next read says so.
            return Ok(read);
        }
        let mut scanned = 0;
        let mut position = self.log.position();
        'log: while self.log.next() <= durable && scanned < SCAN_LEN_MAX {
            position = self.log.position();
            let Some(frame) = self.log.frame()? else { break };
            scanned += frame.len();
            read.reached = Some(frame.at());
            let (mut records, mut sequence) = (frame.records(), frame.first());
            while let Some(record) = records.next() {
                let record = record.map_err(|error| ReadEventsError::Record { sequence, error })?;
                if sequence == read.next.sequence {
                    let told = self.translator.tell(read.next, frame.at(), &record, wanted, tell);
                    let told = told.map_err(|error| ReadEventsError::Change { sequence, error })?;
                    read.next = told.unwrap_or(EventAt::record(sequence + 1));
                    if told.is_some() {
                        break 'log;
                    }
                }
                sequence += 1;
            }
            position = self.log.position();
        }
        self.log.remember(position);
        Ok(read)
    }
}

impl Translator {
    /// Tells the events of a record, from this position on. When that is enough: where to go on.
    fn tell(
        &mut self,
        from: EventAt,
        written: Time,
        record: &Record<'_>,
        wanted: Wanted<'_>,
        tell: &mut dyn FnMut(&Found<'_>) -> Stop,
    ) -> Result<Option<EventAt>, ChangeError> {
        let (account, time, balances): (&[u8], Time, &[Balance]) = match *record {
            Record::Account { id, .. } if wanted.account.is_some_and(|one| one != id) => {
                return Ok(None);
            }
            Record::Account { id, change, balances } => {
                decode_change(change, &mut self.change)?;
                events_of(&self.change, &mut self.events);
                (id, self.change.at, balances)
            }
            Record::Image { id, .. } if wanted.account.is_some_and(|one| one != id) => {
                return Ok(None);
            }
            Record::Image { id, .. } => {
                self.events.clear();
                self.events.push(whole(Event::Loaded));
                (id, written, &[])
            }
            Record::Clear => {
                self.events.clear();
                self.events.push(whole(Event::Cleared));
                (&[], written, &[])
            }
            // Neither accounts nor balances.
            Record::Value { .. }
            | Record::Append { .. }
            | Record::Expiry { .. }
            | Record::Remove { .. }
            | Record::Entity { .. }
            | Record::Tombstone { .. }
            | Record::Group { .. } => return Ok(None),
        };
        // The account's clock may be ahead of the log's: that of the store that it came from was, or it
        // was set back. Whoever looks for a time in the log finds nothing that claims a later one.
        if !wanted.period.has(time.min(written)) {
            return Ok(None);
        }
        let mut at = EventAt { index: 0, ..from };
        for place in 0..self.events.len() {
            let Told { event, origin } = &self.events[place];
            let balance = balance_of(event, balances);
            let is_other = |unit| {
                let own = event.unit().or(balance.map(|balance| balance.unit));
                own.is_some_and(|own| own != unit)
            };
            if at.index >= from.index && !wanted.unit.is_some_and(is_other) {
                let found = Found { at, crossing: None, time, account, event, origin, balance };
                let stop = tell(&found);
                let rest = &self.events[place + 1..];
                // Crossings come behind the last event of their bucket in a commit.
                let is_last = |own: &&Balance| {
                    rest.iter().all(|later| balance_of(&later.event, balances) != Some(*own))
                };
                if !wanted.lows.is_empty()
                    && let Some(balance) = balance.filter(is_last)
                {
                    self.cross(&found, balance, wanted.lows, tell);
                }
                if stop == Stop::Enough {
                    let is_last = place + 1 == self.events.len();
                    let next = EventAt { index: at.index + 1, ..at };
                    let record = EventAt::record(at.sequence + 1);
                    return Ok(Some(if is_last { record } else { next }));
                }
            }
            at.index += 1;
        }
        Ok(None)
    }

    fn cross(
        &self,
        found: &Found<'_>,
        balance: &Balance,
        lows: &[Low],
        tell: &mut dyn FnMut(&Found<'_>) -> Stop,
    ) {
        let events = || self.events.iter().map(|told| &told.event);
        let own = events().filter(|event| event.bucket() == Some(balance.bucket));
        let change = own.map(|event| i128::from(event.effect().0)).sum();
        let begins = events()
            .any(|event| matches!(event, Event::BucketAdded { id, .. } if *id == balance.name));
        for (number, low) in (1..).zip(lows) {
            if let Some(event) = low.crossing(balance, change, begins) {
                tell(&Found { crossing: Some(number), event: &event, ..*found });
            }
        }
    }
}

/// An event that no single command is behind.
fn whole(event: Event) -> Told {
    Told { event, origin: Origin::default() }
}

fn balance_of<'b>(event: &Event, balances: &'b [Balance]) -> Option<&'b Balance> {
    match event {
        Event::BucketAdded { id, .. } => balances.iter().find(|balance| balance.name == *id),
        _ => {
            let bucket = event.bucket()?;
            balances.iter().find(|balance| balance.bucket == bucket)
        }
    }
}
