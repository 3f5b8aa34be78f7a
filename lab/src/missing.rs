//! What is missing on this machine, and how to get it.

/// Why a target cannot be measured here, and the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}: {cure}")]
pub struct Missing {
    /// Name of what is missing.
    pub why: String,
    /// Cure that the user can apply.
    pub cure: String,
}
