//! `GET /v1/events`: committed events as they happen, as server-sent events (the `EventSource` of browsers). One stream has
//! the events of all threads of the store, and the id of each event is the positions after it, so that a client which
//! comes back with it misses nothing and gets nothing twice. A door has a bounded number of streams, and polls the store
//! once for all of them.

mod document;
mod frame;
mod pulse;
mod query;
mod stream;

pub(crate) use document::describe;
pub(crate) use query::PATH;

use axum::Extension;
use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::unfold;
use pulse::Pulse;
use query::Wanted;
use scurry_http::{DoorStop, Problem};
use scurry_service::Service;
use std::convert::Infallible;
use std::sync::Arc;
use stream::EventStream;
use tokio::sync::Semaphore;

/// Most streams of a door. Each reads what is committed by itself.
const STREAMS_MAX: usize = 128;

/// What the streams of a door share.
struct Streams {
    store: Arc<dyn Service>,
    pulse: Arc<Pulse>,
    places: Arc<Semaphore>,
}

/// Returns the route of the stream.
pub(crate) fn routes(store: &Arc<dyn Service>) -> Router {
    let streams = Arc::new(Streams {
        store: Arc::clone(store),
        pulse: Pulse::new(Arc::clone(store)),
        places: Arc::new(Semaphore::new(STREAMS_MAX)),
    });
    Router::new().route(PATH, get(answer)).with_state(streams)
}

async fn answer(
    State(streams): State<Arc<Streams>>,
    Extension(stop): Extension<DoorStop>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let wanted = Wanted::read(query.as_deref(), &headers)?;
    let place = Arc::clone(&streams.places).try_acquire_owned().map_err(|_| {
        let why = format!(
            "this door has {STREAMS_MAX} streams of events already: close some, or ask another door"
        );
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Problem::new(status, "Service Unavailable", why).at(PATH)
    })?;
    let stream =
        EventStream::open(Arc::clone(&streams.store), wanted, streams.pulse.follow()).await?;
    // The place is given back when the client has gone or the stream has ended.
    let body = unfold((stream, stop, place), |(mut stream, mut stop, place)| async move {
        let part = tokio::select! {
            biased;
            () = stop.stopped() => None,
            part = stream.next() => part,
        };
        part.map(|part| (Ok::<_, Infallible>(part), (stream, stop, place)))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // A proxy of nginx would keep events back.
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}
