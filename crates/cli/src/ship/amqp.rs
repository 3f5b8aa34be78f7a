//! `scurry ship amqp`. A build with the feature `amqp` makes a sink of the options in `amqp/present.rs`; another says
//! which build has it.

#[cfg_attr(not(feature = "amqp"), path = "amqp/absent.rs")]
mod present;

use super::deliver;
use super::source::SourceOptions;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Longest time from an event to its delivery, ms.
const FLUSH_MS: u64 = 100;

const EXAMPLES: &str = "Examples:
  SCURRY_AMQP_URL=amqp://scurry:PASSWORD@rabbit/charging scurry ship amqp --exchange events --from 127.0.0.1:6389
  scurry ship amqp amqp://127.0.0.1 --exchange events --create-exchange --drop-unroutable --from 127.0.0.1:6389

The position is in a queue named after the exchange and the store, and is written when the events are confirmed: each
event comes at least once, and a repeated one has the same message id. docs/ship/amqp.md has the rest.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ToAmqp {
    /// The broker: amqp or amqps, user, password, host and virtual host (%2f is the default one). Prefer the
    /// environment: a command line can be read by every user of the machine
    #[arg(value_name = "URL", env = "SCURRY_AMQP_URL", hide_env_values = true)]
    url: String,

    /// Exchange of the events; the routing key is the name of the event
    #[arg(long, value_name = "NAME")]
    exchange: String,

    /// Create the exchange, durable and of type topic, if it is missing
    #[arg(long)]
    create_exchange: bool,

    /// Let the broker drop events for which no queue is bound, instead of ending with an error
    #[arg(long)]
    drop_unroutable: bool,

    /// Certificates that the broker is checked by [default: those of the machine]
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,

    #[command(flatten)]
    source: SourceOptions,
}

impl ToAmqp {
    pub(crate) fn run(self) -> Result<()> {
        let sink = present::sink(&self)?;
        deliver(&self.source, FLUSH_MS, sink)
    }
}
