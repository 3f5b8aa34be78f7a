//! The exchange of capabilities, as responder and as initiator.

use super::{Peer, State};
use crate::header::{Header, command};
use crate::message::Message;
use crate::peer::admission::{Admission, PeerIdentity};
use crate::peer::capabilities::{self, Capabilities};
use crate::peer::close_reason::CloseReason;
use crate::peer::counts::PeerError;
use crate::peer::event::Event;
use crate::peer::watchdog::Watchdog;
use crate::refusal::Refusal;
use crate::result_code::ResultCode;

impl Peer {
    /// Takes the first message of a peer that has opened the connection. Anything but its capabilities ends it.
    pub(super) fn on_first_request(
        &mut self,
        message: &Message<'_>,
        now_ms: u64,
        admit: &mut dyn FnMut(&PeerIdentity) -> Admission,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        let header = message.header;
        if header.command != command::CAPABILITIES_EXCHANGE || !header.flags.is_request() {
            self.counts.error(PeerError::WrongState);
            return self.close(CloseReason::BeforeCapabilities(header.command), events);
        }
        let read = if header.flags.is_error() {
            let text = "a request has no E flag";
            Err(Refusal::new(ResultCode::INVALID_HDR_BITS, text))
        } else {
            Capabilities::read(message)
        };
        let capabilities = match read {
            Ok(capabilities) => capabilities,
            Err(refusal) => return self.refuse_peer(&header, &refusal, out, events),
        };
        let checked = capabilities.check();
        if let Err((result, text)) = checked.and_then(|()| admit(&capabilities.identity).result()) {
            return self.refuse_peer(&header, &Refusal::new(result, text), out, events);
        }
        capabilities::write_answer(out, &header, &self.settings, &capabilities);
        self.counts.sent(false, header.command);
        self.open(capabilities.identity, now_ms, events);
    }

    /// Takes the answer to our capabilities.
    pub(super) fn on_first_answer(
        &mut self,
        message: &Message<'_>,
        hop_by_hop: u32,
        now_ms: u64,
        admit: &mut dyn FnMut(&PeerIdentity) -> Admission,
        events: &mut Vec<Event>,
    ) {
        let header = message.header;
        let is_capabilities = header.command == command::CAPABILITIES_EXCHANGE;
        if !is_capabilities || header.flags.is_request() || header.hop_by_hop != hop_by_hop {
            self.counts.error(PeerError::WrongState);
            return self.close(CloseReason::BeforeCapabilities(header.command), events);
        }
        let Ok(capabilities) = Capabilities::read(message) else {
            return self.close(CloseReason::UnreadableCapabilities, events);
        };
        if !capabilities.result.is_some_and(ResultCode::is_success) {
            return self.close(CloseReason::RefusedByPeer(capabilities.result), events);
        }
        let checked = capabilities.check();
        match checked.and_then(|()| admit(&capabilities.identity).result()) {
            Ok(()) => self.open(capabilities.identity, now_ms, events),
            Err((result, _)) => self.close(CloseReason::Refused(result), events),
        }
    }

    /// Answers capabilities of a peer that has sent them before: RFC 6733, 5.6, R-Open and I-Open. Its Origin-Host stays.
    pub(super) fn on_capabilities_again(
        &mut self,
        message: &Message<'_>,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        let header = message.header;
        let capabilities = match Capabilities::read(message) {
            Ok(capabilities) => capabilities,
            Err(refusal) => return self.refuse_peer(&header, &refusal, out, events),
        };
        if let Err((result, text)) = capabilities.check() {
            return self.refuse_peer(&header, &Refusal::new(result, text), out, events);
        }
        let host = &capabilities.identity.host;
        let is_same = |known: &PeerIdentity| known.host.eq_ignore_ascii_case(host);
        if !self.identity().is_some_and(is_same) {
            let text = "a connection has one Origin-Host";
            let refusal = Refusal::new(ResultCode::UNABLE_TO_COMPLY, text);
            capabilities::write_refusal(out, &header, &self.settings, &refusal);
            self.counts.error(PeerError::Refused);
            self.counts.sent(false, header.command);
            return self.close(CloseReason::IdentityChanged, events);
        }
        capabilities::write_answer(out, &header, &self.settings, &capabilities);
        self.counts.sent(false, header.command);
    }

    fn open(&mut self, identity: PeerIdentity, now_ms: u64, events: &mut Vec<Event>) {
        let identity = Box::new(identity);
        events.push(Event::Up(identity.clone()));
        self.identity = Some(identity);
        self.watchdog = Watchdog::new(self.settings.watchdog_ms, now_ms, self.jitter_ms);
        self.state = State::Open;
    }

    fn refuse_peer(
        &mut self,
        header: &Header,
        refusal: &Refusal<'_>,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        capabilities::write_refusal(out, header, &self.settings, refusal);
        self.counts.error(PeerError::Refused);
        self.counts.sent(false, header.command);
        self.close(CloseReason::Refused(refusal.result), events);
    }
}
