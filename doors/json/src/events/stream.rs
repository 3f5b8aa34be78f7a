//! One stream of events: reads what is committed, thread by thread, and keeps how far each was read.

use super::frame::{BEGIN, comment, heartbeat, write_event};
use super::pulse::Ends;
use super::query::{From, Wanted};
use crate::operation::Retry;
use crate::refusal::{StoreFailure, refused};
use axum::body::Bytes;
use scurry_http::door_codes::{OUTCOME_UNKNOWN, STORE_UNAVAILABLE};
use scurry_http::{Problem, field_problem};
use scurry_service::{
    CallError, Event, EventId, Events, Follow, FollowFrom, Position, Refusal, Service,
};
use scurry_ship::{Positions, Record, StoreId};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Most events of one read, and so of one part of the stream.
const COUNT: u16 = 200;
/// Longest time without a byte.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// What a store says of a position that its log does not reach.
const AHEAD: &str = "is ahead of the events";
/// Pause after the store has not answered.
const UNREACHED: Duration = Duration::from_secs(1);

/// One stream of events.
pub(super) struct EventStream {
    store: Arc<dyn Service>,
    wanted: Wanted,
    names: Vec<&'static str>,
    store_text: String,
    ends: watch::Receiver<Ends>,
    /// Where each thread continues. Without an entry a thread is read from its oldest event.
    at: Positions,
    has_begun: bool,
    has_ended: bool,
    /// When the next heartbeat is due.
    beat: Instant,
    /// When the store is asked again, after it has not answered.
    again: Option<Instant>,
}

impl EventStream {
    /// Finds where each thread begins.
    ///
    /// # Errors
    /// When the store has no events, or none at these positions.
    pub(super) async fn open(
        store: Arc<dyn Service>,
        wanted: Wanted,
        ends: watch::Receiver<Ends>,
    ) -> Result<EventStream, Problem> {
        let failed = |error: CallError| match &error {
            CallError::Refused(Refusal::Store(text)) if text.contains(AHEAD) => {
                let why = "is ahead of the events of the store, which was restored or has lost its end: begin without it, \
                           and compare balances";
                field_problem(wanted.from_place, why)
            }
            _ => refused(error, Retry::Read).into(),
        };
        let end = Follow { from: FollowFrom::Newest(0), count: 1, names: Vec::new() };
        let is = StoreId(store.follow(end).await.map_err(failed)?.store);
        let mut at = match &wanted.from {
            From::After(positions) if positions.store() != is => {
                let its = positions.store();
                let why = format!("is of store {its}, and this is store {is}: begin without it");
                return Err(field_problem(wanted.from_place, &why));
            }
            From::After(positions) => positions.clone(),
            From::Oldest | From::Newest => Positions::none(is),
        };
        for thread in 0..=u16::MAX {
            let from = match (&wanted.from, at.next(thread)) {
                (From::After(_), Some(next)) => FollowFrom::At(next),
                (From::Newest, _) => FollowFrom::Newest(thread),
                (From::Oldest | From::After(_), _) => FollowFrom::Oldest(thread),
            };
            let read = match store.follow(Follow { from, count: 1, names: Vec::new() }).await {
                Ok(read) => read,
                Err(CallError::Refused(refusal)) if thread > 0 && is_no_thread(&refusal) => break,
                Err(error) => return Err(failed(error)),
            };
            if wanted.from == From::Newest {
                at.set(read.next);
            }
        }
        Ok(EventStream {
            store,
            names: wanted.filter.asked(),
            wanted,
            store_text: at.store().to_string(),
            ends,
            at,
            has_begun: false,
            has_ended: false,
            beat: Instant::now() + HEARTBEAT,
            again: None,
        })
    }

