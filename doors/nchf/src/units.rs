//! Kinds of units, and the amounts that requests have of each.

use crate::number::Number;
use scurry_service_table::Measure;
use serde::Deserialize;

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

    /// Returns the kind of a measure. None for money, which TS 32.291 does not have.
    pub(crate) fn of(measure: Measure) -> Option<UnitKind> {
        match measure {
            Measure::Volume => Some(UnitKind::Volume),
            Measure::Time => Some(UnitKind::Time),
            Measure::Units => Some(UnitKind::Service),
            Measure::Money { .. } => None,
        }
    }

    /// Returns what a service of this kind is measured in.
    pub(crate) fn measure(self) -> Measure {
        match self {
            UnitKind::Volume => Measure::Volume,
            UnitKind::Time => Measure::Time,
            UnitKind::Service => Measure::Units,
        }
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

    /// Returns the member that has the amount, for error messages.
    pub(crate) fn member(self) -> &'static str {
        match self {
            UnitKind::Volume => "totalVolume",
            UnitKind::Time => "time",
            UnitKind::Service => "serviceSpecificUnits",
        }
    }
}

/// Amounts of units (RequestedUnit, and a part of UsedUnitContainer).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnitAmounts {
    time: Option<Number>,
    total_volume: Option<Number>,
    uplink_volume: Option<Number>,
    downlink_volume: Option<Number>,
    service_specific_units: Option<Number>,
}

/// Most units that one container can report: 2^49, which are 562 TB. So no sum of a body is above 63 bits.
const USED_MAX: i64 = 1 << 49;

/// An amount that is negative, no whole number, or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongAmount;

impl UnitAmounts {
    /// Returns the amount of a kind. None if it is not given. A volume is the total, or else the sum of uplink and
    /// downlink.
    pub(crate) fn amount_of(&self, kind: UnitKind) -> Result<Option<i64>, WrongAmount> {
        let amount = |number: Number| number.amount().ok_or(WrongAmount);
        let volume = (self.total_volume, self.uplink_volume, self.downlink_volume);
        let number = match (kind, volume) {
            (UnitKind::Time, _) => self.time,
            (UnitKind::Service, _) => self.service_specific_units,
            (UnitKind::Volume, (None, up @ Some(_), down) | (None, up, down @ Some(_))) => {
                let (up, down) = (up.map_or(Ok(0), amount)?, down.map_or(Ok(0), amount)?);
                return Ok(Some(up.saturating_add(down)));
            }
            (UnitKind::Volume, (total, ..)) => total,
        };
        number.map(amount).transpose()
    }

    /// Returns the member of a kind whose amount is wrong, for error messages.
    pub(crate) fn wrong_member(&self, kind: UnitKind) -> &'static str {
        let is_wrong = |number: Option<Number>| number.is_some_and(|one| one.amount().is_none());
        match kind {
            UnitKind::Volume if self.total_volume.is_some() => kind.member(),
            UnitKind::Volume if is_wrong(self.downlink_volume) => "downlinkVolume",
            UnitKind::Volume => "uplinkVolume",
            _ => kind.member(),
        }
    }

    /// Returns the amount of a kind that was used.
    pub(crate) fn used(&self, kind: UnitKind) -> Result<Option<i64>, WrongAmount> {
        match self.amount_of(kind)? {
            Some(amount) if amount > USED_MAX => Err(WrongAmount),
            amount => Ok(amount),
        }
    }

    /// Reports whether an amount of this kind is given, right or wrong.
    pub(crate) fn has(&self, kind: UnitKind) -> bool {
        !matches!(self.amount_of(kind), Ok(None))
    }

    /// Returns the kinds of which an amount is given.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = UnitKind> {
        UnitKind::ALL.into_iter().filter(|kind| self.has(*kind))
    }

    /// Returns uplink and downlink if these are requested and no total.
    pub(crate) fn directions(&self) -> Option<(i64, i64)> {
        let amount = |number: Option<Number>| number.map_or(Some(0), Number::amount);
        let has_direction = self.uplink_volume.is_some() || self.downlink_volume.is_some();
        if self.total_volume.is_some() || !has_direction {
            return None;
        }
        Some((amount(self.uplink_volume)?, amount(self.downlink_volume)?))
    }
}
