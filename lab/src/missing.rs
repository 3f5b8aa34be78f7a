//! Missing prerequisites on this machine, and how to get them.

/// Why a target cannot be measured here, and the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}: {cure}")]
pub struct Missing {
    /// Missing prerequisite.
    pub why: String,
    /// Cure that the user can apply.
    pub cure: String,
}
