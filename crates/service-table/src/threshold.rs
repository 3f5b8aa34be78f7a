//! When a client asks for more units: before it has used the last ones.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

/// When a client asks again: a number of units, or a share of the grant such as `"20%"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// When so many units are left, minor units.
    Units(i64),
    /// When this share of the grant is left, percent.
    Percent(u8),
}

impl Threshold {
    /// Least and largest share, percent.
    pub(crate) const PERCENT: [u8; 2] = [1, 99];

    /// Returns the units that are left of a grant when the client asks again, rounded down. None unless they are at least
    /// one and less than the grant.
    pub(crate) fn of(self, granted: i64) -> Option<i64> {
        let left = match self {
            Threshold::Units(units) => units,
            Threshold::Percent(percent) => {
                i64::try_from(i128::from(granted) * i128::from(percent) / 100).ok()?
            }
        };
        (left > 0 && left < granted).then_some(left)
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Threshold, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Threshold;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a number of units, or a share of the grant such as \"20%\"")
            }

            fn visit_i64<E: Error>(self, units: i64) -> Result<Threshold, E> {
                Ok(Threshold::Units(units))
            }

            fn visit_u64<E: Error>(self, units: u64) -> Result<Threshold, E> {
                i64::try_from(units).map(Threshold::Units).map_err(|_| E::custom("it is too large"))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Threshold, E> {
                let digits = text.strip_suffix('%').map(str::trim_end);
                let percent = digits.and_then(|digits| digits.parse().ok()).map(Threshold::Percent);
                let [least, most] = Threshold::PERCENT;
                percent.ok_or_else(|| {
                    E::custom(format!(
                        "{text:?} is no threshold: give a number of units without quotes, or a share of the grant from \
                         \"{least}%\" to \"{most}%\""
                    ))
                })
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_less_than_the_grant() {
        for (threshold, granted, left) in [
            (Threshold::Units(5), 6, Some(5)),
            (Threshold::Units(5), 5, None),
            (Threshold::Units(5), 0, None),
            (Threshold::Units(0), 5, None),
            (Threshold::Units(i64::MAX), i64::MAX, None),
            (Threshold::Percent(20), 100, Some(20)),
            (Threshold::Percent(20), 99, Some(19)),
            (Threshold::Percent(20), 5, Some(1)),
            (Threshold::Percent(20), 4, None),
            (Threshold::Percent(50), 199, Some(99)),
            (Threshold::Percent(99), i64::MAX, Some(9_131_138_316_486_228_048)),
            (Threshold::Percent(255), i64::MAX, None),
            (Threshold::Percent(20), 0, None),
            (Threshold::Percent(20), -100, None),
            (Threshold::Percent(99), i64::MIN, None),
        ] {
            assert_eq!(threshold.of(granted), left, "{threshold:?} of {granted}");
        }
    }
}
