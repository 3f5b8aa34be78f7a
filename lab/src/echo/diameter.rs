//! The least that a Diameter server must do: the peer machine, the codec, and an answer that grants what is requested, with
//! no store behind.

use scurry_diameter::ccr::{AnswerWriter, CreditControlRequest, Scratch, ServiceAnswer};
use scurry_diameter::peer::{Admission, Event, Peer, PeerSettings, Start};
use scurry_diameter::{Frame, Message, Origin, ResultCode, command, frame};

const MESSAGE_LEN_MAX: usize = 64 * 1024;

/// One connection.
pub(super) struct EmptyAnswerer {
    peer: Peer,
    origin: Origin,
    scratch: Scratch,
    events: Vec<Event>,
}

impl EmptyAnswerer {
    pub(super) fn new() -> EmptyAnswerer {
        let origin = Origin::new("echo.localdomain", "localdomain", None);
        let settings = PeerSettings::new(origin.clone()).into_shared();
        let peer = Peer::accept(settings, &Start::default());
        EmptyAnswerer { peer, origin, scratch: Scratch::default(), events: Vec::new() }
    }

    /// Answers the message at the start of `bytes`. Returns its length, 0 if it is incomplete; None for bytes that are no
    /// message.
    pub(super) fn answer(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let length = match frame(bytes, MESSAGE_LEN_MAX).ok()? {
            Frame::Message(length) => length,
            Frame::Needs(_) => return Some(0),
        };
        let bytes = &bytes[..length];
        self.events.clear();
        let mut admit = |_: &_| Admission::Admit;
        self.peer.on_message(bytes, 0, &mut admit, out, &mut self.events);
        if let [Event::Request(_)] = self.events.as_slice() {
            let message = Message::read(bytes).ok()?;
            let request = CreditControlRequest::read(&message, &mut self.scratch).ok()?;
            let head = request.answer_head();
            let mut answer = AnswerWriter::begin(out, head, &self.origin, ResultCode::SUCCESS);
            for service in request.services.iter() {
                answer.service(&ServiceAnswer {
                    granted: service.requested,
                    identifiers: service.identifiers,
                    rating_group: service.rating_group,
                    validity_s: Some(600),
                    ..ServiceAnswer::new(ResultCode::SUCCESS)
                });
            }
            answer.finish();
            self.peer.answer_sent(command::CREDIT_CONTROL);
        }
        Some(length)
    }
}
