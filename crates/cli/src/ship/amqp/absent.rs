//! AMQP in a build without it: an error that says how to build it.

use super::ToAmqp;
use anyhow::{Result, bail};
use scurry_ship::Sink;

/// Refuses to ship.
pub(super) fn sink(options: &ToAmqp) -> Result<Box<dyn Sink>> {
    bail!(
        "cannot ship to exchange {}: this scurry was built without AMQP: build it with cargo build --release \
         --features amqp",
        options.exchange
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        to: ToAmqp,
    }

    #[test]
    fn an_error_says_which_build_has_amqp() {
        let words = ["scurry", "amqp://localhost", "--exchange", "events", "--from", "localhost:1"];
        let error = Options::parse_from(words).to.run().unwrap_err().to_string();
        assert!(error.contains("exchange events"), "{error}");
        assert!(error.contains("--features amqp"), "{error}");
    }
}
