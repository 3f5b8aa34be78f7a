//! Kinds of units, and the names of their units in buckets.

use scurry_ledger::Name;
use serde::Deserialize;

/// Amounts that are requested for a consumer that asks for units without an amount (an empty requestedUnit): octets,
/// seconds, service-specific units.
const DEFAULT_VOLUME: i64 = 10 * 1024 * 1024;
const DEFAULT_TIME: i64 = 600;
const DEFAULT_SERVICE: i64 = 1;

/// A kind of unit. Each item of a session has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Volume,
    Time,
    Service,
}

impl UnitKind {
    /// All kinds, in the order in which they are searched.
    pub(crate) const ALL: [UnitKind; 3] = [UnitKind::Volume, UnitKind::Time, UnitKind::Service];

    /// Returns the unit of the buckets that are debited.
    pub(crate) fn unit(self) -> Name {
        let name: &[u8] = match self {
            UnitKind::Volume => b"octet",
            UnitKind::Time => b"second",
            UnitKind::Service => b"unit",
        };
        Name::new(name).unwrap_or_else(|| unreachable!("a name"))
    }

    /// Returns the letter that stands for the kind in a reference.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            UnitKind::Volume => "v",
            UnitKind::Time => "t",
            UnitKind::Service => "s",
        }
    }

    pub(crate) fn of_letter(letter: &str) -> Option<UnitKind> {
        UnitKind::ALL.into_iter().find(|kind| kind.letter() == letter)
    }

    pub(crate) fn default_amount(self) -> i64 {
        match self {
            UnitKind::Volume => DEFAULT_VOLUME,
            UnitKind::Time => DEFAULT_TIME,
            UnitKind::Service => DEFAULT_SERVICE,
        }
    }
}

/// Amounts of units (RequestedUnit, GrantedUnit, and a part of UsedUnitContainer).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnitAmounts {
    time: Option<u32>,
    total_volume: Option<u64>,
    uplink_volume: Option<u64>,
    downlink_volume: Option<u64>,
    service_specific_units: Option<u64>,
}

/// The error for an amount of more than 63 bits.
#[derive(Debug)]
pub(crate) struct AmountOverflow;

impl UnitAmounts {
    /// Returns the amount of a kind. None if it is not given. A volume is the total, or else the sum of uplink and
    /// downlink.
    pub(crate) fn amount_of(&self, kind: UnitKind) -> Result<Option<i64>, AmountOverflow> {
        let amount = match kind {
            UnitKind::Time => self.time.map(u64::from),
            UnitKind::Service => self.service_specific_units,
            UnitKind::Volume => match (self.total_volume, self.uplink_volume, self.downlink_volume)
            {
                (Some(total), ..) => Some(total),
                (None, None, None) => None,
                (None, up, down) => {
                    let sum = up.unwrap_or_default().checked_add(down.unwrap_or_default());
                    Some(sum.ok_or(AmountOverflow)?)
                }
            },
        };
        amount.map(|amount| i64::try_from(amount).map_err(|_| AmountOverflow)).transpose()
    }

    /// Reports whether an amount of this kind is given, valid or too large.
    pub(crate) fn has(&self, kind: UnitKind) -> bool {
        !matches!(self.amount_of(kind), Ok(None))
    }

    /// Returns the kinds of which an amount is given.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = UnitKind> {
        UnitKind::ALL.into_iter().filter(|kind| self.has(*kind))
    }
}
