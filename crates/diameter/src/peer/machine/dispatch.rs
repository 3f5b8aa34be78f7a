//! Messages on an open connection: those between peers are answered here, those of the application are events.

use super::{Peer, State};
use crate::header::{Header, application, command};
use crate::message::Message;
use crate::peer::base_message;
use crate::peer::close_reason::CloseReason;
use crate::peer::counts::PeerError;
use crate::peer::event::Event;
use crate::peer::watchdog::WatchdogState;
use crate::refusal::Refusal;
use crate::result_code::ResultCode;

const COMMAND_UNSUPPORTED: Refusal<'static> =
    Refusal::new(ResultCode::COMMAND_UNSUPPORTED, "the command is not known here");
const APPLICATION_UNSUPPORTED: Refusal<'static> =
    Refusal::new(ResultCode::APPLICATION_UNSUPPORTED, "the application is not known here");
const ERROR_FLAG: Refusal<'static> =
    Refusal::new(ResultCode::INVALID_HDR_BITS, "a request has no E flag");
const CLOSING: Refusal<'static> =
    Refusal::new(ResultCode::TOO_BUSY, "this connection ends: ask another server");

impl Peer {
    /// Takes a request while the connection is open.
    #[inline]
    pub(super) fn on_request(
        &mut self,
        message: &Message<'_>,
        now_ms: u64,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        self.heard(now_ms, false, events);
        let header = message.header;
        if header.flags.is_error() {
            return self.refuse(message, out, &ERROR_FLAG);
        }
        match (header.command, header.application) {
            (command::CAPABILITIES_EXCHANGE, _) => {
                self.on_capabilities_again(message, out, events);
            }
            (command::DEVICE_WATCHDOG, _) => self.on_watchdog(message, out),
            (command::DISCONNECT_PEER, _) => self.on_disconnect(message, out, events),
            (_, application::CREDIT_CONTROL) => events.push(Event::Request(header)),
            (_, application::BASE) => self.refuse(message, out, &COMMAND_UNSUPPORTED),
            _ => self.refuse(message, out, &APPLICATION_UNSUPPORTED),
        }
    }

    /// Takes a request while our own request to disconnect is unanswered.
    pub(super) fn on_closing_request(
        &mut self,
        message: &Message<'_>,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        match message.header.command {
            command::DEVICE_WATCHDOG => self.on_watchdog(message, out),
            command::DISCONNECT_PEER => self.on_disconnect(message, out, events),
            _ => self.refuse(message, out, &CLOSING),
        }
    }

    /// Takes an answer on an open or closing connection.
    pub(super) fn on_answer(&mut self, header: &Header, now_ms: u64, events: &mut Vec<Event>) {
        let is_watchdog = header.command == command::DEVICE_WATCHDOG
            && self.watchdog_request == Some(header.hop_by_hop);
        self.heard(now_ms, is_watchdog, events);
        if is_watchdog {
            self.watchdog_request = None;
            return;
        }
        if let State::Closing { hop_by_hop, .. } = self.state
            && header.command == command::DISCONNECT_PEER
            && header.hop_by_hop == hop_by_hop
        {
            return self.close(CloseReason::Disconnected, events);
        }
        match self.own.answered(header.hop_by_hop, header.command) {
            Some(token) => events.push(Event::Answer { token, header: *header }),
            None => self.counts.error(PeerError::UnaskedAnswer),
        }
    }

    fn on_watchdog(&mut self, message: &Message<'_>, out: &mut Vec<u8>) {
        match base_message::read_request(message) {
            Ok(_) => self.answer_base(&message.header, out),
            Err(refusal) => self.refuse(message, out, &refusal),
        }
    }

    fn on_disconnect(&mut self, message: &Message<'_>, out: &mut Vec<u8>, events: &mut Vec<Event>) {
        match base_message::read_request(message) {
            Ok(cause) => {
                self.answer_base(&message.header, out);
                self.close(CloseReason::DisconnectedByPeer(cause), events);
            }
            Err(refusal) => self.refuse(message, out, &refusal),
        }
    }

    fn answer_base(&mut self, header: &Header, out: &mut Vec<u8>) {
        base_message::write_answer(out, header, &self.settings.origin);
        self.counts.sent(false, header.command);
    }

    #[inline]
    fn heard(&mut self, now_ms: u64, is_watchdog: bool, events: &mut Vec<Event>) {
        if self.watchdog.heard(now_ms, is_watchdog) {
            events.push(Event::Watchdog(WatchdogState::Okay));
        }
    }
}
