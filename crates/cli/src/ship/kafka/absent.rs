//! Kafka in a build without it: an error that says how to build it.

use super::ToKafka;
use anyhow::{Result, bail};
use scurry_ship::Sink;

/// Refuses to ship.
pub(super) fn sink(options: &ToKafka) -> Result<Box<dyn Sink>> {
    bail!(
        "cannot ship to topic {}: this scurry was built without Kafka: build it with cargo build --release --features \
         kafka",
        options.topic
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        to: ToKafka,
    }

    #[test]
    fn an_error_says_which_build_has_kafka() {
        let words = ["scurry", "localhost:9092", "--topic", "charging", "--from", "localhost:6389"];
        let error = Options::parse_from(words).to.run().unwrap_err().to_string();
        assert!(error.contains("topic charging"), "{error}");
        assert!(error.contains("--features kafka"), "{error}");
    }
}
