//! A connection to a server, and the stream that takes the events.

use crate::NatsTarget;
use crate::fault::{connect_fault, words};
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::{Config, RetentionPolicy, Stream};
use async_nats::jetstream::{Context, stream::Info};
use async_nats::{ConnectOptions, Event};
use scurry_ship::SinkError;
use std::future::ready;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How long a server may take to reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connects to a server. Each loss of the connection is notified: the client connects again by itself, and what was not
/// acknowledged is not known then.
pub(crate) async fn connect(target: &NatsTarget, lost: Arc<Notify>) -> Result<Context, SinkError> {
    let servers = target.servers.join(",");
    let options = options(target, lost).map_err(|error| {
        SinkError::Refused(format!("{servers} cannot be connected to as the options say: {error}"))
    })?;
    let client = options
        .connect(&target.servers[..])
        .await
        .map_err(|error| connect_fault(&servers, &error))?;
    Ok(ContextBuilder::new().timeout(PATIENCE).ack_timeout(PATIENCE).build(client))
}

fn options(target: &NatsTarget, lost: Arc<Notify>) -> io::Result<ConnectOptions> {
    // The client takes the provider of the process, where there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut options = ConnectOptions::new()
        .name("scurry ship")
        .connection_timeout(PATIENCE)
        .request_timeout(Some(PATIENCE))
        .event_callback(move |event| {
            match event {
                // A user that may not publish learns it by this alone.
                Event::ServerError(error) => tracing::warn!("the server says: {error}"),
                Event::Disconnected | Event::Closed => lost.notify_one(),
                event => tracing::debug!("{event}"),
            }
            ready(())
        });
    if target.has_tls() {
        options = options.require_tls(true);
    }
    if let Some(roots) = &target.roots {
        options = options.add_root_certificates(roots.clone());
    }
    if let Some((certificate, key)) = &target.client {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    if let Some(credentials) = &target.credentials {
        let text = std::fs::read_to_string(credentials).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", credentials.display()))
        })?;
        options = options.credentials(&text)?;
    }
    Ok(match (&target.user, &target.password) {
        (Some(user), password) => {
            options.user_and_password(user.clone(), password.clone().unwrap_or_default())
        }
        (None, Some(token)) => options.token(token.clone()),
        (None, None) => options,
    })
}

/// Finds the stream that takes the events, or makes it.
pub(crate) async fn stream(
    context: &Context,
    target: &NatsTarget,
) -> Result<Stream<Info>, SinkError> {
    let name = match (context.stream_by_subject(target.events(0)).await, &target.create_stream) {
        (Ok(name), _) => name,
        (Err(error), Some(name)) if is_missing(&error) => {
            let subjects = vec![format!("{}.>", target.subject)];
            let config = Config {
                name: name.clone(),
                subjects,
                allow_atomic_publish: true,
                ..Config::default()
            };
            context.create_stream(config).await.map_err(|error| {
                SinkError::Refused(format!("the stream {name} cannot be made: {}", words(&error)))
            })?;
            name.clone()
        }
        (Err(error), None) if is_missing(&error) => {
            return Err(SinkError::Refused(format!(
                "no stream takes the subjects {0}.>: make one, or give --create-stream NAME",
                target.subject
            )));
        }
        (Err(error), _) => return Err(unavailable(&error)),
    };
    let stream = context.get_stream(&name).await.map_err(|error| unavailable(&error))?;
    check(target, &stream.cached_info().config)?;
    Ok(stream)
}

fn is_missing(error: &async_nats::jetstream::context::GetStreamByNameError) -> bool {
    error.kind() == async_nats::jetstream::context::GetStreamByNameErrorKind::NotFound
}

fn unavailable(error: &dyn std::error::Error) -> SinkError {
    SinkError::Unavailable(format!(
        "the server does not tell of its streams ({}): check that JetStream is on and that the user may ask",
        words(error)
    ))
}

/// Reports whether a stream takes batches, and tells it if not.
pub(crate) fn takes_batches(stream: &Stream<Info>) -> bool {
    let config = &stream.cached_info().config;
    if !config.allow_atomic_publish {
        tracing::warn!(
            "the stream {} does not allow atomic publishing, so each message waits for the one before: set allow_atomic, with \
             nats-server 2.12 or later",
            config.name
        );
    }
    config.allow_atomic_publish
}

/// Checks that a stream has events of shippers only, and keeps the last one.
fn check(target: &NatsTarget, config: &Config) -> Result<(), SinkError> {
    let refused = |why: &str| Err(SinkError::Refused(format!("the stream {} {why}", config.name)));
    let own = format!("{}.", target.subject);
    if let Some(other) = config.subjects.iter().find(|subject| !subject.starts_with(&own)) {
        return refused(&format!(
            "also takes the subject {other}, and each message here depends on the one before: make a stream for {own}> alone"
        ));
    }
    if !config.subjects.contains(&format!("{own}>")) {
        return refused(&format!("does not take all subjects {own}>: add that"));
    }
    if config.mirror.is_some() || config.sources.as_ref().is_some_and(|sources| !sources.is_empty())
    {
        return refused("has messages of other streams: make one for this shipper alone");
    }
    if config.retention != RetentionPolicy::Limits {
        return refused(
            "removes messages that are consumed, and the last one says where to go on: set its retention to limits",
        );
    }
    if config.no_ack {
        return refused("does not acknowledge messages: switch no_ack off");
    }
    Ok(())
}
