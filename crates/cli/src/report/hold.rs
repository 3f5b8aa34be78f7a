//! An open hold, as reports show it.

/// An open hold of an item in one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) account: String,
    pub(crate) session: String,
    pub(crate) item: String,
    pub(crate) unit: String,
    pub(crate) bucket: String,
    /// Minor units.
    pub(crate) amount: i64,
    /// When the session was opened, ms since 1970 UTC.
    pub(crate) opened: i64,
}
