//! The sink.

use crate::AmqpSettings;
use crate::fault::Fault;
use crate::place::{PERSISTENT, Place};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ExchangeKind};
use scurry_ship::{Delivery, Form, Positions, Sink, SinkError, StoreId};
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// How long the broker may take to answer, or to confirm all messages of a flush.
const ANSWER: Duration = Duration::from_secs(60);
/// How long the end of a connection may take that is not needed any more.
const CLOSE: Duration = Duration::from_secs(1);

/// Ships events to an exchange.
pub struct AmqpSink {
    settings: AmqpSettings,
    form: Form,
    runtime: Runtime,
    open: Option<Open>,
    reached: Option<Positions>,
    /// Messages that are not sent yet.
    pending: Vec<Message>,
}

/// A connection.
struct Open {
    connection: Connection,
    channel: Channel,
    place: Place,
}

struct Message {
    /// Name of the event.
    routing_key: String,
    properties: BasicProperties,
    payload: Vec<u8>,
}

impl AmqpSink {
    /// Returns a sink for this exchange. The payloads are of this form.
    pub fn new(settings: AmqpSettings, form: Form) -> io::Result<AmqpSink> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(AmqpSink { settings, form, runtime, open: None, reached: None, pending: Vec::new() })
    }

    /// Runs something with the broker, within a time.
    fn run<T>(
        &self,
        what: &str,
        running: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, SinkError> {
        let outcome = self.runtime.block_on(async { timeout(ANSWER, running).await });
        let outcome = outcome.unwrap_or_else(|_| Err(Fault::late(what)));
        let address = self.settings.address()?;
        outcome.map_err(|fault| fault.at(&address, &self.settings.exchange))
    }
}

impl Sink for AmqpSink {
    fn resume(&mut self, store: StoreId) -> Result<Positions, SinkError> {
        self.pending.clear();
        let before = self.open.take();
        let settings = self.settings.clone();
        let (open, reached) = self.run("answer", async move {
            if let Some(before) = before {
                end(before).await;
            }
            begin(&settings, store).await
        })?;
        self.open = Some(open);
        self.reached = Some(reached.clone());
        Ok(reached)
    }

    fn append(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let Delivery { record, payload, .. } = delivery;
        let mut headers = FieldTable::default();
        for (name, value) in
            [("id", &record.id), ("store", &record.store), ("account", &record.account)]
        {
            headers.insert(name.into(), AMQPValue::LongString(value.as_str().into()));
        }
        let content = match self.form {
            Form::Json => "application/json",
            Form::Protobuf => "application/x-protobuf",
        };
        let mut properties = BasicProperties::default()
            .with_delivery_mode(PERSISTENT)
            .with_content_type(content.into())
            .with_message_id(format!("{}/{}", record.store, record.id).into())
            .with_type(record.event.as_str().into())
            .with_app_id("scurry".into())
            .with_headers(headers);
        if let Ok(seconds @ 1..) = u64::try_from(record.time_ms / 1_000) {
            properties = properties.with_timestamp(seconds);
        }
        let routing_key = record.event.clone();
        self.pending.push(Message { routing_key, properties, payload: payload.to_vec() });
        Ok(())
    }

    fn flush(&mut self, reached: &Positions) -> Result<(), SinkError> {
        if self.pending.is_empty() && self.reached.as_ref() == Some(reached) {
            return Ok(());
        }
        let messages = std::mem::take(&mut self.pending);
        let mut open = self.open.take().expect("the sink was resumed");
        let outcome = self.run("confirm", async {
            publish(&self.settings, &open.channel, messages).await?;
            open.place.set(&open.channel, reached).await
        });
        self.open = Some(open);
        outcome?;
        self.reached = Some(reached.clone());
        Ok(())
    }
}

impl Drop for AmqpSink {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            self.runtime.block_on(end(open));
        }
    }
}

/// Ends a connection; the broker keeps the message that is not acknowledged.
async fn end(open: Open) {
    // It may have ended already.
    let _ = timeout(CLOSE, open.connection.close(200, "OK".into())).await;
}

async fn begin(settings: &AmqpSettings, store: StoreId) -> Result<(Open, Positions), Fault> {
    let connection = settings.connect().await?;
    let channel = connection.create_channel().await?;
    let options = match settings.create {
        true => ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() },
        false => ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() },
    };
    let name = settings.exchange.as_str().into();
    channel.exchange_declare(name, ExchangeKind::Topic, options, FieldTable::default()).await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let (place, reached) = Place::open(&connection, &channel, &settings.exchange, store).await?;
    Ok((Open { connection, channel, place }, reached))
}

/// Publishes messages, and returns when the broker has confirmed all of them.
async fn publish(
    settings: &AmqpSettings,
    channel: &Channel,
    messages: Vec<Message>,
) -> Result<(), Fault> {
    let options = BasicPublishOptions {
        mandatory: !settings.drop_unroutable,
        ..BasicPublishOptions::default()
    };
    let mut confirms = Vec::with_capacity(messages.len());
    for Message { routing_key, properties, payload } in messages {
        let key = routing_key.as_str().into();
        let exchange = settings.exchange.as_str().into();
        confirms.push((
            routing_key,
            channel.basic_publish(exchange, key, options, &payload, properties).await?,
        ));
    }
    let exchange = &settings.exchange;
    for (event, confirm) in confirms {
        let confirm = confirm.await?;
        if confirm.is_nack() {
            let text = format!("the broker does not keep the events of exchange {exchange}");
            return Err(SinkError::Unavailable(text).into());
        }
        if confirm.take_message().is_some() {
            return Err(SinkError::Refused(format!(
                "no queue is bound to exchange {exchange} for the event {event}: bind one, leave the event out \
                 (--event), or let the broker drop it (--drop-unroutable)"
            ))
            .into());
        }
    }
    Ok(())
}
