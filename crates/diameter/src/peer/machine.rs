//! The machine of one connection: RFC 6733, 5.6. A server is the responder; a probe is the initiator.

mod dispatch;
mod handshake;
mod timers;

use super::admission::{Admission, PeerIdentity};
use super::base_message::{self, DisconnectCause};
use super::capabilities;
use super::close_reason::CloseReason;
use super::counts::{PeerCounts, PeerError};
use super::event::Event;
use super::ids::{Ids, Start};
use super::own_requests::{OwnRequests, Token, Waiting};
use super::settings::PeerSettings;
use super::watchdog::{Watchdog, WatchdogState};
use crate::frame::FrameFault;
use crate::header::{HEADER_LEN, Header, MessageIds, command};
use crate::message::Message;
use crate::refusal::Refusal;
use crate::refusal_answer::write_refusal;
use std::sync::Arc;

/// Why a request of ours is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefusal {
    /// Capabilities are not exchanged yet, or the connection ends.
    #[error("the connection is not open")]
    NotOpen,
    /// The peer does not answer the watchdog.
    #[error("the peer does not answer the watchdog")]
    Suspect,
    /// Too many requests wait for answers.
    #[error("too many requests wait for answers of this peer")]
    Full,
}

/// States of a connection.
#[derive(Clone, Copy, Debug)]
enum State {
    /// The peer must send its capabilities by then.
    WaitRequest { deadline_ms: u64 },
    /// The peer must answer with its capabilities by then.
    WaitAnswer { deadline_ms: u64, hop_by_hop: u32 },
    /// Requests and answers go both ways.
    Open,
    /// The peer must answer our request to disconnect by then.
    Closing { deadline_ms: u64, hop_by_hop: u32 },
    /// The last event was given.
    Closed,
}

/// One connection. Each method appends bytes to `out`, which the host sends, and events to `events`.
#[derive(Debug)]
pub struct Peer {
    settings: Arc<PeerSettings>,
    state: State,
    identity: Option<Box<PeerIdentity>>,
    watchdog: Watchdog,
    /// Hop-by-hop identifier of our unanswered watchdog.
    watchdog_request: Option<u32>,
    own: OwnRequests,
    ids: Ids,
    counts: PeerCounts,
    jitter_ms: i64,
}

impl Peer {
    /// Begins a connection that a peer has opened.
    #[must_use]
    pub fn accept(settings: Arc<PeerSettings>, start: &Start) -> Peer {
        let deadline_ms = start.now_ms.saturating_add(settings.capabilities_ms);
        Peer::new(settings, start, State::WaitRequest { deadline_ms })
    }

    /// Begins a connection that this side has opened, and sends its capabilities.
    #[must_use]
    pub fn connect(settings: Arc<PeerSettings>, start: &Start, out: &mut Vec<u8>) -> Peer {
        let mut peer = Peer::new(settings, start, State::Closed);
        let ids = peer.ids.next();
        let header = base_message::request_header(command::CAPABILITIES_EXCHANGE, ids);
        capabilities::write_request(out, header, &peer.settings);
        peer.counts.sent(true, header.command);
        let deadline_ms = start.now_ms.saturating_add(peer.settings.capabilities_ms);
        peer.state = State::WaitAnswer { deadline_ms, hop_by_hop: ids.hop_by_hop };
        peer
    }

    fn new(settings: Arc<PeerSettings>, start: &Start, state: State) -> Peer {
        Peer {
            state,
            identity: None,
            watchdog: Watchdog::new(settings.watchdog_ms, start.now_ms, start.jitter_ms),
            watchdog_request: None,
            own: OwnRequests::new(settings.requests_max),
            ids: Ids::new(start),
            counts: PeerCounts::default(),
            jitter_ms: start.jitter_ms,
            settings,
        }
    }

    /// Returns the bound for the next message, bytes: an argument of [`crate::frame()`].
    #[must_use]
    pub fn message_len_max(&self) -> usize {
        match self.state {
            State::Open | State::Closing { .. } => self.settings.message_len_max,
            State::WaitRequest { .. } | State::WaitAnswer { .. } | State::Closed => {
                self.settings.first_message_len_max
            }
        }
    }

    /// Returns who the peer is, once capabilities were exchanged.
    #[must_use]
    pub fn identity(&self) -> Option<&PeerIdentity> {
        self.identity.as_deref()
    }

    /// Reports whether requests and answers go both ways.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Returns the counters.
    #[must_use]
    pub fn counts(&self) -> &PeerCounts {
        &self.counts
    }

