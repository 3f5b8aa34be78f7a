//! Ships events to an exchange of AMQP 0-9-1. Events are persistent messages, which the broker confirms when it keeps
//! them; then the positions follow. So each event comes at least once, and a repeated one has the same message id.
//!
//! The message id is the store and the id of the event, and the routing key is the name of the event. Events of an
//! account are in order in each queue, because one channel publishes them; after a failure some of them are repeated.
//!
//! The positions are in a queue that is named after the exchange and the store, as the text of
//! [`scurry_ship::Positions`]. A shipper is the only consumer of this queue. It keeps the last message unacknowledged,
//! and acknowledges it when the next one is confirmed and delivered. So the queue always has the last positions, and a
//! second shipper of the same store waits until the first one has gone.

mod fault;
mod place;
mod settings;
mod sink;

pub use settings::AmqpSettings;
pub use sink::AmqpSink;
