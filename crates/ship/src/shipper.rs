//! The loop between a store and a sink.

use crate::reader::{self, Begin, News};
use crate::{
    Delivery, Filter, Form, Measures, Positions, Record, ShipError, Sink, SinkError, State, encode,
};
use scurry_service::{CallError, Event, EventId, Position, Refusal, Service};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};

/// Longest pause between two tries, after failures.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// How often the shipper looks whether it is to end, while it waits.
const LOOK: Duration = Duration::from_millis(50);

/// What is shipped, and how.
#[derive(Clone, Debug)]
pub struct Shipping {
    /// Which events.
    pub filter: Filter,
    /// Form of the payload.
    pub form: Form,
    /// Where reading begins if the sink has nothing yet.
    pub begin: Begin,
    /// Longest time from an event to the flush after it.
    pub flush_every: Duration,
    /// Whether to end when the events that there were at the begin are delivered, and at the first failure.
    pub once: bool,
}

/// A store whose events are shipped.
pub struct Origin {
    /// The store.
    pub store: Arc<dyn Service>,
    /// Reads its state, which is shipped first if the sink has nothing of the store, and after each gap. None ships events
    /// only.
    pub state: Option<Box<dyn State>>,
}

/// Ships events until `ends` is set.
pub fn ship(
    origin: &mut Origin,
    sink: &mut dyn Sink,
    shipping: &Shipping,
    measures: &Measures,
    ends: &AtomicBool,
) -> Result<(), ShipError> {
    // Connections of the store live on it, through all attempts.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut failures = 0_u32;
    loop {
        let begun = measures.events();
        let outcome = attempt(runtime.handle(), origin, sink, shipping, measures, ends);
        if measures.events() > begun {
            failures = 0;
        }
        let error = match outcome {
            Ok(()) | Err(ShipError::Ended) => return Ok(()),
            Err(error) if shipping.once || !passes(&error) => return Err(error),
            Err(error) => error,
        };
        measures.note_failure();
        let pause = Duration::from_millis(100).saturating_mul(1 << failures.min(10)).min(PAUSE_MAX);
        failures += 1;
        tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
        let until = now() + pause;
        while now() < until {
            if ends.load(Ordering::Relaxed) {
                return Ok(());
            }
            thread::sleep(LOOK.min(pause)); // tidy: allow (a pause is a matter of time)
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a shipper is a host: its pauses and flushes are a matter of time"
)]
fn now() -> Instant {
    Instant::now()
}

fn passes(error: &ShipError) -> bool {
    match error {
        ShipError::Store(_) | ShipError::State(_) => true,
        ShipError::Sink(error) => matches!(error, SinkError::Unavailable(_)),
        ShipError::Thread(_) | ShipError::Ended | ShipError::Ahead { .. } => false,
    }
}

/// Ships events until `ends` is set, or something fails.
fn attempt(
    runtime: &Handle,
    origin: &mut Origin,
    sink: &mut dyn Sink,
    shipping: &Shipping,
    measures: &Measures,
    ends: &AtomicBool,
) -> Result<(), ShipError> {
    let Origin { store, state } = origin;
    let id = runtime.block_on(reader::identify(&**store)).map_err(ShipError::Store)?;
    let reached = sink.resume(id).map_err(ShipError::Sink)?;
    let names = shipping.filter.asked();
    let mut begin = reached.clone();
    let is_first = reached.iter().next().is_none() && state.is_some();
    if is_first {
        // Events follow from here on: all before is in the state.
        begin = runtime.block_on(reader::ends(&**store, id)).map_err(ShipError::Store)?;
    }
    let mut run = Run {
        sink,
        shipping,
        measures,
        state: state.as_mut(),
        ends,
        id: id.to_string(),
        reached,
        pending_len: 0,
        pending_since: None,
        payload: Vec::new(),
    };
    if is_first {
        run.append_state(&begin)?;
        run.reached = begin.clone();
        run.pending_since.get_or_insert_with(now);
        run.flush()?;
    }
    let reader = reader::start(runtime.clone(), Arc::clone(store), begin, shipping.begin, names)?;
    run.follow(reader.news())
}

/// One attempt.
struct Run<'a> {
    sink: &'a mut dyn Sink,
    shipping: &'a Shipping,
    measures: &'a Measures,
    state: Option<&'a mut Box<dyn State>>,
    ends: &'a AtomicBool,
    id: String,
    /// Positions that the sink has been given the events up to.
    reached: Positions,
    /// Bytes of payload that are not flushed.
    pending_len: usize,
    /// When the first of the events or positions that are not flushed came.
    pending_since: Option<Instant>,
    payload: Vec<u8>,
}

