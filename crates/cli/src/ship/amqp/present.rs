//! The sink of `scurry ship amqp`.

use super::ToAmqp;
use anyhow::{Context, Result};
use scurry_ship::Sink;
use scurry_sink_amqp::{AmqpSettings, AmqpSink};

/// Returns the sink that the options ask for.
pub(super) fn sink(options: &ToAmqp) -> Result<Box<dyn Sink>> {
    let ca = options.tls_ca.as_ref().map(|path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    });
    let settings = AmqpSettings {
        url: options.url.clone(),
        exchange: options.exchange.clone(),
        create: options.create_exchange,
        drop_unroutable: options.drop_unroutable,
        ca: ca.transpose()?,
    };
    Ok(Box::new(AmqpSink::new(settings, options.source.form())?))
}
