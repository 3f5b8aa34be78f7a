//! Shows the units of an account to a user who named a unit that the account lacks.

use super::dialogue::first;
use super::shape::{Shape, links};
use crate::terminal_escape::escaped;
use scurry_cluster_client::redis::Value;

/// Returns the account whose lack of a bucket made the command fail, if that was the cause.
pub(super) fn account_without_bucket<'w>(
    words: &[&'w [u8]],
    reply: &Value,
    shape: &Shape,
) -> Option<&'w [u8]> {
    if !shape.lacks_bucket(reply) {
        return None;
    }
    match reply {
        Value::Array(values) if *first(words) == *b"SCUR.CHAIN" => match values.get(2)? {
            Value::Int(denied) => {
                let at = usize::try_from(denied.checked_sub(1)?).ok()?;
                Some(links(words).get(at)?.account)
            }
            _ => None,
        },
        _ => words.get(1).copied(),
    }
}

/// Returns a line that names the units of an account, from the reply to SCUR.GET.
pub(super) fn said(account: &[u8], reply: &Value) -> String {
    let account = escaped(&String::from_utf8_lossy(account));
    let begin = format!("({account} has no bucket of this unit");
    match units(reply) {
        None => format!("{begin}: SCUR.GET shows its units)\n"),
        Some(units) if units.is_empty() => format!("{begin}, and none of another one)\n"),
        Some(units) => format!("{begin}: it has {})\n", units.join(", ")),
    }
}

/// Returns each unit once, in the order of the buckets. None if the reply is not an account.
fn units(reply: &Value) -> Option<Vec<String>> {
    let pairs = Shape::from_words(&[b"SCUR.GET"]).pairs(reply)?;
    let is_buckets = |name: &Value| *name == Value::BulkString(b"buckets".to_vec());
    let (_, buckets) = pairs.into_iter().find(|(name, _)| is_buckets(name))?;
    let Value::Array(buckets) = buckets else { return None };
    let mut units = Vec::new();
    for bucket in buckets {
        let Value::Array(values) = bucket else { return None };
        let Some(Value::BulkString(unit)) = values.get(1) else { return None };
        let unit = escaped(&String::from_utf8_lossy(unit));
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    Some(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Value {
        Value::SimpleString(text.to_owned())
    }

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn units_of_an_account_are_named_once_each() {
        let bucket = |unit: &str| Value::Array(vec![bulk("b"), bulk(unit), Value::Int(5)]);
        let account = |units: &[&str]| {
            let buckets = units.iter().map(|unit| bucket(unit)).collect();
            Value::Array(vec![
                bulk("version"),
                Value::Int(1),
                bulk("buckets"),
                Value::Array(buckets),
            ])
        };
        let shown = said(b"a", &account(&["cent", "octet", "cent"]));
        assert_eq!(shown, "(a has no bucket of this unit: it has cent, octet)\n");
        assert_eq!(
            said(b"a", &account(&[])),
            "(a has no bucket of this unit, and none of another one)\n"
        );
        assert_eq!(
            said(b"a\x1b", &Value::Nil),
            "(a\\x1b has no bucket of this unit: SCUR.GET shows its units)\n"
        );
    }

    #[test]
    fn the_account_is_that_of_the_command_that_was_denied() {
        let reply = |cause: &str| {
            Value::Array(vec![
                word("CREDIT_LIMIT_REACHED"),
                Value::Int(0),
                Value::Int(1),
                Value::Int(0),
                word(cause),
            ])
        };
        let of = |line: &str, reply: &Value| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let found = account_without_bucket(&words, reply, &Shape::from_words(&words));
            found.map(|account| String::from_utf8_lossy(account).into_owned())
        };
        assert_eq!(of("SCUR.DEBIT a t EUR 5", &reply("no_bucket")).as_deref(), Some("a"));
        assert_eq!(of("SCUR.DEBIT a t EUR 5", &reply("balance")), None);
        assert_eq!(of("GET a", &reply("no_bucket")), None);
        let line = "SCUR.CHAIN a 4 DEBIT t cent 1 b 4 DEBIT t EUR 1";
        let replies = Value::Array(vec![reply("chain"), reply("no_bucket")]);
        let chain =
            Value::Array(vec![word("CREDIT_LIMIT_REACHED"), Value::Int(0), Value::Int(2), replies]);
        assert_eq!(of(line, &chain).as_deref(), Some("b"));
    }
}
