//! The answer to a request that is refused: Result-Code, E flag, Failed-AVP, Error-Message. RFC 6733, 7.2 and 7.5.

use crate::answer_head::AnswerHead;
use crate::attribute::{
    AUTH_APPLICATION_ID, CC_REQUEST_NUMBER, CC_REQUEST_TYPE, ERROR_MESSAGE, FAILED_AVP, RESULT_CODE,
};
use crate::dictionary::find;
use crate::header::{application, command};
use crate::message::Message;
use crate::origin::Origin;
use crate::refusal::{FailedAvp, Refusal};
use crate::writer::MessageWriter;

/// Writes the answer to a request that is refused. Returns its length, bytes.
pub fn write_refusal(
    out: &mut Vec<u8>,
    message: &Message<'_>,
    origin: &Origin,
    refusal: &Refusal<'_>,
) -> usize {
    let head = AnswerHead::find(message);
    let header = head.header.answer(refusal.result.is_protocol_error());
    let mut writer = MessageWriter::begin(out, header);
    head.write_session_id(&mut writer);
    writer.u32(RESULT_CODE, refusal.result.0);
    origin.write(&mut writer);
    let is_credit_control = header.command == command::CREDIT_CONTROL;
    if is_credit_control && header.application == application::CREDIT_CONTROL {
        writer.u32(AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        if let Some(request_type) = head.request_type {
            writer.u32(CC_REQUEST_TYPE, request_type);
        }
        if let Some(request_number) = head.request_number {
            writer.u32(CC_REQUEST_NUMBER, request_number);
        }
    }
    writer.bytes(ERROR_MESSAGE, refusal.text.as_bytes());
    if let Some(failed) = &refusal.failed {
        write_failed(&mut writer, failed);
    }
    head.write_proxy_infos(&mut writer);
    writer.finish()
}

/// Writes Failed-AVP.
pub(crate) fn write_failed(writer: &mut MessageWriter<'_>, failed: &FailedAvp<'_>) {
    writer.group(FAILED_AVP, |writer| match *failed {
        FailedAvp::Received(bytes) => writer.copy(bytes),
        FailedAvp::Example { code, vendor, flags } => {
            let len = find(vendor, code).map_or(0, |known| known.kind.len_min());
            writer.zeros(code, vendor, flags, len);
        }
    });
}
