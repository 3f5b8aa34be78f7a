//! HTTP/2 (RFC 9113) on a connection: its bounds, and what ends it. A request beyond a bound is refused alone where the
//! protocol allows that; a client that sends what is no request, or cancels what it has just asked for, again and again
//! loses its connection.

mod activity;
mod answer_body;
mod frame_meter;

use crate::bounds::{DRAIN, HEADERS_MAX};
use crate::client::{Client, ConnectionEnd, Draining};
use crate::client_errors::ClientFault;
use crate::traffic::HttpVersion;
use activity::{Activity, Due};
use answer_body::AnswerBody;
use axum::http::{Request, Response, StatusCode};
use axum::response::IntoResponse;
use frame_meter::MeteredStream;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};

/// Maximum number of requests that run at a time. The stream of one more is refused (REFUSED_STREAM).
const STREAMS_MAX: u32 = 128;
/// Maximum size of the headers of a request, bytes, as RFC 9113 clause 6.5.2 counts them. A request with more gets 431.
const HEADER_LIST_MAX: u32 = 64 * 1024;
/// How many bytes of a body a client may send before they are read.
const STREAM_WINDOW: u32 = 256 * 1024;
/// How many bytes of all bodies a client may send before they are read.
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// How many bytes of an answer may wait for the client beside its next part.
const SEND_BUFFER_MAX: usize = 64 * 1024;
/// How many streams a client may reset before the door has begun to serve them: all that it may have.
const EARLY_RESETS_MAX: usize = STREAMS_MAX as usize;
/// How many streams may break the protocol, or exceed [`STREAMS_MAX`], in the life of a connection.
const FAULTY_STREAMS_MAX: usize = 1024;

/// Serves HTTP/2 on a connection until it ends.
pub(crate) async fn serve<S>(
    stream: S,
    client: Arc<Client>,
    mut draining: Draining,
) -> ConnectionEnd
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Arc::new(Activity::new());
    let stream = TokioIo::new(MeteredStream::new(stream, Arc::clone(&activity)));
    let service = service_fn(|request| answer(request, Arc::clone(&client), &activity));
    let mut connection = pin!(builder().serve_connection(stream, service));
    loop {
        let now = Instant::now();
        let at = match activity.due(now) {
            Due::Later(at) => at,
            Due::Leave => {
                activity.leave(now);
                connection.as_mut().graceful_shutdown();
                now + DRAIN
            }
            Due::End => return Ok(()),
        };
        tokio::select! {
            // What ends a connection comes first: a flood may keep the last one busy.
            biased;
            fault = activity.fault() => {
                client.tell(fault);
                return Ok(());
            }
            _ = draining.changed(), if !activity.is_leaving() => {
                activity.leave(Instant::now());
                connection.as_mut().graceful_shutdown();
            }
            () = sleep_until(at) => {}
            ended = &mut connection => {
                if let Some(fault) = fault_of(ended.as_ref().err(), &activity) {
                    client.tell(fault);
                }
                return Ok(ended?);
            }
        }
    }
}

/// Returns the client error that ended a connection. None for a client that went away between requests.
fn fault_of(error: Option<&hyper::Error>, activity: &Activity) -> Option<ClientFault> {
    let is_of_protocol =
        error.is_some_and(|error| error.source().is_some_and(|source| !source.is::<io::Error>()));
    let went_away = || activity.is_running().then_some(ClientFault::WentAway);
    let broken = || if is_of_protocol { Some(ClientFault::BreaksHttp2) } else { went_away() };
    activity.noted_fault().or_else(broken)
}

fn builder() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_LIST_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER_MAX)
        .max_pending_accept_reset_streams(EARLY_RESETS_MAX)
        .max_local_error_reset_streams(FAULTY_STREAMS_MAX);
    builder
}

/// Returns the future of an answer. It owns all that it needs, since it runs beside the connection.
fn answer(
    request: Request<Incoming>,
    client: Arc<Client>,
    activity: &Arc<Activity>,
) -> impl Future<Output = Result<Response<AnswerBody>, Infallible>> + Send + use<> {
    let running = activity.begin();
    async move {
        let answer = if request.headers().len() > HEADERS_MAX {
            client.tell(ClientFault::HeadTooLarge);
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.into_response()
        } else {
            client.answer(request, HttpVersion::Http2).await
        };
        Ok(answer.map(|body| AnswerBody::new(body, running.answered())))
    }
}

#[cfg(test)]
mod tests;
