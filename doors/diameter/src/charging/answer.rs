//! The answer to one credit-control request. It owns all that it repeats of the request, because it is written when the
//! store has replied.

use super::asked_service::AskedService;
use super::failure::Failure;
use super::units;
use scurry_diameter::ccr::{
    AnswerWriter, CreditControlRequest, FinalUnit, RedirectAddressType, ServiceAnswer,
};
use scurry_diameter::{AnswerHead, Header, Occurrences, Origin, ResultCode, attribute};
use scurry_service_table::{FinalAction, Measure, RedirectKind, ServiceTerms};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// An answer that is ready to be written.
#[derive(Debug)]
pub struct Answer {
    pub(super) head: OwnedHead,
    pub(super) result: ResultCode,
    /// Error-Message.
    pub(super) text: Option<Cow<'static, str>>,
    pub(super) services: SmallVec<[ServiceResult; 1]>,
    /// Whether the one service stands outside of any Multiple-Services-Credit-Control.
    pub(super) is_outside: bool,
    /// Whether the request belongs to a session.
    pub(super) is_of_session: bool,
    /// Check-Balance-Result: whether the balance covers the units.
    pub(super) is_enough: Option<bool>,
}

/// The parts of a request that its answer repeats.
#[derive(Debug)]
pub(super) struct OwnedHead {
    header: Header,
    session_id: Box<str>,
    /// Whether the client knows the AVPs of 3GPP.
    is_3gpp: bool,
    request_type: u32,
    request_number: u32,
    proxy_infos: Box<[u8]>,
}

/// The result of one service.
#[derive(Debug)]
pub(super) struct ServiceResult {
    pub(super) result: ResultCode,
    pub(super) rating_group: Option<u32>,
    pub(super) identifiers: SmallVec<[u32; 1]>,
    pub(super) terms: Option<Arc<ServiceTerms>>,
    /// Granted or debited units; 0 for none.
    pub(super) granted: i64,
    /// Whether the granted units are the last, so that the client takes the final action when they are used.
    pub(super) is_final: bool,
    /// Refund-Information: the debit that a refund may name. Empty for none.
    pub(super) refund_information: Vec<u8>,
}

impl OwnedHead {
    pub(super) fn of(request: &CreditControlRequest<'_>) -> OwnedHead {
        OwnedHead {
            header: request.header,
            session_id: request.session_id.into(),
            is_3gpp: is_3gpp(request.service_context_id),
            request_type: request.request_type as u32,
            request_number: request.request_number,
            proxy_infos: request.proxy_infos.region().into(),
        }
    }

    /// Returns the Session-Id.
    pub(super) fn session_id(&self) -> &str {
        &self.session_id
    }

    fn borrow(&self) -> AnswerHead<'_> {
        AnswerHead {
            header: self.header,
            session_id: self.session_id.as_bytes(),
            request_type: Some(self.request_type),
            request_number: Some(self.request_number),
            proxy_infos: Occurrences::new(attribute::PROXY_INFO, &self.proxy_infos),
        }
    }
}

impl ServiceResult {
    /// Returns a result without units.
    pub(super) fn new(service: AskedService, result: ResultCode) -> ServiceResult {
        let AskedService { rating_group, identifiers, terms, .. } = service;
        ServiceResult {
            result,
            rating_group,
            identifiers,
            terms,
            granted: 0,
            is_final: false,
            refund_information: Vec::new(),
        }
    }

