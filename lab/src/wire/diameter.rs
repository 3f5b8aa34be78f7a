//! Credit control over Diameter (RFC 8506): RESERVE, UPDATE and TERMINATE of one item become CCR-I, CCR-U and CCR-T. The
//! subscriber is the account's id, and the hop-by-hop identifier is the session of the load, which has one request in
//! flight at most.

use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use scurry_diameter::attribute::{
    CC_TOTAL_OCTETS, GRANTED_SERVICE_UNIT, MULTIPLE_SERVICES_CREDIT_CONTROL, RESULT_CODE,
};
use scurry_diameter::ccr::{
    RequestHead, RequestType, RequestWriter, Service, SubscriptionId, SubscriptionKind, Units,
    UsedUnits,
};
use scurry_diameter::peer::{Peer, PeerSettings, Start};
use scurry_diameter::{
    Avp, Avps, Flags, Frame, Header, Message, MessageIds, MessageWriter, Origin, Refusal,
    application, command, frame,
};
use scurry_service::SessionStep;

use super::charge::{Charge, write_reply};
use super::{Sink, Step, Translator};
use crate::resp::Stop;

/// Settings of a door for this load.
pub const SETTINGS: &str = "
[[subscribers]]
type = 'private'
account = '{}'

[[services]]
measure = 'volume'
unit = 'octet'
";
/// Longest answer, bytes.
const ANSWER_LEN_MAX: usize = 64 * 1024;
const REALM: &str = "lab.localdomain";
const DOOR_REALM: &str = "localdomain";
const CONTEXT: &str = "32251@3gpp.org";
const SUCCESS: u32 = 2001;
const CREDIT_LIMIT_REACHED: u32 = 4012;

/// Number of the next connection: each is a peer of its own.
static NEXT_PEER: AtomicU32 = AtomicU32::new(0);

/// State of a connection.
#[derive(Debug)]
pub(super) struct Diameter {
    host: String,
    is_open: bool,
}

impl Diameter {
    pub(super) fn new() -> Diameter {
        let number = NEXT_PEER.fetch_add(1, Ordering::Relaxed);
        Diameter { host: format!("client{number}.{REALM}"), is_open: false }
    }

    /// Writes the capabilities before the first request: the door answers them first.
    fn open(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.is_open, true) {
            let settings = PeerSettings::new(Origin::new(&self.host, REALM, None));
            // The machine is for its first message alone: under load there is no watchdog.
            let _ = Peer::connect(settings.into_shared(), &Start::default(), out);
        }
    }

    fn watchdog(&self, hop_by_hop: u32, out: &mut Vec<u8>) {
        let header = Header {
            flags: Flags(Flags::REQUEST),
            command: command::DEVICE_WATCHDOG,
            application: application::BASE,
            hop_by_hop,
            end_to_end: hop_by_hop,
        };
        let mut request = MessageWriter::begin(out, header);
        Origin::new(&self.host, REALM, None).write(&mut request);
        request.finish();
    }
}

/// Writes the CCR of a request.
fn write_request(charge: &Charge<'_>, host: &str, hop_by_hop: u32, out: &mut Vec<u8>) {
    let head = RequestHead {
        session_id: charge.session,
        origin_host: host,
        origin_realm: REALM,
        destination_realm: DOOR_REALM,
        service_context_id: CONTEXT,
        request_type: request_type(charge.step),
        request_number: charge.number,
    };
    let ids = MessageIds { hop_by_hop, end_to_end: hop_by_hop };
    let mut request = RequestWriter::begin(out, ids, &head);
    let subscriber = SubscriptionId { kind: SubscriptionKind::Private, data: charge.account };
    request.subscription(&subscriber);
    let octets = |total| Units { total_octets: Some(total), ..Units::default() };
    let used = charge.used.map(|used| UsedUnits { units: octets(used), ..UsedUnits::default() });
    request.service(&Service {
        rating_group: Some(charge.rating_group),
        requested: charge.requested.map(octets),
        used: used.as_slice(),
        ..Service::default()
    });
    request.finish();
}

fn request_type(step: SessionStep) -> RequestType {
    match step {
        SessionStep::Reserve => RequestType::Initial,
        SessionStep::Update => RequestType::Update,
        SessionStep::Terminate => RequestType::Termination,
    }
}

