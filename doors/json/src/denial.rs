//! Explains denials in a sentence. By its result code alone, an account with too little credit looks like an account
//! without a bucket of the unit.

use scurry_ledger::Code;
use serde_json::{Map, Value};

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
        _ => code.meaning().to_owned(),
    }
}

/// Returns when the limits allow all that they denied of an answer, ms; `None` if time alone does not help.
pub(crate) fn allowed_at_ms(answer: &Map<String, Value>) -> Option<i64> {
    if let Some(answers) = answer.get("answers").and_then(Value::as_array) {
        // Of a chain the commands that were denied by themselves.
        let denied = answers.iter().filter_map(Value::as_object);
        let denied = denied.filter(|one| cause(one).is_some_and(|(cause, _)| cause != "chain"));
        return latest(denied);
    }
    match answer.get("items").and_then(Value::as_array).filter(|items| !items.is_empty()) {
        Some(items) => {
            let items = items.iter().filter_map(Value::as_object);
            latest(items.filter(|item| item.contains_key("cause")))
        }
        None => answer.get("allowed_at_ms").and_then(Value::as_i64),
    }
}

fn latest<'a>(denied: impl Iterator<Item = &'a Map<String, Value>>) -> Option<i64> {
    let times: Option<Vec<i64>> = denied.map(allowed_at_ms).collect();
    times?.into_iter().max()
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
        let at = |answer: Value| allowed_at_ms(answer.as_object().expect("an object"));
        let limit = |ms| json!({ "cause": "limit", "limit": "l", "allowed_at_ms": ms });
        let balance = json!({ "cause": "balance" });
        assert_eq!((at(limit(5)), at(balance.clone())), (Some(5), None));
        let granted = json!({ "granted": 5 });
        let items = json!({ "items": [limit(5), granted, limit(9), limit(7)] });
        assert_eq!(at(items.clone()), Some(9));
        assert_eq!(at(json!({ "items": [limit(5), balance.clone()] })), None);
        let chain = json!({ "cause": "chain" });
        let of_chain = |last| json!({ "denied": 2, "answers": [chain, items, last] });
        assert_eq!((at(of_chain(limit(11))), at(of_chain(balance))), (Some(11), None));
    }
}
