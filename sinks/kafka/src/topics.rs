//! The two topics: that they exist, and their creation.

use crate::fault::Fault;
use crate::{KafkaSettings, NewTopics};
use krafka::KrafkaError;
use krafka::admin::{AdminClient, CreateTopicsOptions, DescribeTopicsOptions, NewTopic};
use krafka::error::ErrorCode;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a topic may take from its creation until brokers know it.
const CREATION: Duration = Duration::from_secs(20);
/// How long brokers may take from their start until they know their topics.
const START: Duration = Duration::from_secs(2);
/// Pause between two looks at topics that were created.
const LOOK: Duration = Duration::from_millis(50);

/// Checks that the topics exist, or creates them if the settings say so.
pub(crate) async fn ensure(admin: &AdminClient, settings: &KafkaSettings) -> Result<(), Fault> {
    let names = [settings.topic.clone(), settings.positions()];
    let mut missing = missing(admin, &names).await?;
    let Some(new) = settings.create else {
        // Brokers that have just started know no topic for a moment.
        let until = Instant::now() + START;
        while !missing.is_empty() && Instant::now() < until {
            sleep(LOOK).await;
            missing = self::missing(admin, &names).await?;
        }
        return match missing.is_empty() {
            true => Ok(()),
            false => Err(KrafkaError::unknown_topic(missing.join(" or ")).into()),
        };
    };
    if missing.is_empty() {
        return Ok(());
    }
    let topics = missing.iter().map(|name| new_topic(settings, new, name));
    let topics = topics.collect::<Result<Vec<_>, _>>()?;
    let results = admin.create_topics(topics, CreateTopicsOptions::default()).await?;
    for (topic, result) in results {
        match result {
            // Another shipper has created it meanwhile.
            Err(KrafkaError::Broker { code: ErrorCode::TopicAlreadyExists, .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => tracing::info!("created topic {topic}"),
        }
    }
    let known = async {
        while !self::missing(admin, &names).await?.is_empty() {
            sleep(LOOK).await;
        }
        Ok(())
    };
    let waited = timeout(CREATION, known).await;
    waited.unwrap_or_else(|_| Err(KrafkaError::timeout("creation of topics").into()))
}

fn new_topic(settings: &KafkaSettings, new: NewTopics, name: &str) -> Result<NewTopic, Fault> {
    let replicas = new.replicas.map_or(-1, |replicas| i16::try_from(replicas).unwrap_or(i16::MAX));
    if name == settings.topic {
        return Ok(NewTopic::new(name, i32::from(new.partitions), replicas)?);
    }
    // A resuming shipper reads the end of it, so segments need not be large.
    let topic = NewTopic::new(name, 1, replicas)?;
    Ok(topic.with_config("cleanup.policy", "compact").with_config("segment.bytes", "1048576"))
}

/// Returns those topics that the brokers do not have.
async fn missing(admin: &AdminClient, names: &[String]) -> Result<Vec<String>, Fault> {
    let mut described = admin.describe_topics(names, DescribeTopicsOptions::default()).await?;
    let mut missing = Vec::new();
    for name in names {
        match described.remove(name) {
            Some(Ok(_)) => {}
            None
            | Some(Err(
                KrafkaError::UnknownTopic { .. }
                | KrafkaError::Broker { code: ErrorCode::UnknownTopicOrPartition, .. },
            )) => missing.push(name.clone()),
            Some(Err(error)) => return Err(error.into()),
        }
    }
    Ok(missing)
}
