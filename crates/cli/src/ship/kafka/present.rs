//! The sink of `scurry ship kafka`.

use super::{MechanismOption, ToKafka};
use anyhow::{Result, ensure};
use scurry_ship::Sink;
use scurry_sink_kafka::{Credentials, KafkaSettings, KafkaSink, Mechanism, NewTopics, Security};

/// Returns the sink that the options ask for.
pub(super) fn sink(options: &ToKafka) -> Result<Box<dyn Sink>> {
    let is_open = matches!(options.kafka_mechanism, MechanismOption::Plain) && !options.tls;
    ensure!(
        options.kafka_user.is_none() || !is_open,
        "--kafka-mechanism plain shows the password to the network: use it with --tls"
    );
    let security = Security {
        tls: options.tls,
        ca: options.tls_ca.clone(),
        certificate: options.tls_cert.clone().zip(options.tls_key.clone()),
        credentials: options.kafka_user.clone().zip(options.kafka_password.clone()).map(
            |(user, password)| {
                let mechanism = match options.kafka_mechanism {
                    MechanismOption::Plain => Mechanism::Plain,
                    MechanismOption::ScramSha256 => Mechanism::ScramSha256,
                    MechanismOption::ScramSha512 => Mechanism::ScramSha512,
                };
                Credentials { mechanism, user, password }
            },
        ),
    };
    let create = options.create_topics.then(|| NewTopics {
        partitions: options.partitions.0,
        replicas: options.replicas.map(|replicas| replicas.0),
    });
    let settings = KafkaSettings {
        brokers: options.brokers.clone(),
        topic: options.topic.clone(),
        shared: options.shared,
        create,
        security,
    };
    Ok(Box::new(KafkaSink::new(settings)?))
}
