//! Messages of Diameter, written and read byte by byte. Nothing here is of our own codec, so that a defect of the codec
//! does not hide itself.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Timeout of an answer: longer than any pause of the machine.
const PATIENCE: Duration = Duration::from_secs(120);

const VENDOR_3GPP: u32 = 10_415;
/// Credit-Control, also the application.
const CREDIT_CONTROL: u32 = 272;
const CAPABILITIES_EXCHANGE: u32 = 257;

/// How the data of an AVP are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Long,
    Group,
    /// The bytes are not shown.
    Bytes,
}

/// AVPs that the server may send in these tests: code, vendor, M flag, name, data. RFC 6733, RFC 8506, TS 32.299.
const KNOWN: [(u32, u32, bool, &str, Kind); 38] = [
    (257, 0, true, "Host-IP-Address", Kind::Bytes),
    (258, 0, true, "Auth-Application-Id", Kind::Number),
    (260, 0, true, "Vendor-Specific-Application-Id", Kind::Group),
    (263, 0, true, "Session-Id", Kind::Text),
    (264, 0, true, "Origin-Host", Kind::Text),
    (265, 0, true, "Supported-Vendor-Id", Kind::Number),
    (266, 0, true, "Vendor-Id", Kind::Number),
    (267, 0, false, "Firmware-Revision", Kind::Number),
    (268, 0, true, "Result-Code", Kind::Number),
    (269, 0, false, "Product-Name", Kind::Text),
    (278, 0, true, "Origin-State-Id", Kind::Number),
    (279, 0, true, "Failed-AVP", Kind::Group),
    (281, 0, false, "Error-Message", Kind::Text),
    (283, 0, true, "Destination-Realm", Kind::Text),
    (285, 0, true, "Re-Auth-Request-Type", Kind::Number),
    (293, 0, true, "Destination-Host", Kind::Text),
    (296, 0, true, "Origin-Realm", Kind::Text),
    (299, 0, true, "Inband-Security-Id", Kind::Number),
    (415, 0, true, "CC-Request-Number", Kind::Number),
    (416, 0, true, "CC-Request-Type", Kind::Number),
    (418, 0, true, "CC-Session-Failover", Kind::Number),
    (420, 0, true, "CC-Time", Kind::Number),
    (421, 0, true, "CC-Total-Octets", Kind::Long),
    (430, 0, true, "FUI", Kind::Group),
    (431, 0, true, "GSU", Kind::Group),
    (432, 0, true, "RG", Kind::Number),
    (433, 0, true, "Redirect-Address-Type", Kind::Number),
    (434, 0, true, "Redirect-Server", Kind::Group),
    (435, 0, true, "Redirect-Server-Address", Kind::Text),
    (439, 0, true, "SI", Kind::Number),
    (448, 0, true, "Validity-Time", Kind::Number),
    (449, 0, true, "Final-Unit-Action", Kind::Number),
    (456, 0, true, "MSCC", Kind::Group),
    (868, VENDOR_3GPP, true, "Time-Quota-Threshold", Kind::Number),
    (869, VENDOR_3GPP, true, "Volume-Quota-Threshold", Kind::Number),
    (871, VENDOR_3GPP, true, "Quota-Holding-Time", Kind::Number),
    (881, VENDOR_3GPP, true, "Quota-Consumption-Time", Kind::Number),
    (1226, VENDOR_3GPP, true, "Unit-Quota-Threshold", Kind::Number),
];

