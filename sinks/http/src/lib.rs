//! Events as CloudEvents 1.0 over HTTP: one request for each event, as webhooks have it, or batches. The position is in a
//! file of the shipper, and moves when the receiver has answered. So the receiver gets each event at least once, in order,
//! and a repeated event has the same id and source. Events that the receiver refuses go to a file of dead letters.

mod answer;
mod client;
mod cloud_event;
mod dead_letters;
mod fault;
mod place_file;
mod settings;
mod signature;
mod sink;
mod target;
mod verdict;

pub use settings::{DeadLetterSettings, HttpSettings, HttpTls, SettingsError};
pub use signature::{SecretError, SigningKeys};
pub use sink::HttpSink;
pub use target::{HttpTarget, TargetError};
