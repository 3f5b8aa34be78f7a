//! Reads the positions that the brokers have.

use crate::KafkaSettings;
use crate::fault::Fault;
use krafka::admin::{AdminClient, ListOffsetsOptions, OffsetSpec, TopicPartition};
use krafka::consumer::IsolationLevel;
use krafka::{ConsumerRecord, Kafka, KrafkaError};
use scurry_ship::{Positions, SinkError, StoreId};
use std::time::Duration;
use tokio::time::timeout;

/// Messages that are read first, from the end. A commit adds two: the positions, and a mark.
const WINDOW: i64 = 1_000;
/// Longest wait for messages of one window.
const READ: Duration = Duration::from_secs(60);
/// Longest wait of one poll.
const POLL: Duration = Duration::from_millis(500);

/// Returns the positions of a store in the last committed transaction.
pub(crate) async fn read(
    kafka: &Kafka,
    admin: &AdminClient,
    settings: &KafkaSettings,
    store: StoreId,
) -> Result<Positions, Fault> {
    let topic = settings.positions();
    let begin = offset(admin, &topic, OffsetSpec::Earliest).await?;
    let end = offset(admin, &topic, OffsetSpec::Latest).await?;
    let mut from = end;
    let mut window = WINDOW;
    let mut reached = None;
    // Windows grow, so the whole topic is read in a few steps if it has to be.
    while reached.is_none() && from > begin {
        let until = from;
        from = (from - window).max(begin);
        window *= 10;
        let reading = read_window(kafka, &topic, from, until);
        let waited = timeout(READ, reading).await;
        let records =
            waited.unwrap_or_else(|_| Err(KrafkaError::timeout("reading positions").into()))?;
        for record in records {
            reached = note(settings, store, &record)?.or(reached);
        }
    }
    Ok(reached.unwrap_or_else(|| Positions::none(store)))
}

async fn offset(admin: &AdminClient, topic: &str, spec: OffsetSpec) -> Result<i64, Fault> {
    let place = TopicPartition::new(topic, 0);
    let options = ListOffsetsOptions::default().read_committed(true);
    let mut offsets = admin.list_offsets([(place.clone(), spec)], options).await?;
    match offsets.remove(&place) {
        Some(offset) => Ok(offset?.offset),
        None => Err(KrafkaError::unknown_topic(topic).into()),
    }
}

/// Reads committed messages from one offset to another.
async fn read_window(
    kafka: &Kafka,
    topic: &str,
    from: i64,
    until: i64,
) -> Result<Vec<ConsumerRecord>, Fault> {
    let consumer = kafka.consumer_without_group();
    let consumer = consumer.isolation_level(IsolationLevel::ReadCommitted).build().await?;
    consumer.assign(topic, vec![0]).await?;
    consumer.seek(topic, 0, from).await?;
    let mut records = Vec::new();
    // The last ones may be marks of transactions, which the consumer passes over without a message.
    while consumer.position(topic, 0).await.is_none_or(|position| position < until) {
        records
            .extend(consumer.poll(POLL).await?.into_iter().filter(|record| record.offset < until));
    }
    consumer.close().await?;
    Ok(records)
}

/// Returns the positions in a message, if it is of this store.
fn note(
    settings: &KafkaSettings,
    store: StoreId,
    record: &ConsumerRecord,
) -> Result<Option<Positions>, SinkError> {
    let topic = settings.positions();
    // A message without a value takes the positions of a store back.
    let Some(value) = &record.value else { return Ok(None) };
    let key = record.key.as_deref().unwrap_or_default();
    let positions = str::from_utf8(value).ok().and_then(|text| text.parse::<Positions>().ok());
    let Some(positions) = positions.filter(|found| found.store().to_string().as_bytes() == key)
    else {
        return Err(SinkError::Refused(format!(
            "the message at offset {} of topic {topic} is not of positions: ship to another topic, or delete this one \
             and start at the oldest event",
            record.offset
        )));
    };
    if positions.store() == store {
        return Ok(Some(positions));
    }
    if settings.shared {
        return Ok(None);
    }
    Err(SinkError::Refused(format!(
        "topic {} has events of store {}, and these are of store {store}: ship to another topic, or with --shared if \
         events of several stores may be in one",
        settings.topic,
        positions.store()
    )))
}
