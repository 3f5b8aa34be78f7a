//! The totals of a store in JSON, with the check that units are conserved.

use crate::quantity::Quantity;
use schemars::JsonSchema;
use scurry_ledger::{self as ledger, Totals};
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
    /// Amount that transfers hold for other accounts; a part of held.
    in_transit: Quantity,
    /// available + held - credited - refunded + consumed + expired + voided: 0, or units were lost
    /// or made.
    error: Quantity,
}

impl TotalsBody {
    /// Converts totals of a store, with its units in the order of their names. None if the accounts or sessions are too
    /// many for the integer type of answers.
    pub(crate) fn of(mut totals: Totals) -> Option<TotalsBody> {
        totals.units.sort_unstable_by(|one, other| one.unit.as_str().cmp(other.unit.as_str()));
        Some(TotalsBody {
            ok: totals.units.iter().all(|sums| conservation_error(sums) == 0),
            accounts: totals.accounts.try_into().ok()?,
            sessions: totals.sessions.try_into().ok()?,
            units: totals.units.iter().map(UnitTotals::of).collect(),
        })
    }
}

impl UnitTotals {
    fn of(sums: &ledger::UnitTotals) -> UnitTotals {
        UnitTotals {
            unit: sums.unit.as_str().to_owned(),
            available: quantity(sums.available),
            held: quantity(sums.held),
            credited: quantity(sums.credited),
            refunded: quantity(sums.refunded),
            consumed: quantity(sums.consumed),
            expired: quantity(sums.expired),
            voided: quantity(sums.voided),
            overdrawn: quantity(sums.overdrawn),
            uncollected: quantity(sums.uncollected),
            in_transit: quantity(sums.in_transit),
            error: quantity(conservation_error(sums)),
        }
    }
}

/// Returns the units that appeared (positive) or disappeared (negative) without a reason. 0 if units are conserved.
fn conservation_error(sums: &ledger::UnitTotals) -> i128 {
    let ledger::UnitTotals {
        available, held, credited, refunded, consumed, expired, voided, ..
    } = sums;
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
    use super::*;
    use scurry_ledger::Name;
    use serde_json::json;

    fn sums(unit: &[u8], available: i128, credited: i128) -> ledger::UnitTotals {
        ledger::UnitTotals {
            unit: Name::new(unit).expect("a name"),
            available,
            held: 10,
            credited,
            refunded: 5,
            consumed: 20,
            expired: 10,
            voided: 5,
            overdrawn: 1,
            uncollected: 2,
            in_transit: 0,
        }
    }

    fn json_of(units: Vec<ledger::UnitTotals>) -> serde_json::Value {
        let totals = TotalsBody::of(Totals { accounts: 4, sessions: 2, units }).expect("totals");
        serde_json::to_value(totals).expect("JSON")
    }

    #[test]
    fn what_is_lost_shows_and_units_are_in_the_order_of_their_names() {
        let whole = json_of(vec![sums(b"cent", 60, 100)]);
        assert_eq!(
            (&whole["ok"], &whole["accounts"], &whole["sessions"]),
            (&json!(true), &json!(4), &json!(2))
        );
        assert_eq!(
            (&whole["units"][0]["available"], &whole["units"][0]["error"]),
            (&60.into(), &0.into())
        );
        let two = json_of(vec![sums(b"octet", 59, 100), sums(b"cent", 60, 100)]);
        assert_eq!((&two["ok"], &two["units"][0]["unit"]), (&json!(false), &json!("cent")));
        assert_eq!((&two["units"][0]["error"], &two["units"][1]["error"]), (&json!(0), &json!(-1)));
    }

    #[test]
    fn totals_beyond_64_bits_stay_exact() {
        let most = 2 * i128::from(i64::MAX);
        let long = json_of(vec![sums(b"cent", most - 40, most)]);
        assert_eq!(long["units"][0]["credited"], "18446744073709551614");
        assert_eq!((&long["ok"], &long["units"][0]["error"]), (&json!(true), &json!(0)));
    }
}
