//! The sink.

use crate::answer::Answer;
use crate::client::{Client, Message};
use crate::cloud_event::cloud_event;
use crate::dead_letters::DeadLetters;
use crate::place_file::PlaceFile;
use crate::settings::{HttpSettings, SettingsError};
use crate::verdict::{Verdict, advice, verdict};
use http::HeaderValue;
use scurry_service::Position;
use scurry_ship::{Delivery, Positions, STATE_EVENTS, Sink, SinkError, StoreId};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const ONE: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";
/// Longest pause after a failure, unless the receiver asks for a longer one.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// How often the position is written while a read of the store is delivered.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// Ships events as CloudEvents to a receiver.
pub struct HttpSink {
    settings: HttpSettings,
    place_path: PathBuf,
    client: Client,
    place: Option<PlaceFile>,
    dead_letters: Option<DeadLetters>,
    /// Events that the receiver does not have yet, the oldest first.
    pending: VecDeque<Pending>,
    /// Positions up to which it has the events, and those in the file.
    reached: Positions,
    saved: Positions,
    saved_at: Option<Instant>,
    /// Threads that have ended, and the position that they had reached.
    ended: BTreeMap<u16, Position>,
    failing: Failing,
}

/// An event that the receiver does not have yet.
struct Pending {
    id: String,
    store: String,
    event: Vec<u8>,
    /// Where reading continues after it. None for an event of a state, which is delivered again from its begin.
    next: Option<Position>,
    /// The last position of a thread that ends with this event.
    ends: Option<Position>,
}

/// What has failed since the last delivery.
#[derive(Default)]
struct Failing {
    count: u32,
    /// The event that the receiver failed on, and how often (5xx).
    event: Option<(String, u32)>,
    /// When the next request may be sent, and why not before.
    until: Option<(Instant, String)>,
}

impl HttpSink {
    /// Returns a sink for this receiver, whose position is in the file.
    ///
    /// # Errors
    /// For files of TLS that cannot be used.
    pub fn new(settings: HttpSettings, position: PathBuf) -> Result<HttpSink, SettingsError> {
        let none = Positions::none(StoreId(0));
        Ok(HttpSink {
            client: Client::new(&settings)?,
            settings,
            place_path: position,
            place: None,
            dead_letters: None,
            pending: VecDeque::new(),
            reached: none.clone(),
            saved: none,
            saved_at: None,
            ended: BTreeMap::new(),
            failing: Failing::default(),
        })
    }

    /// Delivers what is pending, in requests of at most `batch` events. If that fails, the position of what was delivered
    /// is kept, so that no more is repeated than what failed.
    fn deliver(&mut self) -> Result<(), SinkError> {
        let outcome = self.deliver_on();
        if outcome.is_err() {
            self.save()?;
        }
        outcome
    }

    fn deliver_on(&mut self) -> Result<(), SinkError> {
        while !self.pending.is_empty() {
            let count = self.settings.batch.unwrap_or(1).min(self.pending.len());
            self.send(count, false)?;
        }
        Ok(())
    }

    /// Sends the first events in one request. With `is_last_try` what the receiver fails on is a dead letter.
    fn send(&mut self, count: usize, is_last_try: bool) -> Result<(), SinkError> {
        let message = self.message(count);
        let answer = match self.client.post(&message) {
            Ok(answer) => answer,
            Err(error) => return Err(self.fail(error, None)),
        };
        match verdict(answer.status) {
            Verdict::Delivered => {
                self.failing = Failing::default();
                self.pass(count);
                self.save_sometimes()
            }
            Verdict::Misaddressed => Err(self.refusal(&answer)),
            Verdict::Refused if count > 1 => self.one_by_one(count, false),
            Verdict::Refused if self.dead_letters.is_none() => Err(self.refusal(&answer)),
            Verdict::Refused => self.bury(&answer),
            Verdict::Later => {
                let why = self.words(&answer, "it may take the event later");
                let error = SinkError::Unavailable(why);
                let has_failed = answer.status >= 500 && self.has_failed_enough();
                match (is_last_try || has_failed, count) {
                    (true, 1) if self.dead_letters.is_some() => self.bury(&answer),
                    (true, 2..) => self.one_by_one(count, true),
                    _ => Err(self.fail(error, answer.wait)),
                }
            }
        }
    }

    fn refusal(&self, answer: &Answer) -> SinkError {
        SinkError::Refused(self.words(answer, advice(answer.status)))
    }

    fn words(&self, answer: &Answer, advice: &str) -> String {
        let Answer { status, text, .. } = answer;
        let said = if text.is_empty() { String::new() } else { format!(" ({text})") };
        let id = self.pending.front().map_or("", |first| first.id.as_str());
        format!("{} answers {status}{said} to event {id}: {advice}", self.settings.target)
    }

    /// Sends each of the first events alone, so that one that the receiver refuses takes no others with it.
    fn one_by_one(&mut self, count: usize, is_last_try: bool) -> Result<(), SinkError> {
        (0..count).try_for_each(|_| self.send(1, is_last_try))
    }

    /// Puts the first event into the dead letters.
    fn bury(&mut self, answer: &Answer) -> Result<(), SinkError> {
        if let (Some(letters), Some(first)) = (&mut self.dead_letters, self.pending.front()) {
            letters.add(&first.event, answer, now_ms())?;
        }
        self.failing = Failing::default();
        self.pass(1);
        self.save()
    }

    /// Moves the position past the first events.
    fn pass(&mut self, count: usize) {
        for Pending { next, ends, .. } in self.pending.drain(..count) {
            if let Some(next) = next {
                self.reached.set(next);
            }
            self.ended.extend(ends.map(|end| (end.thread, end)));
        }
    }

