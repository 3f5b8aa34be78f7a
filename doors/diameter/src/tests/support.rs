//! A door with a stand-in for the charging, and a client that reads and writes whole messages.

use crate::answerer::{AnswerFuture, Answerer, FormedAnswer};
use crate::metrics::{ConnectionFault, DoorCounts};
use crate::serving::Serving;
use crate::settings::Settings;
use scurry_diameter::attribute::{
    AUTH_APPLICATION_ID, DESTINATION_HOST, HOST_IP_ADDRESS, ORIGIN_HOST, ORIGIN_REALM,
    ORIGIN_STATE_ID, PRODUCT_NAME, PROXY_INFO, RESULT_CODE, VENDOR_ID,
};
use scurry_diameter::ccr::{
    AnswerWriter, CreditControlRequest, RequestHead, RequestType, RequestWriter, Scratch,
};
use scurry_diameter::{
    AnswerHead, Flags, Frame, Header, Message, MessageIds, MessageWriter, Occurrences, Origin,
    Refusal, ResultCode, application, command, frame,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a test waits for what must happen.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Names of the door.
pub(super) const HOST: &str = "ocs.scurry.example";
pub(super) const REALM: &str = "scurry.example";
/// Name of most clients.
pub(super) const PGW: &str = "pgw.visited.example";

/// Stands in for the charging: it answers each request with success, once the gate has a permit for it.
pub(super) struct StandIn {
    pub(super) gate: Semaphore,
    pub(super) begun: AtomicU64,
}

impl StandIn {
    pub(super) fn new(permits: usize) -> Arc<StandIn> {
        Arc::new(StandIn { gate: Semaphore::new(permits), begun: AtomicU64::new(0) })
    }

    pub(super) fn open() -> Arc<StandIn> {
        StandIn::new(Semaphore::MAX_PERMITS)
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }
}

/// The answer of the stand-in.
pub(super) struct StandInAnswer {
    header: Header,
    session_id: Vec<u8>,
}

/// The stand-in as the door gets it: its answers outlive the borrow.
pub(super) struct Shared(pub(super) Arc<StandIn>);

impl Answerer for Shared {
    type Answer = StandInAnswer;

    fn begin<'a>(
        &self,
        message: &Message<'a>,
        scratch: &'a mut Scratch,
    ) -> Result<AnswerFuture<StandInAnswer>, Refusal<'a>> {
        let request = CreditControlRequest::read(message, scratch)?;
        let session_id = request.session_id.as_bytes().to_vec();
        let answer = StandInAnswer { header: message.header, session_id };
        let it = Arc::clone(&self.0);
        Ok(Box::pin(async move {
            it.begun.fetch_add(1, Ordering::SeqCst);
            it.gate.acquire().await.expect("the gate stays").forget();
            answer
        }))
    }
}

impl FormedAnswer for StandInAnswer {
    fn result(&self) -> ResultCode {
        ResultCode::SUCCESS
    }

    fn write(&self, origin: &Origin, out: &mut Vec<u8>) {
        let head = AnswerHead {
            header: self.header,
            session_id: &self.session_id,
            request_type: Some(1),
            request_number: Some(0),
            proxy_infos: Occurrences::new(PROXY_INFO, &[]),
        };
        AnswerWriter::begin(out, head, origin, ResultCode::SUCCESS).finish();
    }
}

/// Settings of a door on this machine.
pub(super) fn settings() -> Settings {
    Settings {
        listen: Some(local(0)),
        // No test depends on these: a machine may stall for as long as it likes.
        watchdog_s: 3_600,
        capabilities_ms: 600_000,
        answer_ms: 600_000,
        message_ms: 600_000,
        write_ms: 600_000,
        // Clients that are still open at the end of a test answer nothing.
        disconnect_ms: 50,
        ..Settings::new(HOST)
    }
}

pub(super) fn local(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

pub(super) fn serve(settings: Settings, answerer: &Arc<StandIn>) -> Serving {
    Serving::open(settings, |_| Arc::new(Shared(Arc::clone(answerer)))).expect("it opens")
}

/// Waits until the door's counters are as they must be.
pub(super) fn wait_until(door: &Serving, what: &str, is_so: impl Fn(&DoorCounts) -> bool) {
    wait_for(what, || is_so(&door.metrics.snapshot()));
}

/// Waits until something is so.
pub(super) fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let step = Duration::from_millis(5);
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        if is_so() {
            return;
        }
        thread::sleep(step); // tidy: allow (the door has to get there)
    }
    panic!("this does not happen: {what}");
}

/// Waits until so many connections had the fault.
pub(super) fn wait_fault(door: &Serving, fault: ConnectionFault, count: u64) {
    wait_until(door, &format!("{fault:?} {count}"), |counts| counts.faults_of(fault) >= count);
    assert_eq!(door.metrics.snapshot().faults_of(fault), count);
}

/// A client.
pub(super) struct Client<S = TcpStream> {
    pub(super) stream: S,
    input: Vec<u8>,
}

