//! Explains denials in a sentence. By its result code alone, an account with too little credit looks like an account
//! without a bucket of the unit.

use scurry_ledger::Code;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Returns a sentence that says why an answer was denied.
pub(crate) fn denial_sentence(code: Code, answer: &Map<String, Value>) -> String {
    match cause(answer) {
        Some(("no_bucket", _)) => {
            "The account has no bucket of this unit: GET the account to see its units, which \
                                   are told apart by case."
                .to_owned()
        }
        Some(("limit", Some(limit))) => format!("The limit {limit} of the account is reached."),
        Some(("bucket", Some(bucket))) => {
            format!("The bucket {bucket} of the account has less than that.")
        }
        Some(("items", _)) => {
            "The session has as many items as one may have: use another session for more."
                .to_owned()
        }
        _ => code.meaning().to_owned(),
    }
}

/// Returns when the limits allow all that they denied of an answer, ms; `None` if time alone does not help, or if it is
/// not known when they allow all of the request: each item has its time as if it were asked alone, and several of one
/// unit may need the same limit.
pub(crate) fn allowed_at_ms(answer: &Map<String, Value>, request: &Value) -> Option<i64> {
    if let Some(answers) = answer.get("answers").and_then(Value::as_array) {
        let commands = request.get("commands").and_then(Value::as_array)?;
        // Of a chain the commands that were denied by themselves.
        let denied = answers.iter().filter_map(Value::as_object).zip(commands);
        let denied = denied.filter(|(one, _)| cause(one).is_some_and(|(why, _)| why != "chain"));
        return latest(denied.map(|(one, command)| allowed_at_ms(one, command)));
    }
    match answer.get("items").and_then(Value::as_array).filter(|items| !items.is_empty()) {
        Some(items) if have_units_of_their_own(request) => {
            let denied = items.iter().filter(|item| item.get("cause").is_some());
            latest(denied.map(|item| item.get("allowed_at_ms").and_then(Value::as_i64)))
        }
        Some(_) => None,
        None => answer.get("allowed_at_ms").and_then(Value::as_i64),
    }
}

fn latest(times: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    let times: Option<Vec<i64>> = times.collect();
    times?.into_iter().max()
}

/// Reports whether a request has one item, or each of its items names a unit that no other one has.
fn have_units_of_their_own(request: &Value) -> bool {
    let Some(items) = request.get("items").and_then(Value::as_array) else { return false };
    let mut units = BTreeSet::new();
    items.len() == 1
        || items.iter().all(|item| {
            item.get("unit").and_then(Value::as_str).is_some_and(|unit| units.insert(unit))
        })
}

/// Returns the cause of the first denial of an answer, and the limit or the bucket that it names.
fn cause(answer: &Map<String, Value>) -> Option<(&str, Option<&str>)> {
    if let Some(cause) = answer.get("cause").and_then(Value::as_str) {
        let named = answer.get("limit").or(answer.get("bucket"));
        return Some((cause, named.and_then(Value::as_str)));
    }
    if let Some(items) = answer.get("items").and_then(Value::as_array) {
        return items.iter().filter_map(Value::as_object).find_map(cause);
    }
    // A chain: `denied` counts from 1.
    let denied = usize::try_from(answer.get("denied")?.as_u64()?).ok()?.checked_sub(1)?;
    answer.get("answers")?.get(denied)?.as_object().and_then(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_cause_of_an_answer_is_told() {
        let said = |answer: Value| {
            let answer = answer.as_object().expect("an object").clone();
            denial_sentence(Code::CreditLimitReached, &answer)
        };
        let no_bucket = "The account has no bucket of this unit: GET the account";
        assert!(said(json!({ "cause": "no_bucket" })).starts_with(no_bucket));
        let items = json!({ "items": [{ "granted": 5 }, { "cause": "no_bucket" }] });
        assert!(said(items.clone()).starts_with(no_bucket));
        let chain = json!({ "denied": 2, "answers": [{ "cause": "chain" }, items] });
        assert!(said(chain).starts_with(no_bucket));
        let limit = said(json!({ "cause": "limit", "limit": "a-day" }));
        assert_eq!(limit, "The limit a-day of the account is reached.");
        let bucket = said(json!({ "cause": "bucket", "bucket": "main" }));
        assert_eq!(bucket, "The bucket main of the account has less than that.");
        for other in [json!({ "cause": "balance" }), json!({}), json!({ "denied": 0 })] {
            assert_eq!(said(other), Code::CreditLimitReached.meaning());
        }
    }

    #[test]
    fn an_answer_is_allowed_when_the_last_of_its_denials_is() {
        let at = |answer: Value, request: &Value| {
            allowed_at_ms(answer.as_object().expect("an object"), request)
        };
        let limit = |ms| json!({ "cause": "limit", "limit": "l", "allowed_at_ms": ms });
        let balance = json!({ "cause": "balance" });
        let none = json!({});
        assert_eq!((at(limit(5), &none), at(balance.clone(), &none)), (Some(5), None));
        let granted = json!({ "granted": 5 });
        let items = json!({ "items": [limit(5), granted, limit(9), limit(7)] });
        let of = |units: &[&str]| json!({ "items": units.iter().map(|unit| json!({ "unit": unit })).collect::<Vec<_>>() });
        let apart = of(&["a", "b", "c", "d"]);
        assert_eq!(at(items.clone(), &apart), Some(9));
        assert_eq!(at(json!({ "items": [limit(5), balance.clone()] }), &of(&["a", "b"])), None);
        let chain = json!({ "cause": "chain" });
        let of_chain = |last| json!({ "denied": 2, "answers": [chain, items, last] });
        let commands = json!({ "commands": [{}, apart, {}] });
        assert_eq!(at(of_chain(limit(11)), &commands), Some(11));
        assert_eq!(at(of_chain(balance), &commands), None);
    }

    #[test]
    fn items_that_may_need_one_limit_have_no_time_together() {
        let denied = json!({ "items": [{}, { "cause": "limit", "allowed_at_ms": 5 }] });
        let at = |request: Value| allowed_at_ms(denied.as_object().expect("an object"), &request);
        assert_eq!(at(json!({ "items": [{ "unit": "a" }, { "unit": "b" }] })), Some(5));
        assert_eq!(at(json!({ "items": [{ "unit": "a" }, { "unit": "a" }] })), None);
        assert_eq!(at(json!({ "items": [{ "key": 1 }, { "key": 2 }] })), None);
        let one = json!({ "items": [{ "cause": "limit", "allowed_at_ms": 5 }] });
        let request = json!({ "items": [{ "key": 1 }] });
        assert_eq!(allowed_at_ms(one.as_object().expect("an object"), &request), Some(5));
    }
}
