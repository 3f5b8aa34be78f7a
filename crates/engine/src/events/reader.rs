//! Reads events from a log that is being written.

mod back;

pub use back::ReadBack;

use super::{Event, EventWithOrigin, LowThresholds, Origin, answer_of, events_of};
use crate::{Disk, FollowError, LogFollower, LogId};
use scurry_codec::{Balance, ChangeError, Record, RecordError, decode_change};
use scurry_ledger::{Change, Id, Name, Time};
use std::io;
use thiserror::Error;

/// Most bytes of the log that one read scans: with a narrow filter a match may be far away, and other readers wait.
const SCAN_LEN_MAX: usize = 16 << 20;

/// A position among the events of a log: before the event with this index of this record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventAt {
    /// The sequence of the record.
    pub sequence: u64,
    /// The event's index among those of the record; crossings are not counted.
    pub index: u32,
}

impl EventAt {
    /// Returns the position before all events of a record.
    pub fn record(sequence: u64) -> EventAt {
        EventAt { sequence, index: 0 }
    }
}

/// Filter of a reader.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventFilter<'a> {
    /// Thresholds.
    pub lows: &'a [LowThresholds],
    /// Only events of these names, and crossings of the thresholds. Empty for all.
    pub names: &'a [Name],
    /// Only this account.
    pub account: Option<&'a [u8]>,
    /// Only this period.
    pub period: TimeRange,
    /// Only this unit, and events without a unit.
    pub unit: Option<Name>,
    /// Only events of this transaction. Its answer is an event too then.
    pub transaction: Option<&'a Id>,
    /// Only events of this session.
    pub session: Option<&'a Id>,
}

impl EventFilter<'_> {
    /// Reports whether the filter wants events of this name.
    fn has_name(&self, event: &Event) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name.as_str() == event.word())
    }

    /// Reports whether the filter wants events of this origin.
    fn has_origin(&self, origin: &Origin) -> bool {
        let is = |wanted: Option<&Id>, own: &Option<Id>| {
            wanted.is_none_or(|wanted| own.as_ref() == Some(wanted))
        };
        is(self.transaction, &origin.transaction) && is(self.session, &origin.session)
    }
}

/// A period of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Start of the period, inclusive; None for no start.
    pub from: Option<Time>,
    /// End of the period, exclusive; None for no end.
    pub to: Option<Time>,
}

impl TimeRange {
    /// Reports whether a time is in the period.
    fn has(&self, time: Time) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time < to)
    }
}

/// An event with its position and context.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The position.
    pub at: EventAt,
    /// For a crossing, which shares the position of the event that caused it: the number of its threshold in the
    /// filter, from 1.
    pub crossing: Option<usize>,
    /// Time of the commit.
    pub time: Time,
    /// The account; empty for an event of the whole store.
    pub account: &'a [u8],
    /// Version of the account after the commit. None if the commit deleted it, or replaced it by an image.
    pub version: Option<u64>,
    /// The event.
    pub event: &'a Event,
    /// The origin of the event.
    pub origin: &'a Origin,
    /// The event's bucket as the commit left it; None when the bucket no longer exists.
    pub balance: Option<&'a Balance>,
}

/// Whether a reader wants more events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Continue with the next event.
    GoOn,
    /// Stop after this event and its crossings.
    Enough,
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Set when the requested records are no longer kept: the sequence at which the read began instead.
    pub missed_to: Option<u64>,
    /// Position at which the next read continues.
    pub next: EventAt,
    /// The first sequence that is kept.
    pub oldest: u64,
    /// Time at which the last commit scanned was written.
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

/// Reads the events of one log, for several readers in turn.
pub struct EventReader<D: Disk> {
    log: LogFollower<D>,
    translator: Translator,
}

/// Converts records to events.
#[derive(Debug)]
struct Translator {
    change: Change,
    events: Vec<EventWithOrigin>,
}