    /// Counts a failure of the receiver on the first event, and reports whether there were as many as are allowed.
    fn has_failed_enough(&mut self) -> bool {
        let attempts = self.settings.dead_letters.as_ref().and_then(|letters| letters.attempts);
        let (Some(attempts), Some(first)) = (attempts, self.pending.front()) else { return false };
        let before = self.failing.event.take().filter(|(id, _)| *id == first.id);
        let count = before.map_or(0, |(_, count)| count) + 1;
        self.failing.event = Some((first.id.clone(), count));
        count >= attempts
    }

    /// Notes a failure, after which no request is sent for a while.
    fn fail(&mut self, error: SinkError, wait: Option<Duration>) -> SinkError {
        let pause = Duration::from_millis(100).saturating_mul(1 << self.failing.count.min(10));
        self.failing.count += 1;
        let pause = pause.min(PAUSE_MAX).max(wait.unwrap_or_default());
        self.failing.until = Some((now() + pause, error.to_string()));
        error
    }

    fn message(&self, count: usize) -> Message {
        let events = || self.pending.iter().take(count);
        let (content_type, body) = match self.settings.batch {
            None => (ONE, self.pending[0].event.clone()),
            Some(_) => {
                let mut body = vec![b'['];
                for pending in events() {
                    body.extend_from_slice(if body.len() > 1 { b"," } else { b"" });
                    body.extend_from_slice(&pending.event);
                }
                body.push(b']');
                (BATCH, body)
            }
        };
        let mut headers = self.settings.headers.clone();
        if let Some(keys) = &self.settings.keys {
            let (first, last) = (&self.pending[0], &self.pending[count - 1]);
            let id = message_id(first, last);
            let seconds = now_ms() / 1_000;
            let signature = keys.signature(&id, seconds, &body);
            let of =
                |name: &'static str, value: &str| Some((name, HeaderValue::from_str(value).ok()?));
            let signed = [
                of("webhook-id", &id),
                of("webhook-timestamp", &seconds.to_string()),
                of("webhook-signature", &signature),
            ];
            signed
                .into_iter()
                .flatten()
                .for_each(|(name, value)| drop(headers.insert(name, value)));
        }
        Message { headers, content_type, body: body.into() }
    }

    fn save_sometimes(&mut self) -> Result<(), SinkError> {
        match self.saved_at.is_none_or(|at| now() >= at + SAVE_EVERY) {
            true => self.save(),
            false => Ok(()),
        }
    }

    /// Writes the position, if it has moved.
    fn save(&mut self) -> Result<(), SinkError> {
        if self.reached == self.saved {
            return Ok(());
        }
        let mut reached = Positions::none(self.reached.store());
        for next in self.reached.iter().filter(|next| self.ended.get(&next.thread) != Some(next)) {
            reached.set(next);
        }
        if let Some(place) = &self.place {
            place.write(&reached)?;
        }
        self.saved = self.reached.clone();
        self.saved_at = Some(now());
        Ok(())
    }
}

impl Sink for HttpSink {
    fn resume(&mut self, store: StoreId) -> Result<Positions, SinkError> {
        self.pending.clear();
        if let Some((until, why)) = &self.failing.until
            && now() < *until
        {
            return Err(SinkError::Unavailable(why.clone()));
        }
        if self.place.is_none() {
            self.place = Some(PlaceFile::open(&self.place_path)?);
        }
        if let (None, Some(letters)) = (&self.dead_letters, &self.settings.dead_letters) {
            self.dead_letters = Some(DeadLetters::open(letters.path.clone())?);
        }
        let place = self.place.as_ref().expect("it was just opened");
        self.reached = place.read(store)?;
        self.saved = self.reached.clone();
        self.ended.clear();
        Ok(self.reached.clone())
    }

    fn append(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let (record, at) = (delivery.record, delivery.at);
        let from = record.from.as_deref().and_then(|from| Position::parse(from.as_bytes()));
        let is_missed = record.event == "missed";
        let is_state = STATE_EVENTS.contains(&record.event.as_str());
        let after = Position { index: at.index.saturating_add(1), ..at };
        self.pending.push_back(Pending {
            id: record.id.clone(),
            store: record.store.clone(),
            event: cloud_event(delivery, &self.settings),
            next: (!is_state).then_some(if is_missed { at } else { after }),
            ends: from.filter(|from| is_missed && from.thread != at.thread),
        });
        if self.pending.len() < self.settings.batch.unwrap_or(1) {
            return Ok(());
        }
        self.deliver()
    }

    fn flush(&mut self, reached: &Positions) -> Result<(), SinkError> {
        self.deliver()?;
        self.reached = reached.clone();
        self.save()
    }
}

/// Returns the id of a request for its signature: the store with the first event, and the last if there are several. It
/// has no full stop, which separates it from what follows in the signed content.
fn message_id(first: &Pending, last: &Pending) -> String {
    let plain = |id: &str| id.replace("..", "_to_").replace(['.', ':'], "-");
    let id = format!("{}_{}", first.store, plain(&first.id));
    if first.id == last.id { id } else { format!("{id}_{}", plain(&last.id)) }
}

#[expect(clippy::disallowed_methods, reason = "a sink is a host: its pauses are a matter of time")]
fn now() -> Instant {
    Instant::now()
}

/// Returns the time, ms since 1970 UTC.
#[expect(clippy::disallowed_methods, reason = "a signature has the time at which it was made")]
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
