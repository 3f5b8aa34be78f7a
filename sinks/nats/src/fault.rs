//! Errors of a server in words, with the cure, and which of them may pass by themselves.

use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::{ConnectError, ConnectErrorKind};
use scurry_ship::SinkError;
use std::error::Error;

/// Describes an error of connecting.
pub(crate) fn connect_fault(servers: &str, error: &ConnectError) -> SinkError {
    let text = words(error);
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            SinkError::Refused(format!(
                "{servers} refuses this user ({text}): check --to-user with SCURRY_TO_PASSWORD, or --to-creds"
            ))
        }
        ConnectErrorKind::ServerParse => SinkError::Refused(format!(
            "{servers} cannot be connected to as the options say: {text}"
        )),
        _ => SinkError::Unavailable(format!(
            "no connection to {servers}: {text}. Check the server, the network and TLS"
        )),
    }
}

/// Describes an error of a message.
pub(crate) fn publish_fault(subject: &str, error: &PublishError) -> SinkError {
    let text = words(error);
    match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => SinkError::Refused(format!(
            "an event is too long for the server ({text}): raise its max_payload"
        )),
        PublishErrorKind::WrongLastSequence => SinkError::Unavailable(format!(
            "the stream of {subject} has messages that this shipper does not know: another one, or another program, writes \
             to it, or an earlier message arrived late; it looks again"
        )),
        PublishErrorKind::StreamNotFound => SinkError::Unavailable(format!(
            "no stream takes {subject}: it is not ready, or was deleted; it looks again"
        )),
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => {
            SinkError::Unavailable(format!(
                "{subject} was not acknowledged in time: check the server, and whether the user may publish to it"
            ))
        }
        _ => SinkError::Unavailable(format!(
            "{subject} was not stored ({text}): if that stays, check the limits of the stream (max bytes, max messages) and its disk"
        )),
    }
}

/// Returns an error with its causes.
pub(crate) fn words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
