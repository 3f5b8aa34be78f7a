//! Amounts in JSON. They have 64 bits, but many JSON parsers keep only 53: RFC 7493 recommends strings for integers
//! beyond that.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The greatest integer up to which a double represents every integer exactly.
const EXACT_MAX: u64 = (1 << 53) - 1;

/// An amount of a request, from `LEAST` to `MOST`: a JSON integer, or a string of its digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount<const LEAST: i64, const MOST: i64 = { i64::MAX }>(pub(crate) i64);

struct AmountVisitor<const LEAST: i64, const MOST: i64>;

impl<const LEAST: i64, const MOST: i64> AmountVisitor<LEAST, MOST> {
    fn checked<E: Error>(number: Option<i64>) -> Result<Amount<LEAST, MOST>, E> {
        match number {
            Some(number) if number > MOST => Err(E::custom(format_args!("must be at most {MOST}"))),
            Some(number) if number >= LEAST => Ok(Amount(number)),
            Some(_) => Err(E::custom(format_args!("must be at least {LEAST}"))),
            None => Err(E::custom("must be an integer of 64 bits, or a string of its digits")),
        }
    }
}

impl<const LEAST: i64, const MOST: i64> Visitor<'_> for AmountVisitor<LEAST, MOST> {
    type Value = Amount<LEAST, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer of 64 bits, or a string of its digits")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Self::checked(Some(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Self::checked(i64::try_from(number).ok())
    }

    fn visit_str<E: Error>(self, digits: &str) -> Result<Self::Value, E> {
        // Accept the canonical form only: no plus sign, no leading zero.
        let number = digits.parse::<i64>().ok().filter(|number| number.to_string() == digits);
        Self::checked(number)
    }
}

impl<'de, const LEAST: i64, const MOST: i64> Deserialize<'de> for Amount<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

impl<const LEAST: i64, const MOST: i64> JsonSchema for Amount<LEAST, MOST> {
    fn schema_name() -> Cow<'static, str> {
        match (LEAST, MOST) {
            (1, i64::MAX) => "PositiveAmount".into(),
            (0, i64::MAX) => "NonNegativeAmount".into(),
            (i64::MIN, 0) => "NonPositiveAmount".into(),
            (i64::MIN, i64::MAX) => "SignedAmount".into(),
            _ => format!("AmountFrom{LEAST}To{MOST}").into(),
        }
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut digits = Vec::new();
        if (LEAST..=MOST).contains(&0) {
            digits.push("0".to_owned());
        }
        if MOST > 0 {
            digits.push(regex_up_to(MOST.unsigned_abs()));
        }
        if LEAST < 0 {
            digits.push(format!("-({})", regex_up_to(LEAST.unsigned_abs())));
        }
        json_schema!({
            "description": "An integer, or a string of its digits.",
            "oneOf": [
                { "type": "integer", "format": "int64", "minimum": LEAST, "maximum": MOST },
                { "type": "string", "pattern": format!("^({})$", digits.join("|")) },
            ],
        })
    }
}

/// The schema of an integer query parameter, from `LEAST` to `MOST`.
pub(crate) struct BoundedInteger<const LEAST: i64, const MOST: i64 = { i64::MAX }>;

impl<const LEAST: i64, const MOST: i64> JsonSchema for BoundedInteger<LEAST, MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Whole".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "format": "int64", "minimum": LEAST, "maximum": MOST })
    }
}

/// Returns a regular expression for the integers from 1 to `most` without leading zeros.
pub(crate) fn regex_up_to(most: u64) -> String {
    let digits = most.to_string();
    let mut parts = vec![digits.clone()];
    for (at, digit) in digits.bytes().enumerate() {
        // Numbers of the same length that equal `most` before digit `at` and are lower at that digit.
        let least = if at == 0 { b'1' } else { b'0' };
        if digit > least {
            let (same, rest) = (&digits[..at], digits.len() - at - 1);
            let (least, below) = (char::from(least), char::from(digit - 1));
            parts.push(format!("{same}[{least}-{below}][0-9]{{{rest}}}"));
        }
    }
    // Numbers with fewer digits than `most`.
    if digits.len() > 1 {
        parts.push(format!("[1-9][0-9]{{0,{}}}", digits.len() - 2));
    }
    parts.join("|")
}

/// An amount of a correction, positive or negative but not 0. The least i64 is excluded, because it cannot be negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignedAmount(pub(crate) i64);

impl<'de> Deserialize<'de> for SignedAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Amount(amount) = Amount::<{ -i64::MAX }>::deserialize(deserializer)?;
        if amount == 0 {
            return Err(D::Error::custom("must not be 0"));
        }
        Ok(SignedAmount(amount))
    }
}

impl JsonSchema for SignedAmount {
    fn schema_name() -> Cow<'static, str> {
        "NonZeroAmount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let digits = regex_up_to(i64::MAX.unsigned_abs());
        json_schema!({
            "description": "An integer of any sign, and not 0, or a string of its digits.",
            "oneOf": [
                {
                    "type": "integer",
                    "format": "int64",
                    "minimum": -i64::MAX,
                    "maximum": i64::MAX,
                    "not": { "const": 0 },
                },
                { "type": "string", "pattern": format!("^-?({digits})$") },
            ],
        })
    }
}

/// An amount of an answer: a JSON integer if a double represents it exactly, else a string of its digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Number(i64),
    /// A total that does not fit into 64 bits.
    Digits(String),
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Quantity::Number(number) if number.unsigned_abs() <= EXACT_MAX => {
                serializer.serialize_i64(*number)
            }
            Quantity::Number(number) => serializer.collect_str(number),
            Quantity::Digits(digits) => serializer.serialize_str(digits),
        }
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An integer from -(2^53 - 1) to 2^53 - 1, beyond that a string of its digits.",
            "oneOf": [
                {
                    "type": "integer",
                    "format": "int64",
                    "minimum": -9_007_199_254_740_991i64,
                    "maximum": 9_007_199_254_740_991i64,
                },
                { "type": "string", "pattern": "^-?[1-9][0-9]*$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_the_numbers_up_to_its_most_and_no_others() {
        assert_eq!(regex_up_to(7), "7|[1-6][0-9]{0}");
        assert_eq!(regex_up_to(10), "10|[1-9][0-9]{0,0}");
        assert_eq!(regex_up_to(320), "320|[1-2][0-9]{2}|3[0-1][0-9]{1}|[1-9][0-9]{0,1}");
    }
}
