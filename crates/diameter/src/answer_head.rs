//! What an answer repeats of its request: the header's numbers, Session-Id, type and number of a credit-control request,
//! and Proxy-Info.

use crate::attribute::{CC_REQUEST_NUMBER, CC_REQUEST_TYPE, PROXY_INFO, SESSION_ID};
use crate::header::Header;
use crate::message::Message;
use crate::occurrences::{Occurrences, Region};
use crate::writer::MessageWriter;

/// The parts of a request that its answer repeats. A door that answers later keeps copies of them.
#[derive(Clone, Copy, Debug)]
pub struct AnswerHead<'a> {
    /// The header of the request.
    pub header: Header,
    /// Session-Id; empty if there is none.
    pub session_id: &'a [u8],
    /// CC-Request-Type.
    pub request_type: Option<u32>,
    /// CC-Request-Number.
    pub request_number: Option<u32>,
    /// Proxy-Info AVPs, which the answer has in the same order: RFC 6733, 6.2.
    pub proxy_infos: Occurrences<'a>,
}

impl<'a> AnswerHead<'a> {
    /// Finds these parts in any request, even in one that is refused: it stops at the first AVP that cannot be read.
    #[must_use]
    pub fn find(message: &Message<'a>) -> AnswerHead<'a> {
        let mut head = AnswerHead {
            header: message.header,
            session_id: &[],
            request_type: None,
            request_number: None,
            proxy_infos: Occurrences::new(PROXY_INFO, &[]),
        };
        let mut proxies = Region::default();
        let mut avps = message.avps();
        while let Some(Ok(avp)) = avps.next() {
            if avp.is(SESSION_ID) && head.session_id.is_empty() {
                head.session_id = avp.data;
            } else if avp.is(CC_REQUEST_TYPE) {
                head.request_type = head.request_type.or(avp.u32().ok());
            } else if avp.is(CC_REQUEST_NUMBER) {
                head.request_number = head.request_number.or(avp.u32().ok());
            } else if avp.is(PROXY_INFO) {
                proxies.include(message.body(), &avp, avps.rest_len());
            }
        }
        head.proxy_infos = proxies.of(message.body(), PROXY_INFO);
        head
    }

    /// Writes Session-Id, which is the first AVP where there is one.
    pub(crate) fn write_session_id(&self, writer: &mut MessageWriter<'_>) {
        if !self.session_id.is_empty() {
            writer.bytes(SESSION_ID, self.session_id);
        }
    }

    pub(crate) fn write_proxy_infos(&self, writer: &mut MessageWriter<'_>) {
        for avp in self.proxy_infos.iter() {
            writer.copy(avp.bytes);
        }
    }
}
