//! What is missing here, and its cure.

/// Why a target cannot be measured here, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}: {cure}")]
pub struct Missing {
    /// Name of the missing thing.
    pub why: String,
    /// Cure that the user can apply.
    pub cure: String,
}