impl Translator for Diameter {
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>) {
        self.open(out);
        match Charge::read(request) {
            Some(charge) => write_request(&charge, &self.host, session, out),
            // PING, by which the lab finds that a server is ready.
            None => self.watchdog(session, out),
        }
    }

    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop> {
        let length = match frame(bytes, ANSWER_LEN_MAX) {
            Ok(Frame::Message(length)) => length,
            Ok(Frame::Needs(_)) => return Err(Stop::Incomplete),
            Err(_) => return Err(Stop::Malformed),
        };
        let message = Message::read(&bytes[..length]).map_err(|_| Stop::Malformed)?;
        let header = message.header;
        match (header.command, header.flags.is_request()) {
            (command::CREDIT_CONTROL, false) => {}
            (command::DEVICE_WATCHDOG, false) => {
                sink.reply.extend_from_slice(b"+PONG\r\n");
                return Ok((length, Step::Answer(header.hop_by_hop)));
            }
            _ => return Ok((length, Step::Nothing)),
        }
        let (result, granted) = outcome(&message).map_err(|_| Stop::Malformed)?;
        let code = match result {
            SUCCESS => "OK",
            CREDIT_LIMIT_REACHED => "CREDIT_LIMIT_REACHED",
            _ => {
                write!(sink.reply, "-DIAMETER {result}\r\n").expect("a vector takes every byte");
                return Ok((length, Step::Answer(header.hop_by_hop)));
            }
        };
        write_reply(sink.reply, code, false, granted);
        Ok((length, Step::Answer(header.hop_by_hop)))
    }
}

/// Returns the Result-Code, that of the service where both have one, and the granted octets.
fn outcome<'a>(message: &Message<'a>) -> Result<(u32, u64), Refusal<'a>> {
    let (mut result, mut granted) = (0, 0);
    for avp in message.avps() {
        let avp = avp?;
        if avp.is(RESULT_CODE) {
            result = avp.u32()?;
        } else if avp.is(MULTIPLE_SERVICES_CREDIT_CONTROL) {
            for avp in Avps::within(&avp)? {
                let avp = avp?;
                if avp.is(RESULT_CODE) {
                    result = avp.u32()?;
                } else if avp.is(GRANTED_SERVICE_UNIT) {
                    granted = octets(&avp)?;
                }
            }
        }
    }
    Ok((result, granted))
}

fn octets<'a>(granted: &Avp<'a>) -> Result<u64, Refusal<'a>> {
    for avp in Avps::within(granted)? {
        let avp = avp?;
        if avp.is(CC_TOTAL_OCTETS) {
            return avp.u64();
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::encode;

    fn requests(lines: &[&str]) -> Vec<Message<'static>> {
        let (mut diameter, mut out) = (Diameter::new(), Vec::new());
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            diameter.request(7, &encode(&words), &mut out);
        }
        let mut rest: &'static [u8] = out.leak();
        let mut messages = Vec::new();
        while let Ok(Frame::Message(length)) = frame(rest, ANSWER_LEN_MAX) {
            messages.push(Message::read(&rest[..length]).unwrap());
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
        messages
    }

    #[test]
    fn capabilities_come_first_and_once() {
        let messages = requests(&[
            "SCUR.RESERVE acc:1 s1 0 ITEM 5 octet REQUESTED 1000",
            "SCUR.UPDATE acc:1 s1 1 ITEM 5 octet USED 900 REQUESTED 1000",
            "SCUR.TERMINATE acc:1 s1 2 ITEM 5 octet USED 700",
        ]);
        let commands: Vec<u32> = messages.iter().map(|message| message.header.command).collect();
        assert_eq!(commands, [257, 272, 272, 272]);
        let update = messages[2].to_string();
        for word in ["Session-Id=s1 ", "CC-Request-Type=2", "CC-Request-Number=1", "Rating-Group=5"]
        {
            assert!(update.contains(word), "{word}: {update}");
        }
        assert!(update.contains("CC-Total-Octets=900") && update.contains("CC-Total-Octets=1000"));
        assert!(messages[1].to_string().contains("Subscription-Id-Data=acc:1"));
        assert!(!messages[3].to_string().contains("Requested-Service-Unit"));
    }
}
