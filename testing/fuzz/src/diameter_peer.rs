//! A Diameter peer that sends anything at any time: its connection sends whole messages, answers each request once or
//! gives it to the host, ends each request of the host with one event, and never has a deadline in the past.

use scurry_diameter::ccr::{RequestHead, RequestType, RequestWriter};
use scurry_diameter::peer::{
    Admission, DisconnectCause, Event, Peer, PeerIdentity, PeerSettings, Start, Token,
};
use scurry_diameter::{
    Avps, Frame, FrameFault, Message, MessageIds, Origin, ResultCode, ServerAction, ServerRequest,
    frame,
};
use std::collections::BTreeSet;

/// Acts in one input.
const ACTS_MAX: usize = 300;

/// Runs the input: the first byte selects the settings, the others are acts of two bytes, some with bytes after them.
pub fn check(data: &[u8]) {
    let Some((&first, mut rest)) = data.split_first() else { return };
    let mut run = Run::new(first);
    for _ in 0..ACTS_MAX {
        let Some((&[act, size], after)) = rest.split_first_chunk::<2>() else { break };
        rest = after;
        if act % 16 == 0 {
            let (bytes, after) = rest.split_at(usize::from(size).min(rest.len()));
            rest = after;
            run.receive(bytes);
        } else {
            run.act(act, size);
        }
        run.look();
    }
    run.peer.closed(&mut run.events);
    run.look();
    assert!(run.waiting.is_empty(), "each request of the host has ended");
    assert_eq!(run.peer.next_deadline_ms(), None);
}

struct Run {
    peer: Peer,
    admission: Admission,
    out: Vec<u8>,
    events: Vec<Event>,
    now_ms: u64,
    tokens: u64,
    /// Requests of the host that have not ended.
    waiting: BTreeSet<Token>,
    /// Headers of our requests that the other side has received.
    received: Vec<[u8; 20]>,
    is_up: bool,
    is_closed: bool,
}

impl Run {
    fn new(first: u8) -> Run {
        let origin = Origin::new("ocs.example", "example", Some(1));
        let settings =
            PeerSettings { requests_max: 1 + usize::from(first >> 4), ..PeerSettings::new(origin) };
        let start = Start { now_ms: 5, jitter_ms: 0, wall_s: 7, random: u64::from(first) << 56 };
        let mut out = Vec::new();
        let peer = if first & 1 == 0 {
            Peer::accept(settings.into_shared(), &start)
        } else {
            Peer::connect(settings.into_shared(), &start, &mut out)
        };
        let admission = match first >> 1 & 7 {
            0 => Admission::UnknownPeer,
            1 => Admission::ElectionLost,
            2 => Admission::Refuse(ResultCode::TOO_BUSY),
            _ => Admission::Admit,
        };
        Run {
            peer,
            admission,
            out,
            events: Vec::new(),
            now_ms: start.now_ms,
            tokens: 0,
            waiting: BTreeSet::new(),
            received: Vec::new(),
            is_up: false,
            is_closed: false,
        }
    }

    fn act(&mut self, act: u8, size: u8) {
        match act % 16 {
            1 => self.receive(&capabilities(0x80, size)),
            2 => self.receive(&message(0x80, 280, 0, size)),
            3 => self.receive(&message(0x80, 282, 0, size)),
            4 | 5 => self.receive(&credit_control(size)),
            6 | 7 => self.answer(size),
            8 => self.receive(&message(size, 272, 4, size)),
            9 => self.receive(&message(0xc0, u32::from(size), 0, size)),
            10 => self.pass(u64::from(size) * 100),
            11 => self.pass(u64::from(size) * 400),
            12 | 13 => self.request(),
            14 if size > 250 => {
                self.peer.drain(
                    self.now_ms,
                    DisconnectCause::Busy,
                    &mut self.out,
                    &mut self.events,
                );
            }
            14 => self.pass(u64::from(size)),
            _ if size > 250 => {
                let fault = FrameFault::Version(size);
                self.peer.on_frame_fault(&[1; 20], fault, &mut self.out, &mut self.events);
            }
            _ => self.receive(&message(0xc0, 275, 4, size)),
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let (before, admission) = (self.out.len(), self.admission);
        let was_open = self.peer.is_open();
        let mut admit = |identity: &PeerIdentity| {
            assert!(!identity.host.is_empty() && !identity.realm.is_empty());
            admission
        };
        self.peer.on_message(bytes, self.now_ms, &mut admit, &mut self.out, &mut self.events);
        let Ok(message) = Message::read(bytes) else { return };
        let header = message.header;
        let given = self.events.iter().filter(|event| matches!(event, Event::Request(_))).count();
        if was_open && header.flags.is_request() {
            let answers = usize::from(self.out.len() > before);
            assert_eq!(answers + given, 1, "a request is answered or given to the host");
            if let Some(head) = self.out.get(before..before + 20) {
                assert_eq!(
                    head[12..],
                    bytes[12..20],
                    "an answer has the identifiers of its request"
                );
                assert_eq!(head[4] & 0x80, 0);
            }
        } else {
            assert_eq!(given, 0);
        }
    }

    /// Answers the oldest request of ours.
    fn answer(&mut self, size: u8) {
        if self.received.is_empty() {
            return self.receive(&message(0x40, 258, 4, size));
        }
        let request = self.received.remove(usize::from(size) % self.received.len());
        if request[7] == 1 {
            let mut bytes = capabilities(0, size);
            bytes[12..20].copy_from_slice(&request[12..]);
            return self.receive(&bytes);
        }
        let mut bytes = request.to_vec();
        (bytes[1], bytes[2], bytes[3]) = (0, 0, 20);
        bytes[4] &= 0x40;
        self.receive(&bytes);
    }

    fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        self.peer.tick(self.now_ms, 0, &mut self.out, &mut self.events);
        let next = self.peer.next_deadline_ms();
        assert!(next.is_none_or(|deadline| deadline > self.now_ms), "all that was due is done");
    }

