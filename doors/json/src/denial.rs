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
        _ => code.meaning().to_owned(),
    }
}

/// Returns the cause of the first denial of an answer, and the limit that it names.
fn cause(answer: &Map<String, Value>) -> Option<(&str, Option<&str>)> {
    if let Some(cause) = answer.get("cause").and_then(Value::as_str) {
        return Some((cause, answer.get("limit").and_then(Value::as_str)));
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
        for other in [json!({ "cause": "balance" }), json!({}), json!({ "denied": 0 })] {
            assert_eq!(said(other), Code::CreditLimitReached.meaning());
        }
    }
}
