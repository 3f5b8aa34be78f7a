//! The queue of the positions.

use crate::fault::Fault;
use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, QueueDeclareOptions,
};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, Consumer, Error, ErrorKind};
use scurry_ship::{Positions, SinkError, StoreId};
use std::time::Duration;
use tokio::time::timeout;

/// How long the broker may take to deliver a message that it has.
const DELIVERY: Duration = Duration::from_secs(30);
/// Delivery mode of a message that survives a restart of the broker.
pub(crate) const PERSISTENT: u8 = 2;

/// The queue of the positions of a store, which one shipper consumes at a time.
pub(crate) struct Place {
    queue: String,
    consumer: Consumer,
    /// Tag of the message with the last positions, which is not acknowledged.
    last: Option<u64>,
}

impl Place {
    /// Declares the queue if it is missing, begins to consume it, and returns the positions that it has.
    pub(crate) async fn open(
        connection: &Connection,
        channel: &Channel,
        exchange: &str,
        store: StoreId,
    ) -> Result<(Place, Positions), Fault> {
        let queue = format!("{exchange}.positions.{store}");
        let count = declare(connection, channel, &queue).await?;
        let options = BasicConsumeOptions { exclusive: true, ..BasicConsumeOptions::default() };
        let consumer = channel
            .basic_consume(
                queue.as_str().into(),
                "scurry-ship".into(),
                options,
                FieldTable::default(),
            )
            .await
            .map_err(|error| held(&queue, error))?;
        let mut place = Place { queue, consumer, last: None };
        let mut reached = Positions::none(store);
        // After a crash of the broker there may be earlier ones too: the last one counts.
        for _ in 0..count {
            let delivery = place.next().await?;
            reached = place.read(&delivery, store)?;
            place.last = Some(delivery.delivery_tag);
        }
        Ok((place, reached))
    }

    /// Publishes positions, and returns when the broker keeps them.
    pub(crate) async fn set(
        &mut self,
        channel: &Channel,
        reached: &Positions,
    ) -> Result<(), Fault> {
        let text = reached.to_string();
        let properties = BasicProperties::default()
            .with_delivery_mode(PERSISTENT)
            .with_content_type("text/plain".into());
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let queue = self.queue.as_str().into();
        let confirm =
            channel.basic_publish("".into(), queue, options, text.as_bytes(), properties).await?;
        let confirm = confirm.await?;
        if !confirm.is_ack() || confirm.take_message().is_some() {
            let text = format!("the broker does not keep the positions in queue {}", self.queue);
            return Err(SinkError::Unavailable(text).into());
        }
        let delivery = self.next().await?;
        if delivery.data != text.as_bytes() {
            return Err(SinkError::Refused(format!(
                "another program writes to queue {}: end it, and start again",
                self.queue
            ))
            .into());
        }
        if let Some(before) = self.last.replace(delivery.delivery_tag) {
            channel.basic_ack(before, BasicAckOptions { multiple: true }).await?;
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Delivery, Fault> {
        match timeout(DELIVERY, self.consumer.next()).await {
            Ok(Some(delivery)) => Ok(delivery?),
            Ok(None) => Err(SinkError::Unavailable(format!(
                "the broker has ended the consumer of queue {}",
                self.queue
            ))
            .into()),
            Err(_) => Err(Fault::late(&format!("deliver the positions in queue {}", self.queue))),
        }
    }

    fn read(&self, delivery: &Delivery, store: StoreId) -> Result<Positions, SinkError> {
        let text = str::from_utf8(&delivery.data).ok();
        match text.and_then(|text| text.parse::<Positions>().ok()) {
            Some(found) if found.store() == store => Ok(found),
            Some(found) => Err(SinkError::Refused(format!(
                "queue {} has positions of store {}, and these events are of store {store}: remove the message, or \
                 ship to another exchange",
                self.queue,
                found.store()
            ))),
            None => Err(SinkError::Refused(format!(
                "a message in queue {} is not of positions: remove it",
                self.queue
            ))),
        }
    }
}

/// Declares the queue if it is missing, and returns how many messages it has.
async fn declare(connection: &Connection, channel: &Channel, queue: &str) -> Result<u32, Fault> {
    // One that exists may have other properties, for example copies on other nodes. A failure ends the channel.
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let looking = connection.create_channel().await?;
    match looking.queue_declare(queue.into(), passive, FieldTable::default()).await {
        Ok(found) => {
            // The channel has no other use.
            let _ = looking.close(200, "OK".into()).await;
            return Ok(found.message_count());
        }
        Err(error) if is_soft(&error, &AMQPSoftError::NOTFOUND) => {}
        Err(error) => return Err(error.into()),
    }
    let durable = QueueDeclareOptions::durable();
    let made = channel.queue_declare(queue.into(), durable, FieldTable::default()).await?;
    tracing::info!("created queue {queue}");
    Ok(made.message_count())
}

/// Returns the fault of a queue that cannot be consumed. If another shipper has it, this one waits for its end.
fn held(queue: &str, error: Error) -> Fault {
    let ErrorKind::ProtocolError(told) = error.kind() else { return error.into() };
    if is_soft(&error, &AMQPSoftError::ACCESSREFUSED)
        && told.get_message().as_str().contains("exclusive")
    {
        let text = format!(
            "another shipper of this store has queue {queue}; this one ships when that one has ended"
        );
        return SinkError::Unavailable(text).into();
    }
    error.into()
}

fn is_soft(error: &Error, expected: &AMQPSoftError) -> bool {
    matches!(error.kind(), ErrorKind::ProtocolError(told) if told.kind() == &AMQPErrorKind::Soft(expected.clone()))
}
