//! Requests of a session: CCR-I is RESERVE, CCR-U UPDATE, CCR-T TERMINATE. The name of a request is Session-Id, kind and
//! CC-Request-Number, so that the store knows a duplicate, whichever door it comes to: RFC 8506, 8.2.

use super::answer::{Answer, OwnedHead, ServiceResult};
use super::asked_service::{AskedService, AskedServices};
use super::client_data::SessionClient;
use super::failure::Failure;
use super::ids;
use super::subscriber::{answered, subscriber};
use scurry_diameter::ccr::{CreditControlRequest, RequestType};
use scurry_diameter::{Refusal, ResultCode, attribute};
use scurry_ledger::{self as ledger, Code, ItemAnswer, SessionOptions, SessionRequest};
use scurry_quota::{Items, Share, Step, Subscriber, WrongUse};
use scurry_service::{CallError, Request, Service, SessionStep};
use scurry_service_table::ServiceTable;
use smallvec::SmallVec;
use std::sync::Arc;

/// A request of a session, as the store is asked.
pub(super) struct AskedSession {
    head: OwnedHead,
    subscriber: Subscriber,
    step: SessionStep,
    number: u32,
    options: SessionOptions,
    /// DATA of a session that is opened.
    data: Option<Vec<u8>>,
    services: AskedServices,
    is_outside: bool,
    items: Items,
}

/// Reads what a request of a session asks of the store.
///
/// # Errors
/// The refusal of a request that is wrong.
pub(super) fn ask(
    request: &CreditControlRequest<'_>,
    table: &ServiceTable,
) -> Result<Box<AskedSession>, Refusal<'static>> {
    if request.subscription_ids.as_slice().is_empty() {
        return Err(Refusal::missing(attribute::SUBSCRIPTION_ID));
    }
    let step = match request.request_type {
        RequestType::Update => SessionStep::Update,
        RequestType::Termination => SessionStep::Terminate,
        RequestType::Initial | RequestType::Event => SessionStep::Reserve,
    };
    let (mut services, is_outside) = AskedService::all(request, table)?;
    if is_outside && !AskedService::has_units_outside(request) {
        // There are no units at all: the client asks later.
        services.clear();
    }
    let quotas = services.iter().map(AskedService::quota);
    let items = Items::of(step, quotas).map_err(wrong_use)?;
    // Boxed, since it is moved several times until it is answered.
    let mut asked = Box::new(AskedSession {
        head: OwnedHead::of(request),
        subscriber: subscriber(&request.subscription_ids, table),
        step,
        number: request.request_number,
        options: SessionOptions::default(),
        data: None,
        services,
        is_outside,
        items,
    });
    if step == SessionStep::Reserve {
        let validity_s = table.session_validity_s(request.service_context_id);
        asked.options.validity_ms = Some(i64::from(validity_s) * 1_000);
        asked.options.keep_open = !asked.items.as_slice().is_empty()
            && asked.services.iter().any(|service| service.quota().keeps_session());
        let (host, realm) = (request.origin_host, request.origin_realm);
        asked.data = SessionClient::new(host, realm, request.session_id).data();
    }
    Ok(asked)
}

impl AskedSession {
    fn request(&self, session: &[u8], account: &[u8], late_use: bool) -> Request {
        let late_use = late_use && self.step != SessionStep::Reserve;
        let command = self.step.command(SessionRequest {
            session,
            request: self.number,
            options: SessionOptions { late_use, ..self.options },
            blob: self.data.as_deref(),
            items: self.items.as_slice(),
        });
        Request::write(account, &command)
    }

    /// Asks the store, and returns the answer.
    pub(super) async fn answer(self: Box<Self>, store: Arc<dyn Service>) -> Answer {
        let is_unknown = |service: &AskedService| service.terms.is_none();
        if self.step == SessionStep::Reserve
            && !self.services.is_empty()
            && self.services.iter().all(is_unknown)
        {
            return self.no_terms();
        }
        let session = ids::session(self.head.session_id());
        let step = match self.step {
            SessionStep::Reserve => Step::Opens(&session),
            SessionStep::Update | SessionStep::Terminate => Step::Later(&session),
        };
        let request = |account: &[u8], late_use| self.request(&session, account, late_use);
        let answered = answered(self.subscriber.call(&*store, step, request).await);
        drop(session);
        match answered.map(|answered| answered.answer) {
            Ok(ledger::Answer::Session { code, version, items }) => {
                self.of_answer(code, version, &items)
            }
            Ok(_) => Answer::failed(self.head, CallError::WrongShape.into()),
            Err(failure) => Answer::failed(self.head, failure),
        }
    }

    /// Returns the answer to a request whose services are not in the table.
    fn no_terms(self: Box<Self>) -> Answer {
        let text = "the table of services has no row for this service";
        let failure = Failure::new(ResultCode::RATING_FAILED, text);
        let results = self.services.into_iter();
        let results = results.map(|one| ServiceResult::new(one, ResultCode::RATING_FAILED));
        Answer {
            services: results.collect(),
            is_outside: self.is_outside,
            ..Answer::failed(self.head, failure)
        }
    }

    fn of_answer(self: Box<Self>, code: Code, version: u64, items: &[ItemAnswer]) -> Answer {
        let AskedSession { head, step, services, is_outside, items: asked, .. } = *self;
        // The use is settled, and the client has no session any more.
        if step == SessionStep::Update && version == 0 && code == Code::Ok {
            let text = "the session has ended: what was used is debited, and nothing is granted";
            return Answer::failed(head, Failure::new(ResultCode::UNKNOWN_SESSION_ID, text));
        }
        let shares = asked.divide(items, services.iter().map(AskedService::quota));
        let results = services.into_iter().zip(shares);
        let results: SmallVec<_> =
            results.map(|(service, share)| service_result(service, share)).collect();
        let is_open = version > 0 || step == SessionStep::Terminate;
        let mut result = match code {
            Code::CreditLimitReached if is_open => ResultCode::SUCCESS,
            code => ResultCode(code.diameter().into()),
        };
        if is_outside && result.is_success() {
            result = results.first().map_or(result, |service: &ServiceResult| service.result);
        }
        Answer { services: results, is_outside, is_of_session: true, ..Answer::new(head, result) }
    }
}

fn service_result(service: AskedService, share: Option<Share>) -> ServiceResult {
    if let Some(result) = service.settled_result() {
        return ServiceResult::new(service, result);
    }
    let Some(Share { code, granted, is_final }) = share else {
        return ServiceResult::new(service, ResultCode::SUCCESS);
    };
    let result = ResultCode(code.diameter().into());
    ServiceResult { granted, is_final, ..ServiceResult::new(service, result) }
}

fn wrong_use(wrong: WrongUse) -> Refusal<'static> {
    let result = match wrong {
        WrongUse::BeforeStart => ResultCode::AVP_NOT_ALLOWED,
        WrongUse::TooMuch => ResultCode::INVALID_AVP_VALUE,
    };
    let text = "units are reported that cannot be counted";
    Refusal::about(result, attribute::USED_SERVICE_UNIT, text)
}
