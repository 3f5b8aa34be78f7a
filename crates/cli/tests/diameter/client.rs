//! A Diameter client: one connection, which builds requests and shows answers as text.

use scurry_diameter::ccr::{
    RequestHead, RequestType, RequestWriter, Service, SubscriptionId, SubscriptionKind, Units,
    UsedUnits,
};
use scurry_diameter::peer::{Admission, Event, Peer, PeerSettings, Start};
use scurry_diameter::{
    Flags, Frame, Header, MESSAGE_LEN_MAX, Message, MessageIds, MessageWriter, Origin, application,
    command, frame,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Timeout of an answer: longer than any pause of the machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// One connection of a client.
pub(crate) struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    host: String,
    number: u32,
    /// All messages that were received.
    pub(crate) received: Vec<Vec<u8>>,
}

/// A request that is being described.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) session: &'a str,
    pub(crate) kind: RequestType,
    pub(crate) number: u32,
    pub(crate) context: &'a str,
    pub(crate) imsi: &'a str,
    /// Copy of an earlier request: T flag.
    pub(crate) is_copy: bool,
}

impl<'a> Ask<'a> {
    /// A request of a data session of the subscriber 001010000000001.
    pub(crate) fn data(session: &'a str, kind: RequestType, number: u32) -> Ask<'a> {
        let (context, imsi) = ("32251@3gpp.org", "001010000000001");
        Ask { session, kind, number, context, imsi, is_copy: false }
    }
}

/// Returns octets as units.
pub(crate) fn octets(total: u64) -> Units {
    Units { total_octets: Some(total), ..Units::default() }
}

/// Returns used octets.
pub(crate) fn used(total: u64) -> [UsedUnits; 1] {
    [UsedUnits { units: octets(total), ..UsedUnits::default() }]
}

/// Returns a service that requests octets and has used none.
pub(crate) fn wants(rating_group: u32, total: u64) -> Service<'static> {
    let requested = Some(octets(total));
    Service { rating_group: Some(rating_group), requested, ..Service::default() }
}

impl Client {
    /// Connects and exchanges capabilities.
    pub(crate) fn connect(port: u16, host: &str) -> Client {
        let (client, answer) = Client::try_connect(port, host);
        assert!(answer.contains(" Result-Code=2001 "), "{answer}");
        client
    }

    /// Connects, and returns the answer to the capabilities too.
    pub(crate) fn try_connect(port: u16, host: &str) -> (Client, String) {
        let mut client = Client::open(port, host);
        let origin = Origin::new(host, "example", None);
        let mut out = Vec::new();
        let settings = PeerSettings::new(origin).into_shared();
        let mut peer = Peer::connect(settings, &Start::default(), &mut out);
        client.send(&out);
        let answer = client.receive().unwrap_or_default();
        let mut events = Vec::new();
        if !answer.is_empty() {
            let mut admit = |_: &_| Admission::Admit;
            peer.on_message(&answer, 0, &mut admit, &mut Vec::new(), &mut events);
            let is_up = events.iter().any(|event| matches!(event, Event::Up(_)));
            assert!(is_up || text(&answer).contains("Error-Message"), "{}", text(&answer));
        }
        let answer = text(&answer);
        (client, answer)
    }

    /// Connects without a word.
    pub(crate) fn open(port: u16, host: &str) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Client { stream, input: Vec::new(), host: host.to_owned(), number: 0, received: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("it is sent");
    }

