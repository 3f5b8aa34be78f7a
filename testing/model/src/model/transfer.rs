//! Section 17, transfers: TRANSFER, and the steps in which the host carries one.

use super::balance::topup;
use super::session::{close, reserve};
use super::state::{End, State, Transaction};
use super::{Context, Refusal, id, money, require};
use crate::name;
use scurry_ledger::{
    Answer, BucketAttributes, Cause, Code, ItemAnswers, ItemRequest, Overrun, SessionOptions,
    SessionRequest, Status, Transfer, TransferStep,
};

/// The moment after the last one of the clock.
const AFTER_ALL_TIME: i64 = 1 << 47;

pub(super) fn begin(
    account: &mut Option<State>,
    context: Context<'_>,
    transfer: &Transfer<'_>,
    body: String,
) -> Result<Answer, Refusal> {
    let (session, payee) = (id(transfer.id)?, id(transfer.payee)?);
    require(transfer.amount >= 1 && payee.len() <= 128, Code::Invalid)?;
    require(transfer.payee != transfer.payer, Code::Invalid)?;
    require(transfer.payer.len() + session.len() <= 241, Code::Invalid)?;
    let known = account.as_ref().and_then(|state| {
        state.tombstones(context.now).find(|closed| closed.id == session).cloned()
    });
    if let Some(End::Returned(same, refusal)) = known.map(|closed| closed.end) {
        require(same == body, Code::RequestMismatch)?;
        return Err(refusal.into());
    }
    let options = SessionOptions {
        transfer: true,
        overrun: Some(Overrun::Held),
        validity_ms: Some(1_000),
        tcc_ms: Some(1_000),
        ..SessionOptions::default()
    };
    let (key, requested) = (crate::key("transfer"), Some(transfer.amount));
    let items = [ItemRequest { key, unit: transfer.unit, used: None, requested, min: requested }];
    // No bound applies to what the transfer itself needs.
    let most = i64::MAX;
    let limits = scurry_ledger::Limits { tcc_ms_max: most, ..context.limits.clone() };
    let roomy = Context { limits: &limits, ..context };
    let request =
        SessionRequest { session: transfer.id, request: 0, options, blob: None, items: &items };
    let answer = reserve(account, roomy, &request, body)?;
    let opened = account.as_mut().and_then(|state| state.sessions.get_mut(&session));
    if let Some(opened) = opened {
        opened.blob = format!("{payee} {}", transfer.bucket.as_str()).into_bytes();
    }
    Ok(answer)
}

/// Sets the time of the next try, of a transfer whose time is `deadline`.
pub(super) fn postpone(session: &mut super::state::Session) {
    session.tcc *= 2;
    session.deadline += session.tcc;
    session.version += 1;
}

pub(super) fn carry(
    account: &mut Option<State>,
    context: Context<'_>,
    step: &TransferStep<'_>,
) -> Result<Answer, Refusal> {
    let state = account.as_mut().ok_or(Code::UnknownAccount)?;
    match *step {
        TransferStep::Receive { receipt, bucket, unit, amount } => {
            let receipt = id(receipt)?;
            if let Some(known) = state.remembered(context.now).find(|known| known.id == receipt) {
                return Err(Refusal::Replay(known.answer.clone()));
            }
            require(state.status != Status::Closed, Code::NotApplicable)?;
            let full = state.remembered(context.now).count() >= context.limits.transactions_max;
            let attributes = BucketAttributes::default();
            let effect =
                topup(state, context, bucket, amount, Some(unit), (attributes, &[]), full)?;
            state.fits()?;
            let amount = i64::try_from(effect.amount).map_err(|_| Code::Overflow)?;
            let (version, cause) = (state.version, Cause::None);
            let answer = Answer::Amount { code: Code::Ok, version, amount, cause };
            state.transactions.push(Transaction {
                id: receipt,
                body: String::new(),
                answer: answer.clone(),
                forget: AFTER_ALL_TIME,
                parts: None,
                has_items: false,
            });
            Ok(answer)
        }
        TransferStep::Forget { receipt } => {
            let receipt = id(receipt)?;
            let now = context.now;
            let is_it = |known: &&mut Transaction| known.id == receipt && known.forget > now;
            let Some(known) = state.transactions.iter_mut().find(is_it) else {
                return Err(Refusal::Replay(done()));
            };
            // It stays in the list: limits know their debits by their places in it.
            known.forget = now;
            Ok(done())
        }
        TransferStep::Settle { id: transfer } => {
            let transfer = id(transfer)?;
            open(state, &transfer)?;
            let held = held(state, &transfer);
            if held == 0 {
                return Err(Refusal::Replay(done()));
            }
            let item = state.sessions[&transfer].items[0].clone();
            let used = Some(i64::try_from(held).map_err(|_| Code::Overflow)?);
            let (key, unit) = (crate::key(&item.key), name(&item.unit));
            let used = ItemRequest { key, unit, used, requested: None, min: None };
            money::settle(state, &transfer, &used, false, context.now)?;
            let session = state.sessions.get_mut(&transfer).ok_or(Code::UnknownSession)?;
            session.tcc = 1_000;
            session.deadline = context.now + 1_000;
            session.version += 1;
            Ok(done())
        }
        TransferStep::Conclude { id: transfer, refusal } => {
            let transfer = id(transfer)?;
            let body = open(state, &transfer)?;
            if (held(state, &transfer) > 0) != refusal.is_some() {
                return Err(Refusal::Replay(done()));
            }
            let end = match refusal {
                Some(refusal) => End::Returned(body, refusal),
                None => {
                    let (_, _, answer) = &state.sessions[&transfer].answers[0];
                    let Answer::Session { code, items, .. } = answer.clone() else {
                        return Err(Code::Invalid.into());
                    };
                    End::Request((0, 0), body, Answer::Session { code, version: 0, items })
                }
            };
            money::release_all(state, &transfer, context.now)?;
            close(state, context, &transfer, end, true);
            if let (Some(_), Some(closed)) = (refusal, state.closed.last_mut()) {
                closed.highest = None;
            }
            Ok(done())
        }
    }
}

/// Returns the body of an open transfer; a step of one that was concluded is a replay.
fn open(state: &State, transfer: &str) -> Result<String, Refusal> {
    let found = state.sessions.get(transfer).filter(|session| session.terms.transfer);
    let session = found.ok_or(Refusal::Replay(done()))?;
    Ok(session.answers[0].1.clone())
}

fn held(state: &State, transfer: &str) -> i128 {
    state.sessions[transfer].items[0].slices.iter().map(|(_, amount)| amount).sum()
}

fn done() -> Answer {
    Answer::Session { code: Code::Ok, version: 0, items: ItemAnswers::new() }
}
