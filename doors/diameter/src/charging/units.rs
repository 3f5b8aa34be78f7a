//! Units of Diameter as amounts of the ledger, and back: one kind for each service, which its terms name.

use scurry_diameter::ccr::{Money, Units, UsedUnits};
use scurry_diameter::{Attribute, Refusal, ResultCode, attribute};
use scurry_service_table::Measure;

/// Returns the requested amount of a measure. None if these units have none of it: the client leaves it to the server.
///
/// # Errors
/// 5004 for money that is no whole number of minor units, or of another currency.
pub(super) fn requested(units: &Units, measure: Measure) -> Result<Option<i64>, Refusal<'static>> {
    // More than the ledger can count is as much as there is.
    let octets = |octets: u64| i64::try_from(octets).unwrap_or(i64::MAX);
    Ok(match measure {
        Measure::Volume => match (units.total_octets, units.input_octets, units.output_octets) {
            (Some(total), ..) => Some(octets(total)),
            (None, None, None) => None,
            (None, input, output) => {
                let sum = octets(input.unwrap_or_default());
                Some(sum.saturating_add(octets(output.unwrap_or_default())))
            }
        },
        Measure::Time => units.time_s.map(i64::from),
        Measure::Units => units.service_specific.map(octets),
        Measure::Money { .. } => units.money.map(|money| of_money(money, measure)).transpose()?,
    })
}

/// Returns the used amount of a measure, summed over all Used-Service-Units. Other kinds that these have are not counted
/// too. None if there is no Used-Service-Unit.
///
/// # Errors
/// 5004 for a sum above 63 bits, or for money as in [`requested`].
pub(super) fn used(used: &[UsedUnits], measure: Measure) -> Result<Option<i64>, Refusal<'static>> {
    if used.is_empty() {
        return Ok(None);
    }
    let mut sum = 0_i64;
    for UsedUnits { units, .. } in used {
        let amount = requested(units, measure)?.unwrap_or_default();
        // Money may be negative; use is not.
        let total = sum.checked_add(amount).filter(|_| (0..i64::MAX).contains(&amount));
        sum = total.ok_or_else(|| invalid(attribute_of(measure)))?;
    }
    Ok(Some(sum))
}

/// Returns an amount as units of its measure.
pub(super) fn granted(amount: i64, measure: Measure) -> Units {
    let unsigned = u64::try_from(amount).ok();
    match measure {
        Measure::Volume => Units { total_octets: unsigned, ..Units::default() },
        Measure::Time => {
            // The table grants no more than CC-Time can say; a debit in seconds may be larger.
            let time_s = Some(u32::try_from(amount).unwrap_or(u32::MAX));
            Units { time_s, ..Units::default() }
        }
        Measure::Units => Units { service_specific: unsigned, ..Units::default() },
        Measure::Money { currency, decimals } => {
            let money = Money { digits: amount, exponent: -i32::from(decimals), currency };
            Units { money: Some(money), ..Units::default() }
        }
    }
}

fn of_money(money: Money, measure: Measure) -> Result<i64, Refusal<'static>> {
    let Measure::Money { currency, .. } = measure else { return Err(invalid(attribute::CC_MONEY)) };
    if let (Some(expected), Some(given)) = (currency, money.currency)
        && expected != given
    {
        return Err(invalid(attribute::CURRENCY_CODE));
    }
    let amount = measure.minor_units(money.digits, money.exponent);
    amount.filter(|amount| *amount >= 0).ok_or_else(|| invalid(attribute::CC_MONEY))
}

fn attribute_of(measure: Measure) -> Attribute {
    match measure {
        Measure::Volume => attribute::CC_TOTAL_OCTETS,
        Measure::Time => attribute::CC_TIME,
        Measure::Units => attribute::CC_SERVICE_SPECIFIC_UNITS,
        Measure::Money { .. } => attribute::CC_MONEY,
    }
}

fn invalid(attribute: Attribute) -> Refusal<'static> {
    let text = "an amount is not one that this server can count";
    Refusal::about(ResultCode::INVALID_AVP_VALUE, attribute, text)
}
