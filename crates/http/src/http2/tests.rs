//! The bounds of HTTP/2, against the client of the library and against one that sends frames by hand. The paused clock
//! advances when every task waits, however slow the machine is.

mod hostile;
mod raw;
mod times;

use super::activity::IDLE_PATIENCE;
use super::answer_body::PART_LEN_MAX;
use super::{CONNECTION_WINDOW, HEADER_LIST_MAX, SEND_BUFFER_MAX, STREAM_WINDOW, STREAMS_MAX};
use crate::body::read_body;
use crate::bounds::HEADERS_MAX;
use crate::client::{Client, ConnectionEnd};
use crate::connection::talk_plainly;
use crate::request_handler::RequestHandler;
use crate::stop::DoorStop;
use crate::traffic::DoorMetrics;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Request, StatusCode};
use axum::routing::{get, post};
use futures_util::StreamExt;
use futures_util::stream::repeat;
use h2::client::SendRequest;
use raw::{RawClient, frame};
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{DuplexStream, duplex};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

/// Length of the answer to `/long`, bytes.
const LONG_LEN: usize = 1_000_000;

/// A door with one connection.
struct OneConnection {
    /// The client's end.
    stream: DuplexStream,
    stop: watch::Sender<()>,
    /// Lets requests of `/wait` be answered.
    answers: Arc<Semaphore>,
    /// Number of parts of `/endless` that were taken from it.
    parts: Arc<AtomicUsize>,
    ended: JoinHandle<ConnectionEnd>,
}

fn open() -> OneConnection {
    let answers = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&answers);
    let parts = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&parts);
    let routes = Router::new()
        .route("/", get(|| async { "here" }))
        .route("/long", get(|| async { vec![7; LONG_LEN] }))
        .route(
            "/hold",
            post(|request: axum::extract::Request| async {
                pending::<()>().await;
                drop(request);
            }),
        )
        .route("/endless", get(move || async move { endless(&counts) }))
        .route(
            "/len",
            post(|request: axum::extract::Request| async {
                read_body(request.into_body()).await.map(|body| body.len().to_string())
            }),
        )
        .route("/wait", get(|| async move { waits.acquire().await.expect("it is open").forget() }));
    let (near, far) = duplex(64 * 1024);
    let traffic = DoorMetrics::new(SocketAddr::from(([127, 0, 0, 1], 0)), "tests", None);
    let ways = Arc::new(RequestHandler::new(None, routes));
    let (stop, draining) = watch::channel(());
    let door_stop = DoorStop::new(draining.clone());
    let client = Arc::new(Client { address: None, ways, traffic, stop: door_stop });
    let ended = tokio::spawn(async move { talk_plainly(&client, far, draining).await });
    OneConnection { stream: near, stop, answers, parts, ended }
}

fn endless(counts: &Arc<AtomicUsize>) -> Body {
    let (part, counts) = (Bytes::from_static(&[7; PART_LEN_MAX]), Arc::clone(counts));
    Body::from_stream(repeat(part).map(move |part| {
        counts.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Infallible>(part)
    }))
}

fn run(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    // By the paused clock, so that a test that waits for what never comes ends at once.
    let in_time = async { tokio::time::timeout(24 * IDLE_PATIENCE, test).await };
    runtime.expect("a runtime").block_on(in_time).expect("in time");
}

/// Returns a client of the library, whose connection is served beside the test.
async fn connect(stream: DuplexStream) -> SendRequest<Bytes> {
    let (client, connection) = h2::client::handshake(stream).await.expect("it begins");
    tokio::spawn(connection);
    client
}

/// Returns status and body of the answer to a request with this body.
async fn ask(
    client: &SendRequest<Bytes>,
    request: Request<()>,
    body: &[u8],
) -> (StatusCode, Vec<u8>) {
    let mut client = client.clone().ready().await.expect("there is room for a stream");
    let (answer, mut sender) = client.send_request(request, body.is_empty()).expect("it is sent");
    if !body.is_empty() {
        // The door may have answered before it takes the body.
        let _ = sender.send_data(Bytes::copy_from_slice(body), true);
    }
    let answer = answer.await.expect("an answer");
    let (status, mut body, mut whole) = (answer.status(), answer.into_body(), Vec::new());
    while let Some(part) = body.data().await {
        let part = part.expect("a part");
        body.flow_control().release_capacity(part.len()).expect("it was taken");
        whole.extend_from_slice(&part);
    }
    (status, whole)
}

fn request(method: &str, path: &str) -> Request<()> {
    let uri = format!("http://localhost{path}");
    Request::builder().method(method).uri(uri).body(()).expect("a request")
}

#[test]
fn an_answer_of_any_length_arrives_whole() {
    run(async {
        let door = open();
        let client = connect(door.stream).await;
        assert_eq!(
            ask(&client, request("GET", "/"), b"").await,
            (StatusCode::OK, b"here".to_vec())
        );
        let (status, body) = ask(&client, request("GET", "/long"), b"").await;
        assert_eq!((status, body), (StatusCode::OK, vec![7; LONG_LEN]));
        assert_eq!(ask(&client, request("HEAD", "/long"), b"").await, (StatusCode::OK, Vec::new()));
        assert_eq!(ask(&client, request("GET", "/nowhere"), b"").await.0, StatusCode::NOT_FOUND);
    });
}

