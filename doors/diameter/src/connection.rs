//! One connection: its socket, its peer machine, and the requests that are under way on it. One task owns it; each time
//! that the task wakes it does all that can be done now, in the order answers, writing, reading.

mod forwarded;
mod input;
mod output;
mod own_requests;
mod poll;
mod requests;

use crate::answerer::Answerer;
use crate::end::End;
use crate::host::Host;
use crate::link::{ConnectionState, Link};
use crate::log_name::LogName;
use crate::own_request::Posted;
use crate::peer_table::{Newcomer, POSTED_MAX};
use crate::remote::Remote;
use input::Input;
use output::Output;
use own_requests::OwnRequests;
use requests::Requests;
use scurry_diameter::peer::{Event, Peer, WatchdogState};
use scurry_diameter::{Frame, Message, command, frame};
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Sleep, sleep_until, timeout};

/// How long a connection that we have ended waits for the peer to close it too. Otherwise the system may discard our
/// last answer.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes that are read and ignored meanwhile.
const LINGER_LEN_MAX: u64 = 1 << 20;

/// What a connection begins with, beside its stream.
pub(crate) struct Arrival {
    pub(crate) link: Arc<Link>,
    pub(crate) remote: Remote,
    /// Our address.
    pub(crate) local: IpAddr,
    /// The place among those that have not exchanged capabilities.
    pub(crate) unidentified: OwnedSemaphorePermit,
}

/// A connection.
pub(crate) struct Connection<S, A: Answerer> {
    host: Arc<Host<A>>,
    link: Arc<Link>,
    remote: Remote,
    stream: S,
    peer: Peer,
    input: Input,
    output: Output,
    events: Vec<Event>,
    requests: Requests<A>,
    own: OwnRequests,
    /// For the table of peers; kept here until the peer is admitted.
    posting: mpsc::Sender<Posted>,
    unidentified: Option<OwnedSemaphorePermit>,
    timer: Pin<Box<Sleep>>,
    timer_ms: u64,
    /// When the incomplete message at the end of the input has begun, ms.
    message_since_ms: Option<u64>,
    /// Since when the peer reads nothing, ms.
    unread_since_ms: Option<u64>,
    /// Until when requests under way are waited for before we disconnect, ms.
    drain_until_ms: Option<u64>,
    end: Option<End>,
}

impl<S: AsyncRead + AsyncWrite + Unpin, A: Answerer> Connection<S, A> {
    pub(crate) fn new(host: Arc<Host<A>>, stream: S, arrival: Arrival) -> Connection<S, A> {
        let Arrival { link, remote, local, unidentified } = arrival;
        let start = host.start();
        let peer = Peer::accept(host.peer_settings(local), &start);
        link.publish_state(ConnectionState::WaitCapabilities);
        let (posting, posted) = mpsc::channel(POSTED_MAX);
        Connection {
            requests: Requests::new(Arc::clone(&host)),
            timer: Box::pin(sleep_until(host.clock.instant(start.now_ms))),
            timer_ms: start.now_ms,
            host,
            link,
            remote,
            stream,
            peer,
            input: Input::new(),
            output: Output::default(),
            events: Vec::new(),
            own: OwnRequests::new(posted),
            posting,
            unidentified: Some(unidentified),
            message_since_ms: None,
            unread_since_ms: None,
            drain_until_ms: None,
            end: None,
        }
    }

    /// Serves the connection until it ends.
    pub(crate) async fn run(mut self) {
        let end = poll_fn(|task| self.poll(task)).await;
        self.peer.closed(&mut self.events);
        self.take_events(None);
        self.own.abandon();
        self.publish(ConnectionState::Closing);
        self.link.publish_dropped(self.requests.len() as u64);
        if let Some(fault) = end.fault() {
            self.host.metrics.fault(fault);
        }
        let address = self.remote.address;
        match self.peer.identity() {
            Some(identity) => {
                let host = identity.host.as_str();
                let name = LogName(host);
                tracing::info!(host = %name, %address, "a Diameter peer is disconnected: {end}");
                self.host.peers.ended(host, &self.link, end.to_string());
            }
            None => tracing::debug!(%address, "a Diameter connection has ended: {end}"),
        }
        if matches!(end, End::Closed(_)) {
            // The result does not matter: the connection is over.
            let _ = timeout(LINGER, linger(&mut self.stream)).await;
        }
    }