    /// Calls `write` with the answer for the service.
    fn with(&self, is_of_session: bool, is_3gpp: bool, write: impl FnOnce(&ServiceAnswer<'_>)) {
        let mut answer = ServiceAnswer::new(self.result);
        answer.identifiers = &self.identifiers;
        answer.rating_group = self.rating_group;
        if is_3gpp {
            answer.refund_information = &self.refund_information;
        }
        let Some(terms) = self.terms.as_deref() else { return write(&answer) };
        let is_grant = self.granted > 0;
        if is_grant {
            answer.granted = Some(units::granted(self.granted, terms.measure));
        }
        if is_grant && is_of_session {
            answer.validity_s = Some(terms.validity_s);
        }
        if is_grant && is_of_session && is_3gpp {
            answer.quota_holding_s = terms.quota_holding_s;
            answer.quota_consumption_s = terms.quota_consumption_s;
            if !self.is_final {
                self.set_threshold(&mut answer, terms);
            }
        }
        // Without units the action is taken at once (RFC 8506, 5.6); what ends a service needs no word then.
        let is_denied = self.result == ResultCode::CREDIT_LIMIT_REACHED
            && terms.final_action != FinalAction::Terminate;
        if !(is_denied || is_grant && self.is_final) {
            return write(&answer);
        }
        match &terms.final_action {
            FinalAction::Terminate => answer.final_unit = Some(FinalUnit::Terminate),
            FinalAction::Redirect(address) => {
                let kind = match RedirectKind::of(address) {
                    Some(RedirectKind::Ipv4) => RedirectAddressType::Ipv4,
                    Some(RedirectKind::Ipv6) => RedirectAddressType::Ipv6,
                    Some(RedirectKind::SipUri) => RedirectAddressType::SipUri,
                    Some(RedirectKind::Url) | None => RedirectAddressType::Url,
                };
                answer.final_unit = Some(FinalUnit::Redirect { kind, address });
            }
            FinalAction::Restrict { rules, filters } => {
                let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
                let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
                let final_unit = FinalUnit::RestrictAccess { rules: &rules, filters: &filters };
                return write(&ServiceAnswer { final_unit: Some(final_unit), ..answer });
            }
        }
        write(&answer);
    }

    fn set_threshold(&self, answer: &mut ServiceAnswer<'_>, terms: &ServiceTerms) {
        let left = terms.threshold_of(self.granted);
        let left = left.map(|left| u32::try_from(left).unwrap_or(u32::MAX));
        match terms.measure {
            Measure::Volume => answer.volume_threshold = left,
            Measure::Time => answer.time_threshold_s = left,
            Measure::Units => answer.unit_threshold = left,
            // TS 32.299 has no threshold of money.
            Measure::Money { .. } => {}
        }
    }
}

impl Answer {
    /// Returns the answer to a request that has failed as a whole.
    pub(super) fn failed(head: OwnedHead, failure: Failure) -> Answer {
        Answer { text: Some(failure.text), ..Answer::new(head, failure.result) }
    }

    /// Returns an answer with a result and nothing else.
    pub(super) fn new(head: OwnedHead, result: ResultCode) -> Answer {
        Answer {
            head,
            result,
            text: None,
            services: SmallVec::new(),
            is_outside: false,
            is_of_session: false,
            is_enough: None,
        }
    }

    /// Returns the Result-Code of the answer as a whole.
    pub fn result(&self) -> ResultCode {
        self.result
    }

    /// Appends the message.
    pub fn write(&self, origin: &Origin, out: &mut Vec<u8>) {
        let mut writer = AnswerWriter::begin(out, self.head.borrow(), origin, self.result);
        // Any door before the same store continues the session.
        if self.is_of_session && self.result.is_success() {
            writer.session_failover(true);
        }
        for service in &self.services {
            if self.is_outside {
                service.with(self.is_of_session, self.head.is_3gpp, |answer| {
                    write_outside(&mut writer, answer)
                });
            } else {
                service
                    .with(self.is_of_session, self.head.is_3gpp, |answer| writer.service(answer));
            }
        }
        if let Some(is_enough) = self.is_enough {
            writer.check_balance(is_enough);
        }
        if let Some(text) = &self.text {
            writer.error_message(text);
        }
        writer.finish();
    }
}

/// Writes a service whose units stand outside of any Multiple-Services-Credit-Control.
fn write_outside(writer: &mut AnswerWriter<'_>, answer: &ServiceAnswer<'_>) {
    if let Some(granted) = &answer.granted {
        writer.granted(granted);
    }
    if let Some(validity_s) = answer.validity_s {
        writer.validity(validity_s);
    }
    if let Some(final_unit) = &answer.final_unit {
        writer.final_unit(final_unit);
    }
    if !answer.refund_information.is_empty() {
        writer.writer().bytes(attribute::REFUND_INFORMATION, answer.refund_information);
    }
}

/// Reports whether a Service-Context-Id is one of 3GPP (TS 32.299, 7.1.12): `32251@3gpp.org`, with anything before a dot, or
/// in another domain. A client of the IETF alone refuses AVPs of 3GPP, whose M flag is set.
fn is_3gpp(context: &str) -> bool {
    let (name, domain) = context.split_once('@').unwrap_or((context, ""));
    let label = name.rsplit('.').next().unwrap_or(name);
    let is_document =
        label.len() == 5 && label.starts_with("32") && label.bytes().all(|b| b.is_ascii_digit());
    is_document || domain.eq_ignore_ascii_case("3gpp.org")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_of_3gpp_are_told_from_others() {
        for context in ["32251@3gpp.org", "ext.001.01.8.32260@3gpp.org", "32274@a.b", "x@3GPP.org"]
        {
            assert!(is_3gpp(context), "{context}");
        }
        for context in ["", "charging@a.b", "32@a.b", "33251@a.b", "322510@a.b", "32251.x@a.b"] {
            assert!(!is_3gpp(context), "{context}");
        }
    }
}
