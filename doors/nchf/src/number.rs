//! Numbers as clients write them. One that cannot be is kept as such, so that it refuses nothing else in the body.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A number that is at least 0 and whole, or something else in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// It can be used.
    Good(u64),
    /// It is negative, a fraction, has an exponent, is above 64 bits, or is no number.
    Bad,
}

impl Number {
    /// Returns what stands for a number that is needed and missing.
    pub(crate) fn bad() -> Number {
        Number::Bad
    }

    /// Returns the number as an amount: above 63 bits it is the largest.
    pub(crate) fn amount(self) -> Option<i64> {
        match self {
            Number::Good(number) => Some(i64::try_from(number).unwrap_or(i64::MAX)),
            Number::Bad => None,
        }
    }

    /// Returns the number if it has at most 32 bits.
    pub(crate) fn u32(self) -> Option<u32> {
        match self {
            Number::Good(number) => u32::try_from(number).ok(),
            Number::Bad => None,
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
        Ok(Number::Good(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Number, E> {
        Ok(Number::Bad)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Number, E> {
        Ok(Number::Bad)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
        Ok(Number::Bad)
    }

    fn visit_str<E>(self, _: &str) -> Result<Number, E> {
        Ok(Number::Bad)
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number::Bad)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Number, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number::Bad)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Number, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number::Bad)
    }
}
