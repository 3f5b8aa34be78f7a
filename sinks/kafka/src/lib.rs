//! Ships events to a topic of Kafka. A flush is one transaction: the events, and a message with the positions that are
//! reached by them, in a topic beside it. So a consumer that reads committed messages has each event once.
//!
//! The key of a message is the account, so all events of an account are in one partition, in order. A message of
//! positions has the store as its key and the text of [`scurry_ship::Positions`] as its value, in partition 0 of
//! `TOPIC.positions`:
//!
//! ```text
//! 00c0ffee00c0ffee   00c0ffee00c0ffee 1.0:17 1.1:20-3
//! ```
//!
//! The transactional id is that of the topic and the store. If a second shipper of the same store begins, the brokers
//! end the transactions of the first one.

mod fault;
mod places;
mod settings;
mod sink;
mod topics;

pub use settings::{Credentials, KafkaSettings, Mechanism, NewTopics, Security};
pub use sink::KafkaSink;