#[test]
fn a_request_beyond_the_most_is_refused_alone_and_pings_are_answered_meanwhile() {
    run(async {
        let door = open();
        let mut client = RawClient::begin(door.stream).await;
        let streams = || (0..).map(|number| 2 * number + 1).take(STREAMS_MAX as usize + 1);
        for stream in streams() {
            client.get(stream, "/wait").await;
        }
        let refused = 2 * STREAMS_MAX + 1;
        let frame = client.next_of(raw::RST_STREAM).await.expect("one stream is refused");
        assert_eq!((frame.stream, frame.error()), (refused, raw::REFUSED_STREAM));
        client.is_served().await;
        door.answers.add_permits(STREAMS_MAX as usize);
        let mut answered = Vec::new();
        for _ in 0..STREAMS_MAX {
            answered.push(client.next_of(raw::HEADERS).await.expect("an answer").stream);
        }
        answered.sort_unstable();
        let expected: Vec<u32> = streams().take(STREAMS_MAX as usize).collect();
        assert_eq!(answered, expected);
        client.get(refused + 2, "/").await;
        assert_eq!(client.next_of(raw::HEADERS).await.expect("an answer").status(), Some(200));
    });
}

#[test]
fn too_many_or_too_long_headers_are_refused_alone() {
    run(async {
        let door = open();
        let client = connect(door.stream).await;
        let with = |count: usize, len: usize| {
            let mut request = request("GET", "/");
            for number in 0..count {
                let name = format!("x-{number}").parse::<axum::http::HeaderName>().expect("a name");
                let value = HeaderValue::try_from("x".repeat(len)).expect("a value");
                request.headers_mut().insert(name, value);
            }
            request
        };
        let list_max = HEADER_LIST_MAX as usize;
        for (count, len, status) in [
            (HEADERS_MAX, 1, 200),
            (HEADERS_MAX + 1, 1, 431),
            (1, list_max - 1_000, 200),
            (1, list_max, 431),
            (HEADERS_MAX, list_max / HEADERS_MAX, 431),
        ] {
            let told = ask(&client, with(count, len), b"").await.0;
            assert_eq!(told, status, "{count} headers of {len}");
        }
        assert_eq!(ask(&client, request("GET", "/"), b"").await.0, StatusCode::OK);
    });
}

#[test]
fn too_long_a_body_is_refused_alone() {
    let most = 256 * 1024;
    run(async move {
        let door = open();
        let client = connect(door.stream).await;
        let announced = |len: usize| {
            let mut request = request("POST", "/len");
            request.headers_mut().insert("content-length", HeaderValue::from(len));
            request
        };
        for _ in 0..3 {
            let body = vec![b'x'; most + 1];
            let (status, told) = ask(&client, announced(most), &body[1..]).await;
            assert_eq!((status, told), (StatusCode::OK, most.to_string().into_bytes()));
            for request in [announced(most + 1), request("POST", "/len")] {
                assert_eq!(ask(&client, request, &body).await.0, StatusCode::PAYLOAD_TOO_LARGE);
            }
        }
        // The window of the connection is as wide as before.
        let (status, _) = ask(&client, request("POST", "/len"), &vec![b'x'; most]).await;
        assert_eq!(status, StatusCode::OK);
    });
}

#[test]
fn bodies_on_their_way_have_a_window() {
    run(async {
        let door = open();
        let mut client = RawClient::begin(door.stream).await;
        let settings = client.next_of(raw::SETTINGS).await.expect("the first frame").payload;
        // SETTINGS_INITIAL_WINDOW_SIZE.
        let window = settings.chunks(6).find(|pair| pair[..2] == [0, 4]).expect("it is told");
        assert_eq!(window[2..], STREAM_WINDOW.to_be_bytes());
        // The handler reads no body. The windows begin with 65,535 bytes, until the client has seen those of the door.
        client.send(&frame(raw::SETTINGS, raw::ACK, 0, &[])).await;
        let widened = client.next_of(raw::WINDOW_UPDATE).await.expect("it is wider").payload;
        assert_eq!(widened, (CONNECTION_WINDOW - 65_535).to_be_bytes());
        let part = frame(raw::DATA, 0, 1, &[7; PART_LEN_MAX]);
        client
            .send(&frame(raw::HEADERS, raw::END_HEADERS, 1, &raw::head(raw::POST, "/hold")))
            .await;
        client.send(&part.repeat(STREAM_WINDOW as usize / PART_LEN_MAX)).await;
        client.is_served().await;
        client.send(&part).await;
        let reset = client.next_of(raw::RST_STREAM).await.expect("the stream is refused");
        assert_eq!((reset.stream, reset.error()), (1, raw::FLOW_CONTROL_ERROR));
        client.is_served().await;
    });
}

#[test]
fn an_answer_waits_in_its_handler_when_the_client_reads_nothing() {
    run(async {
        let door = open();
        // The widest windows that there are.
        let wide = (i32::MAX as u32).to_be_bytes();
        let settings = [&[0, 4], &wide[..]].concat();
        let mut client = RawClient::begin_with(door.stream, &settings).await;
        client
            .send(&frame(raw::WINDOW_UPDATE, 0, 0, &(i32::MAX as u32 - 65_535).to_be_bytes()))
            .await;
        client.get(1, "/endless").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        // What the stream of the test holds, and the buffers of the library.
        let most = (2 * SEND_BUFFER_MAX + 64 * 1024) / PART_LEN_MAX;
        let parts = door.parts.load(Ordering::Relaxed);
        assert!(parts > 0 && parts <= most, "{parts} parts");
    });
}