impl<D: Disk> EventReader<D> {
    /// Creates a reader of the log in this directory.
    pub fn new(disk: D, log: LogId) -> EventReader<D> {
        let change = Change { at: Time(0), ops: Vec::new() };
        let translator = Translator { change, events: Vec::new() };
        EventReader { log: LogFollower::new(disk, log), translator }
    }

    /// Returns the first sequence that is kept, None while the log has no segment.
    pub fn oldest(&mut self) -> Result<Option<u64>, ReadEventsError> {
        Ok(self.log.oldest()?)
    }

    /// Returns when the oldest kept frame was written, None while nothing is durable.
    pub fn kept_from(&mut self, durable: u64) -> Result<Option<Time>, ReadEventsError> {
        Ok(self.log.kept_from(durable)?)
    }

    /// Returns a position from which all commits at this time or later follow. At most a segment of earlier commits
    /// comes first.
    pub fn since(&mut self, time: Time, durable: u64) -> Result<EventAt, ReadEventsError> {
        let segment = self.log.segment_since(time, durable)?;
        Ok(EventAt::record(segment.unwrap_or(durable + 1)))
    }

    /// Passes the durable events from this position on to `tell`, until it stops or `SCAN_LEN_MAX` bytes were
    /// scanned. Events that are no longer kept are reported as a gap.
    pub fn read(
        &mut self,
        from: EventAt,
        durable: u64,
        wanted: EventFilter<'_>,
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
            // The segment was removed meanwhile: the next read reports the gap.
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
    /// Passes the events of a record from this position on to `tell`. When that stops, returns the position to continue
    /// at.
    fn tell(
        &mut self,
        from: EventAt,
        written: Time,
        record: &Record<'_>,
        wanted: EventFilter<'_>,
        tell: &mut dyn FnMut(&Found<'_>) -> Stop,
    ) -> Result<Option<EventAt>, ChangeError> {
        let mut version = None;
        let (account, time, balances): (&[u8], Time, &[Balance]) = match *record {
            Record::Account { id, .. } if wanted.account.is_some_and(|one| one != id) => {
                return Ok(None);
            }
            Record::Account { id, change, version: after, balances } => {
                version = Some(after).filter(|&after| after > 0);
                decode_change(change, &mut self.change)?;
                events_of(&self.change, &mut self.events);
                if wanted.transaction.is_some() {
                    self.events.extend(answer_of(&self.change));
                }
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
            // These records concern neither accounts nor balances.
            Record::Value { .. }
            | Record::Append { .. }
            | Record::Expiry { .. }
            | Record::Remove { .. }
            | Record::Entity { .. }
            | Record::Tombstone { .. }
            | Record::Group { .. }
            | Record::Digest { .. } => return Ok(None),
        };
        // An account's time may be ahead of the log's: it was loaded from a store whose clock was ahead, or this clock
        // was set back. The earlier time decides, so a period never includes later log entries.
        if !wanted.period.has(time.min(written)) {
            return Ok(None);
        }
        let mut at = EventAt { index: 0, ..from };
        for place in 0..self.events.len() {
            let EventWithOrigin { event, origin } = &self.events[place];
            let balance = balance_of(event, balances);
            let is_other = |unit| {
                let own = event.unit().or(balance.map(|balance| balance.unit));
                own.is_some_and(|own| own != unit)
            };
            let is_wanted = wanted.has_origin(origin) && !wanted.unit.is_some_and(is_other);
            if at.index >= from.index && is_wanted {
                let found =
                    Found { at, crossing: None, time, account, version, event, origin, balance };
                let stop = if wanted.has_name(event) { tell(&found) } else { Stop::GoOn };
                let rest = &self.events[place + 1..];
                // Crossings follow the last event of their bucket in a commit.
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
        lows: &[LowThresholds],
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

/// Wraps an event without the origin of a single command.
fn whole(event: Event) -> EventWithOrigin {
    EventWithOrigin { event, origin: Origin::default() }
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
