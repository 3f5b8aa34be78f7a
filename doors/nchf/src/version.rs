//! Versions of the service in its URI.

/// A version of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Release 15.
    V2,
    /// Release 16 and later.
    V3,
}

impl Version {
    /// Returns the path of the charging data resources.
    pub(crate) const fn resources(self) -> &'static str {
        match self {
            Version::V2 => "/nchf-convergedcharging/v2/chargingdata",
            Version::V3 => "/nchf-convergedcharging/v3/chargingdata",
        }
    }

    /// Returns its name in the URI.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Version::V2 => "v2",
            Version::V3 => "v3",
        }
    }
}
