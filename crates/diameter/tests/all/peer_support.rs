//! A host of one peer, and the messages of the other side.

use crate::support::{IDS, avp, text, with_len};
use scurry_diameter::attribute::{
    AUTH_APPLICATION_ID, HOST_IP_ADDRESS, ORIGIN_HOST, ORIGIN_REALM, PRODUCT_NAME, VENDOR_ID,
};
use scurry_diameter::peer::{
    Admission, CloseReason, Event, Peer, PeerIdentity, PeerSettings, Start,
};
use scurry_diameter::{Frame, Origin, frame};
use std::sync::Arc;

pub(crate) const START: Start =
    Start { now_ms: 1_000, jitter_ms: 0, wall_s: 0x1001, random: 0x5000_0000_0000_0007 };

pub(crate) fn settings() -> PeerSettings {
    PeerSettings {
        requests_max: 3,
        ..PeerSettings::new(Origin::new("ocs.example", "example", Some(5)))
    }
}

/// A peer, and what it has sent and told since it was last looked at.
pub(crate) struct Host {
    pub(crate) peer: Peer,
    pub(crate) out: Vec<u8>,
    pub(crate) events: Vec<Event>,
    pub(crate) admission: Admission,
    pub(crate) asked: Vec<PeerIdentity>,
    pub(crate) now_ms: u64,
}

impl Host {
    pub(crate) fn accept(settings: PeerSettings) -> Host {
        Host::of(Peer::accept(settings.into_shared(), &START), Vec::new())
    }

    pub(crate) fn connect(settings: PeerSettings) -> Host {
        let mut out = Vec::new();
        let peer = Peer::connect(settings.into_shared(), &START, &mut out);
        Host::of(peer, out)
    }

    fn of(peer: Peer, out: Vec<u8>) -> Host {
        let (events, asked) = (Vec::new(), Vec::new());
        Host { peer, out, events, admission: Admission::Admit, asked, now_ms: START.now_ms }
    }

    /// Returns a host whose peer is open.
    pub(crate) fn open() -> Host {
        let mut host = Host::accept(settings());
        host.give(&cer());
        assert!(host.peer.is_open());
        host.take();
        host.events.clear();
        host
    }

    pub(crate) fn give(&mut self, bytes: &[u8]) {
        let (admission, asked) = (self.admission, &mut self.asked);
        let mut admit = |identity: &PeerIdentity| {
            asked.push(identity.clone());
            admission
        };
        self.peer.on_message(bytes, self.now_ms, &mut admit, &mut self.out, &mut self.events);
    }

    /// Moves the time, and ticks.
    pub(crate) fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        self.peer.tick(self.now_ms, 0, &mut self.out, &mut self.events);
    }

    /// Takes the messages that were sent.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        let (mut messages, mut rest) = (Vec::new(), self.out.as_slice());
        while let Ok(Frame::Message(len)) = frame(rest, 65_536) {
            let (message, after) = rest.split_at(len);
            messages.push(message.to_vec());
            rest = after;
        }
        assert!(rest.is_empty(), "whole messages are sent");
        self.out.clear();
        messages
    }

    /// Takes the one message that was sent, as text.
    pub(crate) fn sent(&mut self) -> String {
        let messages = self.take();
        assert_eq!(messages.len(), 1);
        text(&messages[0])
    }

    /// Takes the events.
    pub(crate) fn told(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Takes the one event, which ends the connection.
    pub(crate) fn ended(&mut self) -> CloseReason {
        assert_eq!(self.peer.next_deadline_ms(), None);
        match self.told().as_slice() {
            [Event::Close(reason)] => *reason,
            other => panic!("{other:?}"),
        }
    }
}

/// Returns a message of these parts.
pub(crate) fn message(flags: u8, command: u32, application: u32, avps: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![1, 0, 0, 0, flags];
    out.extend_from_slice(&command.to_be_bytes()[1..]);
    for word in [application, IDS.hop_by_hop, IDS.end_to_end] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    for avp in avps {
        out.extend_from_slice(avp);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    with_len(out)
}

/// Returns the AVPs of capabilities.
pub(crate) fn capabilities() -> Vec<Vec<u8>> {
    vec![
        avp(ORIGIN_HOST, b"pgw.example"),
        avp(ORIGIN_REALM, b"example"),
        avp(HOST_IP_ADDRESS, &[0, 1, 10, 0, 0, 1]),
        avp(VENDOR_ID, &10_415_u32.to_be_bytes()),
        avp(PRODUCT_NAME, b"PGW"),
        avp(AUTH_APPLICATION_ID, &[0, 0, 0, 4]),
    ]
}

pub(crate) fn cer() -> Vec<u8> {
    message(0x80, 257, 0, &capabilities())
}

/// Returns the answer of the other side to a request of ours: header with this command, and Result-Code.
pub(crate) fn answer_to(request: &[u8], result: u32) -> Vec<u8> {
    let mut out = request[..20].to_vec();
    out[4] &= 0x40;
    let origin = [avp(ORIGIN_HOST, b"pgw.example"), avp(ORIGIN_REALM, b"example")];
    out.extend(avp(scurry_diameter::attribute::RESULT_CODE, &result.to_be_bytes()));
    for avp in origin {
        out.extend_from_slice(&avp);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    with_len(out)
}

/// Settings are shared by all connections.
pub(crate) fn shared() -> Arc<PeerSettings> {
    settings().into_shared()
}