impl Client {
    pub(super) fn connect(door: &Serving) -> Client {
        let stream = TcpStream::connect(door.address.expect("it listens")).expect("it accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        Client::new(stream)
    }

    /// Connects, and exchanges capabilities.
    pub(super) fn open(door: &Serving, host: &str) -> Client {
        Client::try_open(door, host).expect("it is admitted")
    }

    /// Connects, and exchanges capabilities; None if the door closes the connection.
    pub(super) fn try_open(door: &Serving, host: &str) -> Option<Client> {
        let mut client = Client::connect(door);
        client.stream.write_all(&cer(host, None)).ok()?;
        let summary = client.receive_or_end()?.summary();
        assert_eq!(summary, (257, Some(2001)));
        Some(client)
    }
}

impl<S: Read + Write> Client<S> {
    pub(super) fn new(stream: S) -> Client<S> {
        Client { stream, input: Vec::new() }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("it takes the bytes");
    }

    /// Receives one message; None at the end.
    pub(super) fn receive_or_end(&mut self) -> Option<Received> {
        loop {
            if let Ok(Frame::Message(len)) = frame(&self.input, 1 << 20) {
                return Some(Received(self.input.drain(..len).collect()));
            }
            let mut part = [0; 4096];
            match self.stream.read(&mut part) {
                Ok(0) => return None,
                Ok(len) => self.input.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return None,
                Err(error) => panic!("nothing is received: {error}"),
            }
        }
    }

    pub(super) fn receive(&mut self) -> Received {
        self.receive_or_end().expect("a message")
    }

    pub(super) fn ends(&mut self) {
        assert_eq!(self.receive_or_end().map(|message| message.summary()), None);
    }
}

/// A message that was received.
pub(super) struct Received(pub(super) Vec<u8>);

impl Received {
    pub(super) fn message(&self) -> Message<'_> {
        Message::read(&self.0).expect("a message")
    }

    pub(super) fn header(&self) -> Header {
        self.message().header
    }

    /// Returns the command, and the Result-Code of an answer.
    pub(super) fn summary(&self) -> (u32, Option<u32>) {
        let mut avps = self.message().avps().map(|avp| avp.expect("an AVP"));
        let result = avps.find(|avp| avp.is(RESULT_CODE)).map(|avp| avp.u32().expect("a number"));
        (self.header().command, result)
    }
}

fn base(command: u32, flags: u8, ids: MessageIds) -> Header {
    let (application, MessageIds { hop_by_hop, end_to_end }) = (application::BASE, ids);
    Header { flags: Flags(flags), command, application, hop_by_hop, end_to_end }
}

/// Returns a request between peers with only its origin.
pub(super) fn peer_request(command: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = MessageWriter::begin(&mut out, base(command, 0x80, ids(77)));
    writer.bytes(ORIGIN_HOST, PGW.as_bytes());
    writer.bytes(ORIGIN_REALM, b"visited.example");
    writer.finish();
    out
}

/// Returns the answer of success to a request of the door.
pub(super) fn answer(request: &Header) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = MessageWriter::begin(&mut out, request.answer(false));
    writer.u32(RESULT_CODE, 2001);
    writer.bytes(ORIGIN_HOST, PGW.as_bytes());
    writer.bytes(ORIGIN_REALM, b"visited.example");
    writer.finish();
    out
}

/// Returns capabilities of a client.
pub(super) fn cer(host: &str, state_id: Option<u32>) -> Vec<u8> {
    capabilities(host, state_id, application::CREDIT_CONTROL)
}

/// Returns capabilities with this application.
pub(super) fn capabilities(host: &str, state_id: Option<u32>, application: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let header = base(command::CAPABILITIES_EXCHANGE, 0x80, ids(1));
    let mut writer = MessageWriter::begin(&mut out, header);
    writer.bytes(ORIGIN_HOST, host.as_bytes());
    writer.bytes(ORIGIN_REALM, b"visited.example");
    writer.address(HOST_IP_ADDRESS, IpAddr::V4(Ipv4Addr::LOCALHOST));
    writer.u32(VENDOR_ID, 0);
    writer.bytes(PRODUCT_NAME, b"client");
    if let Some(state_id) = state_id {
        writer.u32(ORIGIN_STATE_ID, state_id);
    }
    writer.u32(AUTH_APPLICATION_ID, application);
    writer.finish();
    out
}

fn ids(number: u32) -> MessageIds {
    MessageIds { hop_by_hop: number, end_to_end: number }
}

/// Returns a credit-control request with this hop-by-hop identifier.
pub(super) fn ccr(number: u32) -> Vec<u8> {
    ccr_to(number, REALM, None)
}

/// Returns a credit-control request for a realm, and for a host if there is one.
pub(super) fn ccr_to(number: u32, realm: &str, host: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    let head = RequestHead {
        session_id: "pgw.visited.example;1;2",
        origin_host: PGW,
        origin_realm: "visited.example",
        destination_realm: realm,
        service_context_id: "32251@3gpp.org",
        request_type: RequestType::Initial,
        request_number: 0,
    };
    let mut writer = RequestWriter::begin(&mut out, ids(number), &head);
    if let Some(host) = host {
        writer.writer().bytes(DESTINATION_HOST, host.as_bytes());
    }
    writer.finish();
    out
}
