//! What the tests share: requests as clients build them, and AVPs as text.

use scurry_diameter::ccr::{
    CreditControlRequest, RequestHead, RequestType, RequestWriter, Scratch, Service,
    SubscriptionId, SubscriptionKind, Units, UsedUnits,
};
use scurry_diameter::{
    AnswerHead, Attribute, Avps, Message, MessageIds, Origin, Refusal, dictionary,
};

pub(crate) const IDS: MessageIds = MessageIds { hop_by_hop: 0x1122_3344, end_to_end: 0xaabb_ccdd };

pub(crate) const HEAD: RequestHead<'_> = RequestHead {
    session_id: "smf.example;1;2;app_gy",
    origin_host: "smf.example",
    origin_realm: "example",
    destination_realm: "example",
    service_context_id: "32251@3gpp.org",
    request_type: RequestType::Update,
    request_number: 7,
};

pub(crate) fn origin() -> Origin {
    Origin::new("ocs.example", "example", Some(5))
}

/// Writes a request; `write` adds AVPs to the head.
pub(crate) fn request_of(
    head: &RequestHead<'_>,
    write: impl FnOnce(&mut RequestWriter<'_>),
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut request = RequestWriter::begin(&mut out, IDS, head);
    write(&mut request);
    request.finish();
    out
}

/// Writes a CCR-U with this many services.
pub(crate) fn update(services: u32) -> Vec<u8> {
    request_of(&HEAD, |request| {
        request.subscription(&SubscriptionId {
            kind: SubscriptionKind::Imsi,
            data: "001010000000001",
        });
        request.subscription(&SubscriptionId { kind: SubscriptionKind::E164, data: "15550100" });
        request.event_time(1_764_460_800);
        for rating_group in 1..=services {
            request.service(&Service {
                requested: Some(Units::default()),
                used: &[UsedUnits {
                    units: Units {
                        total_octets: Some(1_000_000),
                        input_octets: Some(400_000),
                        output_octets: Some(600_000),
                        time_s: Some(30),
                        ..Units::default()
                    },
                    ..UsedUnits::default()
                }],
                rating_group: Some(rating_group),
                reporting_reason: Some(3),
                ..Service::default()
            });
        }
    })
}

/// Reads a request and passes the result on.
pub(crate) fn with_request<T>(
    bytes: &[u8],
    check: impl FnOnce(Result<CreditControlRequest<'_>, Refusal<'_>>) -> T,
) -> T {
    let message = Message::read(bytes).expect("a message");
    check(CreditControlRequest::read(&message, &mut Scratch::default()))
}

/// Returns the answer's head of a request that is read.
pub(crate) fn head_of(bytes: &[u8]) -> AnswerHead<'_> {
    AnswerHead::find(&Message::read(bytes).expect("a message"))
}

/// Returns the Result-Code and the AVP of the refusal of a request.
pub(crate) fn refused(bytes: &[u8]) -> (u32, Option<(u32, u32)>) {
    with_request(bytes, |read| {
        let refusal = read.expect_err("it is refused");
        (refusal.result.0, refusal.failed.map(|failed| failed.code_and_vendor()))
    })
}

/// Returns the message without the AVPs of that name at its top level.
pub(crate) fn without(bytes: &[u8], attribute: Attribute) -> Vec<u8> {
    let message = Message::read(bytes).expect("a message");
    let mut out = bytes[..20].to_vec();
    for avp in message.avps().map(|avp| avp.expect("an AVP")).filter(|avp| !avp.is(attribute)) {
        out.extend_from_slice(avp.bytes);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    with_len(out)
}

/// Returns the message with an AVP, as bytes, at its end.
pub(crate) fn with_avp(bytes: &[u8], avp: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out.extend_from_slice(avp);
    out.resize(out.len().next_multiple_of(4), 0);
    with_len(out)
}

/// Sets the length in the header to the length of the bytes.
pub(crate) fn with_len(mut bytes: Vec<u8>) -> Vec<u8> {
    let len = u32::try_from(bytes.len()).expect("short").to_be_bytes();
    bytes[1..4].copy_from_slice(&len[1..]);
    bytes
}

/// Returns an AVP as bytes.
pub(crate) fn avp(attribute: Attribute, data: &[u8]) -> Vec<u8> {
    let mut out = attribute.code.to_be_bytes().to_vec();
    let head_len = if attribute.vendor == 0 { 8 } else { 12 };
    let len = u32::try_from(head_len + data.len()).expect("short").to_be_bytes();
    let mandatory = if attribute.mandatory { 0x40 } else { 0 };
    let vendor = if attribute.vendor == 0 { 0 } else { 0x80 };
    out.extend_from_slice(&[mandatory | vendor, len[1], len[2], len[3]]);
    if attribute.vendor != 0 {
        out.extend_from_slice(&attribute.vendor.to_be_bytes());
    }
    out.extend_from_slice(data);
    out
}

/// Returns the text of a message, each AVP of which has the M flag that the dictionary wants.
pub(crate) fn text(bytes: &[u8]) -> String {
    let message = Message::read(bytes).expect("a message");
    check_flags(message.avps());
    message.to_string()
}

fn check_flags(avps: Avps<'_>) {
    for avp in avps {
        let avp = avp.expect("an AVP");
        let known = dictionary::find(avp.vendor, avp.code).expect("a known AVP");
        let must = known.mandatory == dictionary::Mandatory::Must;
        assert_eq!(avp.is_mandatory(), must, "the M flag of {}", known.name);
        if known.kind == dictionary::AvpType::Grouped {
            check_flags(Avps::within(&avp).expect("not deep"));
        }
    }
}
