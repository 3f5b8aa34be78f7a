//! Amounts in JSON. They have 64 bits, and many readers of JSON keep 53: RFC 7493 has what is
//! beyond that as a string.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The greatest integer that a double keeps apart from its neighbours.
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
        // One way to write a number: no plus sign, no leading zero.
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
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Amount{LEAST}to{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Strings of 19 digits may be within 64 bits or not, which no pattern says in short.
        let digits = if LEAST >= 1 {
            "^[1-9][0-9]{0,17}$"
        } else if LEAST >= 0 {
            "^(0|[1-9][0-9]{0,17})$"
        } else if MOST <= 0 {
            "^(0|-[1-9][0-9]{0,17})$"
        } else {
            "^(0|-?[1-9][0-9]{0,17})$"
        };
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": LEAST, "maximum": MOST },
            { "type": "string", "pattern": digits },
        ]})
    }
}

/// An amount of an answer: an integer as long as a double keeps it, else a string of its digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Number(i64),
    /// A total that has left 64 bits.
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
            "anyOf": [
                { "type": "integer", "minimum": -9_007_199_254_740_991i64, "maximum": 9_007_199_254_740_991i64 },
                { "type": "string", "pattern": "^-?[1-9][0-9]*$" },
            ],
        })
    }
}
