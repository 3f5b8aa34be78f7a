//! Section 15: chains.

use super::{Context, Model, ModelResult, Refusal, balance, body, due, limit, mark, session};
use scurry_ledger::{Answer, Code, Command, Limits, Time};
use std::collections::BTreeMap;

/// Answer of the model to a chain; compare it with a `ChainDecision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChainResult {
    /// Duplicates: the stored answers. Nothing changed.
    Replay(Vec<Answer>),
    /// Rejection with this code, by the command with this number or of the chain as a whole. Nothing changed.
    Reject(Option<usize>, Code),
    /// Every command was executed, or denied and remembered.
    Commit(Vec<Answer>),
}

/// Executes a chain, commands with their accounts in order, at clock time `clock`.
pub fn execute_chain(
    accounts: &mut BTreeMap<String, Model>,
    limits: &Limits,
    clock: Time,
    chain: &[(&str, Command<'_>)],
) -> ModelChainResult {
    if chain.is_empty() || chain.len() > 16 {
        return ModelChainResult::Reject(None, Code::Invalid);
    }
    for (number, (account, command)) in chain.iter().enumerate() {
        let may = matches!(
            command,
            Command::Reserve(_)
                | Command::Update(_)
                | Command::Terminate(_)
                | Command::Debit { .. }
                | Command::DebitItems { .. }
                | Command::RefundItems { .. }
                | Command::TopUp { .. }
                | Command::Refund { .. }
        );
        let first_time = chain[..number].iter().all(|(other, _)| other != account);
        if !may || !first_time {
            return ModelChainResult::Reject(Some(number), Code::Invalid);
        }
    }
    let before: Vec<Model> = chain
        .iter()
        .map(|(id, _)| accounts.get(*id).cloned().unwrap_or_else(|| Model::new(limits.clone())))
        .collect();
    let now = Time(before.iter().map(|model| model.now(clock)).max().unwrap_or(0));

    // Execute each as if it were alone.
    let mut after = before.clone();
    let mut results = vec![];
    for (model, (_, command)) in after.iter_mut().zip(chain) {
        results.push(model.execute(now, command));
    }
    let refused = |result: &ModelResult| matches!(result, ModelResult::Reject(_));
    if let Some(number) = results.iter().position(refused)
        && let ModelResult::Reject(code) = results[number]
    {
        return ModelChainResult::Reject(Some(number), code);
    }
    let known = |result: &ModelResult| matches!(result, ModelResult::Replay(_));
    if results.iter().all(known) {
        return ModelChainResult::Replay(results.into_iter().filter_map(answer).collect());
    }
    if let Some(number) = results.iter().position(known) {
        return ModelChainResult::Reject(Some(number), Code::RequestMismatch);
    }
    let mut answers: Vec<Answer> = results.into_iter().filter_map(answer).collect();
    if answers.iter().any(is_denied) {
        for (number, (_, command)) in chain.iter().enumerate() {
            if !is_denied(&answers[number]) {
                after[number] = before[number].clone();
                let denied = after[number].deny(now, command);
                answers[number] = match denied {
                    Ok(answer) => answer,
                    Err(code) => return ModelChainResult::Reject(Some(number), code),
                };
            }
        }
    }
    for ((id, _), model) in chain.iter().zip(after) {
        accounts.insert((*id).to_string(), model);
    }
    ModelChainResult::Commit(answers)
}

fn answer(result: ModelResult) -> Option<Answer> {
    match result {
        ModelResult::Commit(answer) | ModelResult::Replay(answer) => Some(answer),
        ModelResult::Reject(_) => None,
    }
}

fn code(answer: &Answer) -> Code {
    match answer {
        Answer::Account { code, .. }
        | Answer::Amount { code, .. }
        | Answer::Session { code, .. } => *code,
    }
}

fn is_denied(answer: &Answer) -> bool {
    matches!(code(answer), Code::CreditLimitReached | Code::ServiceDenied)
}

impl Model {
    /// Records a command that another command of its chain denies.
    fn deny(&mut self, now: Time, command: &Command<'_>) -> Result<Answer, Code> {
        let context = Context { now: now.0, limits: &self.limits };
        let mut copy = self.state.clone();
        let state = copy.as_mut().ok_or(Code::UnknownAccount)?;
        due::apply(state, context)?;
        state.version += 1;
        state.changed_at = now.0;
        let before = limit::levels(Some(state), now.0);
        let body = body::text(command);
        let answer = match command {
            Command::Reserve(request) => session::deny_reserve(state, context, request, body)?,
            Command::Update(request) => {
                session::deny_report(&mut copy, context, request, body, true).map_err(only_code)?
            }
            Command::Terminate(request) => {
                session::deny_report(&mut copy, context, request, body, false).map_err(only_code)?
            }
            Command::Debit { txn, .. }
            | Command::DebitItems { txn, .. }
            | Command::Refund { txn, .. }
            | Command::RefundItems { txn, .. } => balance::deny(state, context, txn, body, 0)?,
            Command::TopUp { txn, bucket, .. } => {
                let serial = state.bucket_named(bucket.as_str()).map(|bucket| bucket.serial);
                let available = serial.map_or(0, |serial| state.available(serial));
                balance::deny(state, context, txn, body, available)?
            }
            _ => return Err(Code::Invalid),
        };
        self.told = limit::told(&before, copy.as_ref(), command, now.0);
        self.crossed = mark::crossed(self.state.as_ref(), copy.as_ref());
        self.state = copy;
        Ok(answer)
    }
}

fn only_code(refusal: Refusal) -> Code {
    match refusal {
        Refusal::Reject(code) => code,
        // The command was new a moment ago, so its id occurs twice in the chain.
        Refusal::Replay(_) => Code::RequestMismatch,
    }
}
