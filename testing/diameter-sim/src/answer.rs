//! A credit-control answer as a client reads it.

use scurry_diameter::attribute::{
    CC_REQUEST_NUMBER, CC_REQUEST_TYPE, CC_TOTAL_OCTETS, ERROR_MESSAGE, GRANTED_SERVICE_UNIT,
    MULTIPLE_SERVICES_CREDIT_CONTROL, ORIGIN_HOST, RATING_GROUP, REFUND_INFORMATION, RESULT_CODE,
    SESSION_ID,
};
use scurry_diameter::ccr::RequestType;
use scurry_diameter::{Avp, Avps, Message};

/// What an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// End-to-end identifier.
    pub end_to_end: u32,
    /// Session-Id.
    pub session: String,
    /// CC-Request-Type.
    pub kind: u32,
    /// CC-Request-Number.
    pub number: u32,
    /// Result-Code.
    pub result: u32,
    /// Its services, in their order.
    pub services: Vec<ServiceAnswer>,
    /// All AVPs but who answers and a text.
    pub said: Vec<u8>,
}

/// What an answer says of one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceAnswer {
    /// Rating-Group.
    pub rating_group: u32,
    /// Result-Code.
    pub result: u32,
    /// Granted octets; 0 for none.
    pub granted: i64,
    /// Refund-Information; empty for none.
    pub refund: Vec<u8>,
}

fn number(avp: &Avp<'_>) -> u32 {
    avp.u32().expect("a number of 32 bits")
}

/// Reads an answer.
///
/// # Panics
/// If it is no credit-control answer.
pub fn read(bytes: &[u8]) -> Answer {
    let message = Message::read(bytes).expect("a message");
    assert!(!message.header.flags.is_request(), "an answer");
    let mut answer = Answer { end_to_end: message.header.end_to_end, ..Answer::default() };
    for avp in message.avps() {
        let avp = avp.expect("an AVP");
        if avp.is(SESSION_ID) {
            answer.session = avp.text().expect("a text").to_owned();
        } else if avp.is(CC_REQUEST_TYPE) {
            answer.kind = number(&avp);
        } else if avp.is(CC_REQUEST_NUMBER) {
            answer.number = number(&avp);
        } else if avp.is(RESULT_CODE) {
            answer.result = number(&avp);
        } else if avp.is(MULTIPLE_SERVICES_CREDIT_CONTROL) {
            answer.services.push(service(&avp));
        }
        if !avp.is(ORIGIN_HOST) && !avp.is(ERROR_MESSAGE) {
            answer.said.extend_from_slice(avp.bytes);
        }
    }
    answer
}

/// Reports whether a request opens a session.
pub(crate) fn is_opening(request: &Message<'_>) -> bool {
    let mut avps = request.avps().flatten();
    let kind = avps.find(|avp| avp.is(CC_REQUEST_TYPE)).expect("CC-Request-Type");
    number(&kind) == RequestType::Initial as u32
}

fn service(group: &Avp<'_>) -> ServiceAnswer {
    let mut service = ServiceAnswer::default();
    for avp in Avps::within(group).expect("a group") {
        let avp = avp.expect("an AVP");
        if avp.is(RATING_GROUP) {
            service.rating_group = number(&avp);
        } else if avp.is(RESULT_CODE) {
            service.result = number(&avp);
        } else if avp.is(REFUND_INFORMATION) {
            service.refund = avp.data.to_vec();
        } else if avp.is(GRANTED_SERVICE_UNIT) {
            for unit in Avps::within(&avp).expect("a group") {
                let unit = unit.expect("an AVP");
                if unit.is(CC_TOTAL_OCTETS) {
                    service.granted = i64::try_from(unit.u64().expect("octets")).expect("octets");
                }
            }
        }
    }
    service
}
