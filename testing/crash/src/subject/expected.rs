//! Converts the model's results to the replies of a server.

use anyhow::{Result, ensure};
use scurry_conformance::Value;
use scurry_ledger::{Answer, Cause, Code, CodeKind, ItemAnswer, ItemKey, Limits};
use scurry_model::{ChainOp, ModelChainResult, ModelResult, Op};

/// Bounds that servers are started with: nothing is forgotten and no session expires during a run, and there is room
/// for everything remembered.
pub fn limits() -> Limits {
    Limits {
        tombstone_ms: 86_400_000,
        transaction_ms: 86_400_000,
        validity_ms_default: 43_200_000,
        session_ids_max: 16_384,
        transactions_max: 16_384,
        ..Limits::default()
    }
}

/// Checks that the reply is the model's result.
pub fn compare(op: &Op, expected: &ModelResult, reply: &Value) -> Result<()> {
    let right = match expected {
        ModelResult::Reject(code) => {
            debug_assert_eq!(code.kind(), CodeKind::Reject);
            let head = format!("{} {} ", code.name(), *code as u8);
            matches!(reply, Value::Error(text) if text.starts_with(&head))
        }
        ModelResult::Commit(answer) => *reply == value_of(op, answer, 0),
        ModelResult::Replay(answer) => *reply == value_of(op, answer, 1),
    };
    ensure!(right, "{op:?} is answered {reply}, and the model says {expected:?}");
    Ok(())
}

/// Checks that the reply to a chain is the model's result.
pub(super) fn compare_chain(
    chain: &ChainOp,
    expected: &ModelChainResult,
    reply: &Value,
) -> Result<()> {
    let right = match expected {
        ModelChainResult::Reject(link, code) => {
            let mut head = format!("{} {} ", code.name(), *code as u8);
            if let Some(link) = link {
                head = format!("{head}command {}, account {}: ", link + 1, chain[*link].0);
            }
            matches!(reply, Value::Error(text) if text.starts_with(&head))
        }
        ModelChainResult::Commit(answers) => *reply == value_of_chain(chain, answers, 0),
        ModelChainResult::Replay(answers) => *reply == value_of_chain(chain, answers, 1),
    };
    ensure!(right, "{chain:?} is answered {reply}, and the model says {expected:?}");
    Ok(())
}

/// Returns the reply to a chain whose commands have these answers.
fn value_of_chain(chain: &ChainOp, answers: &[Answer], replayed: i128) -> Value {
    let is_denied = |code: Code| matches!(code, Code::CreditLimitReached | Code::ServiceDenied);
    let codes: Vec<Code> = answers.iter().map(Answer::code).collect();
    let by_itself = codes.iter().position(|code| is_denied(*code));
    // Among duplicates, one may stand alone that another chain has denied.
    let denied = by_itself.or_else(|| codes.iter().position(|code| *code == Code::ChainDenied));
    let code = denied.map_or(Code::Ok, |at| codes[at]);
    let values = chain.iter().zip(answers).map(|((_, op), answer)| value_of(op, answer, replayed));
    Value::Array(vec![
        Value::Word(code.name().as_bytes().to_vec()),
        Value::Int(replayed),
        Value::Int(denied.map_or(0, |at| at as i128 + 1)),
        Value::Array(values.collect()),
    ])
}

/// Returns the reply to a request with this answer. `replayed` is 1 or 0.
pub fn value_of(op: &Op, answer: &Answer, replayed: i128) -> Value {
    let word = |text: &str| Value::Word(text.as_bytes().to_vec());
    let int = |number: u64| Value::Int(number.into());
    Value::Array(match answer {
        Answer::Account { code, version } => vec![word(code.name()), int(*version)],
        Answer::Amount { code, version, amount, cause } => {
            let told = [word(code.name()), Value::Int(replayed), int(*version)];
            let amount = Value::Int((*amount).into());
            told.into_iter().chain([amount]).chain(told_cause(*cause)).collect()
        }
        Answer::Session { code, version, items } => {
            let asked = op.request().map_or(&[][..], |request| &request.items);
            let item = |(asked, given): (&scurry_ledger::ItemRequest, &ItemAnswer)| {
                let row = [
                    item_key(asked.key),
                    word(given.code.name()),
                    Value::Int(given.granted.into()),
                    Value::Int((given.last as u8).into()),
                    Value::Int(given.uncollected.into()),
                ];
                Value::Array(row.into_iter().chain(told_cause(given.cause)).collect())
            };
            let whole = items.first().filter(|_| asked.is_empty());
            let rows = Value::Array(asked.iter().zip(items).map(item).collect());
            let told = [word(code.name()), Value::Int(replayed), int(*version), rows];
            told.into_iter()
                .chain(whole.into_iter().flat_map(|denied| told_cause(denied.cause)))
                .collect()
        }
    })
}

/// Returns the word for the cause of a denial, if it has one, and when a limit allows it.
fn told_cause(cause: Cause) -> impl Iterator<Item = Value> {
    let name = cause.name().map(|name| format!(" {}", name.as_str())).unwrap_or_default();
    let text = cause.word().map(|word| Value::Word(format!("{word}{name}").into_bytes()));
    text.into_iter().chain(cause.allowed_at().map(|time| Value::Int(time.0.into())))
}

fn item_key(key: ItemKey) -> Value {
    match key {
        ItemKey::Number(key) => Value::Int(key.into()),
        ItemKey::Id(id) => Value::Word(id.as_bytes().to_vec()),
    }
}
