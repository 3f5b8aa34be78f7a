//! Requests without a session (CCR-E): debit, refund, balance check (RFC 8506, 6), and use that has happened already
//! (post-event charging). Several services are all carried out, or none.

use super::answer::{Answer, OwnedHead, ServiceResult};
use super::asked_service::{AskedService, AskedServices};
use super::failure::Failure;
use super::ids;
use super::subscriber::{answered, subscriber};
use scurry_diameter::ccr::{CreditControlRequest, RequestedAction};
use scurry_diameter::{Attribute, Refusal, ResultCode, attribute};
use scurry_ledger::{
    BucketAttributes, Code, Command, Id, ItemAmount, ItemRequest, SessionOptions, SessionRequest,
};
use scurry_quota::{Called, Step, Subscriber};
use scurry_service::{Answered, CallError, Read, Reply, Request, Service, SessionStep};
use scurry_service_table::{Mode, ServiceTable, ServiceTerms};
use smallvec::SmallVec;
use std::sync::Arc;

/// What is done with the units.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    /// They are debited.
    Debit,
    /// They were used before they were asked for, and are debited as far as the account's overrun policy takes them.
    Settle,
    /// A debit is refunded, in these units or all that is left of it.
    Refund { debit: Vec<u8>, is_whole: bool },
    /// They are credited to the bucket that the table names.
    Credit,
    /// The balance is compared with them.
    Check,
}

/// A request without a session, as the store is asked.
pub(super) struct AskedEvent {
    head: OwnedHead,
    subscriber: Subscriber,
    action: Action,
    txn: Vec<u8>,
    number: u32,
    services: AskedServices,
    is_outside: bool,
    /// The amounts of the services that are charged.
    items: SmallVec<[ItemAmount; 1]>,
}

/// Reads what a request without a session asks of the store.
///
/// # Errors
/// The refusal of a request that is wrong, or that asks for what this server does not have.
pub(super) fn ask(
    request: &CreditControlRequest<'_>,
    table: &ServiceTable,
) -> Result<AskedEvent, Refusal<'static>> {
    if request.subscription_ids.as_slice().is_empty() {
        return Err(Refusal::missing(attribute::SUBSCRIPTION_ID));
    }
    let (services, is_outside) = AskedService::all(request, table)?;
    if services.iter().any(|service| service.asks_none) {
        let text = "units are requested that this service does not count, or none";
        return Err(invalid(attribute::REQUESTED_SERVICE_UNIT, text));
    }
    let is_use = |service: &AskedService| service.used.is_some_and(|used| used > 0);
    let are_reports = services.iter().all(AskedService::is_report);
    if !are_reports && services.iter().any(is_use) {
        let text = "use that has happened is reported beside units that are requested";
        let used = attribute::USED_SERVICE_UNIT;
        return Err(Refusal::about(ResultCode::CONTRADICTING_AVPS, used, text));
    }
    let action = match request.requested_action {
        // What is recorded only is a report too: nothing is debited.
        Some(RequestedAction::DirectDebiting)
            if are_reports
                || services.iter().all(|service| service.quota().charged().is_none()) =>
        {
            Action::Settle
        }
        Some(RequestedAction::DirectDebiting) => Action::Debit,
        Some(RequestedAction::RefundAccount) => refund(request, &services)?,
        Some(RequestedAction::CheckBalance) => Action::Check,
        Some(RequestedAction::PriceEnquiry) => {
            let text = "this server knows no prices";
            return Err(Refusal::about(
                ResultCode::RATING_FAILED,
                attribute::REQUESTED_ACTION,
                text,
            ));
        }
        None => return Err(Refusal::missing(attribute::REQUESTED_ACTION)),
    };
    let mut items = SmallVec::<[ItemAmount; 1]>::new();
    for service in &services {
        let Some((terms, key)) = service.terms.as_deref().zip(service.quota().key()) else {
            continue;
        };
        let Some(amount) = action.amount(service, terms).filter(|amount| *amount > 0) else {
            continue;
        };
        let is_same = |item: &&mut ItemAmount| item.key == key && item.unit == terms.unit;
        match items.iter_mut().find(is_same) {
            None => items.push(ItemAmount { key, unit: terms.unit, amount }),
            Some(item) => {
                item.amount = item.amount.checked_add(amount).ok_or_else(too_much)?;
            }
        }
    }
    Ok(AskedEvent {
        head: OwnedHead::of(request),
        subscriber: subscriber(&request.subscription_ids, table),
        action,
        txn: ids::transaction(request.session_id, request.request_number),
        number: request.request_number,
        services,
        is_outside,
        items,
    })
}

