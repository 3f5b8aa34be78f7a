//! `scurry ship`: delivers the events of a store to files, brokers and services.

mod amqp;
mod backup;
mod files;
mod http;
mod kafka;
mod metrics;
mod nats;
mod redis;
mod source;
mod state;
mod tell;
mod usage;

pub(crate) use backup::BackupEvents;

use crate::log::Log;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use scurry_ship::{Measures, Sink, ship};
use signal_hook::consts::{SIGINT, SIGTERM};
use source::SourceOptions;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tell::Teller;

const EXAMPLES: &str = "Examples:
  scurry ship files events --from 127.0.0.1:6389
  scurry ship files events --from 10.0.0.1:6389,10.0.0.2:6389,10.0.0.3:6389 --event debited --event settled
  scurry ship files events --from 127.0.0.1:6389 --format parquet --once

The position is kept with what was delivered: start it again, anywhere, and it goes on where it ended. docs/ship.md has
all destinations.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ship {
    #[command(subcommand)]
    to: Destination,
}

#[derive(Debug, Subcommand)]
enum Destination {
    /// Write files of JSON lines, Protobuf or Parquet, each event once.
    Files(files::ToFiles),
    /// Write usage records, a line of JSON each: of each session that has ended, and of each direct debit.
    Usage(usage::ToUsage),
    /// Post CloudEvents to a webhook or a service that meters use, each event at least once.
    Http(http::ToHttp),
    /// Publish messages to a stream of NATS JetStream, each event once.
    Nats(nats::ToNats),
    /// Add entries to streams of Valkey or Redis, each event once.
    Redis(redis::ToRedis),
    /// Send messages to a topic of Kafka, each event once.
    Kafka(kafka::ToKafka),
    /// Send messages to an exchange of RabbitMQ or another broker of AMQP 0-9-1, each event at least once.
    Amqp(amqp::ToAmqp),
}

impl Ship {
    pub(crate) fn run(self) -> Result<()> {
        match self.to {
            Destination::Files(to) => to.run(),
            Destination::Usage(to) => to.run(),
            Destination::Http(to) => to.run(),
            Destination::Nats(to) => to.run(),
            Destination::Redis(to) => to.run(),
            Destination::Kafka(to) => to.run(),
            Destination::Amqp(to) => to.run(),
        }
    }
}

/// Ships events to a sink until they are all delivered, or a signal asks to end.
fn deliver(source: &SourceOptions, flush_ms: u64, mut sink: Box<dyn Sink>) -> Result<()> {
    let _log = Log::start(source.log.0).context("cannot start the log")?;
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&ends))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&ends)))
            .context("cannot wait for signals")?;
    }
    let shipping = source.shipping(flush_ms)?;
    let mut origin = source.origin()?;
    let measures = Arc::new(Measures::default());
    let metrics =
        source.metrics_listen.map(|listen| metrics::open(listen.0, Arc::clone(&measures)));
    let metrics = metrics.transpose()?;
    let teller = Teller::start(Arc::clone(&measures));
    let outcome = ship(&mut origin, &mut *sink, &shipping, &measures, &ends);
    teller.end();
    if let Some(metrics) = metrics {
        metrics.close();
    }
    outcome?;
    Ok(())
}
