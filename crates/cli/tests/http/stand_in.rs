//! A stand-in for a function of a 5G core that the door calls: it speaks HTTP/2 by the library `h2`. No SMF and no NRF
//! that can be had here take these calls.

use crate::support::record;
use serde_json::Value;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);

/// A request that it was sent.
#[derive(Debug)]
pub(crate) struct Received {
    /// Method and path.
    pub(crate) request: String,
    pub(crate) callback: Option<String>,
    /// Null if there is none.
    pub(crate) body: Value,
}

pub(crate) struct StandIn {
    pub(crate) port: u16,
    pub(crate) received: Receiver<Received>,
}

impl StandIn {
    /// Answers the first requests with these statuses, and all others with 204.
    pub(crate) fn start(first: &'static [u16]) -> StandIn {
        let (sender, received) = channel();
        let (port_sender, port) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(serve(port_sender, sender, first));
        });
        StandIn { port: port.recv_timeout(PATIENCE).expect("it listens"), received }
    }

    /// Waits for the next request.
    pub(crate) fn next(&self) -> Received {
        self.received.recv_timeout(PATIENCE).expect("a request")
    }
}

async fn serve(port: Sender<u16>, sender: Sender<Received>, first: &'static [u16]) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("it listens");
    port.send(listener.local_addr().expect("an address").port()).expect("the test waits");
    let mut statuses = first.iter();
    while let Ok((stream, _)) = listener.accept().await {
        let Ok(mut connection) = h2::server::handshake(stream).await else { continue };
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let line = format!("{} {}", request.method(), request.uri().path());
            let callback = request.headers().get("3gpp-sbi-callback");
            let callback = callback.and_then(|value| value.to_str().ok()).map(str::to_owned);
            // The connection reads on while the body comes.
            let mut body = request.into_body();
            let data = tokio::select! {
                data = body.data() => data,
                _ = std::future::poll_fn(|task| connection.poll_closed(task)) => None,
            };
            let data = data.and_then(Result::ok).unwrap_or_default();
            let status = statuses.next().copied().unwrap_or(204);
            let answer = http::Response::builder().status(status).body(()).expect("an answer");
            respond.send_response(answer, true).expect("it is sent");
            let body: Value = serde_json::from_slice(&data).unwrap_or_default();
            if body.get("notificationType").is_some() {
                record("ChargingNotifyRequest", "v3", &body);
            }
            if sender.send(Received { request: line, callback, body }).is_err() {
                return;
            }
        }
    }
}