    /// Returns how many requests of ours wait for answers.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.own.len()
    }

    /// Counts an answer of the application, which the host has written by itself.
    pub fn answer_sent(&mut self, command: u32) {
        self.counts.sent(false, command);
    }

    /// Takes one message, as [`crate::frame()`] finds it. `admit` is asked once, when the peer has said who it is.
    #[inline]
    pub fn on_message(
        &mut self,
        bytes: &[u8],
        now_ms: u64,
        admit: &mut dyn FnMut(&PeerIdentity) -> Admission,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        let message = match Message::read(bytes) {
            Ok(message) => message,
            Err(fault) => return self.on_frame_fault(bytes, fault, out, events),
        };
        let header = message.header;
        let is_request = header.flags.is_request();
        self.counts.received(is_request, header.command);
        match self.state {
            State::Open if is_request => self.on_request(&message, now_ms, out, events),
            State::Open | State::Closing { .. } if !is_request => {
                self.on_answer(&header, now_ms, events);
            }
            State::Open | State::Closing { .. } => self.on_closing_request(&message, out, events),
            State::WaitRequest { .. } => {
                self.on_first_request(&message, now_ms, admit, out, events)
            }
            State::WaitAnswer { hop_by_hop, .. } => {
                self.on_first_answer(&message, hop_by_hop, now_ms, admit, events);
            }
            State::Closed => self.counts.error(PeerError::WrongState),
        }
    }

    /// Ends the connection because its bytes are no message. `head` has the bytes of the message that were received. A
    /// request whose header is there gets an answer.
    pub fn on_frame_fault(
        &mut self,
        head: &[u8],
        fault: FrameFault,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        self.counts.error(PeerError::Frame);
        if matches!(self.state, State::Closed) {
            return;
        }
        let header = head.first_chunk::<HEADER_LEN>().map(Header::read);
        let is_ready = matches!(self.state, State::Open | State::Closing { .. });
        if let Some(header) = header.filter(|header| is_ready && header.flags.is_request()) {
            let text = "the message has a wrong version or length";
            self.refuse(&Message::without_avps(header), out, &Refusal::new(fault.result(), text));
        }
        self.close(CloseReason::Frame(fault), events);
    }

    /// Sends a request of ours, which `write` writes with these identifiers. Its answer, or its end, is an event with
    /// this token.
    ///
    /// # Errors
    /// Why it cannot be sent; then nothing is written.
    ///
    /// # Panics
    /// If `write` writes no request with the hop-by-hop identifier that it gets.
    pub fn request(
        &mut self,
        now_ms: u64,
        token: Token,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>, MessageIds),
    ) -> Result<(), RequestRefusal> {
        if !self.is_open() {
            return Err(RequestRefusal::NotOpen);
        }
        if self.watchdog.state() != WatchdogState::Okay {
            return Err(RequestRefusal::Suspect);
        }
        if self.own.is_full() {
            self.counts.error(PeerError::TableFull);
            return Err(RequestRefusal::Full);
        }
        let (ids, start) = (self.ids.next(), out.len());
        write(out, ids);
        let head = out.get(start..).and_then(|message| message.first_chunk::<HEADER_LEN>());
        let header = Header::read(head.expect("a request was written"));
        assert!(
            header.flags.is_request() && header.hop_by_hop == ids.hop_by_hop,
            "a request has its identifier"
        );
        self.counts.sent(true, header.command);
        let deadline_ms = now_ms.saturating_add(self.settings.answer_ms);
        let Header { hop_by_hop, command, .. } = header;
        self.own.add(Waiting { hop_by_hop, command, token, deadline_ms });
        Ok(())
    }

    /// Asks the peer to disconnect. The host has sent its answers before; requests that arrive afterwards are refused
    /// with 3004, so that the peer sends them to another server.
    pub fn drain(
        &mut self,
        now_ms: u64,
        cause: DisconnectCause,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        match self.state {
            State::Open => {
                let ids = self.ids.next();
                let header = base_message::request_header(command::DISCONNECT_PEER, ids);
                base_message::write_request(out, header, &self.settings.origin, Some(cause));
                self.counts.sent(true, header.command);
                let deadline_ms = now_ms.saturating_add(self.settings.disconnect_ms);
                self.state = State::Closing { deadline_ms, hop_by_hop: ids.hop_by_hop };
            }
            State::WaitRequest { .. } | State::WaitAnswer { .. } => {
                self.close(CloseReason::Disconnected, events);
            }
            State::Closing { .. } | State::Closed => {}
        }
    }

    /// Notes that the connection has ended: requests of ours get no answers any more.
    pub fn closed(&mut self, events: &mut Vec<Event>) {
        self.state = State::Closed;
        while let Some(token) = self.own.abandoned() {
            self.counts.error(PeerError::Unanswered);
            events.push(Event::Unanswered { token });
        }
    }

    fn close(&mut self, reason: CloseReason, events: &mut Vec<Event>) {
        self.closed(events);
        events.push(Event::Close(reason));
    }

    fn refuse(&mut self, message: &Message<'_>, out: &mut Vec<u8>, refusal: &Refusal<'_>) {
        write_refusal(out, message, &self.settings.origin, refusal);
        self.counts.error(PeerError::Refused);
        self.counts.sent(false, message.header.command);
    }
}
