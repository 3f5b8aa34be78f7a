//! Time zones: a fixed distance from UTC, or a zone of the IANA database, whose tables are part of the program. No table
//! of the machine is read: which tables decided is a question of the version of the program alone.

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;
use core::fmt;
use core::str::FromStr;

/// Version of the tables of zones in this build, such as `2025b`.
pub const TZDATA_VERSION: &str = chrono_tz::IANA_TZDB_VERSION;

/// Greatest length of the name of a zone, bytes.
pub const ZONE_NAME_LEN_MAX: usize = 32;

const MINUTE_MS: i64 = 60_000;
/// Last moment of a host's clock, [`crate::Time::LAST`].
const LAST_MS: i64 = (1 << 47) - 1;

/// Rule by which local time differs from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Minutes by which the clocks are ahead of UTC, at most [`Zone::OFFSET_MINUTES_MAX`] in both directions.
    Fixed(i16),
    /// A zone of the IANA database, with its summer time.
    Named(NamedZone),
}

impl Zone {
    /// Greatest distance of a fixed zone from UTC: 14 hours.
    pub const OFFSET_MINUTES_MAX: i16 = 14 * 60;
    /// UTC.
    pub const UTC: Zone = Zone::Fixed(0);

    /// Returns the minutes of a fixed zone.
    pub fn offset_minutes(self) -> Option<i16> {
        match self {
            Zone::Fixed(minutes) => Some(minutes),
            Zone::Named(_) => None,
        }
    }

    /// Returns the zone of the database, of one that is not fixed.
    pub fn named(self) -> Option<NamedZone> {
        match self {
            Zone::Fixed(_) => None,
            Zone::Named(zone) => Some(zone),
        }
    }

    /// Returns by how many ms the clocks of the zone are ahead of UTC at this moment.
    pub fn ahead_ms(self, utc: i64) -> i64 {
        match self {
            Zone::Fixed(minutes) => i64::from(minutes) * MINUTE_MS,
            Zone::Named(zone) => zone.ahead_ms(utc),
        }
    }

    /// Reports whether the distance of a fixed zone is in its bounds.
    pub(crate) fn is_in_range(self) -> bool {
        let most = Zone::OFFSET_MINUTES_MAX;
        self.offset_minutes().is_none_or(|minutes| (-most..=most).contains(&minutes))
    }
}

/// A zone of the IANA database, such as `Europe/Berlin`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NamedZone(Tz);

impl NamedZone {
    /// Returns the zone with this name, spelled as in the database; `None` if this build does not know it.
    pub fn new(name: &[u8]) -> Option<NamedZone> {
        Tz::from_str(core::str::from_utf8(name).ok()?).ok().map(NamedZone)
    }

    /// Returns the name in the database, at most [`ZONE_NAME_LEN_MAX`] bytes.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    fn ahead_ms(self, utc: i64) -> i64 {
        // Beyond the clock's range the last rule holds.
        let at = utc.clamp(-LAST_MS, LAST_MS).div_euclid(1_000);
        let at = DateTime::from_timestamp(at, 0).unwrap_or(DateTime::UNIX_EPOCH).naive_utc();
        i64::from(self.0.offset_from_utc_datetime(&at).fix().local_minus_utc()) * 1_000
    }
}

impl fmt::Debug for NamedZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_fits_its_place_and_is_read_back() {
        for zone in chrono_tz::TZ_VARIANTS {
            let name = zone.name();
            assert!(name.len() <= ZONE_NAME_LEN_MAX && crate::is_printable(name.as_bytes()));
            assert_eq!(NamedZone::new(name.as_bytes()), Some(NamedZone(zone)));
        }
        for unknown in ["", "europe/berlin", "Europe/Berlin ", "Mars/Olympus", "+01:00"] {
            assert_eq!(NamedZone::new(unknown.as_bytes()), None, "{unknown}");
        }
    }
}