/// Returns an AVP with these flags, padded.
fn raw(code: u32, flags: u8, vendor: u32, data: &[u8]) -> Vec<u8> {
    let vendor = if flags & 0x80 == 0 { Vec::new() } else { vendor.to_be_bytes().to_vec() };
    let len = u32::try_from(8 + vendor.len() + data.len()).expect("short");
    let mut out = code.to_be_bytes().to_vec();
    out.extend((len | u32::from(flags) << 24).to_be_bytes());
    out.extend(vendor);
    out.extend(data);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// Returns an AVP with the M flag.
pub(crate) fn bytes(code: u32, data: &[u8]) -> Vec<u8> {
    raw(code, 0x40, 0, data)
}

/// Returns an AVP without the M flag.
pub(crate) fn optional(code: u32, data: &[u8]) -> Vec<u8> {
    raw(code, 0, 0, data)
}

/// Returns an AVP of 3GPP with the M flag.
pub(crate) fn tgpp(code: u32, data: &[u8]) -> Vec<u8> {
    raw(code, 0xc0, VENDOR_3GPP, data)
}

/// Returns an AVP of 3GPP without the M flag.
pub(crate) fn tgpp_optional(code: u32, data: &[u8]) -> Vec<u8> {
    raw(code, 0x80, VENDOR_3GPP, data)
}

pub(crate) fn text(code: u32, data: &str) -> Vec<u8> {
    bytes(code, data.as_bytes())
}

pub(crate) fn number(code: u32, data: u32) -> Vec<u8> {
    bytes(code, &data.to_be_bytes())
}

pub(crate) fn long(code: u32, data: u64) -> Vec<u8> {
    bytes(code, &data.to_be_bytes())
}

pub(crate) fn group(code: u32, members: &[Vec<u8>]) -> Vec<u8> {
    bytes(code, &members.concat())
}

/// Returns a Subscription-Id.
pub(crate) fn subscriber(kind: u32, data: &str) -> Vec<u8> {
    group(443, &[number(450, kind), text(444, data)])
}

/// Returns a message. `ids` are the application, Hop-by-Hop and End-to-End identifier.
pub(crate) fn message(flags: u8, command: u32, ids: [u32; 3], body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(20 + body.len()).expect("short");
    let head = [1 << 24 | len, u32::from(flags) << 24 | command];
    let mut out: Vec<u8> = head.into_iter().chain(ids).flat_map(u32::to_be_bytes).collect();
    out.extend(body);
    out
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// Shows AVPs as text, and checks their flags, lengths and padding.
fn shown(mut rest: &[u8]) -> String {
    let mut out = String::new();
    while !rest.is_empty() {
        let (code, len) = (word(rest, 0), word(rest, 4) & 0x00ff_ffff);
        let flags = rest[4];
        let vendor = if flags & 0x80 == 0 { 0 } else { word(rest, 8) };
        let head = if vendor == 0 { 8 } else { 12 };
        let len = usize::try_from(len).expect("short");
        let known = KNOWN.iter().find(|known| (known.0, known.1) == (code, vendor));
        let (_, _, mandatory, name, kind) =
            known.unwrap_or_else(|| panic!("AVP {code} of vendor {vendor}: {out}"));
        let expected = u8::from(*mandatory) << 6 | u8::from(vendor != 0) << 7;
        assert_eq!(flags, expected, "flags of {name}");
        let data = &rest[head..len];
        let value = match kind {
            Kind::Text => std::str::from_utf8(data).expect("text").to_owned(),
            Kind::Number => u32::from_be_bytes(data.try_into().expect(name)).to_string(),
            Kind::Long => u64::from_be_bytes(data.try_into().expect(name)).to_string(),
            Kind::Group => format!("{{{} }}", shown(data)),
            Kind::Bytes => "_".to_owned(),
        };
        out.push_str(&format!(" {name}={value}"));
        let padded = len.next_multiple_of(4);
        assert!(rest[len..padded].iter().all(|byte| *byte == 0), "padding of {name}");
        rest = &rest[padded..];
    }
    out
}

/// One connection of a client.
pub(crate) struct RawClient {
    stream: TcpStream,
    /// End-to-End identifiers of the requests that wait for their answers, by Hop-by-Hop identifier.
    waiting: BTreeMap<u32, u32>,
    next: u32,
}

impl RawClient {
    /// Connects, and exchanges capabilities: these AVPs are the request's. Returns the answer too.
    pub(crate) fn connect(port: u16, capabilities: &[Vec<u8>]) -> (RawClient, String) {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut client = RawClient { stream, waiting: BTreeMap::new(), next: 0x0100_0000 };
        let request = client.message(0x80, CAPABILITIES_EXCHANGE, 0, &capabilities.concat());
        client.stream.write_all(&request).expect("it is sent");
        let (_, answer) = client.receive();
        (client, answer)
    }

    fn message(&mut self, flags: u8, command: u32, application: u32, body: &[u8]) -> Vec<u8> {
        self.next += 1;
        let end_to_end = self.next ^ 0x5a5a_5a5a;
        self.waiting.insert(self.next, end_to_end);
        message(flags, command, [application, self.next, end_to_end], body)
    }

    /// Sends credit-control requests in one write. Returns their answers in the order of the requests, without what
    /// each repeats: Session-Id, the origin and the application.
    pub(crate) fn ask_all(&mut self, requests: &[Vec<Vec<u8>>]) -> Vec<String> {
        let mut out = Vec::new();
        for request in requests {
            out.extend(self.message(0xc0, CREDIT_CONTROL, 4, &request.concat()));
        }
        self.stream.write_all(&out).expect("it is sent");
        let answers: BTreeMap<u32, String> = requests.iter().map(|_| self.receive()).collect();
        answers.into_values().collect()
    }

    /// Sends a credit-control request, and returns its answer.
    pub(crate) fn ask(&mut self, request: &[Vec<u8>]) -> String {
        self.ask_all(&[request.to_vec()]).pop().expect("an answer")
    }

    /// Receives a request of the server with this command and application, and answers it with a Result-Code and the
    /// AVPs of the origin. Returns its AVPs as text.
    pub(crate) fn receive_request(
        &mut self,
        command: u32,
        session: &str,
        origin: &[Vec<u8>],
        result: u32,
    ) -> String {
        let (head, body) = self.receive_message();
        assert_eq!(word(&head, 4), 0xc0 << 24 | command, "flags and command");
        let ids = [4, word(&head, 12), word(&head, 16)];
        assert_eq!(word(&head, 8), 4, "application");
        let members = [vec![text(263, session), number(268, result)], origin.to_vec()].concat();
        let answer = message(0x40, command, ids, &members.concat());
        self.stream.write_all(&answer).expect("it is sent");
        shown(&body).trim_start().to_owned()
    }

    fn receive_message(&mut self) -> ([u8; 20], Vec<u8>) {
        let mut head = [0; 20];
        self.stream.read_exact(&mut head).expect("a message");
        assert_eq!(head[0], 1, "version");
        let mut body = vec![0; usize::try_from(word(&head, 0) & 0x00ff_ffff).expect("short") - 20];
        self.stream.read_exact(&mut body).expect("a message");
        (head, body)
    }

    /// Receives an answer. Returns the Hop-by-Hop identifier of its request, and its AVPs as text.
    fn receive(&mut self) -> (u32, String) {
        let (head, body) = self.receive_message();
        let command = word(&head, 4) & 0x00ff_ffff;
        let hop_by_hop = word(&head, 12);
        assert_eq!(self.waiting.remove(&hop_by_hop), Some(word(&head, 16)), "ids of a request");
        let (flags, application) = if command == CREDIT_CONTROL { (0x40, 4) } else { (0, 0) };
        assert_eq!((head[4], word(&head, 8)), (flags, application), "flags and application");
        (hop_by_hop, shown(&body).trim_start().to_owned())
    }
}
