//! Requests of a session: CCR-I is RESERVE, CCR-U UPDATE, CCR-T TERMINATE. The name of a request is Session-Id, kind and
//! CC-Request-Number, so that the store knows a duplicate, whichever door it comes to: RFC 8506, 8.2.

use super::account::{Step, Subscriber, answered};
use super::answer::{Answer, OwnedHead, ServiceResult};
use super::asked_service::{AskedService, AskedServices};
use super::client_data::SessionClient;
use super::failure::Failure;
use super::ids;
use scurry_diameter::ccr::{CreditControlRequest, RequestType};
use scurry_diameter::{Refusal, ResultCode, attribute};
use scurry_ledger::{
    self as ledger, Code, Final, ItemAnswer, ItemKey, ItemRequest, SessionOptions, SessionRequest,
};
use scurry_service::{CallError, Request, Service, SessionStep};
use scurry_service_table::{Mode, ServiceTable, ServiceTerms};
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
    items: SmallVec<[ItemRequest; 1]>,
    /// Index of the item of each service; several services may share one.
    item_of: SmallVec<[Option<usize>; 1]>,
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
    // Boxed, since it is moved several times until it is answered.
    let mut asked = Box::new(AskedSession {
        head: OwnedHead::of(request),
        subscriber: Subscriber::of(&request.subscription_ids, table),
        step,
        number: request.request_number,
        options: SessionOptions::default(),
        data: None,
        services,
        is_outside,
        items: SmallVec::new(),
        item_of: SmallVec::new(),
    });
    asked.make_items()?;
    if step == SessionStep::Reserve {
        let validity_s = table.session_validity_s(request.service_context_id);
        asked.options.validity_ms = Some(i64::from(validity_s) * 1_000);
        asked.options.keep_open =
            !asked.items.is_empty() && asked.services.iter().any(keeps_session);
        let (host, realm) = (request.origin_host, request.origin_realm);
        asked.data = SessionClient::new(host, realm, request.session_id).data();
    }
    Ok(asked)
}

/// Reports whether a service goes on, or waits for credit, if all that are charged are denied at the start.
fn keeps_session(service: &AskedService) -> bool {
    let terms = service.terms.as_deref();
    terms.is_some_and(|terms| terms.mode != Mode::Charge || terms.keep_when_denied)
}

impl AskedSession {
    /// Makes the items of the command. Services with one key and unit share an item: it has the sums.
    fn make_items(&mut self) -> Result<(), Refusal<'static>> {
        for service in &self.services {
            let item = match (service.terms.as_deref(), service.key()) {
                (Some(terms), Some(key)) => self.item(service, terms, key)?,
                _ => None,
            };
            let Some(item) = item else {
                self.item_of.push(None);
                continue;
            };
            let is_same = |other: &ItemRequest| other.key == item.key && other.unit == item.unit;
            let Some(at) = self.items.iter().position(is_same) else {
                self.item_of.push(Some(self.items.len()));
                self.items.push(item);
                continue;
            };
            let shared = &mut self.items[at];
            let sum = |one: Option<i64>, other: Option<i64>| match (one, other) {
                (Some(one), Some(other)) => one.checked_add(other).map(Some),
                (one, other) => Some(one.or(other)),
            };
            shared.used =
                sum(shared.used, item.used).ok_or(wrong_use(ResultCode::INVALID_AVP_VALUE))?;
            shared.requested = sum(shared.requested, item.requested).unwrap_or(Some(i64::MAX));
            shared.min = shared.min.min(item.min).or(shared.min).or(item.min);
            self.item_of.push(Some(at));
        }
        Ok(())
    }

    /// Returns the item of a service. None if it neither reports nor requests.
    fn item(
        &self,
        service: &AskedService,
        terms: &ServiceTerms,
        key: ItemKey,
    ) -> Result<Option<ItemRequest>, Refusal<'static>> {
        let used = service.used.filter(|_| terms.mode != Mode::Free);
        let used = match self.step {
            SessionStep::Reserve if used.is_some_and(|used| used > 0) => {
                return Err(wrong_use(ResultCode::AVP_NOT_ALLOWED));
            }
            SessionStep::Reserve => None,
            SessionStep::Update | SessionStep::Terminate => used,
        };
        let is_asked = terms.mode == Mode::Charge && self.step != SessionStep::Terminate;
        let requested = service.asked.filter(|_| is_asked).map(|asked| terms.amount(Some(asked)));
        let min = requested.map(|_| terms.grant_min);
        let item = ItemRequest { key, unit: terms.unit, used, requested, min };
        Ok((used.is_some() || requested.is_some()).then_some(item))
    }

    fn request(&self, session: &[u8], account: &[u8], late_use: bool) -> Request {
        let late_use = late_use && self.step != SessionStep::Reserve;
        let command = self.step.command(SessionRequest {
            session,
            request: self.number,
            options: SessionOptions { late_use, ..self.options },
            blob: self.data.as_deref(),
            items: &self.items,
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
        let reply = self.subscriber.call(&*store, step, request).await;
        drop(session);
        match reply.and_then(answered).map(|answered| answered.answer) {
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
        let AskedSession { head, step, services, is_outside, item_of, .. } = *self;
        // The use is settled, and the client has no session any more.
        if step == SessionStep::Update && version == 0 && code == Code::Ok {
            let text = "the session has ended: what was used is debited, and nothing is granted";
            return Answer::failed(head, Failure::new(ResultCode::UNKNOWN_SESSION_ID, text));
        }
        // What is left of each item's grant for the services that share it.
        let mut left: SmallVec<[i64; 1]> = items.iter().map(|item| item.granted).collect();
        let mut results = SmallVec::new();
        for (service, item) in services.into_iter().zip(item_of) {
            let answer = item.and_then(|at| Some((items.get(at)?, left.get_mut(at)?)));
            results.push(service_result(service, answer));
        }
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

fn service_result(service: AskedService, answer: Option<(&ItemAnswer, &mut i64)>) -> ServiceResult {
    if let Some(result) = service.settled_result() {
        return ServiceResult::new(service, result);
    }
    let (asked, is_held_final) = match service.charged() {
        Some(terms) => {
            (service.asked.map(|asked| terms.amount(Some(asked))), terms.final_while_held)
        }
        None => (None, false),
    };
    let Some((item, left)) = answer else {
        return ServiceResult::new(service, ResultCode::SUCCESS);
    };
    let granted = asked.unwrap_or(0).min(*left);
    *left -= granted;
    let result = match item.code {
        // Another service of the same item has got all of it.
        Code::Ok if granted == 0 && item.granted > 0 && asked.is_some() => {
            ResultCode::CREDIT_LIMIT_REACHED
        }
        code => ResultCode(code.diameter().into()),
    };
    let is_final = match item.last {
        Final::No => false,
        Final::Last => true,
        Final::Held => is_held_final,
    };
    ServiceResult { granted, is_final, ..ServiceResult::new(service, result) }
}

fn wrong_use(result: ResultCode) -> Refusal<'static> {
    let text = "units are reported that cannot be counted";
    Refusal::about(result, attribute::USED_SERVICE_UNIT, text)
}