impl Action {
    /// Returns the amount of a service: what it says, else the table's grant. None if it takes no part.
    fn amount(&self, service: &AskedService, terms: &ServiceTerms) -> Option<i64> {
        let said = service.asked.filter(|asked| *asked > 0);
        match (terms.mode, self) {
            (Mode::Free, _) => None,
            (_, Action::Settle) if service.is_report() => service.used,
            (Mode::Record, Action::Settle) => Some(said.unwrap_or(terms.grant)),
            (Mode::Record, _) | (Mode::Charge, Action::Settle) => None,
            (Mode::Charge, Action::Debit) if service.is_report() => None,
            (Mode::Charge, Action::Refund { is_whole: false, .. }) => said,
            (Mode::Charge, _) => Some(said.unwrap_or(terms.grant)),
        }
    }
}

/// Returns what a refund is of: the debit that its Refund-Information names, or none.
fn refund(
    request: &CreditControlRequest<'_>,
    services: &AskedServices,
) -> Result<Action, Refusal<'static>> {
    if services.iter().any(|service| service.used.is_some() && service.asked.is_none()) {
        return Err(Refusal::missing(attribute::REQUESTED_SERVICE_UNIT));
    }
    let outside = request.outside.refund_information;
    let within = || request.services.iter().map(|service| service.refund_information);
    let named = within().chain([outside]).find(|information| !information.is_empty());
    let Some(debit) = named else { return Ok(Action::Credit) };
    // A name outside of services is that of those without one.
    let is_other = |other: &[u8]| other != debit && (!other.is_empty() || outside.is_empty());
    let is_outside_other = !outside.is_empty() && outside != debit;
    if is_outside_other || within().any(is_other) || !Id::is_id(debit) {
        let text =
            "all services of a refund name one debit, by the Refund-Information of its answer";
        return Err(invalid(attribute::REFUND_INFORMATION, text));
    }
    let charged = || services.iter().filter(|service| service.quota().charged().is_some());
    let says = |service: &AskedService| service.asked.is_some_and(|asked| asked > 0);
    let is_whole = !charged().any(says);
    if !is_whole && !charged().all(says) {
        // A service without an amount is neither left out nor meant whole.
        return Err(Refusal::missing(attribute::REQUESTED_SERVICE_UNIT));
    }
    Ok(Action::Refund { debit: debit.to_vec(), is_whole })
}

