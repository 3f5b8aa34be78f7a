//! Diameter messages: bytes are framed in one way, AVPs fill a message without a gap, a request that is read is written
//! and read the same, and every other one gets an answer that is a valid message.

use scurry_diameter::ccr::{CreditControlRequest, Scratch};
use scurry_diameter::dictionary::{AvpType, find};
use scurry_diameter::{
    AnswerHead, Avps, ClientAnswer, FailedAvp, Frame, GROUP_DEPTH_MAX, Message, Origin, Refusal,
    ServerRequest, frame, write_refusal,
};

/// Bound of a message, bytes.
const LEN_MAX: usize = 64 * 1024;

/// Checks the input as it is, and with a header whose version and length fit.
pub fn check(data: &[u8]) {
    check_frame(data);
    check_message(data);
    let len = data.len() / 4 * 4;
    if (20..=LEN_MAX).contains(&len) {
        let mut bytes = data[..len].to_vec();
        let field = u32::try_from(len).expect("short").to_be_bytes();
        bytes[..4].copy_from_slice(&field);
        bytes[0] = 1;
        assert_eq!(frame(&bytes, LEN_MAX), Ok(Frame::Message(len)));
        check_message(&bytes);
    }
}

/// Implements framing a second time.
fn check_frame(data: &[u8]) {
    let found = frame(data, LEN_MAX);
    let told =
        data.get(1..4).map(|len| len.iter().fold(0, |sum, byte| sum * 256 + usize::from(*byte)));
    let is_wrong = data.first().is_some_and(|version| *version != 1)
        || told.is_some_and(|len| len < 20 || len % 4 > 0 || len > LEN_MAX);
    assert_eq!(found.is_err(), is_wrong);
    match (found, told) {
        (Ok(Frame::Message(len)), Some(told)) => assert!(len == told && len <= data.len()),
        (Ok(Frame::Needs(more)), Some(told)) => assert_eq!(data.len() + more, told),
        (Ok(Frame::Needs(more)), None) => assert_eq!(data.len() + more, 20),
        (Ok(Frame::Message(_)), None) => panic!("a message without a length"),
        (Err(fault), _) => assert!([5011, 5015].contains(&fault.result().0), "{fault}"),
    }
}

fn check_message(data: &[u8]) {
    let message = match Message::read(data) {
        Ok(message) => message,
        Err(fault) => {
            assert_ne!(frame(data, LEN_MAX), Ok(Frame::Message(data.len())), "{fault}");
            return;
        }
    };
    assert_eq!(message.body(), &data[20..]);
    let read = walk(message.avps(), 0);
    assert!(read == message.body().len() || message.avps().any(|avp| avp.is_err()));
    let _ = ClientAnswer::read(&message);
    let _ = ServerRequest::read(&message);
    let head = AnswerHead::find(&message);
    assert!(head.proxy_infos.iter().all(|avp| avp.code == 284 && avp.vendor == 0));
    let mut scratch = Scratch::default();
    match CreditControlRequest::read(&message, &mut scratch) {
        Ok(request) => check_request(request),
        Err(refusal) => check_refusal(&message, &refusal),
    }
}

/// Reads AVPs, and those within groups. Returns how many bytes of the outermost ones were read.
fn walk(avps: Avps<'_>, depth: u8) -> usize {
    assert!(depth < GROUP_DEPTH_MAX, "groups have a bounded depth");
    let mut len = 0;
    for avp in avps.map_while(Result::ok) {
        let head_len = if avp.flags & 0x80 == 0 { 8 } else { 12 };
        assert_eq!(avp.bytes.len(), head_len + avp.data.len());
        assert_eq!(avp.bytes[4], avp.flags);
        len += avp.bytes.len().next_multiple_of(4);
        let _ = (avp.u32(), avp.u64(), avp.text(), avp.identity(), avp.time(), avp.address());
        let kind = find(avp.vendor, avp.code).map(|known| known.kind);
        if kind.is_none_or(|kind| kind == AvpType::Grouped)
            && let Ok(inner) = Avps::within(&avp)
        {
            let read = walk(inner, depth + 1);
            assert!(read <= avp.data.len().next_multiple_of(4));
        }
    }
    len
}

fn check_request(mut request: CreditControlRequest<'_>) {
    // Reserved flags and pools are not written.
    request.header.flags.0 &= 0xf0;
    let mut written = Vec::new();
    assert_eq!(request.write(&mut written), written.len());
    let message = Message::read(&written).expect("a message");
    let mut scratch = Scratch::default();
    let again = CreditControlRequest::read(&message, &mut scratch).expect("a request");
    let text = format!("{request:?}").replace("is_pooled: true", "is_pooled: false");
    assert_eq!(format!("{again:?}"), text, "it is read as it was");
}

fn check_refusal(message: &Message<'_>, refusal: &Refusal<'_>) {
    let mut out = Vec::new();
    let origin = Origin::new("ocs.example", "example", Some(1));
    assert_eq!(write_refusal(&mut out, message, &origin, refusal), out.len());
    let answer = Message::read(&out).expect("an answer is a message");
    let flags = answer.header.flags;
    assert!(!flags.is_request() && !flags.is_retransmitted());
    assert_eq!(flags.is_error(), refusal.result.is_protocol_error());
    assert_eq!(answer.header.hop_by_hop, message.header.hop_by_hop);
    assert_eq!(answer.header.end_to_end, message.header.end_to_end);
    let read = ClientAnswer::read(&answer);
    assert_eq!(read.map_or(Some(refusal.result), |read| read.result), Some(refusal.result));
    let failed = answer.avps().map(|avp| avp.expect("an AVP")).find(|avp| avp.code == 279);
    assert_eq!(failed.is_some(), refusal.failed.is_some());
    let Some((avp, expected)) = failed.zip(refusal.failed) else { return };
    let mut inner = Avps::within(&avp).expect("not deep");
    let shown = inner.next().expect("an AVP").expect("a whole one");
    assert!(inner.next().is_none(), "one AVP failed");
    assert_eq!((shown.code, shown.vendor), expected.code_and_vendor());
    match expected {
        FailedAvp::Received(bytes) => assert_eq!(shown.bytes, bytes),
        FailedAvp::Example { .. } => assert!(shown.data.iter().all(|byte| *byte == 0)),
    }
}
