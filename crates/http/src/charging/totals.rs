//! The totals of a store: those of its servers, added up, with the check of conservation.

use super::answer::{Answer, Body};
use super::quantity::Quantity;
use super::reply::{Reader, each, field, integer};
use redis::Value;
use schemars::JsonSchema;
use scurry_ledger::Code;
use serde::Serialize;
use std::collections::BTreeMap;

/// The conservation totals of all accounts that exist.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Totals {
    /// Units are conserved: `error` is 0 in every unit.
    ok: bool,
    accounts: i64,
    /// Open sessions.
    sessions: i64,
    units: Vec<UnitTotals>,
}

#[derive(Serialize, JsonSchema)]
struct UnitTotals {
    unit: String,
    available: Quantity,
    held: Quantity,
    credited: Quantity,
    refunded: Quantity,
    consumed: Quantity,
    expired: Quantity,
    voided: Quantity,
    overdrawn: Quantity,
    uncollected: Quantity,
    /// available + held - credited - refunded + consumed + expired + voided: 0, or units were lost
    /// or made.
    error: Quantity,
}

/// The sums of a unit, in the order of the reply.
type Sums = [i128; 9];

/// The reply of each server.
pub(super) fn read(replies: &Value) -> Option<Answer> {
    let Value::Array(replies) = replies else { return None };
    let (mut accounts, mut sessions) = (0, 0);
    let mut units: BTreeMap<String, Sums> = BTreeMap::new();
    for reply in replies {
        accounts += integer(field(reply, "accounts")?)?;
        sessions += integer(field(reply, "sessions")?)?;
        for (unit, row) in each(field(reply, "units")?, row)? {
            let sums = units.entry(unit).or_default();
            for (sum, number) in sums.iter_mut().zip(row) {
                *sum += number;
            }
        }
    }
    let units: Vec<(UnitTotals, bool)> = units.into_iter().map(shown).collect();
    let ok = units.iter().all(|(_, conserved)| *conserved);
    let units = units.into_iter().map(|(unit, _)| unit).collect();
    let body = Body::Totals(Totals { ok, accounts, sessions, units });
    Some(Answer { code: Code::Ok, replayed: false, body })
}

fn row(row: &mut Reader<'_>) -> Option<(String, Sums)> {
    let unit = row.text()?;
    let mut sums = Sums::default();
    for sum in &mut sums {
        *sum = match row.quantity()? {
            Quantity::Number(number) => i128::from(number),
            Quantity::Digits(digits) => digits.parse().ok()?,
        };
    }
    Some((unit, sums))
}

/// With true when they are conserved.
fn shown((unit, sums): (String, Sums)) -> (UnitTotals, bool) {
    let [available, held, credited, refunded, consumed, expired, voided, ..] = sums;
    let error = available + held - credited - refunded + consumed + expired + voided;
    let [available, held, credited, refunded, consumed, expired, voided, overdrawn, uncollected] =
        sums.map(quantity);
    let shown = UnitTotals {
        unit,
        available,
        held,
        credited,
        refunded,
        consumed,
        expired,
        voided,
        overdrawn,
        uncollected,
        error: quantity(error),
    };
    (shown, error == 0)
}

fn quantity(number: i128) -> Quantity {
    match i64::try_from(number) {
        Ok(number) => Quantity::Number(number),
        Err(_) => Quantity::Digits(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reply(unit: &str, sums: Sums) -> Value {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let number = |sum: i128| match i64::try_from(sum) {
            Ok(number) => Value::Int(number),
            Err(_) => text(&sum.to_string()),
        };
        let row = std::iter::once(text(unit)).chain(sums.map(number)).collect();
        Value::Array(vec![
            text("accounts"),
            Value::Int(2),
            text("sessions"),
            Value::Int(1),
            text("units"),
            Value::Array(vec![Value::Array(row)]),
        ])
    }

    fn read_json(replies: Vec<Value>) -> serde_json::Value {
        let answer = read(&Value::Array(replies)).expect("totals");
        serde_json::to_value(answer.body).expect("JSON")
    }

    #[test]
    fn servers_are_added_up_and_what_is_lost_shows() {
        let sums = [60, 10, 100, 5, 20, 10, 5, 1, 2];
        let two = read_json(vec![reply("cent", sums), reply("cent", sums)]);
        assert_eq!(
            (&two["ok"], &two["accounts"], &two["sessions"]),
            (&json!(true), &json!(4), &json!(2))
        );
        assert_eq!(two["units"][0]["available"], 120);
        assert_eq!(two["units"][0]["uncollected"], 4);
        assert_eq!(two["units"][0]["error"], 0);
        let lost = [59, 10, 100, 5, 20, 10, 5, 1, 2];
        let two = read_json(vec![reply("cent", sums), reply("octet", lost)]);
        assert_eq!(two["ok"], false);
        assert_eq!((&two["units"][0]["error"], &two["units"][1]["error"]), (&json!(0), &json!(-1)));
    }

    #[test]
    fn totals_beyond_64_bits_stay_exact() {
        let most = i128::from(i64::MAX);
        let sums = [most, 0, most, 0, 0, 0, 0, 0, 0];
        let two = read_json(vec![reply("cent", sums), reply("cent", sums)]);
        assert_eq!(two["units"][0]["credited"], "18446744073709551614");
        assert_eq!((&two["ok"], &two["units"][0]["error"]), (&json!(true), &json!(0)));
        let long = [2 * most, 0, 2 * most, 0, 0, 0, 0, 0, 0];
        assert_eq!(read_json(vec![reply("cent", long)])["units"], two["units"]);
        assert!(read(&Value::Array(vec![Value::Nil])).is_none(), "whoever says that is no store");
    }
}