    fn request(&mut self) {
        let token = Token(self.tokens);
        self.tokens += 1;
        let request = ServerRequest {
            session_id: "s",
            destination_host: "gw.example",
            destination_realm: "example",
            action: ServerAction::Abort,
        };
        let origin = Origin::new("ocs.example", "example", None);
        let before = self.out.len();
        let sent = self.peer.request(self.now_ms, token, &mut self.out, |out, ids| {
            request.write(out, ids, &origin);
        });
        assert_eq!(sent.is_ok(), self.out.len() > before);
        if sent.is_ok() {
            assert!(self.waiting.insert(token));
        }
        assert_eq!(self.peer.waiting(), self.waiting.len());
    }

    /// Looks at what was sent and told.
    fn look(&mut self) {
        let mut rest = self.out.as_slice();
        while let Ok(Frame::Message(len)) = frame(rest, 1 << 20) {
            let (bytes, after) = rest.split_at(len);
            let message = Message::read(bytes).expect("a message");
            assert!(Avps::new(message.body()).all(|avp| avp.is_ok()));
            if message.header.flags.is_request() {
                self.received.push(*bytes.first_chunk().expect("a header"));
            }
            rest = after;
        }
        assert!(rest.is_empty(), "whole messages are sent");
        self.out.clear();
        for event in self.events.drain(..) {
            assert!(!self.is_closed, "{event:?} after the last event");
            match event {
                Event::Up(_) => assert!(!std::mem::replace(&mut self.is_up, true)),
                Event::Request(header) => assert!(self.is_up && header.application == 4),
                Event::Answer { token, .. } | Event::Unanswered { token } => {
                    assert!(self.waiting.remove(&token), "a request ends once");
                }
                Event::Watchdog(_) => assert!(self.is_up),
                Event::Close(_) => self.is_closed = true,
            }
        }
        assert!(!self.is_closed || !self.peer.is_open());
        assert!(self.is_up || !self.peer.is_open());
    }
}

/// Returns a message without AVPs, or with one that lies when `size` is 0.
fn message(flags: u8, command: u32, application: u32, size: u8) -> Vec<u8> {
    let mut out = vec![1, 0, 0, 20, flags];
    out.extend_from_slice(&command.to_be_bytes()[1..]);
    out.extend_from_slice(&application.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, size, 0, 0, 1, size]);
    if size == 0 {
        out.extend_from_slice(&[0, 0, 1, 8, 0x40, 0, 0, 200]);
        out[3] = 28;
    }
    out
}

/// Returns capabilities; `size` changes a byte of some.
fn capabilities(flags: u8, size: u8) -> Vec<u8> {
    let mut out = message(flags, 257, 0, 1);
    out.extend_from_slice(&[0, 0, 1, 8, 0x40, 0, 0, 10, b'g', b'w', 0, 0]);
    out.extend_from_slice(&[0, 0, 1, 40, 0x40, 0, 0, 9, b'r', 0, 0, 0]);
    out.extend_from_slice(&[0, 0, 1, 1, 0x40, 0, 0, 14, 0, 1, 10, 0, 0, 1, 0, 0]);
    out.extend_from_slice(&[0, 0, 1, 10, 0x40, 0, 0, 12, 0, 0, 0, 0]);
    out.extend_from_slice(&[0, 0, 1, 13, 0, 0, 0, 9, b'p', 0, 0, 0]);
    out.extend_from_slice(&[0, 0, 1, 2, 0x40, 0, 0, 12, 0, 0, 0, 4]);
    out.extend_from_slice(&[0, 0, 1, 12, 0x40, 0, 0, 12, 0, 0, 7, 0xd1]);
    out[3] = u8::try_from(out.len()).expect("short");
    if size > 128 {
        let at = usize::from(size) % out.len();
        out[at.max(20)] ^= 1 << (size % 8);
    }
    out
}

fn credit_control(size: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let ids = MessageIds { hop_by_hop: size.into(), end_to_end: size.into() };
    let head = RequestHead {
        session_id: "s",
        origin_host: "gw",
        origin_realm: "r",
        destination_realm: "example",
        service_context_id: "32251@3gpp.org",
        request_type: RequestType::Initial,
        request_number: size.into(),
    };
    RequestWriter::begin(&mut out, ids, &head).finish();
    out
}