    /// Returns the next part. None at the end, which only an error of the store brings.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            // The client sees at once that the stream is open, and where it is.
            return Some([BEGIN, &heartbeat(&self.at)].concat().into());
        }
        loop {
            if self.again.is_none_or(|again| again <= Instant::now()) {
                self.again = None;
                match self.read().await {
                    Ok(part) if !part.is_empty() => return Some(self.part(part)),
                    Ok(_) => {}
                    Err(error) if passes(&error) => {
                        tracing::debug!("the events of the store cannot be read: {error}");
                        self.again = Some(Instant::now() + UNREACHED);
                    }
                    Err(error) => {
                        self.has_ended = true;
                        return Some(self.part(comment(&error.to_string())));
                    }
                }
            }
            let wake = self.again.map_or(self.beat, |again| again.min(self.beat));
            tokio::select! {
                // The pulse lives as long as the door.
                _ = self.ends.changed(), if self.again.is_none() => {}
                () = sleep_until(wake) => {}
            }
            if Instant::now() >= self.beat {
                let beat = heartbeat(&self.at);
                return Some(self.part(beat));
            }
        }
    }

    fn part(&mut self, bytes: Vec<u8>) -> Bytes {
        self.beat = Instant::now() + HEARTBEAT;
        bytes.into()
    }

    /// Reads threads up to their ends, until there is an event for the client. Empty if there is none.
    async fn read(&mut self) -> Result<Vec<u8>, CallError> {
        let mut part = Vec::new();
        let ends = self.ends.borrow_and_update().clone();
        for (thread, end) in (0..).zip(&ends) {
            while part.is_empty() && self.at.next(thread).is_none_or(|at| is_before(at, *end)) {
                let from = self.at.next(thread).map_or(FollowFrom::Oldest(thread), FollowFrom::At);
                let names = self.names.clone();
                let read = self.store.follow(Follow { from, count: COUNT, names }).await?;
                self.show(read, &mut part);
            }
            if !part.is_empty() {
                // The rest is read when the client has taken this.
                return Ok(part);
            }
        }
        if let Some(first) = ends.first() {
            self.show_gone(ends.len(), *first, &mut part);
        }
        Ok(part)
    }

    fn show(&mut self, read: Events, part: &mut Vec<u8>) {
        let next = read.next;
        for event in read.events {
            match event.id {
                EventId::At(at) | EventId::Crossing { at, .. } => {
                    self.at.set(Position { index: at.index.saturating_add(1), ..at });
                }
                EventId::Missed { to, .. } => self.at.set(to),
            }
            self.show_event(event, part);
        }
        self.at.set(next);
    }

    fn show_event(&self, event: Event<'static>, part: &mut Vec<u8>) {
        let record = Record::of_event(&self.store_text, event);
        if self.wanted.takes(&record) {
            write_event(part, &record, &self.at);
        }
    }

    /// Shows that events of threads are missed which the store no longer has.
    fn show_gone(&mut self, threads: usize, to: Position, part: &mut Vec<u8>) {
        let is_gone = |at: &Position| usize::from(at.thread) >= threads;
        for from in self.at.iter().filter(is_gone).collect::<Vec<_>>() {
            self.at.remove(from.thread);
            let id = EventId::Missed { from, to };
            let name = "missed".into();
            self.show_event(Event { id, commit: None, name, fields: Vec::new() }, part);
        }
    }
}

/// Reports whether there are events between a position and the end of its thread.
fn is_before(at: Position, end: Position) -> bool {
    let order = |at: Position| (at.generation, at.sequence, at.index);
    order(at) < order(end)
}

fn is_no_thread(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Store(text) if text.starts_with("ERR there is no thread"))
}

/// Reports whether the store may answer later what it does not answer now.
fn passes(error: &CallError) -> bool {
    match refused(error.clone(), Retry::Read) {
        StoreFailure::Rejected(..) => false,
        StoreFailure::Otherwise(code, _) => {
            [STORE_UNAVAILABLE.name, OUTCOME_UNKNOWN.name].contains(&code.name)
        }
    }
}
