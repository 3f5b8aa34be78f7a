//! `scurry ship kafka`. A build with the feature `kafka` makes a sink of the options in `kafka/present.rs`; another says
//! which build has it.

#[cfg_attr(not(feature = "kafka"), path = "kafka/absent.rs")]
mod present;

use super::deliver;
use super::source::SourceOptions;
use crate::option_values::Number;
use anyhow::Result;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Longest time from an event to its delivery, ms.
const FLUSH_MS: u64 = 100;

const EXAMPLES: &str = "Examples:
  scurry ship kafka 127.0.0.1:9092 --topic charging --create-topics --from 127.0.0.1:6389
  scurry ship kafka k1:9093,k2:9093 --topic charging --tls --tls-ca ca.pem --kafka-user scurry --from 10.0.0.1:6389

The position is in the topic NAME.positions, in the same transaction as the events: a consumer that reads committed
messages has each event once. docs/ship/kafka.md has the rest.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ToKafka {
    /// Some of the brokers; Kafka 3.9 or newer
    #[arg(value_name = "HOST:PORT,...", value_delimiter = ',', required = true)]
    brokers: Vec<String>,

    /// Topic of the events; the positions are in NAME.positions
    #[arg(long, value_name = "NAME")]
    topic: String,

    /// Create the topics if they are missing
    #[arg(long)]
    create_topics: bool,

    /// Partitions of the topic that is created; events of an account are in one
    #[arg(long, value_name = "NUMBER", default_value = "6", requires = "create_topics")]
    partitions: Number<u16, 1, 10_000>,

    /// Copies of each partition of the topics that are created [default: that of the brokers]
    #[arg(long, value_name = "NUMBER", requires = "create_topics")]
    replicas: Option<Number<u16, 1, 100>>,

    /// Ship even if the topic has events of another store
    #[arg(long)]
    shared: bool,

    /// Encrypt the connections to the brokers
    #[arg(long)]
    tls: bool,

    /// Certificates that the brokers are checked by [default: those of the public authorities]
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_ca: Option<PathBuf>,

    /// Certificate to show to the brokers
    #[arg(long, value_name = "FILE", requires_all = ["tls", "tls_key"])]
    tls_cert: Option<PathBuf>,

    /// Key of this certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// User of the brokers (SASL)
    #[arg(long, value_name = "NAME", requires = "kafka_password")]
    kafka_user: Option<String>,

    /// Password of this user. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_KAFKA_PASSWORD", hide_env_values = true)]
    kafka_password: Option<String>,

    /// How the password is shown to the brokers
    #[arg(long, value_name = "NAME", default_value = "scram-sha-512")]
    kafka_mechanism: MechanismOption,

    #[command(flatten)]
    source: SourceOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MechanismOption {
    /// As it is: only with --tls
    Plain,
    /// A proof by SHA-256
    #[value(name = "scram-sha-256")]
    ScramSha256,
    /// A proof by SHA-512
    #[value(name = "scram-sha-512")]
    ScramSha512,
}

impl ToKafka {
    pub(crate) fn run(self) -> Result<()> {
        let sink = present::sink(&self)?;
        deliver(&self.source, FLUSH_MS, sink)
    }
}
