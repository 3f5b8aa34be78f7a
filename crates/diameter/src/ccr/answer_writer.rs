//! Writes credit-control answers (RFC 8506, 3.2), one service after the other, as their results become known.

use super::service_answer::{FinalUnit, ServiceAnswer};
use super::units::{Money, Units};
use crate::answer_head::AnswerHead;
use crate::attribute::{
    AUTH_APPLICATION_ID, CC_REQUEST_NUMBER, CC_REQUEST_TYPE, CC_SESSION_FAILOVER,
    CHECK_BALANCE_RESULT, COST_INFORMATION, ERROR_MESSAGE, GRANTED_SERVICE_UNIT,
    MULTIPLE_SERVICES_CREDIT_CONTROL, RESULT_CODE, VALIDITY_TIME,
};
use crate::header::application;
use crate::origin::Origin;
use crate::refusal::FailedAvp;
use crate::refusal_answer::write_failed;
use crate::result_code::ResultCode;
use crate::writer::MessageWriter;

/// An answer that is being written. [`AnswerWriter::finish`] ends it.
#[derive(Debug)]
#[must_use = "a message needs its length: call finish"]
pub struct AnswerWriter<'w> {
    writer: MessageWriter<'w>,
    head: AnswerHead<'w>,
}

impl<'w> AnswerWriter<'w> {
    /// Begins an answer: Session-Id, Result-Code, the origin, Auth-Application-Id, type and number of the request. A
    /// protocol error (3xxx) sets the E flag.
    pub fn begin(
        out: &'w mut Vec<u8>,
        head: AnswerHead<'w>,
        origin: &Origin,
        result: ResultCode,
    ) -> AnswerWriter<'w> {
        let header = head.header.answer(result.is_protocol_error());
        let mut writer = MessageWriter::begin(out, header);
        head.write_session_id(&mut writer);
        writer.u32(RESULT_CODE, result.0);
        origin.write(&mut writer);
        writer.u32(AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        if let Some(request_type) = head.request_type {
            writer.u32(CC_REQUEST_TYPE, request_type);
        }
        if let Some(request_number) = head.request_number {
            writer.u32(CC_REQUEST_NUMBER, request_number);
        }
        AnswerWriter { writer, head }
    }

    /// Writes CC-Session-Failover: true if another server can continue the session.
    pub fn session_failover(&mut self, is_supported: bool) {
        self.writer.u32(CC_SESSION_FAILOVER, u32::from(is_supported));
    }

    /// Writes a Multiple-Services-Credit-Control.
    pub fn service(&mut self, service: &ServiceAnswer<'_>) {
        self.writer.group(MULTIPLE_SERVICES_CREDIT_CONTROL, |writer| service.write(writer));
    }

    /// Writes Granted-Service-Unit outside of any Multiple-Services-Credit-Control.
    pub fn granted(&mut self, units: &Units) {
        self.writer.group(GRANTED_SERVICE_UNIT, |writer| units.write(writer));
    }

    /// Writes Validity-Time outside of any Multiple-Services-Credit-Control, seconds.
    pub fn validity(&mut self, seconds: u32) {
        self.writer.u32(VALIDITY_TIME, seconds);
    }

    /// Writes Final-Unit-Indication outside of any Multiple-Services-Credit-Control.
    pub fn final_unit(&mut self, final_unit: &FinalUnit<'_>) {
        final_unit.write(&mut self.writer);
    }

    /// Writes Check-Balance-Result: whether the balance covers the units.
    pub fn check_balance(&mut self, is_enough: bool) {
        self.writer.u32(CHECK_BALANCE_RESULT, u32::from(!is_enough));
    }

    /// Writes Cost-Information: what the service costs or has cost.
    pub fn cost(&mut self, money: &Money) {
        self.writer.group(COST_INFORMATION, |writer| money.write(writer));
    }

    /// Writes Error-Message.
    pub fn error_message(&mut self, text: &str) {
        self.writer.bytes(ERROR_MESSAGE, text.as_bytes());
    }

    /// Writes Failed-AVP.
    pub fn failed(&mut self, failed: &FailedAvp<'_>) {
        write_failed(&mut self.writer, failed);
    }

    /// Returns the writer, for AVPs without a method here.
    pub fn writer(&mut self) -> &mut MessageWriter<'w> {
        &mut self.writer
    }

    /// Repeats the Proxy-Info AVPs of the request, and ends the answer. Returns its length, bytes.
    pub fn finish(mut self) -> usize {
        self.head.write_proxy_infos(&mut self.writer);
        self.writer.finish()
    }
}
