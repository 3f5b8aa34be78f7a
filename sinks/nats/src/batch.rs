//! Publishes messages so that the stream has all of them, in order, or a begin of them.
//!
//! Each message could say its own sequence, and all be sent at once. That is not enough: if the first is refused because
//! of a message of others, the second finds the sequence that it expects, and the first is left out. So they are a batch
//! that the stream takes whole, or each waits for the one before.

use crate::fault::publish_fault;
use crate::message::Message;
use async_nats::HeaderMap;
use async_nats::header::{
    NATS_BATCH_COMMIT, NATS_BATCH_COMMIT_FINAL, NATS_BATCH_ID, NATS_BATCH_SEQUENCE,
    NATS_EXPECTED_LAST_SEQUENCE,
};
use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use scurry_ship::SinkError;

/// Most messages of a batch. A server takes 1000.
pub(crate) const BATCH_LEN_MAX: usize = 500;

/// Publishes messages after the one of this sequence, one after the other.
pub(crate) async fn one_by_one(
    context: &Context,
    messages: &[Message],
    mut sequence: u64,
) -> Result<u64, SinkError> {
    for message in messages {
        let mut headers = message.headers();
        headers.insert(NATS_EXPECTED_LAST_SEQUENCE, sequence.to_string());
        commit(context, message, headers, sequence + 1).await?;
        sequence += 1;
    }
    Ok(sequence)
}

/// Publishes messages after the one of this sequence, all or none.
pub(crate) async fn all_or_none(
    context: &Context,
    messages: &[Message],
    sequence: u64,
) -> Result<u64, SinkError> {
    let client = context.client();
    // The name of an inbox is used once.
    let id = client.new_inbox();
    let last = sequence + messages.len() as u64;
    for (number, message) in (1..).zip(messages) {
        let mut headers = message.headers();
        headers.insert(NATS_BATCH_ID, id.as_str());
        headers.insert(NATS_BATCH_SEQUENCE, number.to_string());
        if number == 1 {
            headers.insert(NATS_EXPECTED_LAST_SEQUENCE, sequence.to_string());
        }
        if number == messages.len() {
            headers.insert(NATS_BATCH_COMMIT, NATS_BATCH_COMMIT_FINAL);
            commit(context, message, headers, last).await?;
        } else {
            let sent = client
                .publish_with_headers(message.subject.clone(), headers, message.payload())
                .await;
            sent.map_err(|error| {
                SinkError::Unavailable(format!(
                    "{} cannot be sent: {error}. It is sent again",
                    message.subject
                ))
            })?;
        }
    }
    Ok(last)
}

/// Publishes a message, and checks that it is stored at a sequence.
async fn commit(
    context: &Context,
    message: &Message,
    headers: HeaderMap,
    sequence: u64,
) -> Result<(), SinkError> {
    let publish = PublishMessage::build().headers(headers).payload(message.payload());
    let fault = |error| publish_fault(&message.subject, &error);
    let sent = context.send_publish(message.subject.clone(), publish).await.map_err(fault)?;
    let stored = sent.await.map_err(fault)?;
    match !stored.duplicate && stored.sequence == sequence {
        true => Ok(()),
        false => Err(SinkError::Unavailable(format!(
            "the stream {} says that it has {} at {} already, and did not show it: it has lost messages. It takes them again \
             when its window of duplicates has passed",
            stored.stream, message.subject, stored.sequence
        ))),
    }
}
