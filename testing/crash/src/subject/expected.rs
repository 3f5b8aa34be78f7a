//! What the model says to a request, as the reply of a server.

use anyhow::{Result, ensure};
use scurry_conformance::Value;
use scurry_ledger::{Answer, Cause, CodeKind, ItemAnswer, ItemKey, Limits};
use scurry_model::{ModelResult, Op};

/// The bounds that servers are started with: nothing is forgotten and no session ends by itself while
/// a run lasts, and all that is remembered finds its place.
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

/// The reply must be what the model says.
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

/// The reply to a request that has this answer, `replayed` 1 or 0.
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
                    Value::Int(given.last.into()),
                    Value::Int(given.uncollected.into()),
                ];
                Value::Array(row.into_iter().chain(told_cause(given.cause)).collect())
            };
            let items = asked.iter().zip(items).map(item).collect();
            vec![word(code.name()), Value::Int(replayed), int(*version), Value::Array(items)]
        }
    })
}

/// The word for the cause of a denial, where one is told.
fn told_cause(cause: Cause) -> Option<Value> {
    let limit = if let Cause::Limit(limit) = cause {
        format!(" {}", limit.as_str())
    } else {
        String::new()
    };
    cause.word().map(|word| Value::Word(format!("{word}{limit}").into_bytes()))
}

fn item_key(key: ItemKey) -> Value {
    match key {
        ItemKey::Number(key) => Value::Int(key.into()),
        ItemKey::Id(id) => Value::Word(id.as_bytes().to_vec()),
    }
}
