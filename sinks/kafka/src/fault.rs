//! Errors of brokers in words, and which of them do not pass by themselves.

use krafka::KrafkaError;
use krafka::error::ErrorCode;
use scurry_ship::SinkError;
use std::time::Duration;

/// Time after which brokers abort a transaction that is not ended.
pub(crate) const TRANSACTION: Duration = Duration::from_secs(60);

/// What went wrong.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// A broker, or the way to it.
    Broker(KrafkaError),
    /// Something that the sink itself has found.
    Known(SinkError),
}

impl From<KrafkaError> for Fault {
    fn from(error: KrafkaError) -> Fault {
        Fault::Broker(error)
    }
}

impl From<SinkError> for Fault {
    fn from(error: SinkError) -> Fault {
        Fault::Known(error)
    }
}

/// Where a fault happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) brokers: &'a [String],
    pub(crate) topic: &'a str,
    /// Transactional id.
    pub(crate) id: &'a str,
    /// Age of the transaction.
    pub(crate) age: Duration,
}

impl Fault {
    /// Returns the error of a sink.
    pub(crate) fn at(self, place: Place<'_>) -> SinkError {
        let error = match self {
            Fault::Known(error) => return error,
            Fault::Broker(error) => error,
        };
        let Place { topic, id, .. } = place;
        let brokers = place.brokers.join(",");
        if is_fenced(&error) && place.age < TRANSACTION {
            return SinkError::Refused(format!(
                "another shipper of this store has begun to ship to topic {topic}, with the same transactional id \
                 {id}: let one of them run ({error})"
            ));
        }
        match &error {
            KrafkaError::UnknownTopic { topic } => SinkError::Refused(format!(
                "topic {topic} does not exist on {brokers}: create it, or ship with --create-topics"
            )),
            KrafkaError::Auth { .. } => SinkError::Refused(format!(
                "the brokers {brokers} refuse the credentials or the certificate: {error}"
            )),
            KrafkaError::Config { .. } => {
                SinkError::Refused(format!("the settings for {brokers} are wrong: {error}"))
            }
            KrafkaError::Broker { code, message } => broker(*code, message, &brokers, place),
            KrafkaError::TransactionAbortable { message } => {
                broker(code_of(message), message, &brokers, place)
            }
            error => SinkError::Unavailable(format!("Kafka on {brokers}: {error}")),
        }
    }
}

fn broker(code: ErrorCode, message: &str, brokers: &str, place: Place<'_>) -> SinkError {
    let Place { topic, id, .. } = place;
    let text = match code {
        ErrorCode::TopicAuthorizationFailed => format!(
            "not authorized for topic {topic} or {topic}.positions on {brokers}: the user needs Write and Describe on \
             both, and Read on {topic}.positions"
        ),
        ErrorCode::TransactionalIdAuthorizationFailed => format!(
            "not authorized for transactional id {id} on {brokers}: the user needs Write and Describe on it"
        ),
        ErrorCode::ClusterAuthorizationFailed => {
            format!(
                "not authorized on {brokers}: the user needs Create on the cluster to create topics"
            )
        }
        ErrorCode::SaslAuthenticationFailed | ErrorCode::UnsupportedSaslMechanism => {
            format!("the brokers {brokers} refuse the credentials: {message}")
        }
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => format!(
            "an event is larger than topic {topic} takes: raise max.message.bytes of the topic ({message})"
        ),
        ErrorCode::InvalidReplicationFactor | ErrorCode::PolicyViolation => {
            format!("the brokers {brokers} do not create topic {topic}: {message}")
        }
        code => return SinkError::Unavailable(format!("Kafka on {brokers}: {code:?}: {message}")),
    };
    SinkError::Refused(text)
}

/// Returns why a message of a transaction failed: the client tells the code in the last word of a text.
fn code_of(message: &str) -> ErrorCode {
    match message.rsplit(' ').next() {
        Some("MessageTooLarge") => ErrorCode::MessageTooLarge,
        Some("RecordListTooLarge") => ErrorCode::RecordListTooLarge,
        Some("TopicAuthorizationFailed") => ErrorCode::TopicAuthorizationFailed,
        _ => ErrorCode::TransactionAbortable,
    }
}

/// Reports whether another producer has the transactional id now. After the timeout of a transaction brokers say the
/// same of a producer that is alone.
fn is_fenced(error: &KrafkaError) -> bool {
    match error {
        // Also told of an id that brokers have forgotten, and of a coordinator that has moved.
        KrafkaError::Fenced { message } => {
            !message.starts_with("InvalidProducerIdMapping")
                && !message.starts_with("TransactionCoordinatorFenced")
        }
        KrafkaError::Broker { code, .. } => {
            matches!(code, ErrorCode::ProducerFenced | ErrorCode::InvalidProducerEpoch)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(error: KrafkaError, age: Duration) -> SinkError {
        let brokers = ["a:9092".to_owned(), "b:9092".to_owned()];
        let place = Place { brokers: &brokers, topic: "events", id: "scurry-ship-events-1", age };
        Fault::Broker(error).at(place)
    }

    #[test]
    fn a_fenced_shipper_ends_unless_its_transaction_has_timed_out() {
        for error in [
            KrafkaError::fenced("ProducerFenced: it is"),
            KrafkaError::fenced("InvalidProducerEpoch: it is"),
            KrafkaError::broker(ErrorCode::InvalidProducerEpoch, "old"),
        ] {
            let SinkError::Refused(text) = said(error.clone(), Duration::ZERO) else {
                panic!("{error} does not pass")
            };
            assert!(text.contains("another shipper"), "{text}");
            assert!(matches!(said(error, TRANSACTION), SinkError::Unavailable(_)));
        }
        for error in [
            KrafkaError::fenced("InvalidProducerIdMapping: expired"),
            KrafkaError::fenced("TransactionCoordinatorFenced: moved"),
            KrafkaError::broker(ErrorCode::InvalidTxnState, "moved"),
        ] {
            assert!(matches!(said(error, Duration::ZERO), SinkError::Unavailable(_)));
        }
    }

    #[test]
    fn errors_name_their_cure() {
        for (error, words) in [
            (
                KrafkaError::unknown_topic("evnts"),
                "topic evnts does not exist on a:9092,b:9092: create it",
            ),
            (
                KrafkaError::broker(ErrorCode::TopicAuthorizationFailed, ""),
                "needs Write and Describe",
            ),
            (
                KrafkaError::broker(ErrorCode::TransactionalIdAuthorizationFailed, ""),
                "transactional id scurry-ship-events-1",
            ),
            (
                KrafkaError::broker(ErrorCode::ClusterAuthorizationFailed, ""),
                "Create on the cluster",
            ),
            (KrafkaError::broker(ErrorCode::MessageTooLarge, "big"), "raise max.message.bytes"),
            (KrafkaError::auth("bad password"), "refuse the credentials"),
            (
                KrafkaError::transaction_abortable(
                    "produce to events-0 failed with MessageTooLarge",
                ),
                "raise max.message.bytes",
            ),
        ] {
            let SinkError::Refused(text) = said(error, Duration::ZERO) else {
                panic!("{words} does not pass")
            };
            assert!(text.contains(words), "{text}");
        }
    }
}
