//! Messages and their headers.

use crate::NatsTarget;
use crate::event_text::EventText;
use async_nats::HeaderMap;
use bytes::Bytes;
use scurry_ship::{Positions, Record};

/// Where the events continue after a message: the store, and the position of each thread.
pub(crate) const NEXT: &str = "Scurry-Next";
const ID: &str = "Scurry-Id";
const EVENT: &str = "Scurry-Event";
const ACCOUNT: &str = "Scurry-Account";

/// A message that is not sent yet.
pub(crate) struct Message {
    pub(crate) subject: String,
    headers: HeaderMap,
    payload: Bytes,
}

impl Message {
    /// Returns the message of an event.
    pub(crate) fn of_event(
        target: &NatsTarget,
        event: EventText,
        record: &Record,
        payload: &[u8],
        next: &Positions,
    ) -> Message {
        let mut headers = HeaderMap::new();
        headers
            .insert(async_nats::header::NATS_MESSAGE_ID, format!("{}:{}", record.store, record.id));
        headers.insert(NEXT, next.to_string());
        headers.insert(ID, record.id.as_str());
        headers.insert(EVENT, record.event.as_str());
        headers.insert(ACCOUNT, line(&record.account));
        Message {
            subject: target.events(event.thread()),
            headers,
            payload: Bytes::copy_from_slice(payload),
        }
    }

    /// Returns a message that has positions and no event.
    pub(crate) fn of_positions(target: &NatsTarget, next: &Positions) -> Message {
        let mut headers = HeaderMap::new();
        headers.insert(NEXT, next.to_string());
        Message { subject: target.position(), headers, payload: Bytes::new() }
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    pub(crate) fn payload(&self) -> Bytes {
        self.payload.clone()
    }
}

/// Returns a text as a header can have it: an id may have line ends.
fn line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}