    /// Takes all whole messages of the input, while there is room for what they cause.
    /// Returns true if there was one.
    fn take_input(&mut self, now_us: u64) -> bool {
        let mut has_taken = false;
        while self.end.is_none() && self.has_room() {
            match frame(self.input.bytes(), self.peer.message_len_max()) {
                Ok(Frame::Message(len)) => {
                    self.take_message(len, now_us);
                    self.input.consume(len);
                    self.message_since_ms = None;
                    has_taken = true;
                }
                Ok(Frame::Needs(len)) => {
                    self.input.reserve(len);
                    let is_partial = !self.input.bytes().is_empty();
                    let since_ms = self.message_since_ms.unwrap_or(now_us / 1_000);
                    self.message_since_ms = is_partial.then_some(since_ms);
                    break;
                }
                Err(fault) => {
                    let head = self.input.bytes();
                    let out = self.output.bytes();
                    self.peer.on_frame_fault(head, fault, out, &mut self.events);
                    self.take_events(None);
                    has_taken = true;
                }
            }
        }
        has_taken
    }

    /// Takes the first message of the input.
    fn take_message(&mut self, len: usize, now_us: u64) {
        let bytes = &self.input.bytes()[..len];
        let newcomer = Newcomer { link: &self.link, remote: &self.remote, requests: &self.posting };
        let mut admit = |identity: &_| self.host.peers.admit(identity, &newcomer);
        let out = self.output.bytes();
        self.peer.on_message(bytes, now_us / 1_000, &mut admit, out, &mut self.events);
        self.take_events(Some((len, now_us)));
    }

    /// Does what the events say. `message` is the length of the first message of the input, which has caused them, and
    /// when it was read, µs.
    fn take_events(&mut self, message: Option<(usize, u64)>) {
        // A request is the common case: one event. Others are at most as many as own requests.
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            match event {
                Event::Up(identity) => {
                    self.unidentified = None;
                    let (host, address) = (LogName(&identity.host), self.remote.address);
                    tracing::info!(%host, %address, "a Diameter peer is connected");
                    self.publish(ConnectionState::Open);
                }
                Event::Request(_) => {
                    let Some((len, now_us)) = message else { continue };
                    let Ok(message) = Message::read(&self.input.bytes()[..len]) else { continue };
                    let (peer, out) = (&mut self.peer, self.output.bytes());
                    match message.header.command {
                        command::RE_AUTH | command::ABORT_SESSION => {
                            let host = peer.identity().map_or("", |identity| &identity.host);
                            let may_ask = self.host.peers.may_ask(host, &self.remote);
                            self.requests.forward(&message, may_ask, peer, out);
                        }
                        _ => self.requests.begin(&message, now_us, peer, out),
                    }
                }
                Event::Answer { token, .. } => {
                    let Some((len, _)) = message else { continue };
                    self.own.answered(token, &self.input.bytes()[..len]);
                }
                Event::Unanswered { token } => self.own.unanswered(token),
                Event::Watchdog(WatchdogState::Okay) => self.publish(ConnectionState::Open),
                Event::Watchdog(WatchdogState::Suspect | WatchdogState::Down) => {
                    self.publish(ConnectionState::Suspect)
                }
                Event::Close(reason) => self.end = Some(End::Closed(reason)),
            }
        }
        self.events = events;
    }

    /// Reports whether the peer reads fast enough that more may be written for it.
    fn has_room(&self) -> bool {
        self.output.len() < self.host.settings.output_len_max
    }

    fn publish(&self, state: ConnectionState) {
        self.link.publish_state(state);
        self.publish_counts();
    }

    fn publish_counts(&self) {
        self.link.publish_counts(self.peer.counts(), &self.requests.answers);
    }
}

/// Ends the sending side, and waits for the end of the other one.
async fn linger<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> std::io::Result<()> {
    stream.shutdown().await?;
    let mut rest = stream.take(LINGER_LEN_MAX);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    Ok(())
}
