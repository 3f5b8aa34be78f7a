//! What a service is measured in.

/// What a service is measured in. A request may report several kinds of units; those of this kind are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Octets.
    Volume,
    /// Seconds.
    Time,
    /// Units of the service: messages, events.
    Units,
    /// Money, in minor units of one currency.
    Money {
        /// Number of the currency in ISO 4217; a request without one means it. None takes any.
        currency: Option<u32>,
        /// How many decimals a minor unit has: 2 for a cent.
        decimals: u8,
    },
}

impl Measure {
    /// Returns `digits * 10^exponent` of a currency in minor units. None if it is no whole number of them, or is out of
    /// range.
    pub fn minor_units(self, digits: i64, exponent: i32) -> Option<i64> {
        let Measure::Money { decimals, .. } = self else { return None };
        let exponent = i64::from(exponent) + i64::from(decimals);
        if digits == 0 {
            return Some(0);
        }
        let power = 10_i64.checked_pow(u32::try_from(exponent.unsigned_abs()).ok()?)?;
        if exponent >= 0 {
            return digits.checked_mul(power);
        }
        (digits % power == 0).then_some(digits / power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_whole_minor_units_or_none() {
        const MAX: i64 = i64::MAX;
        const MIN: i64 = i64::MIN;
        for (decimals, digits, exponent, minor) in [
            (2, 1, 0, Some(100)),
            (2, 199, -2, Some(199)),
            (2, -199, -2, Some(-199)),
            (2, 5, -1, Some(50)),
            (2, -5, 1, Some(-5_000)),
            (2, 1990, -3, Some(199)),
            (2, -1990, -3, Some(-199)),
            (2, 1999, -3, None),
            (2, -1999, -3, None),
            (0, 15, -1, None),
            (0, 7, 0, Some(7)),
            (18, 9, 0, Some(9_000_000_000_000_000_000)),
            (18, 10, 0, None),
            (18, -10, 0, None),
            (2, MAX, -2, Some(MAX)),
            (2, MIN, -2, Some(MIN)),
            (2, MAX, -1, None),
            (2, MIN, -1, None),
            (0, MIN, -1, None),
            (0, -9_000_000_000_000_000_000, -18, Some(-9)),
            (0, 1, 18, Some(1_000_000_000_000_000_000)),
            (0, 1, 19, None),
            (0, -1, 19, None),
            // Ten to this power has no 64 bits, and no digits have so many zeros.
            (0, MIN, -19, None),
            (0, MAX, -19, None),
            (2, 1, i32::MAX, None),
            (2, 1, i32::MIN, None),
            (2, -1, i32::MAX, None),
            (2, MIN, i32::MIN, None),
            (u8::MAX, 1, i32::MAX, None),
            // Nothing is nothing with any exponent.
            (2, 0, i32::MAX, Some(0)),
            (2, 0, i32::MIN, Some(0)),
        ] {
            let money = Measure::Money { currency: None, decimals };
            let said = money.minor_units(digits, exponent);
            assert_eq!(said, minor, "{digits} * 10^{exponent} with {decimals} decimals");
        }
        assert_eq!(Measure::Volume.minor_units(1, 0), None);
    }
}
