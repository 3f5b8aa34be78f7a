//! Reads a credit-control request in one pass over its AVPs.

use super::lists::{Record, Scratch};
use super::once::{first, once, too_many};
use super::request::{CreditControlRequest, RequestType, RequestedAction};
use super::service::{Service, Services};
use super::subscription::{SubscriptionId, SubscriptionIds};
use crate::attribute::{
    AOC_REQUEST_TYPE, AUTH_APPLICATION_ID, CC_CORRELATION_ID, CC_REQUEST_NUMBER, CC_REQUEST_TYPE,
    CC_SESSION_FAILOVER, CC_SUB_SESSION_ID, DESTINATION_HOST, DESTINATION_REALM, EVENT_TIMESTAMP,
    MULTIPLE_SERVICES_CREDIT_CONTROL, MULTIPLE_SERVICES_INDICATOR, ORIGIN_HOST, ORIGIN_REALM,
    ORIGIN_STATE_ID, PROXY_INFO, REQUESTED_ACTION, ROUTE_RECORD, SERVICE_CONTEXT_ID,
    SERVICE_INFORMATION, SESSION_ID, SUBSCRIPTION_ID, SUBSCRIPTION_ID_EXTENSION, TERMINATION_CAUSE,
    USER_NAME, VENDOR_SPECIFIC_APPLICATION_ID,
};
use crate::avp::Avp;
use crate::dictionary::VENDOR_3GPP;
use crate::header::{application, command};
use crate::message::Message;
use crate::occurrences::Region;
use crate::refusal::Refusal;
use crate::result_code::ResultCode;
use crate::vendor_application::VendorApplication;

impl<'a> CreditControlRequest<'a> {
    /// Reads a request. Its lists are in `scratch`, which the next request uses again.
    ///
    /// # Errors
    /// The refusal for the answer: 3001 and 3007 for another command or application, 3008 for an answer or a request
    /// with the E flag, 5001 for an unknown AVP with the M flag, 5004 for a value that is not allowed, 5005 for a
    /// missing AVP, 5009 for one that occurs too often, 5014 for a wrong length.
    pub fn read(
        message: &Message<'a>,
        scratch: &'a mut Scratch,
    ) -> Result<CreditControlRequest<'a>, Refusal<'a>> {
        check_header(message)?;
        scratch.clear();
        let mut fields = Fields::default();
        let mut avps = message.avps();
        while let Some(avp) = avps.next() {
            let avp = avp?;
            match avp.vendor {
                0 => fields.read_base(&avp, scratch, message.body(), avps.rest_len())?,
                _ => fields.read_vendor(&avp, scratch)?,
            }
        }
        fields.finish(message, scratch)
    }
}

fn check_header(message: &Message<'_>) -> Result<(), Refusal<'static>> {
    let header = message.header;
    let (result, text) = match header {
        _ if !header.flags.is_request() || header.flags.is_error() => {
            (ResultCode::INVALID_HDR_BITS, "flags that do not belong to a request")
        }
        _ if header.application != application::CREDIT_CONTROL => {
            (ResultCode::APPLICATION_UNSUPPORTED, "the application is not known here")
        }
        _ if header.command != command::CREDIT_CONTROL => {
            (ResultCode::COMMAND_UNSUPPORTED, "the command is not known here")
        }
        _ => return Ok(()),
    };
    Err(Refusal::new(result, text))
}

/// The fields that have been read so far.
#[derive(Default)]
struct Fields<'a> {
    session_id: Option<&'a str>,
    origin_host: Option<&'a str>,
    origin_realm: Option<&'a str>,
    destination_realm: Option<&'a str>,
    destination_host: Option<&'a str>,
    is_credit_control: bool,
    service_context_id: Option<&'a str>,
    request_type: Option<RequestType>,
    request_number: Option<u32>,
    requested_action: Option<RequestedAction>,
    user_name: Option<&'a str>,
    subscription_ids: SubscriptionIds<'a>,
    event_time_s: Option<i64>,
    multiple_services: Option<bool>,
    termination_cause: Option<u32>,
    aoc_request_type: Option<u32>,
    origin_state_id: Option<u32>,
    sub_session_id: Option<u64>,
    correlation_id: Option<&'a [u8]>,
    session_failover: Option<u32>,
    outside: Record,
    service_information: Option<Avp<'a>>,
    proxy_infos: Region,
    route_records: Region,
}

