//! The totals of a store in JSON, with the check that units are conserved.

use crate::quantity::Quantity;
use schemars::JsonSchema;
use scurry_cluster_client::{Sums, Totals};
use serde::Serialize;

/// The conservation totals of all accounts that exist.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Totals")]
pub(crate) struct TotalsBody {
    /// Units are conserved: `error` is 0 in every unit.
    ok: bool,
    /// Accounts that exist.
    accounts: i64,
    /// Open sessions.
    sessions: i64,
    /// The totals of each unit.
    units: Vec<UnitTotals>,
}

#[derive(Serialize, JsonSchema)]
struct UnitTotals {
    /// The unit.
    unit: String,
    /// Amount that can be debited or held.
    available: Quantity,
    /// Amount that open sessions hold.
    held: Quantity,
    /// Units that came in.
    credited: Quantity,
    /// Units that came back.
    refunded: Quantity,
    /// Units that were debited.
    consumed: Quantity,
    /// Units that went with the end of a validity or period.
    expired: Quantity,
    /// Units that were taken out by a correction.
    voided: Quantity,
    /// Units that are owed below 0.
    overdrawn: Quantity,
    /// Units that were used and could not be debited.
    uncollected: Quantity,
    /// available + held - credited - refunded + consumed + expired + voided: 0, or units were lost
    /// or made.
    error: Quantity,
}

impl TotalsBody {
    /// Converts totals of a store. None if the accounts or sessions are too many for the integer type of answers.
    pub(crate) fn of(totals: &Totals) -> Option<TotalsBody> {
        Some(TotalsBody {
            ok: totals.units.values().all(|sums| error(sums) == 0),
            accounts: totals.accounts.try_into().ok()?,
            sessions: totals.sessions.try_into().ok()?,
            units: totals.units.iter().map(|(unit, sums)| UnitTotals::of(unit, sums)).collect(),
        })
    }
}

impl UnitTotals {
    fn of(unit: &str, sums: &Sums) -> UnitTotals {
        UnitTotals {
            unit: unit.to_owned(),
            available: quantity(sums.available),
            held: quantity(sums.held),
            credited: quantity(sums.credited),
            refunded: quantity(sums.refunded),
            consumed: quantity(sums.consumed),
            expired: quantity(sums.expired),
            voided: quantity(sums.voided),
            overdrawn: quantity(sums.overdrawn),
            uncollected: quantity(sums.uncollected),
            error: quantity(error(sums)),
        }
    }
}

/// Returns the units that appeared (positive) or disappeared (negative) without a reason. 0 if units are conserved.
fn error(sums: &Sums) -> i128 {
    let Sums { available, held, credited, refunded, consumed, expired, voided, .. } = sums;
    available + held - credited - refunded + consumed + expired + voided
}

fn quantity(number: i128) -> Quantity {
    match i64::try_from(number) {
        Ok(number) => Quantity::Number(number),
        Err(_) => Quantity::Digits(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use crate::reading::totals;
    use redis::Value;
    use serde_json::json;

    /// The sums of a unit, in the order of the reply's row.
    type Row = [i128; 9];

    fn reply(unit: &str, sums: Row) -> Value {
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
        let answer = totals(&Value::Array(replies)).expect("totals");
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
        assert!(totals(&Value::Array(vec![Value::Nil])).is_none(), "whoever says that is no store");
    }
}
