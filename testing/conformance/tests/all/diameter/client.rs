//! A client of the door, and what its answers say.

use super::form::{request_type, write};
use crate::charging::{PATIENCE, Request};
use scurry_diameter::attribute::{
    CHECK_BALANCE_RESULT, ERROR_MESSAGE, FINAL_UNIT_INDICATION, GRANTED_SERVICE_UNIT,
    MULTIPLE_SERVICES_CREDIT_CONTROL, RESULT_CODE,
};
use scurry_diameter::ccr::{RequestHead, RequestWriter, SubscriptionId, SubscriptionKind};
use scurry_diameter::peer::{Peer, PeerSettings, Start};
use scurry_diameter::{Avp, Avps, Frame, MESSAGE_LEN_MAX, Message, MessageIds, Origin, frame};
use std::io::{Read, Write};
use std::net::TcpStream;

const HOST: &str = "client.example";

pub(super) struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    number: u32,
}

/// What an answer says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) result: u32,
    /// Result-Code, granted units and whether they are the last, of each service.
    pub(super) services: Vec<(u32, u64, bool)>,
    /// Check-Balance-Result.
    pub(super) check: Option<u32>,
    /// Error-Message.
    pub(super) text: String,
}

impl Client {
    pub(super) fn open(port: u16) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut client = Client { stream, input: Vec::new(), number: 0 };
        let settings = PeerSettings::new(Origin::new(HOST, "example", None)).into_shared();
        let mut out = Vec::new();
        let _ = Peer::connect(settings, &Start::default(), &mut out);
        client.stream.write_all(&out).expect("it is sent");
        let answer = client.receive();
        assert_eq!(Answer::read(&answer).result, 2001);
        client
    }

    /// Sends a request, and returns its answer.
    pub(super) fn send(&mut self, request: &Request) -> Answer {
        self.number += 1;
        let ids = MessageIds { hop_by_hop: self.number, end_to_end: self.number };
        let head = RequestHead {
            session_id: &request.name,
            origin_host: HOST,
            origin_realm: "example",
            destination_realm: "localdomain",
            service_context_id: &request.context,
            request_type: request_type(request.kind),
            request_number: request.number,
        };
        let mut out = Vec::new();
        let mut writer = RequestWriter::begin(&mut out, ids, &head);
        let data = request.account.as_str();
        writer.subscription(&SubscriptionId { kind: SubscriptionKind::Private, data });
        write(request, &mut writer);
        writer.finish();
        self.stream.write_all(&out).expect("it is sent");
        Answer::read(&self.receive())
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut part = [0; 4096];
        loop {
            if let Frame::Message(len) = frame(&self.input, MESSAGE_LEN_MAX).expect("a message") {
                return self.input.drain(..len).collect();
            }
            let len = self.stream.read(&mut part).expect("an answer");
            assert!(len > 0, "the door closed the connection");
            self.input.extend_from_slice(&part[..len]);
        }
    }
}

impl Answer {
    fn read(bytes: &[u8]) -> Answer {
        let mut answer = Answer::default();
        for avp in Message::read(bytes).expect("a message").avps().map(|avp| avp.expect("an AVP")) {
            if avp.is(RESULT_CODE) {
                answer.result = avp.u32().expect("a code");
            } else if avp.is(ERROR_MESSAGE) {
                answer.text = avp.text().expect("a text").to_owned();
            } else if avp.is(CHECK_BALANCE_RESULT) {
                answer.check = Some(avp.u32().expect("a result"));
            } else if avp.is(MULTIPLE_SERVICES_CREDIT_CONTROL) {
                answer.services.push(service(&avp));
            }
        }
        answer
    }
}

fn service(group: &Avp<'_>) -> (u32, u64, bool) {
    let mut out = (0, 0, false);
    for avp in Avps::within(group).expect("a group").map(|avp| avp.expect("an AVP")) {
        if avp.is(RESULT_CODE) {
            out.0 = avp.u32().expect("a code");
        } else if avp.is(GRANTED_SERVICE_UNIT) {
            let unit = Avps::within(&avp).expect("a group").next().expect("units");
            out.1 = unit.expect("an AVP").u64().expect("units");
            assert!(out.1 > 0, "a grant of nothing");
        } else if avp.is(FINAL_UNIT_INDICATION) {
            out.2 = true;
        }
    }
    out
}
