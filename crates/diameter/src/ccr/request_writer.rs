//! Writes credit-control requests: for a probe, a load and the tests. A server only reads them.

use super::request::{CreditControlRequest, RequestType, RequestedAction};
use super::service::Service;
use super::subscription::SubscriptionId;
use crate::attribute::{
    AOC_REQUEST_TYPE, AUTH_APPLICATION_ID, CC_CORRELATION_ID, CC_REQUEST_NUMBER, CC_REQUEST_TYPE,
    CC_SESSION_FAILOVER, CC_SUB_SESSION_ID, DESTINATION_HOST, DESTINATION_REALM, EVENT_TIMESTAMP,
    MULTIPLE_SERVICES_CREDIT_CONTROL, MULTIPLE_SERVICES_INDICATOR, ORIGIN_HOST, ORIGIN_REALM,
    ORIGIN_STATE_ID, REQUESTED_ACTION, SERVICE_CONTEXT_ID, SESSION_ID, SUBSCRIPTION_ID,
    SUBSCRIPTION_ID_DATA, SUBSCRIPTION_ID_TYPE, TERMINATION_CAUSE, USER_NAME,
};
use crate::header::{Flags, Header, MessageIds, application, command};
use crate::writer::MessageWriter;

/// What each request has.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// Session-Id.
    pub session_id: &'a str,
    /// Origin-Host.
    pub origin_host: &'a str,
    /// Origin-Realm.
    pub origin_realm: &'a str,
    /// Destination-Realm.
    pub destination_realm: &'a str,
    /// Service-Context-Id.
    pub service_context_id: &'a str,
    /// CC-Request-Type.
    pub request_type: RequestType,
    /// CC-Request-Number.
    pub request_number: u32,
}

/// A request that is being written. [`RequestWriter::finish`] ends it.
#[derive(Debug)]
#[must_use = "a message needs its length: call finish"]
pub struct RequestWriter<'w> {
    writer: MessageWriter<'w>,
}

impl<'w> RequestWriter<'w> {
    /// Begins a request.
    pub fn begin(
        out: &'w mut Vec<u8>,
        ids: MessageIds,
        head: &RequestHead<'_>,
    ) -> RequestWriter<'w> {
        let header = Header {
            flags: Flags::PROXIABLE_REQUEST,
            command: command::CREDIT_CONTROL,
            application: application::CREDIT_CONTROL,
            hop_by_hop: ids.hop_by_hop,
            end_to_end: ids.end_to_end,
        };
        RequestWriter::with_header(out, header, head)
    }

    fn with_header(
        out: &'w mut Vec<u8>,
        header: Header,
        head: &RequestHead<'_>,
    ) -> RequestWriter<'w> {
        let mut writer = MessageWriter::begin(out, header);
        writer.bytes(SESSION_ID, head.session_id.as_bytes());
        writer.bytes(ORIGIN_HOST, head.origin_host.as_bytes());
        writer.bytes(ORIGIN_REALM, head.origin_realm.as_bytes());
        writer.bytes(DESTINATION_REALM, head.destination_realm.as_bytes());
        writer.u32(AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        writer.bytes(SERVICE_CONTEXT_ID, head.service_context_id.as_bytes());
        writer.u32(CC_REQUEST_TYPE, head.request_type as u32);
        writer.u32(CC_REQUEST_NUMBER, head.request_number);
        RequestWriter { writer }
    }

    /// Writes Requested-Action.
    pub fn action(&mut self, action: RequestedAction) {
        self.writer.u32(REQUESTED_ACTION, action as u32);
    }

    /// Writes a Subscription-Id.
    pub fn subscription(&mut self, id: &SubscriptionId<'_>) {
        self.writer.group(SUBSCRIPTION_ID, |writer| {
            writer.u32(SUBSCRIPTION_ID_TYPE, id.kind.number());
            writer.bytes(SUBSCRIPTION_ID_DATA, id.data.as_bytes());
        });
    }

    /// Writes Event-Timestamp, from seconds since 1970.
    pub fn event_time(&mut self, seconds: i64) {
        self.writer.time(EVENT_TIMESTAMP, seconds);
    }

    /// Writes a Multiple-Services-Credit-Control.
    pub fn service(&mut self, service: &Service<'_>) {
        self.writer.group(MULTIPLE_SERVICES_CREDIT_CONTROL, |writer| service.write(writer));
    }

    /// Writes the AVPs of a service outside of any Multiple-Services-Credit-Control.
    pub fn outside(&mut self, service: &Service<'_>) {
        service.write(&mut self.writer);
    }

    /// Returns the writer, for AVPs without a method here.
    pub fn writer(&mut self) -> &mut MessageWriter<'w> {
        &mut self.writer
    }

    /// Ends the request. Returns its length, bytes.
    pub fn finish(self) -> usize {
        self.writer.finish()
    }
}

impl CreditControlRequest<'_> {
    /// Writes the request as it was read: AVPs that are passed over, G-S-U-Pool-Reference and repeated ones of which the first
    /// counts are left out. Returns its length, bytes.
    pub fn write(&self, out: &mut Vec<u8>) -> usize {
        let head = RequestHead {
            session_id: self.session_id,
            origin_host: self.origin_host,
            origin_realm: self.origin_realm,
            destination_realm: self.destination_realm,
            service_context_id: self.service_context_id,
            request_type: self.request_type,
            request_number: self.request_number,
        };
        let mut request = RequestWriter::with_header(out, self.header, &head);
        for (attribute, text) in
            [(DESTINATION_HOST, self.destination_host), (USER_NAME, self.user_name)]
        {
            if let Some(text) = text {
                request.writer.bytes(attribute, text.as_bytes());
            }
        }
        if let Some(action) = self.requested_action {
            request.action(action);
        }
        for id in self.subscription_ids.as_slice() {
            request.subscription(id);
        }
        if let Some(seconds) = self.event_time_s {
            request.event_time(seconds);
        }
        for (attribute, number) in [
            (MULTIPLE_SERVICES_INDICATOR, self.multiple_services.map(u32::from)),
            (TERMINATION_CAUSE, self.termination_cause),
            (AOC_REQUEST_TYPE, self.aoc_request_type),
            (ORIGIN_STATE_ID, self.origin_state_id),
            (CC_SESSION_FAILOVER, self.session_failover),
        ] {
            if let Some(number) = number {
                request.writer.u32(attribute, number);
            }
        }
        if let Some(sub_session_id) = self.sub_session_id {
            request.writer.u64(CC_SUB_SESSION_ID, sub_session_id);
        }
        if let Some(correlation_id) = self.correlation_id {
            request.writer.bytes(CC_CORRELATION_ID, correlation_id);
        }
        for service in self.services.iter() {
            request.service(&service);
        }
        request.outside(&self.outside);
        let copied = self.service_information.into_iter();
        for avp in copied.chain(self.proxy_infos.iter()).chain(self.route_records.iter()) {
            request.writer.copy(avp.bytes);
        }
        request.finish()
    }
}