impl<'a> Fields<'a> {
    #[inline]
    fn read_base(
        &mut self,
        avp: &Avp<'a>,
        scratch: &mut Scratch,
        body: &[u8],
        rest_len: usize,
    ) -> Result<(), Refusal<'a>> {
        match avp.code {
            code if code == SESSION_ID.code => once(&mut self.session_id, avp, session_id(avp))?,
            code if code == ORIGIN_HOST.code => first(&mut self.origin_host, avp.identity())?,
            code if code == ORIGIN_REALM.code => first(&mut self.origin_realm, avp.identity())?,
            code if code == DESTINATION_REALM.code => {
                first(&mut self.destination_realm, avp.identity())?;
            }
            code if code == DESTINATION_HOST.code => {
                first(&mut self.destination_host, avp.identity())?;
            }
            code if code == AUTH_APPLICATION_ID.code => self.application(avp, avp.u32()?)?,
            code if code == SERVICE_CONTEXT_ID.code => {
                once(&mut self.service_context_id, avp, avp.text())?;
            }
            code if code == CC_REQUEST_TYPE.code => {
                once(&mut self.request_type, avp, enumerated(avp, RequestType::of))?;
            }
            code if code == CC_REQUEST_NUMBER.code => {
                once(&mut self.request_number, avp, avp.u32())?;
            }
            code if code == MULTIPLE_SERVICES_CREDIT_CONTROL.code => scratch.read_service(avp)?,
            code if code == SUBSCRIPTION_ID.code => {
                self.subscription_ids.add(avp, SubscriptionId::read(avp)?)?;
            }
            code if code == REQUESTED_ACTION.code => {
                once(&mut self.requested_action, avp, enumerated(avp, RequestedAction::of))?;
            }
            code if code == EVENT_TIMESTAMP.code => first(&mut self.event_time_s, avp.time())?,
            code if code == MULTIPLE_SERVICES_INDICATOR.code => {
                first(&mut self.multiple_services, enumerated(avp, yes_or_no))?;
            }
            code if code == USER_NAME.code => first(&mut self.user_name, avp.text())?,
            code if code == ORIGIN_STATE_ID.code => first(&mut self.origin_state_id, avp.u32())?,
            code if code == PROXY_INFO.code => self.proxy_infos.include(body, avp, rest_len),
            code if code == ROUTE_RECORD.code => self.route_records.include(body, avp, rest_len),
            _ => self.read_rare(avp, scratch)?,
        }
        Ok(())
    }

    fn read_rare(&mut self, avp: &Avp<'a>, scratch: &mut Scratch) -> Result<(), Refusal<'a>> {
        match avp.code {
            code if code == VENDOR_SPECIFIC_APPLICATION_ID.code => {
                if let Some(auth) = VendorApplication::read(avp)?.auth {
                    self.application(avp, auth)?;
                }
            }
            code if code == TERMINATION_CAUSE.code => {
                first(&mut self.termination_cause, avp.u32())?;
            }
            code if code == CC_SUB_SESSION_ID.code => {
                once(&mut self.sub_session_id, avp, avp.u64())?;
            }
            code if code == CC_CORRELATION_ID.code => {
                first(&mut self.correlation_id, Ok(avp.data))?;
            }
            code if code == CC_SESSION_FAILOVER.code => {
                first(&mut self.session_failover, avp.u32())?;
            }
            code if code == SUBSCRIPTION_ID_EXTENSION.code => {
                if let Some(id) = SubscriptionId::read_extension(avp)? {
                    self.subscription_ids.add(avp, id)?;
                }
            }
            _ if self.outside.read_member(avp, &mut scratch.outside)? => {}
            _ => avp.pass_over()?,
        }
        Ok(())
    }

    fn read_vendor(&mut self, avp: &Avp<'a>, scratch: &mut Scratch) -> Result<(), Refusal<'a>> {
        match (avp.vendor, avp.code) {
            (VENDOR_3GPP, code) if code == SERVICE_INFORMATION.code => {
                if self.service_information.is_some() {
                    return Err(too_many(avp));
                }
                self.service_information = Some(*avp);
            }
            (VENDOR_3GPP, code) if code == AOC_REQUEST_TYPE.code => {
                first(&mut self.aoc_request_type, avp.u32())?;
            }
            _ if self.outside.read_member(avp, &mut scratch.outside)? => {}
            _ => avp.pass_over()?,
        }
        Ok(())
    }

    /// Reads an Auth-Application-Id, which agrees with the header. It may occur several times.
    fn application(&mut self, avp: &Avp<'a>, id: u32) -> Result<(), Refusal<'a>> {
        self.is_credit_control = id == application::CREDIT_CONTROL;
        if self.is_credit_control { Ok(()) } else { Err(avp.invalid()) }
    }

    /// Checks that nothing is missing.
    fn finish(
        self,
        message: &Message<'a>,
        scratch: &'a Scratch,
    ) -> Result<CreditControlRequest<'a>, Refusal<'a>> {
        let session_id = self.session_id.ok_or(Refusal::missing(SESSION_ID))?;
        let origin_host = self.origin_host.ok_or(Refusal::missing(ORIGIN_HOST))?;
        let origin_realm = self.origin_realm.ok_or(Refusal::missing(ORIGIN_REALM))?;
        let destination_realm =
            self.destination_realm.ok_or(Refusal::missing(DESTINATION_REALM))?;
        if !self.is_credit_control {
            return Err(Refusal::missing(AUTH_APPLICATION_ID));
        }
        let service_context_id =
            self.service_context_id.ok_or(Refusal::missing(SERVICE_CONTEXT_ID))?;
        let request_type = self.request_type.ok_or(Refusal::missing(CC_REQUEST_TYPE))?;
        let request_number = self.request_number.ok_or(Refusal::missing(CC_REQUEST_NUMBER))?;
        if request_type == RequestType::Event && self.requested_action.is_none() {
            return Err(Refusal::missing(REQUESTED_ACTION));
        }
        Ok(CreditControlRequest {
            header: message.header,
            session_id,
            origin_host,
            origin_realm,
            destination_realm,
            destination_host: self.destination_host,
            service_context_id,
            request_type,
            request_number,
            requested_action: self.requested_action,
            user_name: self.user_name,
            subscription_ids: self.subscription_ids,
            event_time_s: self.event_time_s,
            multiple_services: self.multiple_services,
            termination_cause: self.termination_cause,
            aoc_request_type: self.aoc_request_type,
            origin_state_id: self.origin_state_id,
            sub_session_id: self.sub_session_id,
            correlation_id: self.correlation_id,
            session_failover: self.session_failover,
            services: Services { records: &scratch.records, lists: &scratch.inside },
            outside: Service::of(&self.outside, &scratch.outside),
            service_information: self.service_information,
            proxy_infos: self.proxy_infos.of(message.body(), PROXY_INFO),
            route_records: self.route_records.of(message.body(), ROUTE_RECORD),
        })
    }
}

fn session_id<'a>(avp: &Avp<'a>) -> Result<&'a str, Refusal<'a>> {
    match avp.text() {
        Ok("") => Err(avp.invalid()),
        read => read,
    }
}

fn enumerated<'a, T>(avp: &Avp<'a>, of: impl FnOnce(u32) -> Option<T>) -> Result<T, Refusal<'a>> {
    of(avp.u32()?).ok_or_else(|| avp.invalid())
}

fn yes_or_no(number: u32) -> Option<bool> {
    [false, true].get(usize::try_from(number).ok()?).copied()
}