fn invalid(attribute: Attribute, text: &'static str) -> Refusal<'static> {
    Refusal::about(ResultCode::INVALID_AVP_VALUE, attribute, text)
}

impl AskedEvent {
    /// Asks the store, and returns the answer.
    pub(super) async fn answer(self, store: Arc<dyn Service>) -> Answer {
        if let Some(result) = self.result_of_table() {
            return self.finished(result);
        }
        match self.action {
            Action::Check => self.check(&*store).await,
            Action::Settle => self.settle(&*store).await,
            Action::Debit | Action::Refund { .. } | Action::Credit => self.change(&*store).await,
        }
    }

    /// Returns the result if the table alone decides it: a service is not in it, or none is charged.
    fn result_of_table(&self) -> Option<ResultCode> {
        if self.services.iter().any(|service| service.terms.is_none()) {
            return Some(ResultCode::RATING_FAILED);
        }
        // A refund of a whole debit names no amounts.
        let has_part = !self.items.is_empty() || matches!(self.action, Action::Refund { .. });
        (!has_part || !self.is_charged() && self.action != Action::Settle)
            .then(|| self.result_of(ResultCode::SUCCESS))
    }

    /// Reports whether a service is charged.
    fn is_charged(&self) -> bool {
        self.services.iter().any(|service| service.quota().charged().is_some())
    }

    /// Returns the result as a whole: a success is one of services that are charged.
    fn result_of(&self, result: ResultCode) -> ResultCode {
        match result.is_success() && !self.is_charged() {
            true => ResultCode::CREDIT_CONTROL_NOT_APPLICABLE,
            false => result,
        }
    }

    async fn change(self, store: &dyn Service) -> Answer {
        if self.action == Action::Credit && (self.items.len() > 1 || self.bucket().is_none()) {
            let text = "a refund without Refund-Information needs one service, and refund_bucket in its row";
            return Answer::failed(self.head, Failure::new(ResultCode::UNABLE_TO_COMPLY, text));
        }
        let request =
            |account: &[u8], _: bool| self.command(|command| Request::write(account, command));
        let answered = answered(self.subscriber.call(store, Step::First, request).await);
        self.finished_by(answered)
    }

    fn bucket(&self) -> Option<scurry_ledger::Name> {
        let mut charged = self.services.iter().filter_map(|service| service.quota().charged());
        charged.find_map(|terms| terms.refund_bucket)
    }

    /// Calls `run` with the command, and returns its result.
    fn command<R>(&self, run: impl FnOnce(&Command<'_>) -> R) -> R {
        let (txn, items) = (&self.txn[..], &self.items[..]);
        match (&self.action, self.bucket(), items) {
            (Action::Refund { debit, is_whole: true }, ..) => {
                run(&Command::Refund { txn, debit, amount: None, carry: false })
            }
            (Action::Refund { debit, is_whole: false }, ..) => {
                run(&Command::RefundItems { txn, debit, items, carry: false })
            }
            (Action::Credit, Some(bucket), [item]) => run(&Command::TopUp {
                txn,
                bucket,
                amount: item.amount,
                unit: Some(item.unit),
                attributes: BucketAttributes::default(),
                keys: &[],
            }),
            _ => run(&Command::DebitItems { txn, items }),
        }
    }

    /// Returns the answer for the store's answer to a command.
    fn finished_by(self, answered: Result<Answered, Failure>) -> Answer {
        match answered {
            Ok(answered) => self.finished(ResultCode(answered.code().diameter().into())),
            Err(failure) => Answer::failed(self.head, failure),
        }
    }

    /// Debits use that has happened: TERMINATE of a session that nothing has opened. The store debits it once. The
    /// transaction id is its name, so that a session with the same Session-Id stays as it is.
    async fn settle(self, store: &dyn Service) -> Answer {
        let items = self.items.iter().map(|item| ItemRequest {
            key: item.key,
            unit: item.unit,
            used: Some(item.amount),
            requested: None,
            min: None,
        });
        let items: SmallVec<[ItemRequest; 1]> = items.collect();
        let request = |account: &[u8], _: bool| {
            let command = SessionStep::Terminate.command(SessionRequest {
                session: &self.txn,
                request: self.number,
                options: SessionOptions { late_use: true, ..SessionOptions::default() },
                blob: None,
                items: &items,
            });
            Request::write(account, &command)
        };
        let answered = answered(self.subscriber.call(store, Step::First, request).await);
        self.finished_by(answered)
    }

    async fn check(self, store: &dyn Service) -> Answer {
        let mut is_enough = true;
        for item in &self.items {
            let request = |account: &[u8], _: bool| {
                Request::Read(Read::Check {
                    account: account.to_vec(),
                    unit: item.unit,
                    item: Some(item.key),
                    amount: item.amount,
                })
            };
            match self.subscriber.call(store, Step::First, request).await {
                Ok(Called { reply: Reply::Checked(checked), .. }) => {
                    is_enough &= checked.code == Code::Ok;
                }
                Ok(_) => return Answer::failed(self.head, CallError::WrongShape.into()),
                Err(failure) => return Answer::failed(self.head, failure.into()),
            }
        }
        let answer = Answer::new(self.head, ResultCode::SUCCESS);
        Answer { is_enough: Some(is_enough), ..answer }
    }

    /// Returns the answer with one result for all services. A debit shows what was debited, and what a refund names it by.
    fn finished(self, result: ResultCode) -> Answer {
        let result = self.result_of(result);
        let AskedEvent { head, action, txn, services, is_outside, .. } = self;
        let is_debited = action == Action::Debit && result.is_success();
        let results = services.into_iter().map(|service| {
            let own = service.settled_result().unwrap_or(result);
            let amount = service.quota().charged().and_then(|terms| action.amount(&service, terms));
            let mut one = ServiceResult::new(service, own);
            if let Some(amount) = amount.filter(|_| is_debited) {
                one.granted = amount;
                one.refund_information.clone_from(&txn);
            }
            one
        });
        let results = results.collect();
        Answer { services: results, is_outside, ..Answer::new(head, result) }
    }
}

fn too_much() -> Refusal<'static> {
    let text = "the sum of the amounts is not one that this server can count";
    Refusal::about(ResultCode::INVALID_AVP_VALUE, attribute::REQUESTED_SERVICE_UNIT, text)
}
