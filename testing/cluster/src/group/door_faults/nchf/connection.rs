//! A client's connection to a door: many requests under way over HTTP/2, and a PING each second, as free5GC's SMF sends it.

use super::answer;
use super::cut_stream::{Budget, CutStream};
use super::message::Message;
use crate::group::door_faults::ANSWER_MS;
use crate::group::door_faults::protocol::{Answered, Connection, Copy, Ended, Told};
use anyhow::Result;
use h2::client::SendRequest;
use h2::{Ping, PingPong};
use http::{Request, header};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Time between PINGs, and for the answer to one.
const PING_EVERY: Duration = Duration::from_secs(1);
const PING: Duration = Duration::from_secs(3);

pub(in crate::group::door_faults) struct NchfConnection {
    runtime: Handle,
    client: SendRequest<Body>,
    /// `HOST:PORT` of the door.
    authority: String,
    /// Copies without an answer.
    waiting: BTreeSet<u64>,
    /// Copies that were without an answer when the connection ended.
    lost: u64,
    tell: Sender<Told>,
    told: Receiver<Told>,
    /// The task that reads and writes.
    driver: AbortHandle,
    pinger: AbortHandle,
    is_cut: Arc<AtomicBool>,
}

/// What h2 sends as the body of a request.
type Body = io::Cursor<Vec<u8>>;

impl NchfConnection {
    pub(super) async fn begin(stream: TcpStream, budget: Budget) -> io::Result<NchfConnection> {
        let authority = stream.peer_addr()?.to_string();
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let stream = CutStream::new(tokio::net::TcpStream::from_std(stream)?, budget)?;
        let is_cut = stream.is_cut();
        let handshake = h2::client::Builder::new().handshake(stream).await;
        let (client, mut connection) = handshake.map_err(|_| ErrorKind::ConnectionAborted)?;
        let pings = connection.ping_pong();
        let runtime = Handle::current();
        let driver = runtime.spawn(connection).abort_handle();
        let pinger = runtime.spawn(ping(pings, driver.clone())).abort_handle();
        let (tell, told) = channel();
        Ok(NchfConnection {
            runtime,
            client,
            authority,
            waiting: BTreeSet::new(),
            lost: 0,
            tell,
            told,
            driver,
            pinger,
            is_cut,
        })
    }
}

/// Sends PINGs. One without an answer ends the connection.
async fn ping(pings: Option<PingPong>, driver: AbortHandle) {
    let Some(mut pings) = pings else { return };
    loop {
        sleep(PING_EVERY).await;
        if !matches!(timeout(PING, pings.ping(Ping::opaque())).await, Ok(Ok(_))) {
            return driver.abort();
        }
    }
}

/// Sends a request, and reads its answer.
async fn exchange(
    client: SendRequest<Body>,
    request: Request<()>,
    body: Vec<u8>,
    message: &Message,
) -> Result<Answered> {
    let mut client = client.ready().await?;
    let (response, mut sending) = client.send_request(request, false)?;
    sending.send_data(io::Cursor::new(body), true)?;
    let (head, mut body) = response.await?.into_parts();
    let mut bytes = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        bytes.extend_from_slice(&part);
    }
    let place = head.headers.get(header::LOCATION).and_then(|place| place.to_str().ok());
    let place = place.map(str::to_owned);
    // An answer that cannot be read is a finding.
    let wrong = |error: anyhow::Error| Answered {
        label: format!("{} that is wrong: {error:#}", head.status),
        ..Answered::default()
    };
    Ok(answer::read(message, head.status.as_u16(), place, &bytes).unwrap_or_else(wrong))
}

impl Connection for NchfConnection {
    type Message = Message;

    fn is_usable(&self) -> bool {
        !self.driver.is_finished()
    }

    fn work(&mut self, _: u64, told: &mut Vec<Told>) -> io::Result<()> {
        let is_over = self.driver.is_finished();
        for one in self.told.try_iter() {
            let (Told::Answer(copy, _) | Told::Unanswered(copy)) = &one else { continue };
            if self.waiting.remove(copy) {
                self.lost += u64::from(is_over && matches!(one, Told::Unanswered(_)));
                told.push(one);
            }
        }
        if is_over { Err(ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }

    fn send(&mut self, copy: Copy, message: &mut Message, _: u64) -> bool {
        let request = Request::post(format!("http://{}{}", self.authority, message.path))
            .header(header::CONTENT_TYPE, "application/json")
            .body(());
        let Ok(request) = request else { return false };
        let (client, tell) = (self.client.clone(), self.tell.clone());
        let body = message.copy(copy);
        let message = message.clone();
        self.waiting.insert(copy.number);
        self.runtime.spawn(async move {
            let asked = exchange(client, request, body, &message);
            // One that is given up is cancelled: RST_STREAM.
            let told = match timeout(Duration::from_millis(ANSWER_MS), asked).await {
                Ok(Ok(answered)) => Told::Answer(copy.number, answered),
                _ => Told::Unanswered(copy.number),
            };
            // The connection may be over.
            let _ = tell.send(told);
        });
        true
    }

    fn end(self) -> Ended {
        self.pinger.abort();
        self.driver.abort();
        let unanswered: Vec<u64> = self.waiting.into_iter().collect();
        let lost = self.lost + unanswered.len() as u64;
        let is_cut = self.is_cut.load(Ordering::Relaxed);
        Ended { unanswered, cut_off: is_cut.then_some(lost) }
    }
}
