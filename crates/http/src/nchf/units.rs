//! Kinds of units, and the names that they have in buckets.

use scurry_ledger::Name;
use serde::Deserialize;

/// Granted where a consumer asks for units and does not say how many (an empty requestedUnit).
const DEFAULT_VOLUME: i64 = 10 * 1024 * 1024;
const DEFAULT_TIME: i64 = 600;
const DEFAULT_SERVICE: i64 = 1;

/// A kind of unit; an item of a session has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Volume,
    Time,
    Service,
}

impl Kind {
    /// In the order in which they are looked for.
    pub(crate) const ALL: [Kind; 3] = [Kind::Volume, Kind::Time, Kind::Service];

    /// The unit of the buckets.
    pub(crate) fn unit(self) -> Name {
        let name: &[u8] = match self {
            Kind::Volume => b"octet",
            Kind::Time => b"second",
            Kind::Service => b"unit",
        };
        Name::new(name).unwrap_or_else(|| unreachable!("a name"))
    }

    /// The letter in a reference.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Kind::Volume => "v",
            Kind::Time => "t",
            Kind::Service => "s",
        }
    }

    pub(crate) fn of_letter(letter: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.letter() == letter)
    }

    pub(crate) fn default_amount(self) -> i64 {
        match self {
            Kind::Volume => DEFAULT_VOLUME,
            Kind::Time => DEFAULT_TIME,
            Kind::Service => DEFAULT_SERVICE,
        }
    }
}

/// Amounts of units (RequestedUnit, GrantedUnit, and a part of UsedUnitContainer).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Units {
    time: Option<u32>,
    total_volume: Option<u64>,
    uplink_volume: Option<u64>,
    downlink_volume: Option<u64>,
    service_specific_units: Option<u64>,
}

/// More than 63 bits.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Units {
    /// The amount of a kind, where it is said. A volume is the total, or the sum of both ways.
    pub(crate) fn of(&self, kind: Kind) -> Result<Option<i64>, TooMany> {
        let amount = match kind {
            Kind::Time => self.time.map(u64::from),
            Kind::Service => self.service_specific_units,
            Kind::Volume => match (self.total_volume, self.uplink_volume, self.downlink_volume) {
                (Some(total), ..) => Some(total),
                (None, None, None) => None,
                (None, up, down) => {
                    let sum = up.unwrap_or_default().checked_add(down.unwrap_or_default());
                    Some(sum.ok_or(TooMany)?)
                }
            },
        };
        amount.map(|amount| i64::try_from(amount).map_err(|_| TooMany)).transpose()
    }

    /// Whether it says something of a kind.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        !matches!(self.of(kind), Ok(None))
    }

    /// The kinds that it says something of.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(|kind| self.has(*kind))
    }
}
