//! A credit-control request as its receiver sees it: RFC 8506, 3.1.

use super::service::{Service, Services};
use super::subscription::SubscriptionIds;
use crate::answer_head::AnswerHead;
use crate::avp::Avp;
use crate::header::Header;
use crate::occurrences::Occurrences;

/// Kinds of requests: CC-Request-Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestType {
    /// The first request of a session.
    Initial = 1,
    /// A request in a session.
    Update = 2,
    /// The last request of a session.
    Termination = 3,
    /// A request without a session.
    Event = 4,
}

impl RequestType {
    /// Returns the kind with this number.
    #[must_use]
    pub const fn of(number: u32) -> Option<RequestType> {
        match number {
            1 => Some(RequestType::Initial),
            2 => Some(RequestType::Update),
            3 => Some(RequestType::Termination),
            4 => Some(RequestType::Event),
            _ => None,
        }
    }
}

/// What a request without a session asks: Requested-Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedAction {
    /// Debit the units.
    DirectDebiting = 0,
    /// Credit the units.
    RefundAccount = 1,
    /// Tell whether the balance covers the units.
    CheckBalance = 2,
    /// Tell the price.
    PriceEnquiry = 3,
}

impl RequestedAction {
    /// Returns the action with this number.
    #[must_use]
    pub const fn of(number: u32) -> Option<RequestedAction> {
        match number {
            0 => Some(RequestedAction::DirectDebiting),
            1 => Some(RequestedAction::RefundAccount),
            2 => Some(RequestedAction::CheckBalance),
            3 => Some(RequestedAction::PriceEnquiry),
            _ => None,
        }
    }
}

/// A credit-control request. Texts are borrowed from the message, lists from the scratch memory.
#[derive(Clone, Copy, Debug)]
pub struct CreditControlRequest<'a> {
    /// The header.
    pub header: Header,
    /// Session-Id.
    pub session_id: &'a str,
    /// Origin-Host: the first one; some clients send it twice.
    pub origin_host: &'a str,
    /// Origin-Realm: the first one.
    pub origin_realm: &'a str,
    /// Destination-Realm.
    pub destination_realm: &'a str,
    /// Destination-Host.
    pub destination_host: Option<&'a str>,
    /// Service-Context-Id.
    pub service_context_id: &'a str,
    /// CC-Request-Type.
    pub request_type: RequestType,
    /// CC-Request-Number.
    pub request_number: u32,
    /// Requested-Action. An event has one; some clients send it in each request.
    pub requested_action: Option<RequestedAction>,
    /// User-Name.
    pub user_name: Option<&'a str>,
    /// Subscription-Id and Subscription-Id-Extension AVPs.
    pub subscription_ids: SubscriptionIds<'a>,
    /// Event-Timestamp, seconds since 1970.
    pub event_time_s: Option<i64>,
    /// Multiple-Services-Indicator.
    pub multiple_services: Option<bool>,
    /// Termination-Cause.
    pub termination_cause: Option<u32>,
    /// AoC-Request-Type of 3GPP.
    pub aoc_request_type: Option<u32>,
    /// Origin-State-Id of the client.
    pub origin_state_id: Option<u32>,
    /// CC-Sub-Session-Id.
    pub sub_session_id: Option<u64>,
    /// CC-Correlation-Id.
    pub correlation_id: Option<&'a [u8]>,
    /// CC-Session-Failover.
    pub session_failover: Option<u32>,
    /// Multiple-Services-Credit-Control AVPs.
    pub services: Services<'a>,
    /// Units, Service-Identifier and others outside of any Multiple-Services-Credit-Control.
    pub outside: Service<'a>,
    /// Service-Information of 3GPP. The AVPs within it have not been looked at.
    pub service_information: Option<Avp<'a>>,
    /// Proxy-Info AVPs, which the answer repeats.
    pub proxy_infos: Occurrences<'a>,
    /// Route-Record AVPs: the hosts on the way, the first of which received the request from the client.
    pub route_records: Occurrences<'a>,
}

impl<'a> CreditControlRequest<'a> {
    /// Returns what the answer repeats.
    #[must_use]
    pub fn answer_head(&self) -> AnswerHead<'a> {
        AnswerHead {
            header: self.header,
            session_id: self.session_id.as_bytes(),
            request_type: Some(self.request_type as u32),
            request_number: Some(self.request_number),
            proxy_infos: self.proxy_infos,
        }
    }
}
