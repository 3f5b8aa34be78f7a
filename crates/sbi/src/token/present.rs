//! Members of JSON objects that may be missing, but have a value if they are there.

use serde::{Deserialize, Deserializer};

/// Reads a member that is there: `null` is a value of a wrong type, not a missing member. So a time of validity that is
/// garbage is refused, and never read as a token without one.
pub(crate) fn present<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
