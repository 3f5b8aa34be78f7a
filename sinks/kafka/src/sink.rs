//! The sink.

use crate::fault::{Fault, Place, TRANSACTION};
use crate::{KafkaSettings, places, topics};
use krafka::producer::{DeliveryHandle, TransactionalProducer};
use krafka::{CloseOptions, Compression, Kafka, KrafkaError, Record};
use scurry_ship::{Delivery, Positions, Sink, SinkError, StoreId};
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout};

/// How long a message may take until it is acknowledged; less than the timeout of its transaction.
const DELIVERY: Duration = Duration::from_secs(30);
/// How long metadata, and the answers about transactions, may take.
const BLOCK: Duration = Duration::from_secs(20);
/// How long the end of a connection may take that is not needed any more.
const CLOSE: Duration = Duration::from_secs(1);
/// Bytes of a batch of messages; brokers take 1 MB of them if they are not told otherwise.
const BATCH_LEN: usize = 256 << 10;

/// Ships events to a topic of Kafka, each in one transaction with the positions.
pub struct KafkaSink {
    settings: KafkaSettings,
    runtime: Runtime,
    /// Transactional id; empty before the first resume.
    id: String,
    open: Option<Open>,
    reached: Option<Positions>,
    /// Messages that are not sent yet.
    pending: Vec<Record>,
}

/// A connection.
struct Open {
    _kafka: Kafka,
    producer: TransactionalProducer,
}

impl KafkaSink {
    /// Returns a sink for this topic.
    pub fn new(settings: KafkaSettings) -> io::Result<KafkaSink> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (id, pending) = (String::new(), Vec::new());
        Ok(KafkaSink { settings, runtime, id, open: None, reached: None, pending })
    }

    fn fault(&self, fault: Fault, age: Duration) -> SinkError {
        let KafkaSettings { brokers, topic, .. } = &self.settings;
        fault.at(Place { brokers, topic, id: &self.id, age })
    }
}

impl Sink for KafkaSink {
    fn resume(&mut self, store: StoreId) -> Result<Positions, SinkError> {
        self.pending.clear();
        self.id = format!("scurry-ship-{}-{store}", self.settings.topic);
        let before = self.open.take();
        let begin = begin(&self.settings, &self.id, store);
        let outcome = self.runtime.block_on(async {
            if let Some(before) = before {
                // The next producer has the same id, so it ends what this one does not.
                let _ = before.producer.close_with(CloseOptions::new().timeout(CLOSE)).await;
            }
            begin.await
        });
        let (open, reached) = outcome.map_err(|fault| self.fault(fault, TRANSACTION))?;
        self.open = Some(open);
        self.reached = Some(reached.clone());
        Ok(reached)
    }

    fn append(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let Delivery { record, payload, .. } = delivery;
        let mut message = Record::new(&self.settings.topic, payload.to_vec())
            .header("id", record.id.clone())
            .header("store", record.store.clone())
            .header("event", record.event.clone());
        message = match record.account.is_empty() {
            // An event of the whole store.
            true => message.partition(0),
            false => message.key(record.account.clone()),
        };
        self.pending.push(message);
        Ok(())
    }

    fn flush(&mut self, reached: &Positions) -> Result<(), SinkError> {
        if self.pending.is_empty() && self.reached.as_ref() == Some(reached) {
            return Ok(());
        }
        let open = self.open.as_ref().expect("the sink was resumed");
        let store = reached.store().to_string();
        let positions = Record::new(self.settings.positions(), reached.to_string());
        let mut messages = std::mem::take(&mut self.pending);
        messages.push(positions.key(store).partition(0));
        let begun = Instant::now();
        let outcome = self.runtime.block_on(transact(&open.producer, messages));
        outcome.map_err(|fault| self.fault(fault, begun.elapsed()))?;
        self.reached = Some(reached.clone());
        Ok(())
    }
}

impl Drop for KafkaSink {
    fn drop(&mut self) {
        if let Some(Open { producer, .. }) = self.open.take() {
            // What was not flushed is not in a transaction.
            let _ = self.runtime.block_on(producer.close_with(CloseOptions::new().timeout(CLOSE)));
        }
    }
}

/// Connects, ends the transactions of earlier shippers, and reads the positions.
async fn begin(
    settings: &KafkaSettings,
    id: &str,
    store: StoreId,
) -> Result<(Open, Positions), Fault> {
    let kafka = settings.connect().await?;
    let admin = kafka.admin();
    topics::ensure(&admin, settings).await?;
    let producer = kafka
        .producer()
        .batch_size(BATCH_LEN)
        .compression(Compression::Lz4)
        .delivery_timeout(DELIVERY)
        .max_block(BLOCK)
        .transaction_timeout(TRANSACTION)
        .metrics_push(false)
        .build_transactional(id)
        .await?;
    // From here on no other transaction with this id is open, and none begins before this one is fenced.
    let reached = places::read(&kafka, &admin, settings, store).await?;
    Ok((Open { _kafka: kafka, producer }, reached))
}

/// Sends messages in one transaction. After most errors the transaction is left as it is: the next producer ends it.
async fn transact(producer: &TransactionalProducer, messages: Vec<Record>) -> Result<(), Fault> {
    let mut handles = Vec::with_capacity(messages.len());
    let Err(mut error) = send(producer, messages, &mut handles).await else { return Ok(()) };
    // The first message that failed says why, where the transaction only says that one did.
    for handle in handles {
        if let Ok(Err(first)) = timeout(Duration::ZERO, handle).await {
            error = first;
            break;
        }
    }
    // A broker that takes no message says that the epoch is old; only the coordinator says whether another producer
    // has begun. Without this two shippers would end each other's transactions for ever.
    if error.requires_abort()
        && let Err(fenced @ KrafkaError::Fenced { .. }) = producer.abort().await
    {
        error = fenced;
    }
    Err(error.into())
}

async fn send(
    producer: &TransactionalProducer,
    messages: Vec<Record>,
    handles: &mut Vec<DeliveryHandle>,
) -> Result<(), KrafkaError> {
    producer.begin()?;
    for message in messages {
        handles.push(producer.enqueue(message).await?);
    }
    producer.flush().await?;
    // A message that failed makes this fail.
    producer.commit().await
}
