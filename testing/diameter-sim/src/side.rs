//! One side of a connection: the product's peer machine with its input and output, checked by [`Watch`].

use crate::watch::Watch;
use scurry_diameter::peer::{
    Admission, DisconnectCause, Event, Peer, PeerIdentity, PeerSettings, RequestRefusal, Start,
    Token, WatchdogState,
};
use scurry_diameter::{Frame, MessageIds, Origin, frame};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An event, with the message that has caused it.
pub(crate) type Told = (Event, Option<Arc<[u8]>>);

pub(crate) struct Side {
    peer: Peer,
    input: Vec<u8>,
    pub(crate) out: Vec<u8>,
    pub(crate) watch: Watch,
    /// Requests of this side that are neither answered nor given up.
    waiting: BTreeSet<u64>,
    /// With a bug: it does not say that it trusts the other side again.
    pub(crate) is_stubborn: bool,
}

/// Returns the settings of a peer.
pub(crate) fn settings(origin: Origin, watchdog_ms: u64, answer_ms: u64) -> Arc<PeerSettings> {
    PeerSettings { watchdog_ms, answer_ms, ..PeerSettings::new(origin) }.into_shared()
}

impl Side {
    pub(crate) fn accept(settings: &Arc<PeerSettings>, start: &Start) -> Side {
        Side::new(Peer::accept(Arc::clone(settings), start), settings, start, Vec::new())
    }

    pub(crate) fn connect(settings: &Arc<PeerSettings>, start: &Start) -> Side {
        let mut out = Vec::new();
        let peer = Peer::connect(Arc::clone(settings), start, &mut out);
        Side::new(peer, settings, start, out)
    }

    fn new(peer: Peer, settings: &PeerSettings, start: &Start, out: Vec<u8>) -> Side {
        let watch = Watch::new(settings.watchdog_ms, start.now_ms);
        Side { peer, input: Vec::new(), out, watch, waiting: BTreeSet::new(), is_stubborn: false }
    }

    /// Takes bytes of the other side. Returns the events.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        now_ms: u64,
        admit: &mut dyn FnMut(&PeerIdentity) -> Admission,
    ) -> Vec<Told> {
        self.input.extend_from_slice(bytes);
        let mut told = Vec::new();
        while !self.watch.is_closed() {
            let found = frame(&self.input, self.peer.message_len_max());
            let Frame::Message(len) = found.expect("both sides write messages") else { break };
            let message: Arc<[u8]> = self.input.drain(..len).collect();
            let mut events = Vec::new();
            self.watch.hears(now_ms);
            self.peer.on_message(&message, now_ms, admit, &mut self.out, &mut events);
            if self.is_stubborn {
                events.retain(|event| *event != Event::Watchdog(WatchdogState::Okay));
            }
            self.note(&events, now_ms);
            told.extend(events.into_iter().map(|event| (event, Some(Arc::clone(&message)))));
        }
        self.watch.check(now_ms);
        told
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, now_ms: u64, jitter_ms: i64) -> Vec<Told> {
        let mut events = Vec::new();
        self.peer.tick(now_ms, jitter_ms, &mut self.out, &mut events);
        self.note(&events, now_ms);
        self.watch.check(now_ms);
        events.into_iter().map(|event| (event, None)).collect()
    }

    pub(crate) fn due_ms(&self) -> Option<u64> {
        self.peer.next_deadline_ms()
    }

    /// Notes that the other side has closed the connection, or that this host has lost it.
    pub(crate) fn end(&mut self, now_ms: u64) -> Vec<Told> {
        let mut events = Vec::new();
        self.peer.closed(&mut events);
        self.note(&events, now_ms);
        self.watch.ends();
        assert!(self.waiting.is_empty(), "requests of an ended connection: {:?}", self.waiting);
        events.into_iter().map(|event| (event, None)).collect()
    }

    /// Asks the other side to disconnect.
    pub(crate) fn drain(&mut self, now_ms: u64) -> Vec<Told> {
        let mut events = Vec::new();
        self.peer.drain(now_ms, DisconnectCause::Rebooting, &mut self.out, &mut events);
        self.watch.drains();
        self.note(&events, now_ms);
        events.into_iter().map(|event| (event, None)).collect()
    }

    /// Sends a request, whose answer or end comes with this number. Returns false if the machine refuses it.
    pub(crate) fn request(
        &mut self,
        number: u64,
        now_ms: u64,
        write: impl FnOnce(&mut Vec<u8>, MessageIds),
    ) -> bool {
        let len = self.out.len();
        let said = self.peer.request(now_ms, Token(number), &mut self.out, write);
        if said == Err(RequestRefusal::Full) {
            return false;
        }
        self.watch.check_request(said);
        if said.is_err() {
            assert_eq!(self.out.len(), len, "what is refused is not written");
            return false;
        }
        self.waiting.insert(number)
    }

    fn note(&mut self, events: &[Event], now_ms: u64) {
        for event in events {
            self.watch.event(event, now_ms);
            if let Event::Answer { token, .. } | Event::Unanswered { token } = event {
                assert!(self.waiting.remove(&token.0), "a request ends twice: {event:?}");
            }
        }
        let is_closed = self.watch.is_closed();
        assert!(!is_closed || self.waiting.is_empty(), "requests of a closed connection");
    }

    pub(crate) fn answer_sent(&mut self) {
        self.peer.answer_sent(scurry_diameter::command::CREDIT_CONTROL);
    }
}
