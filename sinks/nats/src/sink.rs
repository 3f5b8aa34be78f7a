//! The sink.

use crate::batch::{BATCH_LEN_MAX, all_or_none, one_by_one};
use crate::event_text::EventText;
use crate::message::Message;
use crate::reached::reached;
use crate::{NatsTarget, connection};
use async_nats::jetstream::Context;
use scurry_service::Position;
use scurry_ship::{Delivery, Positions, Sink, SinkError, StoreId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

/// How old the positions in the stream may become while a filter leaves out all events.
const POSITIONS_EVERY: Duration = Duration::from_secs(60);
const FLUSH_LEN: usize = 256 << 10;

/// Ships events to a stream of JetStream.
pub struct NatsSink {
    target: NatsTarget,
    /// The client's tasks live on it.
    runtime: Option<Runtime>,
    open: Option<Open>,
}

/// What there is from `resume` to the next error.
struct Open {
    context: Context,
    /// Notified when the connection is lost.
    lost: Arc<Notify>,
    /// Whether the stream takes batches.
    is_atomic: bool,
    /// Sequence of the last message of the stream.
    sequence: u64,
    /// Positions after the last message that was appended, or is in the stream.
    next: Positions,
    /// When the last message was sent. None before the first.
    sent: Option<Instant>,
    /// Threads that have ended, and the position that they had reached.
    ended: BTreeMap<u16, Position>,
    pending: Vec<Message>,
}

impl NatsSink {
    /// Returns a sink for this stream.
    pub fn new(target: NatsTarget) -> NatsSink {
        NatsSink { target, runtime: None, open: None }
    }

    /// Publishes all messages, and waits until each is acknowledged.
    fn publish(&mut self) -> Result<(), SinkError> {
        let (Some(runtime), Some(open)) = (&self.runtime, &mut self.open) else {
            return Err(lost());
        };
        let lost_connection = Arc::clone(&open.lost);
        runtime.block_on(async {
            tokio::select! {
                outcome = open.publish() => outcome,
                () = lost_connection.notified() => Err(lost()),
            }
        })
    }
}

fn lost() -> SinkError {
    SinkError::Unavailable("the connection was lost".to_owned())
}

impl Sink for NatsSink {
    fn resume(&mut self, store: StoreId) -> Result<Positions, SinkError> {
        // With the runtime all that an earlier attempt has not sent yet is gone.
        (self.open, self.runtime) = (None, None);
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("nats").enable_all().build();
        let runtime = runtime.map_err(|error| {
            SinkError::Unavailable(format!("no thread can be started: {error}"))
        })?;
        let (target, lost) = (&self.target, Arc::new(Notify::new()));
        let (context, is_atomic, reached) = runtime.block_on(async {
            let context = connection::connect(target, Arc::clone(&lost)).await?;
            let stream = connection::stream(&context, target).await?;
            let reached = reached(&stream, target, store).await?;
            Ok((context, connection::takes_batches(&stream), reached))
        })?;
        let next = reached.positions.clone().unwrap_or_else(|| Positions::none(store));
        self.runtime = Some(runtime);
        self.open = Some(Open {
            context,
            lost,
            is_atomic,
            sequence: reached.sequence,
            next: next.clone(),
            sent: reached.positions.map(|_| now()),
            ended: BTreeMap::new(),
            pending: Vec::new(),
        });
        Ok(next)
    }

    fn append(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let record = delivery.record;
        let Some(event) = EventText::parse(&record.id) else {
            return Err(SinkError::Refused(format!("{} is no position of an event", record.id)));
        };
        let open = self.open.as_mut().ok_or_else(lost)?;
        match event {
            EventText::Missed { from, .. } if event.ends_thread() => {
                open.ended.insert(from.thread, from);
                open.next = open.without_ended(&open.next);
            }
            _ => open.next.set(event.next()),
        }
        open.pending.push(Message::of_event(
            &self.target,
            event,
            record,
            delivery.payload,
            &open.next,
        ));
        Ok(())
    }

    fn flush(&mut self, reached: &Positions) -> Result<(), SinkError> {
        let open = self.open.as_mut().ok_or_else(lost)?;
        let reached = open.without_ended(reached);
        let is_due = open.sent.is_none_or(|sent| sent + POSITIONS_EVERY <= now());
        if open.pending.is_empty() && reached != open.next && is_due {
            open.pending.push(Message::of_positions(&self.target, &reached));
        }
        if open.pending.is_empty() {
            return Ok(());
        }
        open.sent = Some(now());
        self.publish()?;
        // The next message has what was left out after the last one too.
        self.open.as_mut().ok_or_else(lost)?.next = reached;
        Ok(())
    }

    fn flush_len(&self) -> usize {
        FLUSH_LEN
    }
}

impl Open {
    fn without_ended(&self, positions: &Positions) -> Positions {
        let mut left = Positions::none(positions.store());
        positions
            .iter()
            .filter(|next| self.ended.get(&next.thread) != Some(next))
            .for_each(|next| left.set(next));
        left
    }

    async fn publish(&mut self) -> Result<(), SinkError> {
        for messages in self.pending.chunks(BATCH_LEN_MAX) {
            self.sequence = match self.is_atomic && messages.len() > 1 {
                true => all_or_none(&self.context, messages, self.sequence).await?,
                false => one_by_one(&self.context, messages, self.sequence).await?,
            };
        }
        self.pending.clear();
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the age of what was sent counts between two calls of the shipper"
)]
fn now() -> Instant {
    Instant::now()
}