    /// Receives one message; none if the connection has ended.
    pub(crate) fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Frame::Message(len) = frame(&self.input, MESSAGE_LEN_MAX).expect("a message") {
                let message: Vec<u8> = self.input.drain(..len).collect();
                self.received.push(message.clone());
                return Some(message);
            }
            let mut part = [0; 4096];
            match self.stream.read(&mut part) {
                Ok(0) => return None,
                Ok(len) => self.input.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no answer: {error}"),
            }
        }
    }

    /// Receives a message that comes within a few milliseconds.
    pub(crate) fn receive_soon(&mut self) -> Option<Vec<u8>> {
        let soon = Some(Duration::from_millis(5));
        self.stream.set_read_timeout(soon).expect("a timeout");
        let has_some = self.stream.peek(&mut [0]).is_ok();
        self.stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        (has_some || !self.input.is_empty()).then(|| self.receive()).flatten()
    }

    /// Returns the stream.
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Returns the bytes of a Device-Watchdog-Request.
    pub(crate) fn watchdog_request(&self) -> Vec<u8> {
        let header = Header {
            flags: Flags(Flags::REQUEST),
            command: command::DEVICE_WATCHDOG,
            application: application::BASE,
            hop_by_hop: 1,
            end_to_end: 1,
        };
        let mut out = Vec::new();
        let mut request = MessageWriter::begin(&mut out, header);
        Origin::new(&self.host, "example", None).write(&mut request);
        request.finish();
        out
    }

    /// Sends Device-Watchdog, and receives its answer.
    pub(crate) fn watchdog(&mut self) {
        self.send(&self.watchdog_request());
        let answer = text(&self.receive().expect("an answer"));
        assert!(answer.starts_with("280 Result-Code=2001"), "{answer}");
    }

    /// Returns the bytes of a request.
    pub(crate) fn request(
        &mut self,
        ask: Ask<'_>,
        write: impl FnOnce(&mut RequestWriter<'_>),
    ) -> Vec<u8> {
        self.number += 1;
        let ids = MessageIds { hop_by_hop: self.number, end_to_end: self.number };
        let head = RequestHead {
            session_id: ask.session,
            origin_host: &self.host,
            origin_realm: "example",
            destination_realm: "localdomain",
            service_context_id: ask.context,
            request_type: ask.kind,
            request_number: ask.number,
        };
        let mut out = Vec::new();
        let mut request = RequestWriter::begin(&mut out, ids, &head);
        request.subscription(&SubscriptionId { kind: SubscriptionKind::Imsi, data: ask.imsi });
        write(&mut request);
        request.finish();
        if ask.is_copy {
            out[4] |= 0x10;
        }
        out
    }

    /// Sends a request and returns the answer after what each answer has.
    pub(crate) fn ask(
        &mut self,
        ask: Ask<'_>,
        write: impl FnOnce(&mut RequestWriter<'_>),
    ) -> String {
        let bytes = self.request(ask, write);
        self.send(&bytes);
        let answer = self.receive().expect("an answer");
        short(&text(&answer))
    }

    /// Sends a request with these services and returns the answer.
    pub(crate) fn services(&mut self, ask: Ask<'_>, services: &[Service<'_>]) -> String {
        self.ask(ask, |request| services.iter().for_each(|service| request.service(service)))
    }
}

/// Returns a message as text; empty if there is none.
pub(crate) fn text(bytes: &[u8]) -> String {
    Message::read(bytes).map_or(String::new(), |message| message.to_string())
}

/// Returns the result and what follows the request's number, with MSCC for Multiple-Services-Credit-Control.
fn short(text: &str) -> String {
    let (before, after) = text.split_once(" CC-Request-Type=").expect("an answer");
    let result = before.split_once("Result-Code=").expect("a result").1;
    let result = result.split(' ').next().expect("a result");
    let after = after.split_once(" CC-Request-Number=").expect("a number").1;
    let after = after.split_once(' ').map_or("", |(_, rest)| rest);
    let names = [
        ("Multiple-Services-Credit-Control", "MSCC"),
        ("Granted-Service-Unit", "GSU"),
        ("Final-Unit-Indication", "FUI"),
        ("Rating-Group", "RG"),
        ("CC-Session-Failover=1 ", ""),
        ("CC-Session-Failover=1", ""),
    ];
    let short = names.iter().fold(after.to_owned(), |text, (long, name)| text.replace(long, name));
    format!("{result} {short}").trim_end().to_owned()
}