impl Run<'_> {
    fn follow(&mut self, news: &Receiver<News>) -> Result<(), ShipError> {
        loop {
            let due = self.pending_since.map(|since| since + self.shipping.flush_every);
            if due.is_some_and(|due| due <= now()) {
                self.flush()?;
            }
            if self.ends.load(Ordering::Relaxed) {
                return self.flush();
            }
            match news.recv_timeout(LOOK) {
                Ok(News::Read(events)) => {
                    self.measures.note_read(&events);
                    let next = events.next;
                    let is_first = self.reached.next(next.thread).is_none();
                    if is_first && self.shipping.begin == Begin::Oldest {
                        self.sink.begin_thread(events.oldest);
                    }
                    for event in events.events {
                        // A slow sink need not take a whole read before it ends.
                        if self.ends.load(Ordering::Relaxed)
                            && let EventId::At(at) = event.id
                        {
                            self.reached.set(at);
                            return self.flush();
                        }
                        let missed = matches!(event.id, EventId::Missed { .. });
                        self.append(event, next)?;
                        if missed {
                            let mut at = self.reached.clone();
                            at.set(next);
                            self.append_state(&at)?;
                        }
                    }
                    self.reached.set(next);
                    self.pending_since.get_or_insert_with(now);
                    if self.pending_len >= self.sink.flush_len() {
                        self.flush()?;
                    }
                }
                Ok(News::AtEnd) if self.shipping.once => return self.flush(),
                Ok(News::AtEnd) | Err(RecvTimeoutError::Timeout) => {}
                Ok(News::Failed(error)) => {
                    // What was read is delivered all the same.
                    self.flush()?;
                    return Err(self.fault(error));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let error = CallError::Unknown("the reader of events has ended".to_owned());
                    return Err(ShipError::Store(error));
                }
            }
        }
    }

    fn append(&mut self, event: Event<'static>, next: Position) -> Result<(), ShipError> {
        let at = match event.id {
            EventId::At(at) | EventId::Crossing { at, .. } => at,
            EventId::Missed { from, to } => {
                tracing::warn!("the store no longer keeps the events from {from} to {to}");
                self.measures.note_missed();
                // What follows may be of another log: the sink has it apart from what it had before.
                self.flush()?;
                to
            }
        };
        debug_assert!(at.thread == next.thread, "a read is of one thread");
        self.deliver(Record::of_event(&self.id, event), at)
    }

    /// Appends the state of the store, after which events follow from these positions on. Does nothing where no state is
    /// read.
    fn append_state(&mut self, follow: &Positions) -> Result<(), ShipError> {
        // All accounts are told as of one thread: the state is one whole.
        let Some(at) = follow.iter().next() else { return Ok(()) };
        let Some(state) = self.state.take() else { return Ok(()) };
        tracing::info!("ships the state of all accounts first");
        let outcome = self.append_accounts(&mut **state, follow, at);
        self.state = Some(state);
        outcome
    }

    fn append_accounts(
        &mut self,
        state: &mut dyn State,
        follow: &Positions,
        at: Position,
    ) -> Result<(), ShipError> {
        let mark = |name: &str| Record {
            id: format!("{name}:{follow}"),
            event: name.to_owned(),
            to: Some(follow.to_string()),
            ..Record::default()
        };
        self.deliver(mark("state-begin"), at)?;
        state.read(&mut |record| {
            self.deliver(record, at)?;
            if self.ends.load(Ordering::Relaxed) {
                return Err(ShipError::Ended);
            }
            let is_due =
                self.pending_since.is_none_or(|at| at + self.shipping.flush_every <= now());
            if self.pending_len >= self.sink.flush_len() || is_due {
                self.sink.flush_part(&self.reached).map_err(ShipError::Sink)?;
                (self.pending_len, self.pending_since) = (0, Some(now()));
            }
            Ok(())
        })?;
        self.deliver(mark("state-end"), at)
    }

    fn deliver(&mut self, mut record: Record, at: Position) -> Result<(), ShipError> {
        record.store.clone_from(&self.id);
        if !self.shipping.filter.takes(&record) {
            return Ok(());
        }
        encode(&record, self.shipping.form, &mut self.payload);
        let delivery = Delivery { record: &record, payload: &self.payload, at };
        self.sink.append(&delivery).map_err(ShipError::Sink)?;
        self.pending_len += self.payload.len();
        self.measures.note_event(self.payload.len(), record.time_ms);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ShipError> {
        if self.pending_since.take().is_some() {
            self.sink.flush(&self.reached).map_err(ShipError::Sink)?;
            self.pending_len = 0;
            self.measures.note_flush();
        }
        Ok(())
    }

    fn fault(&self, error: CallError) -> ShipError {
        match error {
            CallError::Refused(refusal @ Refusal::Store(_))
                if refusal.to_string().contains("is ahead of the events") =>
            {
                ShipError::Ahead {
                    store: self.reached.store(),
                    position: self.reached.clone(),
                    refusal,
                }
            }
            error => ShipError::Store(error),
        }
    }
}
